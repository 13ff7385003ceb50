// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "avro/container.h"
#include "iceberg/table_metadata.h"
#include "manifest/manifest.h"
#include "manifest/partition_column.h"
#include "manifest/value_reader.h"

namespace duckicelake::manifest {
namespace {

constexpr std::size_t kMemoryBudget = std::size_t{1} << 30;

constexpr std::array kEntryFields = {
    KnownField{0, "status", Shape::kInteger, Presence::kRequired},
    KnownField{1, "snapshot_id", Shape::kInteger, Presence::kOptional},
    KnownField{3, "sequence_number", Shape::kInteger, Presence::kOptional},
    KnownField{4, "file_sequence_number", Shape::kInteger, Presence::kOptional},
    KnownField{2, "data_file", Shape::kRecord, Presence::kRequired},
};

constexpr std::array kFileFields = {
    KnownField{134, "content", Shape::kInteger, Presence::kOptional},
    KnownField{100, "file_path", Shape::kBinary, Presence::kRequired},
    KnownField{101, "file_format", Shape::kBinary, Presence::kRequired},
    KnownField{102, "partition", Shape::kRecord, Presence::kRequired},
    KnownField{103, "record_count", Shape::kInteger, Presence::kRequired},
    KnownField{104, "file_size_in_bytes", Shape::kInteger, Presence::kRequired},
    KnownField{108, "column_sizes", Shape::kCounts, Presence::kOptional},
    KnownField{109, "value_counts", Shape::kCounts, Presence::kOptional},
    KnownField{110, "null_value_counts", Shape::kCounts, Presence::kOptional},
    KnownField{137, "nan_value_counts", Shape::kCounts, Presence::kOptional},
    KnownField{125, "lower_bounds", Shape::kBounds, Presence::kOptional},
    KnownField{128, "upper_bounds", Shape::kBounds, Presence::kOptional},
    KnownField{131, "key_metadata", Shape::kBinary, Presence::kOptional},
    KnownField{132, "split_offsets", Shape::kIntegerList, Presence::kOptional},
    KnownField{135, "equality_ids", Shape::kIntegerList, Presence::kOptional},
    KnownField{140, "sort_order_id", Shape::kInteger, Presence::kOptional},
    KnownField{142, "first_row_id", Shape::kInteger, Presence::kOptional},
    KnownField{143, "referenced_data_file", Shape::kBinary, Presence::kOptional},
    KnownField{144, "content_offset", Shape::kInteger, Presence::kOptional},
    KnownField{145, "content_size_in_bytes", Shape::kInteger, Presence::kOptional},
};

// One field of the file's partition record; `column` is its place in the spec, or -1.
struct PartitionStep {
  avro::NodeId type = 0;
  avro::Slot slot;
  std::ptrdiff_t column = -1;
};

Result<std::vector<PartitionStep>> plan_partition(const avro::Schema& schema, avro::NodeId record,
                                                  const std::vector<PartitionColumn>& columns) {
  std::vector<PartitionStep> plan;
  for (const avro::RecordField& field : schema.node(record).fields) {
    PartitionStep step;
    step.type = field.type;
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const PartitionColumn& c) {
      return field.field_id ? c.field_id == *field.field_id : c.avro_name == field.name;
    });
    if (found != columns.end() && !found->is_lost) {
      DIL_TRY(step.slot, avro::resolve_slot(schema, field.type));
      if (!can_read_partition_value(schema.node(step.slot.type), *found)) {
        return invalid_argument("the partition field \"{}\" has an unexpected Avro type",
                                found->name);
      }
      step.column = found - columns.begin();
    }
    plan.push_back(step);
  }
  return plan;
}

// "PARQUET" of "parquet"; the specification writes formats in lower case, the Java writer in upper
// case.
std::string normal_format(std::string text, avro::Decoder& decoder) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (text != "PARQUET" && text != "PUFFIN" && text != "AVRO" && text != "ORC") {
    decoder.fail("an unknown file format");
  }
  return text;
}

