// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace duckicelake::parquet {

// Wire types of Thrift's compact protocol.
enum class WireType : std::uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

// Reads hostile bytes in Thrift's compact protocol. A fault sticks: from then on every read gives
// nothing and every loop ends, so that callers look once, at the end. Work and memory are bounded
// by the input's length. Views point into the input.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : rest_(bytes) {}

  bool has_failed() const { return has_failed_; }
  void fail();

  // Calls on_field(id, type) for each field of a struct. It reads the field's value with a function
  // below, or calls skip(type).
  template <class OnField>
  void read_struct(OnField on_field) {
    if (++depth_ > kMaxDepth) fail();
    std::int16_t id = 0;
    WireType type = WireType::kStop;
    while (next_field(id, type)) on_field(id, type);
    --depth_;
  }
  // Calls on_element(type) for each element of a list. It reads or skips it.
  template <class OnElement>
  void read_list(WireType type, OnElement on_element) {
    WireType element = WireType::kStop;
    for (std::uint64_t left = begin_list(type, element); left > 0 && !has_failed_; --left) {
      on_element(element);
    }
  }

  // The value of a field whose wire type was `type`; another type than the function's is a fault.
  std::int64_t read_integer(WireType type);  // i8, i16, i32, i64
  std::int32_t read_int32(WireType type);    // also a fault beyond its range
  bool read_bool(WireType type);
  std::string_view read_binary(WireType type);
  void skip(WireType type);

 private:
  static constexpr int kMaxDepth = 32;

  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  std::string_view take(std::uint64_t count);
  bool next_field(std::int16_t& id, WireType& type);
  std::uint64_t begin_list(WireType type, WireType& element);
  void skip_element(WireType type);

  std::string_view rest_;
  int depth_ = 0;
  bool has_failed_ = false;
};

}  // namespace duckicelake::parquet
