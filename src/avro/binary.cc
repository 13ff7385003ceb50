// SPDX-License-Identifier: Apache-2.0
#include "avro/binary.h"

#include <bit>
#include <limits>

#include "base/bytes.h"

namespace duckicelake::avro {
namespace {

// Work that is allowed: some for nothing, and more than any sensible schema needs for each byte.
constexpr std::uint64_t kFreeSteps = 100'000;
constexpr std::uint64_t kStepsPerByte = 8;

}  // namespace

void append_long(std::string& out, std::int64_t value) {
  auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  while (bits >= 0x80) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(bits | 0x80)));
    bits >>= 7;
  }
  out.push_back(static_cast<char>(static_cast<unsigned char>(bits)));
}

void append_boolean(std::string& out, bool value) { out.push_back(value ? '\1' : '\0'); }

void append_float(std::string& out, float value) {
  append_little_endian(out, std::bit_cast<std::uint32_t>(value));
}

void append_double(std::string& out, double value) {
  append_little_endian(out, std::bit_cast<std::uint64_t>(value));
}

void append_bytes(std::string& out, std::string_view bytes) {
  append_long(out, static_cast<std::int64_t>(bytes.size()));
  out.append(bytes);
}

Decoder::Decoder(std::string_view bytes)
    : rest_(bytes), steps_left_(kFreeSteps + kStepsPerByte * bytes.size()) {}

Status Decoder::status() const {
  if (error_ == nullptr) return {};
  return invalid_argument("malformed Avro data: {}", error_);
}

void Decoder::fail(const char* reason) {
  if (error_ == nullptr) error_ = reason;
  rest_ = {};
}

void Decoder::spend() {
  if (steps_left_ == 0) return fail("more items than the input can justify");
  --steps_left_;
}

std::int64_t Decoder::read_long() {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    if (i >= rest_.size()) break;
    const auto byte = static_cast<unsigned char>(rest_[i]);
    // The tenth byte holds the last bit of 64.
    if (i == 9 && byte > 1) break;
    bits |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    }
  }
  fail(rest_.size() < 10 ? "the input ends inside a number" : "a number of more than 64 bits");
  return 0;
}

std::int32_t Decoder::read_int() {
  const std::int64_t value = read_long();
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    fail("an int of more than 32 bits");
    return 0;
  }
  return static_cast<std::int32_t>(value);
}

bool Decoder::read_boolean() {
  const std::string_view byte = read_fixed(1);
  if (byte.empty()) return false;
  if (static_cast<unsigned char>(byte[0]) > 1) {
    fail("a boolean that is neither 0 nor 1");
    return false;
  }
  return byte[0] == '\1';
}

float Decoder::read_float() {
  const std::string_view bytes = read_fixed(sizeof(float));
  return bytes.empty() ? 0 : std::bit_cast<float>(read_little_endian<std::uint32_t>(bytes));
}

double Decoder::read_double() {
  const std::string_view bytes = read_fixed(sizeof(double));
  return bytes.empty() ? 0 : std::bit_cast<double>(read_little_endian<std::uint64_t>(bytes));
}

std::string_view Decoder::read_bytes() {
  const std::int64_t length = read_long();
  if (length < 0) {
    fail("a negative length");
    return {};
  }
  return read_fixed(static_cast<std::size_t>(length));
}

std::string_view Decoder::read_fixed(std::size_t size) {
  if (size > rest_.size()) {
    fail("the input ends inside a value");
    return {};
  }
  const std::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

std::size_t Decoder::read_block_count(std::size_t min_item_bytes) {
  std::int64_t count = read_long();
  if (count < 0) {
    // A negative count is followed by the block's size in bytes, which lets readers skip it.
    const std::int64_t size = read_long();
    if (count == std::numeric_limits<std::int64_t>::min() || size < 0 ||
        static_cast<std::uint64_t>(size) > rest_.size()) {
      fail("a block size beyond the input");
      return 0;
    }
    count = -count;
  }
  const auto items = static_cast<std::uint64_t>(count);
  if (min_item_bytes > 0 && items > rest_.size() / min_item_bytes) {
    fail("more items than bytes");
    return 0;
  }
  // After a failure rest_ is empty and read_long returned 0.
  return ok() ? static_cast<std::size_t>(items) : 0;
}

}  // namespace duckicelake::avro
