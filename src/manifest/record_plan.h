// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "avro/reader.h"
#include "avro/schema.h"
#include "base/result.h"

namespace duckicelake::manifest {

// What a known field must look like in a file for us to read it.
enum class Shape : std::uint8_t {
  kBoolean,
  kInteger,  // int or long
  kBinary,   // string, bytes or fixed
  kCounts,   // map of integer to integer, stored as key-value records
  kBounds,   // map of integer to binary, stored as key-value records
  kIntegerList,
  kRecordList,
  kRecord,
};

enum class Presence : std::uint8_t { kRequired, kOptional };

struct KnownField {
  std::int32_t id = 0;
  std::string_view name;  // used only when the file gives no field id
  Shape shape = Shape::kInteger;
  Presence presence = Presence::kOptional;
};

// One field of a file's record, in the order of the file.
struct Step {
  static constexpr std::int32_t kSkip = -1;
  std::int32_t id = kSkip;  // of the KnownField, or kSkip
  avro::NodeId type = 0;    // as declared, for skipping
  avro::Slot slot;
  avro::Slot item;  // lists: the element; maps: the value
  Presence presence = Presence::kOptional;
};

// How to read a record whose fields the writer chose. kInvalidArgument when a known field has
// another shape, or a required one is missing.
Result<std::vector<Step>> plan_record(const avro::Schema& schema, avro::NodeId record,
                                      std::span<const KnownField> known);

// Takes one record from the decoder: passes over what is unknown or null, and calls `read(step)` to
// read each value that is there. A required field that is null fails the decoder.
template <class Read>
void read_record(const avro::Schema& schema, const std::vector<Step>& plan, avro::Decoder& decoder,
                 const Read& read) {
  for (const Step& step : plan) {
    if (!decoder.ok()) return;
    if (step.id == Step::kSkip) {
      avro::skip(schema, step.type, decoder);
    } else if (avro::read_presence(schema, step.slot, decoder)) {
      read(step);
    } else if (step.presence == Presence::kRequired) {
      decoder.fail("a required field is null");
    }
  }
}

// Calls `read_item()` for each element of an array; each takes at least `min_item_bytes`.
template <class ReadItem>
void read_items(avro::Decoder& decoder, std::size_t min_item_bytes, const ReadItem& read_item) {
  while (const std::size_t count = decoder.read_block_count(min_item_bytes)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!decoder.ok()) return;
      read_item();
    }
  }
}

}  // namespace duckicelake::manifest
