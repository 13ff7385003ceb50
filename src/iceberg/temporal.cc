// SPDX-License-Identifier: Apache-2.0
#include "iceberg/temporal.h"

#include <limits>
#include <optional>

#include "iceberg/decimal.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kDaysPer400Years = 146'097;
constexpr std::int64_t kDaysFromMarchOfYear0 = 719'468;  // 0000-03-01 to 1970-01-01

bool is_leap_year(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int days_in_month(std::int64_t year, int month) {
  if (month == 2) return is_leap_year(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// What is left above the floored second. Not value - seconds * per_second: that product may lie
// below the 64-bit range.
std::int64_t fraction_of(std::int64_t value, TimeUnit unit) {
  std::int64_t rest = value % per_second(unit);
  return rest < 0 ? rest + per_second(unit) : rest;
}

std::string clock_to_text(std::int64_t seconds, std::int64_t fraction, TimeUnit unit) {
  std::string text =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return text + (unit == TimeUnit::kMicros ? fmt::format(".{:06}", fraction)
                                           : fmt::format(".{:09}", fraction));
}

// Reads from the front of a text; every step says whether it matched.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool accept(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool accept(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Between `least` and `most` digits, all that there are; -1 otherwise.
  std::int64_t digits(std::size_t least, std::size_t most) {
    std::int64_t number = 0;
    count_ = 0;
    while (count_ < rest_.size() && rest_[count_] >= '0' && rest_[count_] <= '9') {
      if (++count_ > most) return -1;
      number = number * 10 + (rest_[count_ - 1] - '0');
    }
    if (count_ < least) return -1;
    rest_.remove_prefix(count_);
    return number;
  }
  std::size_t digit_count() const { return count_; }

 private:
  std::string_view rest_;
  std::size_t count_ = 0;
};

std::optional<std::int64_t> scan_date(Scanner& scanner) {
  bool negative = scanner.accept('-');
  if (!negative) scanner.accept('+');
  std::int64_t year = scanner.digits(4, 7);
  if (year < 0 || !scanner.accept('-')) return std::nullopt;
  if (negative) year = -year;
  auto month = static_cast<int>(scanner.digits(2, 2));
  if (month < 1 || month > 12 || !scanner.accept('-')) return std::nullopt;
  auto day = static_cast<int>(scanner.digits(2, 2));
  if (day < 1 || day > days_in_month(year, month)) return std::nullopt;
  return days_from_civil({year, month, day});
}

// The time of day in units.
std::optional<std::int64_t> scan_clock(Scanner& scanner, TimeUnit unit) {
  std::int64_t hour = scanner.digits(2, 2);
  if (hour < 0 || hour > 23 || !scanner.accept(':')) return std::nullopt;
  std::int64_t minute = scanner.digits(2, 2);
  if (minute < 0 || minute > 59) return std::nullopt;
  std::int64_t second = 0;
  std::int64_t fraction = 0;
  if (scanner.accept(':')) {
    second = scanner.digits(2, 2);
    if (second < 0 || second > 59) return std::nullopt;
    if (scanner.accept('.')) {
      fraction = scanner.digits(1, 9);
      if (fraction < 0) return std::nullopt;
      for (std::size_t i = scanner.digit_count(); i < 9; ++i) fraction *= 10;
      if (unit == TimeUnit::kMicros) {
        if (fraction % 1000 != 0) return std::nullopt;
        fraction /= 1000;
      }
    }
  }
  return (hour * 3600 + minute * 60 + second) * per_second(unit) + fraction;
}

}  // namespace

// Years are counted from March, so that the leap day is the last of its year.
CivilDate civil_from_days(std::int64_t days) {
  std::int64_t shifted = days + kDaysFromMarchOfYear0;
  std::int64_t era = floor_divide(shifted, kDaysPer400Years);
  std::int64_t day_of_era = shifted - era * kDaysPer400Years;
  std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  std::int64_t march_month = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int>(day_of_year - (153 * march_month + 2) / 5 + 1);
  date.month = static_cast<int>(march_month < 10 ? march_month + 3 : march_month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

std::int64_t days_from_civil(const CivilDate& date) {
  std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  std::int64_t era = floor_divide(year, 400);
  std::int64_t year_of_era = year - era * 400;
  std::int64_t march_month = date.month > 2 ? date.month - 3 : date.month + 9;
  std::int64_t day_of_year = (153 * march_month + 2) / 5 + date.day - 1;
  return era * kDaysPer400Years + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
         day_of_year - kDaysFromMarchOfYear0;
}

std::string date_to_text(std::int32_t days) {
  CivilDate date = civil_from_days(days);
  std::int64_t magnitude = date.year < 0 ? -date.year : date.year;
  std::string_view sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  return fmt::format("{}{:04}-{:02}-{:02}", sign, magnitude, date.month, date.day);
}

std::string time_to_text(std::int64_t micros) {
  std::int64_t fraction = fraction_of(micros, TimeUnit::kMicros);
  return clock_to_text(floor_divide(micros, 1'000'000), fraction, TimeUnit::kMicros);
}

std::string timestamp_to_text(std::int64_t value, TimeUnit unit, Zone zone) {
  std::int64_t seconds = floor_divide(value, per_second(unit));
  std::int64_t fraction = fraction_of(value, unit);
  std::int64_t days = floor_divide(seconds, kSecondsPerDay);
  std::string text = date_to_text(static_cast<std::int32_t>(days)) + "T" +
                     clock_to_text(seconds - days * kSecondsPerDay, fraction, unit);
  return zone == Zone::kUtc ? text + "+00:00" : text;
}

Result<std::int32_t> parse_date(std::string_view text) {
  Scanner scanner(text);
  auto days = scan_date(scanner);
  if (!days || !scanner.done()) return invalid_argument("not a date of the form 2017-11-16");
  if (*days < std::numeric_limits<std::int32_t>::min() ||
      *days > std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument("the date is out of range");
  }
  return static_cast<std::int32_t>(*days);
}

Result<std::int64_t> parse_time(std::string_view text) {
  Scanner scanner(text);
  auto micros = scan_clock(scanner, TimeUnit::kMicros);
  if (!micros || !scanner.done()) return invalid_argument("not a time of the form 22:31:08.123456");
  return *micros;
}

Result<std::int64_t> parse_timestamp(std::string_view text, TimeUnit unit, Zone zone) {
  Scanner scanner(text);
  auto days = scan_date(scanner);
  bool well_formed = days.has_value() && scanner.accept('T');
  auto clock = well_formed ? scan_clock(scanner, unit) : std::nullopt;
  well_formed = clock.has_value();
  if (well_formed && zone == Zone::kUtc)
    well_formed = scanner.accept('Z') || scanner.accept("+00:00");
  if (!well_formed || !scanner.done()) {
    return invalid_argument("not a timestamp of the form 2017-11-16T22:31:08.123456{}",
                            zone == Zone::kUtc ? "+00:00" : "");
  }
  Int128 value = Int128{*days} * kSecondsPerDay * per_second(unit) + *clock;
  if (value < std::numeric_limits<std::int64_t>::min() ||
      value > std::numeric_limits<std::int64_t>::max()) {
    return invalid_argument("the timestamp is out of range");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace duckicelake::iceberg
