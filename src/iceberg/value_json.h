// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "iceberg/type.h"
#include "json/value.h"
#include "json/writer.h"

namespace duckicelake::iceberg {

// value_to_json and value_from_json_text (value.h) as parts of a larger document.
void write_value(json::Writer& writer, const Type& type, std::string_view value);
Result<ValueBytes> read_value(const Type& type, const json::Value& value);

}  // namespace duckicelake::iceberg
