// SPDX-License-Identifier: Apache-2.0
#include "manifest/value_reader.h"

#include <algorithm>
#include <limits>

namespace duckicelake::manifest {
namespace {

// Writers differ in the order of their maps.
template <class Map>
void sort_by_id(Map& map, avro::Decoder& decoder) {
  const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto same_id = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::is_sorted(map.begin(), map.end(), by_id)) std::sort(map.begin(), map.end(), by_id);
  if (std::adjacent_find(map.begin(), map.end(), same_id) != map.end()) {
    decoder.fail("a field id twice in one map");
  }
}

}  // namespace

void ValueReader::charge(std::size_t bytes) {
  if (bytes > budget_) return decoder_.fail("a manifest that would take too much memory");
  budget_ -= bytes;
}

std::int64_t ValueReader::non_negative() {
  const std::int64_t value = decoder_.read_long();
  if (value < 0) decoder_.fail("a negative size, count or position");
  return value;
}

std::int32_t ValueReader::non_negative_small() {
  const std::int32_t value = decoder_.read_int();
  if (value < 0) decoder_.fail("a negative id or count");
  return value;
}

std::string ValueReader::binary(const Step& step) {
  const std::string_view bytes = avro::read_binary(schema_.node(step.slot.type), decoder_);
  charge(bytes.size());
  return std::string(bytes);
}

CountMap ValueReader::counts(const Step& step) {
  CountMap result;
  read_items(decoder_, 2, [&] {
    const std::int32_t id = decoder_.read_int();
    if (!avro::read_presence(schema_, step.item, decoder_)) return;
    charge(sizeof(CountMap::value_type));
    if (decoder_.ok()) result.emplace_back(id, decoder_.read_long());
  });
  sort_by_id(result, decoder_);
  return result;
}

BoundMap ValueReader::bounds(const Step& step) {
  BoundMap result;
  const avro::Node& value = schema_.node(step.item.type);
  // A fixed value may be empty, so a key is all that an element is sure to take.
  read_items(decoder_, 1, [&] {
    const std::int32_t id = decoder_.read_int();
    if (!avro::read_presence(schema_, step.item, decoder_)) return;
    const std::string_view bytes = avro::read_binary(value, decoder_);
    charge(sizeof(BoundMap::value_type) + bytes.size());
    if (decoder_.ok()) result.emplace_back(id, bytes);
  });
  sort_by_id(result, decoder_);
  return result;
}

template <class Int>
std::vector<Int> ValueReader::integers(const Step& step) {
  std::vector<Int> result;
  read_items(decoder_, 1, [&] {
    if (!avro::read_presence(schema_, step.item, decoder_))
      return decoder_.fail("a null in a list");
    charge(sizeof(Int));
    const std::int64_t value = decoder_.read_long();
    if (value < std::numeric_limits<Int>::min() || value > std::numeric_limits<Int>::max()) {
      return decoder_.fail("an int of more than 32 bits");
    }
    if (decoder_.ok()) result.push_back(static_cast<Int>(value));
  });
  return result;
}

template std::vector<std::int32_t> ValueReader::integers(const Step& step);
template std::vector<std::int64_t> ValueReader::integers(const Step& step);

}  // namespace duckicelake::manifest
