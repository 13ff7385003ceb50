// SPDX-License-Identifier: Apache-2.0
// Avro container files: whatever opens is walked by its own schema, and its schema survives being
// written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "avro/container.h"
#include "avro/reader.h"

namespace {

using namespace duckicelake;
using namespace duckicelake::avro;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_container(std::string_view bytes) {
  ReadLimits limits;
  limits.max_records = 10'000;
  limits.max_block_bytes = limits.max_total_bytes = kMaxBytes;
  const Result<ContainerReader> file = ContainerReader::open(bytes, limits);
  if (!file.has_value()) return;
  const Status status = file->for_each([&](Decoder& decoder) -> Status {
    skip(file->schema(), file->schema().root(), decoder);
    return decoder.status();
  });
  if (!status.has_value()) check(status.error().code() == Code::kInvalidArgument);
}

void fuzz_schema(std::string_view json, std::string_view data) {
  const Result<Schema> schema = Schema::parse(json);
  if (!schema.has_value()) return;
  // A name without a namespace cannot be referred to from inside one, so only names without dots
  // must come back as they were.
  if (json.find('.') == std::string_view::npos &&
      json.find("namespace") == std::string_view::npos) {
    const std::string written = schema->to_json();
    const Result<Schema> again = Schema::parse(written);
    check(again.has_value() && again->to_json() == written);
  }
  Decoder decoder(data);
  skip(*schema, schema->root(), decoder);
}

void fuzz_codec(Codec codec, std::string_view bytes) {
  const Result<std::string> plain = decompress(codec, bytes, kMaxBytes);
  if (plain.has_value()) check(plain->size() <= kMaxBytes);
  check(decompress(codec, compress(codec, bytes), bytes.size()).value() == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0: fuzz_codec(Codec::kDeflate, input); break;
    case 1: fuzz_codec(Codec::kZstandard, input); break;
    case 2: fuzz_codec(Codec::kSnappy, input); break;
    case 3: {
      const std::size_t split = input.find('\0');
      fuzz_schema(input.substr(0, split),
                  split == std::string_view::npos ? "" : input.substr(split + 1));
      break;
    }
    // 'O' of a plain file's magic, so that real files are a corpus.
    default:
      fuzz_container(data[0] == 'O' ? std::string_view(reinterpret_cast<const char*>(data), size)
                                    : input);
  }
  return 0;
}
