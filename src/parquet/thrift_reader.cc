// SPDX-License-Identifier: Apache-2.0
#include "parquet/thrift_reader.h"

#include <limits>

namespace duckicelake::parquet {

void ThriftReader::fail() {
  has_failed_ = true;
  rest_ = {};
}

std::string_view ThriftReader::take(std::uint64_t count) {
  if (count > rest_.size()) {
    fail();
    return {};
  }
  const std::string_view out = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(static_cast<std::size_t>(count));
  return out;
}

std::uint8_t ThriftReader::byte() {
  const std::string_view one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    value |= std::uint64_t{next & 0x7FU} << shift;
    if ((next & 0x80U) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t ThriftReader::zigzag() {
  const std::uint64_t value = varint();
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

bool ThriftReader::next_field(std::int16_t& id, WireType& type) {
  const std::uint8_t head = byte();
  if (has_failed_ || head == 0) return false;
  type = static_cast<WireType>(head & 0x0FU);
  const std::int64_t next = head >> 4U == 0 ? zigzag() : std::int64_t{id} + (head >> 4U);
  if (next < std::numeric_limits<std::int16_t>::min() ||
      next > std::numeric_limits<std::int16_t>::max()) {
    fail();
    return false;
  }
  id = static_cast<std::int16_t>(next);
  return !has_failed_;
}

std::uint64_t ThriftReader::begin_list(WireType type, WireType& element) {
  if (type != WireType::kList && type != WireType::kSet) {
    fail();
    return 0;
  }
  const std::uint8_t head = byte();
  element = static_cast<WireType>(head & 0x0FU);
  const std::uint64_t count = head >> 4U == 15 ? varint() : head >> 4U;
  // Each element takes a byte at least.
  if (count > rest_.size()) fail();
  return has_failed_ ? 0 : count;
}

std::int64_t ThriftReader::read_integer(WireType type) {
  switch (type) {
    case WireType::kByte: return static_cast<std::int8_t>(byte());
    case WireType::kInt16:
    case WireType::kInt32:
    case WireType::kInt64: return zigzag();
    default: fail(); return 0;
  }
}

std::int32_t ThriftReader::read_int32(WireType type) {
  const std::int64_t value = read_integer(type);
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    fail();
    return 0;
  }
  return static_cast<std::int32_t>(value);
}

bool ThriftReader::read_bool(WireType type) {
  if (type != WireType::kTrue && type != WireType::kFalse) fail();
  return type == WireType::kTrue;
}

std::string_view ThriftReader::read_binary(WireType type) {
  if (type != WireType::kBinary) {
    fail();
    return {};
  }
  return take(varint());
}

// In lists and maps a boolean takes a byte; in a field its type says it.
void ThriftReader::skip_element(WireType type) {
  if (type == WireType::kTrue || type == WireType::kFalse) {
    byte();
  } else {
    skip(type);
  }
}

void ThriftReader::skip(WireType type) {
  if (has_failed_) return;
  switch (type) {
    case WireType::kTrue:
    case WireType::kFalse: return;
    case WireType::kByte: byte(); return;
    case WireType::kInt16:
    case WireType::kInt32:
    case WireType::kInt64: varint(); return;
    case WireType::kDouble: take(8); return;
    case WireType::kBinary: take(varint()); return;
    case WireType::kStruct:
      read_struct([this](std::int16_t, WireType field) { skip(field); });
      return;
    case WireType::kList:
    case WireType::kSet:
      if (++depth_ > kMaxDepth) fail();
      read_list(type, [this](WireType element) { skip_element(element); });
      --depth_;
      return;
    case WireType::kMap: {
      if (++depth_ > kMaxDepth) fail();
      const std::uint64_t count = varint();
      if (count > rest_.size()) fail();
      const std::uint8_t types = count == 0 ? std::uint8_t{0} : byte();
      for (std::uint64_t i = 0; i < count && !has_failed_; ++i) {
        skip_element(static_cast<WireType>(types >> 4U));
        skip_element(static_cast<WireType>(types & 0x0FU));
      }
      --depth_;
      return;
    }
    default: fail(); return;
  }
}

}  // namespace duckicelake::parquet