class EntryReader {
 public:
  static Result<EntryReader> make(const avro::Schema& schema, const ManifestHeader& header) {
    EntryReader reader(schema, header);
    DIL_TRY(reader.columns_, partition_columns(header.schema, header.spec));
    DIL_TRY(reader.entry_plan_, plan_record(schema, schema.root(), kEntryFields));
    for (const Step& step : reader.entry_plan_) {
      if (step.id != 2) continue;
      DIL_TRY(reader.file_plan_, plan_record(schema, step.slot.type, kFileFields));
    }
    for (const Step& step : reader.file_plan_) {
      if (step.id != 102) continue;
      if (schema.node(step.slot.type).kind != avro::Kind::kRecord) continue;
      DIL_TRY(reader.partition_plan_, plan_partition(schema, step.slot.type, reader.columns_));
    }
    return reader;
  }

  Result<ManifestEntry> read(avro::Decoder& decoder) {
    ManifestEntry entry;
    ValueReader values(schema_, decoder, budget_);
    values.charge(sizeof(ManifestEntry));
    read_record(schema_, entry_plan_, decoder, [&](const Step& step) {
      switch (step.id) {
        case 0: {
          const std::int32_t status = values.non_negative_small();
          if (status > 2) return decoder.fail("an unknown entry status");
          entry.status = static_cast<EntryStatus>(status);
          break;
        }
        case 1: entry.snapshot_id = values.integer(); break;
        case 3: entry.sequence_number = values.integer(); break;
        case 4: entry.file_sequence_number = values.integer(); break;
        default: read_file(entry.data_file, values, decoder); break;
      }
    });
    DIL_CHECK_OK(decoder.status());
    const bool is_data = entry.data_file.content == Content::kData;
    if (is_data != (header_.content == ManifestContent::kData)) {
      return invalid_argument("a data file and a delete file in one manifest");
    }
    return entry;
  }

 private:
  EntryReader(const avro::Schema& schema, const ManifestHeader& header)
      : schema_(schema), header_(header) {}

  void read_file(DataFile& file, ValueReader& values, avro::Decoder& decoder) {
    file.partition.resize(columns_.size());
    values.charge(columns_.size() * sizeof(iceberg::PartitionTuple::value_type));
    read_record(schema_, file_plan_, decoder, [&](const Step& step) {
      if (step.id >= 108 && step.id != 134) {
        read_optional(file, step, values);
        return;
      }
      switch (step.id) {
        case 134: {
          const std::int32_t content = values.non_negative_small();
          if (content > 2) return decoder.fail("an unknown file content");
          file.content = static_cast<Content>(content);
          break;
        }
        case 100: file.file_path = values.binary(step); break;
        case 101: file.file_format = normal_format(values.binary(step), decoder); break;
        case 102: read_partition(file.partition, values, decoder); break;
        case 103: file.record_count = values.non_negative(); break;
        default: file.file_size_in_bytes = values.non_negative(); break;
      }
    });
  }

  static void read_optional(DataFile& file, const Step& step, ValueReader& values) {
    switch (step.id) {
      case 108: file.column_sizes = values.counts(step); break;
      case 109: file.value_counts = values.counts(step); break;
      case 110: file.null_value_counts = values.counts(step); break;
      case 137: file.nan_value_counts = values.counts(step); break;
      case 125: file.lower_bounds = values.bounds(step); break;
      case 128: file.upper_bounds = values.bounds(step); break;
      case 131: file.key_metadata = values.binary(step); break;
      case 132: file.split_offsets = values.integers<std::int64_t>(step); break;
      case 135: file.equality_ids = values.integers<std::int32_t>(step); break;
      case 140: file.sort_order_id = values.small_integer(); break;
      case 142: file.first_row_id = values.non_negative(); break;
      case 143: file.referenced_data_file = values.binary(step); break;
      case 144: file.content_offset = values.non_negative(); break;
      default: file.content_size_in_bytes = values.non_negative(); break;
    }
  }

