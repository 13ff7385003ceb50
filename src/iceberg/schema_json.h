// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "iceberg/schema.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// A nested type takes up to three JSON levels a piece, more than the default limit has room for.
inline constexpr std::size_t kSchemaJsonDepth = 256;

// Spec appendix C, "Schemas". Reading checks each part by itself; check_schema checks the whole.
void write_type(json::Writer& writer, const Type& type);
Result<Type> read_type(const json::Value& value);
void write_schema(json::Writer& writer, const Schema& schema);
Result<Schema> read_schema(const json::Value& value);  // check_schema included

}  // namespace duckicelake::iceberg
