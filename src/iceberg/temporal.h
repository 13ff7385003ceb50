// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::iceberg {

// Dates and times as Iceberg counts and writes them: proleptic Gregorian calendar, from 1970-01-01,
// UTC.

struct CivilDate {
  std::int64_t year = 1970;  // 0 is the year before 1
  int month = 1;
  int day = 1;
};
CivilDate civil_from_days(std::int64_t days);
std::int64_t days_from_civil(const CivilDate& date);

enum class TimeUnit : std::uint8_t { kMicros, kNanos };
enum class Zone : std::uint8_t { kNone, kUtc };
constexpr std::int64_t per_second(TimeUnit unit) {
  return unit == TimeUnit::kMicros ? 1'000'000 : 1'000'000'000;
}

// Quotient rounded towards minus infinity. Pre-condition: divisor > 0.
constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// ISO 8601 text of appendix D. The fraction always has 6 digits (9 for kNanos); years outside
// 0..9999 carry a sign ("-0044-03-15", "+12345-01-01"); kUtc appends "+00:00".
std::string date_to_text(std::int32_t days);
std::string time_to_text(std::int64_t micros);
std::string timestamp_to_text(std::int64_t value, TimeUnit unit, Zone zone);

// The reverse. Seconds and the fraction may be left out; digits that the unit cannot hold must be
// 0; kUtc requires "+00:00" or "Z", kNone forbids a zone. kInvalidArgument otherwise.
Result<std::int32_t> parse_date(std::string_view text);
Result<std::int64_t> parse_time(std::string_view text);
Result<std::int64_t> parse_timestamp(std::string_view text, TimeUnit unit, Zone zone);

}  // namespace duckicelake::iceberg
