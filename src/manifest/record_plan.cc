// SPDX-License-Identifier: Apache-2.0
#include "manifest/record_plan.h"

#include <algorithm>

namespace duckicelake::manifest {
namespace {

using avro::Kind;

const KnownField* find_known(const avro::RecordField& field, std::span<const KnownField> known) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const KnownField& candidate) {
    return field.field_id ? candidate.id == *field.field_id : candidate.name == field.name;
  });
  return found == known.end() ? nullptr : &*found;
}

bool is_null(Kind kind) { return kind == Kind::kNull; }

// The slot of a map's value, or an error when the array does not hold records of an integer and a
// value.
Result<avro::Slot> map_value(const avro::Schema& schema, const avro::Node& array) {
  const avro::Node& pair = schema.node(array.children[0]);
  if (pair.kind == Kind::kRecord && pair.fields.size() == 2 &&
      avro::is_integer(schema.node(pair.fields[0].type).kind)) {
    return avro::resolve_slot(schema, pair.fields[1].type);
  }
  return invalid_argument("a map that is not a list of key-value records");
}

Status check_shape(const avro::Schema& schema, const KnownField& known, Step& step) {
  const avro::Node& node = schema.node(step.slot.type);
  if (is_null(node.kind)) return {};
  bool fits = false;
  switch (known.shape) {
    case Shape::kBoolean: fits = node.kind == Kind::kBoolean; break;
    case Shape::kInteger: fits = avro::is_integer(node.kind); break;
    case Shape::kBinary: fits = avro::is_binary(node.kind); break;
    case Shape::kRecord: fits = node.kind == Kind::kRecord; break;
    case Shape::kCounts:
    case Shape::kBounds: {
      if (node.kind != Kind::kArray) break;
      DIL_TRY(step.item, map_value(schema, node));
      const Kind value = schema.node(step.item.type).kind;
      fits = known.shape == Shape::kCounts ? avro::is_integer(value) : avro::is_binary(value);
      break;
    }
    case Shape::kIntegerList:
    case Shape::kRecordList: {
      if (node.kind != Kind::kArray) break;
      DIL_TRY(step.item, avro::resolve_slot(schema, node.children[0]));
      const Kind item = schema.node(step.item.type).kind;
      fits = known.shape == Shape::kIntegerList ? avro::is_integer(item) : item == Kind::kRecord;
      break;
    }
  }
  if (fits) return {};
  return invalid_argument("the field \"{}\" ({}) has an unexpected Avro type", known.name,
                          known.id);
}

}  // namespace

Result<std::vector<Step>> plan_record(const avro::Schema& schema, avro::NodeId record,
                                      std::span<const KnownField> known) {
  const avro::Node& node = schema.node(record);
  if (node.kind != Kind::kRecord)
    return invalid_argument("an Avro file whose items are no records");
  std::vector<Step> plan;
  std::vector<std::int32_t> seen;
  plan.reserve(node.fields.size());
  for (const avro::RecordField& field : node.fields) {
    Step step;
    step.type = field.type;
    if (const KnownField* match = find_known(field, known)) {
      DIL_TRY(step.slot, avro::resolve_slot(schema, field.type));
      DIL_CHECK_OK(check_shape(schema, *match, step));
      step.id = match->id;
      step.presence = match->presence;
      if (std::find(seen.begin(), seen.end(), match->id) != seen.end()) {
        return invalid_argument("the field \"{}\" ({}) occurs twice", match->name, match->id);
      }
      seen.push_back(match->id);
    }
    plan.push_back(step);
  }
  for (const KnownField& field : known) {
    if (field.presence == Presence::kRequired &&
        std::find(seen.begin(), seen.end(), field.id) == seen.end()) {
      return invalid_argument("the field \"{}\" ({}) is missing", field.name, field.id);
    }
  }
  return plan;
}

}  // namespace duckicelake::manifest
