// SPDX-License-Identifier: Apache-2.0
// Manifests: whole files, and records under a good header. What we can write again must come back
// equal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "avro/container.h"
#include "iceberg/table_metadata.h"
#include "manifest/manifest.h"
#include "manifest/manifest_schema.h"
#include "manifest/test_manifests.h"

namespace {

using namespace duckicelake;
using namespace duckicelake::manifest;

constexpr std::size_t kMaxEntries = 10'000;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_file(std::string_view bytes) {
  Result<DecodedManifest> decoded = decode_manifest(bytes, kMaxEntries);
  if (!decoded.has_value()) return check(decoded.error().code() == Code::kInvalidArgument);
  check(decoded->entries.size() <= kMaxEntries);
  if (const auto summary = summarize(decoded->header, decoded->entries, 1, 1);
      summary.has_value()) {
    check(summary->partitions.size() == decoded->header.spec.fields.size());
  }
  std::vector<ManifestEntry> entries = decoded->entries;
  (void)inherit(ManifestFile{}, entries).has_value();
  const Result<std::string> again = encode_manifest(decoded->header, decoded->entries);
  if (!again.has_value()) return;
  const Result<DecodedManifest> twice = decode_manifest(*again, kMaxEntries);
  check(twice.has_value() && twice->entries == decoded->entries);
}

// The input as the block of a manifest with every partition type.
void fuzz_records(int format_version, std::uint8_t count, std::string_view bytes) {
  std::vector<testing::TestColumn> columns = testing::test_columns();
  const ManifestHeader header = testing::header_of(columns, 3);
  std::string schema;
  iceberg::schema_to_json(header.schema, schema);
  std::string fields;
  iceberg::partition_fields_to_json(header.spec, fields);
  avro::ContainerWriter writer(
      entry_schema(format_version, partition_columns(header.schema, header.spec).value()),
      {{"schema", schema},
       {"partition-spec", fields},
       {"format-version", std::to_string(format_version)}},
      avro::Codec::kNull);
  writer.record() += bytes;
  for (std::uint8_t i = 0; i < count; ++i) writer.end_record();
  fuzz_file(std::move(writer).finish());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size < 2 || data[0] == 'O') {
    fuzz_file(input);
  } else {
    fuzz_records(data[0] % 2 == 0 ? 2 : 3, data[1], input.substr(2));
  }
  return 0;
}
