// SPDX-License-Identifier: Apache-2.0
// Puffin footers, deletion vectors, and bitmaps under a good frame. Positions must come back equal.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "puffin/deletion_vector.h"

namespace {

using namespace duckicelake;
using namespace duckicelake::puffin;

constexpr std::size_t kMaxPositions = 200'000;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_blob(std::string_view blob) {
  const Result<Positions> positions = decode_deletion_vector(blob, kMaxPositions);
  if (!positions.has_value()) return check(positions.error().code() == Code::kInvalidArgument);
  check(positions->size() <= kMaxPositions);
  check(std::is_sorted(positions->begin(), positions->end()));
  check(std::adjacent_find(positions->begin(), positions->end()) == positions->end());
  check(decode_deletion_vector(encode_deletion_vector(*positions), kMaxPositions).value() ==
        *positions);
}

void fuzz_file(std::string_view file) {
  const auto blobs = decode_puffin_footer(file);
  if (!blobs.has_value()) return check(blobs.error().code() == Code::kInvalidArgument);
  for (const BlobMetadata& blob : *blobs) {
    fuzz_blob(
        file.substr(static_cast<std::size_t>(blob.offset), static_cast<std::size_t>(blob.length)));
  }
}

std::string framed(std::string_view vector) {
  std::string body("\xD1\xD3\x39\x64", 4);
  body += vector;
  std::string blob;
  append_big_endian(blob, static_cast<std::uint32_t>(body.size()));
  blob += body;
  append_big_endian(blob, static_cast<std::uint32_t>(crc32_z(
                              0, reinterpret_cast<const Bytef*>(body.data()), body.size())));
  return blob;
}

std::string with_footer(std::string_view payload) {
  std::string file = "PFA1blobPFA1";
  file += payload;
  append_little_endian(file, static_cast<std::int32_t>(payload.size()));
  append_little_endian(file, std::uint32_t{0});
  return file + "PFA1";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size == 0 || data[0] == 'P') {
    fuzz_file(input);
    return 0;
  }
  switch (data[0] % 3) {
    case 0: fuzz_blob(input.substr(1)); break;
    case 1: fuzz_blob(framed(input.substr(1))); break;
    default: fuzz_file(with_footer(input.substr(1)));
  }
  return 0;
}
