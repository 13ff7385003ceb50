// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "iceberg/partition_spec.h"
#include "iceberg/value.h"

namespace duckicelake::translate {

// DuckLake keeps min and max as text (see docs/formats/stats.md). The value in Iceberg's binary
// form under `type`, or nullopt when the text is not one finite value of the type (infinity, BC
// dates out of range, a wider number than the type holds, malformed or hostile text): no bound is
// better than a wrong one. Integers parse under long and decimals, floats under double and so on,
// so that text written before a promotion still reads.
std::optional<iceberg::ValueBytes> value_from_stats_text(const iceberg::Type& type,
                                                         std::string_view text);

// As above but for the text of an identity partition value: booleans are true/false, blobs DuckDB's
// blob text (printable bytes literal, others \xHH), floats may be "nan".
std::optional<iceberg::ValueBytes> value_from_partition_text(const iceberg::Type& type,
                                                             std::string_view text);

enum class BoundSide { kLower, kUpper };

// A bound for the manifest: as value_from_stats_text, with strings and binary cut to Iceberg's 16
// code points (upper rounded up, or omitted), timestamps with nanoseconds floored or ceiled under a
// microsecond type, and -0.0 / +0.0 for a float zero as lower / upper.
std::optional<iceberg::ValueBytes> bound_from_stats_text(const iceberg::Type& type,
                                                         std::string_view text, BoundSide side);

}  // namespace duckicelake::translate
