// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::avro {

// Avro binary encoding (Avro spec "Binary Encoding"): each appends one value to `out`.
void append_long(std::string& out, std::int64_t value);  // int and long share the form
void append_boolean(std::string& out, bool value);
void append_float(std::string& out, float value);
void append_double(std::string& out, double value);
void append_bytes(std::string& out,
                  std::string_view bytes);  // bytes and string: length, then content

// Reads Avro binary from bytes that must outlive it; views it returns point into them.
//
// The first malformed value makes it fail for good: from then on every read returns zero or empty
// and `ok()` is false. So a caller may read a whole record and check once, as long as no loop
// trusts a value alone; `read_block_count` returns 0 after a failure and so ends the loops over
// arrays and maps.
//
// `spend` bounds the work that costs no input (arrays of nulls, empty records): without it a few
// bytes could ask for 2^63 steps.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes);

  bool ok() const { return error_ == nullptr; }
  // kInvalidArgument with the first failure.
  Status status() const;
  std::size_t remaining() const { return rest_.size(); }

  std::int64_t read_long();
  std::int32_t read_int();  // fails outside 32 bits
  bool read_boolean();      // fails on anything but 0 and 1
  float read_float();
  double read_double();
  std::string_view read_bytes();
  std::string_view read_fixed(std::size_t size);
  // The number of items in the next block of an array or a map, 0 after the last one. Fails when
  // the bytes that are left cannot hold that many items of at least `min_item_bytes` each (0 = not
  // checked).
  std::size_t read_block_count(std::size_t min_item_bytes);

  // `reason` must be a string literal.
  void fail(const char* reason);
  // Counts one step of work; fails when the input has had far more steps than bytes.
  void spend();

 private:
  std::string_view rest_;
  std::uint64_t steps_left_;
  const char* error_ = nullptr;
};

}  // namespace duckicelake::avro