  void read_partition(iceberg::PartitionTuple& tuple, ValueReader& values, avro::Decoder& decoder) {
    for (const PartitionStep& step : partition_plan_) {
      if (!decoder.ok()) return;
      if (step.column < 0) {
        avro::skip(schema_, step.type, decoder);
      } else if (avro::read_presence(schema_, step.slot, decoder)) {
        const auto column = static_cast<std::size_t>(step.column);
        tuple[column] =
            read_partition_value(schema_.node(step.slot.type), columns_[column], decoder);
        values.charge(tuple[column]->size());
      }
    }
  }

  const avro::Schema& schema_;
  const ManifestHeader& header_;
  std::vector<PartitionColumn> columns_;
  std::vector<Step> entry_plan_;
  std::vector<Step> file_plan_;
  std::vector<PartitionStep> partition_plan_;
  std::size_t budget_ = kMemoryBudget;
};

Result<std::int32_t> parse_number(std::string_view key, std::string_view text) {
  std::int32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid_argument("the manifest header \"{}\" is no number", key);
  }
  return value;
}

Result<std::int32_t> header_number(const avro::ContainerReader& file, std::string_view key,
                                   std::int32_t fallback) {
  const std::string* text = file.find_metadata(key);
  if (text == nullptr) return fallback;
  return parse_number(key, *text);
}

Result<const std::string*> require_header(const avro::ContainerReader& file, std::string_view key) {
  const std::string* text = file.find_metadata(key);
  if (text == nullptr) return invalid_argument("a manifest without \"{}\" in its header", key);
  return text;
}

// Version 1 may leave field ids out: they count from 1000 then (spec "Partition Specs" in appendix
// C).
void number_fields(iceberg::PartitionSpec& spec) {
  const auto has_id = [](const iceberg::PartitionField& field) { return field.field_id != 0; };
  if (std::any_of(spec.fields.begin(), spec.fields.end(), has_id)) return;
  std::int32_t next = 1000;
  for (iceberg::PartitionField& field : spec.fields) field.field_id = next++;
}

Result<ManifestHeader> read_header(const avro::ContainerReader& file) {
  ManifestHeader header;
  DIL_TRY(header.format_version, header_number(file, "format-version", 1));
  if (header.format_version < 1 || header.format_version > 3) {
    return invalid_argument("a manifest of format version {}", header.format_version);
  }
  DIL_TRY(const std::string* schema, require_header(file, "schema"));
  DIL_TRY(header.schema, iceberg::schema_from_json(*schema));
  DIL_TRY(header.schema.schema_id, header_number(file, "schema-id", header.schema.schema_id));
  DIL_TRY(const std::int32_t spec_id, header_number(file, "partition-spec-id", 0));
  DIL_TRY(const std::string* fields, require_header(file, "partition-spec"));
  DIL_TRY(header.spec, iceberg::partition_spec_from_json(
                           fmt::format("{{\"spec-id\":{},\"fields\":{}}}", spec_id, *fields)));
  if (header.format_version == 1) number_fields(header.spec);
  const std::string* content = file.find_metadata("content");
  if (content == nullptr || *content == "data") return header;
  if (*content != "deletes") return invalid_argument("a manifest of unknown content");
  header.content = ManifestContent::kDeletes;
  return header;
}

}  // namespace

Result<DecodedManifest> decode_manifest(std::string_view bytes, std::size_t max_entries) {
  DIL_TRY(const avro::ContainerReader file,
          avro::ContainerReader::open(bytes, {.max_records = max_entries}));
  DecodedManifest result;
  DIL_TRY(result.header, read_header(file));
  DIL_TRY(EntryReader reader, EntryReader::make(file.schema(), result.header));
  DIL_CHECK_OK(file.for_each([&](avro::Decoder& decoder) -> Status {
    DIL_TRY(ManifestEntry entry, reader.read(decoder));
    result.entries.push_back(std::move(entry));
    return {};
  }));
  return result;
}

}  // namespace duckicelake::manifest
