// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "manifest/manifest.h"
#include "manifest/record_plan.h"

namespace duckicelake::manifest {

// Reads the values of a planned record into our structs. `budget` bounds the memory that a small
// file can ask for by repeating tiny list elements: it counts bytes of what is built.
class ValueReader {
 public:
  ValueReader(const avro::Schema& schema, avro::Decoder& decoder, std::size_t& budget)
      : schema_(schema), decoder_(decoder), budget_(budget) {}

  std::int64_t integer() { return decoder_.read_long(); }
  std::int64_t non_negative();
  std::int32_t small_integer() { return decoder_.read_int(); }
  std::int32_t non_negative_small();
  std::string binary(const Step& step);
  // Ascending by id; a repeated id fails the decoder. Null values are left out.
  CountMap counts(const Step& step);
  BoundMap bounds(const Step& step);
  template <class Int>
  std::vector<Int> integers(const Step& step);

  // Takes `bytes` from the budget, or fails the decoder.
  void charge(std::size_t bytes);

 private:
  const avro::Schema& schema_;
  avro::Decoder& decoder_;
  std::size_t& budget_;
};

}  // namespace duckicelake::manifest
