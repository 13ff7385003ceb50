// SPDX-License-Identifier: Apache-2.0
// Manifest lists: whole files, and records under a good header. What we can write again must come
// back equal.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "avro/container.h"
#include "manifest/manifest.h"
#include "manifest/manifest_schema.h"

namespace {

using namespace duckicelake;
using namespace duckicelake::manifest;

constexpr std::size_t kMaxManifests = 10'000;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_file(std::string_view bytes) {
  const Result<std::vector<ManifestFile>> files = decode_manifest_list(bytes, kMaxManifests);
  if (!files.has_value()) return check(files.error().code() == Code::kInvalidArgument);
  check(files->size() <= kMaxManifests);
  ManifestListHeader header;
  header.format_version = 3;
  const Result<std::string> again = encode_manifest_list(header, *files);
  if (!again.has_value()) return;
  const auto twice = decode_manifest_list(*again, kMaxManifests);
  check(twice.has_value() && *twice == *files);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size < 2 || data[0] == 'O') {
    fuzz_file(input);
    return 0;
  }
  avro::ContainerWriter writer(list_schema(data[0] % 2 == 0 ? 2 : 3), {}, avro::Codec::kNull);
  writer.record() += input.substr(2);
  for (std::uint8_t i = 0; i < data[1]; ++i) writer.end_record();
  fuzz_file(std::move(writer).finish());
  return 0;
}
