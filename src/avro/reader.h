// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "avro/binary.h"
#include "avro/schema.h"

namespace duckicelake::avro {

// Reading by the writer's schema. What a file declares decides how its bytes are taken apart; these
// helpers map that to the few shapes that a caller asks for.

// A type, seen through ["null", T], [T, "null"] or T.
struct Slot {
  NodeId type = 0;                // T, never a union
  std::int64_t branches = 0;      // of the union; 0 = there is no union
  std::int64_t null_branch = -1;  // index of "null" among them

  bool is_optional() const { return null_branch >= 0; }
};
// kInvalidArgument for other unions.
Result<Slot> resolve_slot(const Schema& schema, NodeId id);

// True when a value of slot.type follows; false when it is null (or "null" is all the type there
// is).
bool read_presence(const Schema& schema, const Slot& slot, Decoder& decoder);

// Each reads one value of a type that the caller has checked with the matching `is_`.
// Promotions (Avro spec "Schema Resolution"): int to long, int or long or float to double.
bool is_integer(Kind kind);  // int, long
bool is_number(Kind kind);   // int, long, float, double
bool is_binary(Kind kind);   // bytes, string, fixed
double read_number(const Node& node, Decoder& decoder);
std::string_view read_binary(const Node& node, Decoder& decoder);

// Passes over one value of any type. Fails the decoder on malformed data, or on nesting deeper
// than 64.
void skip(const Schema& schema, NodeId id, Decoder& decoder);

}  // namespace duckicelake::avro
