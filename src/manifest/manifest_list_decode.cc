// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "avro/container.h"
#include "manifest/manifest.h"
#include "manifest/value_reader.h"

namespace duckicelake::manifest {
namespace {

constexpr std::size_t kMemoryBudget = std::size_t{1} << 30;
// What a version 1 list means by leaving a count out: some number other than 0.
constexpr std::int32_t kUnknownCount = -1;

constexpr std::array kFileFields = {
    KnownField{500, "manifest_path", Shape::kBinary, Presence::kRequired},
    KnownField{501, "manifest_length", Shape::kInteger, Presence::kRequired},
    KnownField{502, "partition_spec_id", Shape::kInteger, Presence::kRequired},
    KnownField{517, "content", Shape::kInteger, Presence::kOptional},
    KnownField{515, "sequence_number", Shape::kInteger, Presence::kOptional},
    KnownField{516, "min_sequence_number", Shape::kInteger, Presence::kOptional},
    KnownField{503, "added_snapshot_id", Shape::kInteger, Presence::kRequired},
    KnownField{504, "added_files_count", Shape::kInteger, Presence::kOptional},
    KnownField{505, "existing_files_count", Shape::kInteger, Presence::kOptional},
    KnownField{506, "deleted_files_count", Shape::kInteger, Presence::kOptional},
    KnownField{512, "added_rows_count", Shape::kInteger, Presence::kOptional},
    KnownField{513, "existing_rows_count", Shape::kInteger, Presence::kOptional},
    KnownField{514, "deleted_rows_count", Shape::kInteger, Presence::kOptional},
    KnownField{507, "partitions", Shape::kRecordList, Presence::kOptional},
    KnownField{519, "key_metadata", Shape::kBinary, Presence::kOptional},
    KnownField{520, "first_row_id", Shape::kInteger, Presence::kOptional},
};

constexpr std::array kSummaryFields = {
    KnownField{509, "contains_null", Shape::kBoolean, Presence::kRequired},
    KnownField{518, "contains_nan", Shape::kBoolean, Presence::kOptional},
    KnownField{510, "lower_bound", Shape::kBinary, Presence::kOptional},
    KnownField{511, "upper_bound", Shape::kBinary, Presence::kOptional},
};

class ListReader {
 public:
  static Result<ListReader> make(const avro::Schema& schema) {
    ListReader reader(schema);
    DIL_TRY(reader.file_plan_, plan_record(schema, schema.root(), kFileFields));
    for (const Step& step : reader.file_plan_) {
      if (step.id != 507 || schema.node(step.slot.type).kind == avro::Kind::kNull) continue;
      DIL_TRY(reader.summary_plan_, plan_record(schema, step.item.type, kSummaryFields));
    }
    return reader;
  }

  Result<ManifestFile> read(avro::Decoder& decoder) {
    ManifestFile file;
    file.added_files_count = file.existing_files_count = file.deleted_files_count = kUnknownCount;
    file.added_rows_count = file.existing_rows_count = file.deleted_rows_count = kUnknownCount;
    ValueReader values(schema_, decoder, budget_);
    values.charge(sizeof(ManifestFile));
    read_record(schema_, file_plan_, decoder,
                [&](const Step& step) { read_field(file, step, values, decoder); });
    DIL_CHECK_OK(decoder.status());
    return file;
  }

 private:
  explicit ListReader(const avro::Schema& schema) : schema_(schema) {}

  void read_field(ManifestFile& file, const Step& step, ValueReader& values,
                  avro::Decoder& decoder) {
    switch (step.id) {
      case 500: file.manifest_path = values.binary(step); break;
      case 501: file.manifest_length = values.non_negative(); break;
      case 502: file.partition_spec_id = values.non_negative_small(); break;
      case 517: {
        const std::int32_t content = values.non_negative_small();
        if (content > 1) return decoder.fail("an unknown manifest content");
        file.content = static_cast<ManifestContent>(content);
        break;
      }
      case 515: file.sequence_number = values.non_negative(); break;
      case 516: file.min_sequence_number = values.non_negative(); break;
      case 503: file.added_snapshot_id = values.integer(); break;
      case 504: file.added_files_count = values.non_negative_small(); break;
      case 505: file.existing_files_count = values.non_negative_small(); break;
      case 506: file.deleted_files_count = values.non_negative_small(); break;
      case 512: file.added_rows_count = values.non_negative(); break;
      case 513: file.existing_rows_count = values.non_negative(); break;
      case 514: file.deleted_rows_count = values.non_negative(); break;
      case 507: read_summaries(file.partitions, step, decoder); break;
      case 519: file.key_metadata = values.binary(step); break;
      default: file.first_row_id = values.non_negative(); break;
    }
  }

  void read_summaries(std::vector<FieldSummary>& summaries, const Step& list,
                      avro::Decoder& decoder) {
    ValueReader values(schema_, decoder, budget_);
    read_items(decoder, 1, [&] {
      if (!avro::read_presence(schema_, list.item, decoder)) {
        return decoder.fail("a null partition summary");
      }
      values.charge(sizeof(FieldSummary));
      if (!decoder.ok()) return;
      FieldSummary& summary = summaries.emplace_back();
      read_record(schema_, summary_plan_, decoder, [&](const Step& step) {
        switch (step.id) {
          case 509: summary.contains_null = decoder.read_boolean(); break;
          case 518: summary.contains_nan = decoder.read_boolean(); break;
          case 510: summary.lower_bound = values.binary(step); break;
          default: summary.upper_bound = values.binary(step); break;
        }
      });
    });
  }

  const avro::Schema& schema_;
  std::vector<Step> file_plan_;
  std::vector<Step> summary_plan_;
  std::size_t budget_ = kMemoryBudget;
};

}  // namespace

Result<std::vector<ManifestFile>> decode_manifest_list(std::string_view bytes,
                                                       std::size_t max_manifests) {
  DIL_TRY(const avro::ContainerReader file,
          avro::ContainerReader::open(bytes, {.max_records = max_manifests}));
  DIL_TRY(ListReader reader, ListReader::make(file.schema()));
  std::vector<ManifestFile> result;
  DIL_CHECK_OK(file.for_each([&](avro::Decoder& decoder) -> Status {
    DIL_TRY(ManifestFile manifest, reader.read(decoder));
    result.push_back(std::move(manifest));
    return {};
  }));
  return result;
}

}  // namespace duckicelake::manifest
