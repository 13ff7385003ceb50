// SPDX-License-Identifier: Apache-2.0
#include "pg/result_set.h"

#include <libpq-fe.h>

#include "pg/value.h"

namespace duckicelake::pg {

void ResultDeleter::operator()(pg_result* result) const { PQclear(result); }

std::size_t ResultSet::size() const { return static_cast<std::size_t>(PQntuples(handle_.get())); }

std::size_t ResultSet::columns() const {
  return static_cast<std::size_t>(PQnfields(handle_.get()));
}

std::string_view ResultSet::column_name(std::size_t column) const {
  const char* name = PQfname(handle_.get(), static_cast<int>(column));
  return name == nullptr ? std::string_view("?") : std::string_view(name);
}

std::int64_t ResultSet::affected() const {
  Result<std::int64_t> count = parse_int64(PQcmdTuples(handle_.get()));
  return count ? *count : 0;
}

std::string_view ResultSet::command_tag() const { return PQcmdStatus(handle_.get()); }

std::optional<std::string_view> ResultSet::value(std::size_t row, std::size_t column) const {
  DIL_ASSERT(row < size() && column < columns());
  const int r = static_cast<int>(row);
  const int c = static_cast<int>(column);
  if (PQgetisnull(handle_.get(), r, c) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(handle_.get(), r, c),
                          static_cast<std::size_t>(PQgetlength(handle_.get(), r, c)));
}

Row ResultSet::row(std::size_t index) const {
  DIL_ASSERT(index < size());
  return {*this, index};
}

Result<Row> ResultSet::only_row() const {
  if (size() != 1) {
    return make_error(Code::kCorruptData, "the database answered {} rows where one is expected",
                      size());
  }
  return row(0);
}

ResultSet::Iterator ResultSet::begin() const { return {*this, 0}; }
ResultSet::Iterator ResultSet::end() const { return {*this, size()}; }

Error Row::null_error(std::size_t column) const {
  return make_error(Code::kCorruptData, "the database column {} is unexpectedly NULL",
                    results_->column_name(column));
}

Error Row::with_column(Error error, std::size_t column) const {
  return std::move(error).with_context(
      fmt::format("database column {}", results_->column_name(column)));
}

template <class T, class Parse>
Result<T> Row::parsed(std::size_t column, Parse parse) const {
  const std::optional<std::string_view> text = (*this)[column];
  if (!text) return null_error(column);
  Result<T> value = parse(*text);
  if (!value) return with_column(std::move(value).error(), column);
  return value;
}

template <class T, class Parse>
Result<std::optional<T>> Row::optional_parsed(std::size_t column, Parse parse) const {
  if (is_null(column)) return std::optional<T>();
  DIL_TRY(T value, parsed<T>(column, parse));
  return std::optional<T>(std::move(value));
}

Result<std::string_view> Row::text(std::size_t column) const {
  const std::optional<std::string_view> text = (*this)[column];
  if (!text) return null_error(column);
  return *text;
}

Result<std::int64_t> Row::int64(std::size_t column) const {
  return parsed<std::int64_t>(column, parse_int64);
}
Result<bool> Row::boolean(std::size_t column) const { return parsed<bool>(column, parse_bool); }
Result<double> Row::float64(std::size_t column) const {
  return parsed<double>(column, parse_double);
}
Result<std::string> Row::bytea(std::size_t column) const {
  return parsed<std::string>(column, parse_bytea);
}
Result<std::vector<std::int64_t>> Row::int64_array(std::size_t column) const {
  return parsed<std::vector<std::int64_t>>(column, parse_int64_array);
}
Result<std::vector<std::optional<std::string>>> Row::text_array(std::size_t column) const {
  return parsed<std::vector<std::optional<std::string>>>(column, parse_text_array);
}
Result<std::optional<std::int64_t>> Row::optional_int64(std::size_t column) const {
  return optional_parsed<std::int64_t>(column, parse_int64);
}
Result<std::optional<bool>> Row::optional_boolean(std::size_t column) const {
  return optional_parsed<bool>(column, parse_bool);
}
Result<std::optional<double>> Row::optional_float64(std::size_t column) const {
  return optional_parsed<double>(column, parse_double);
}
Result<std::optional<std::string>> Row::optional_bytea(std::size_t column) const {
  return optional_parsed<std::string>(column, parse_bytea);
}

template <class T>
T RowReader::take(Result<T> result) {
  if (!result) {
    error_ = std::move(result).error();
    return T{};
  }
  return *std::move(result);
}

// Behind the last column, or after an error, there is nothing to read.
#define DIL_ROW_READER_GUARD(zero)                                                           \
  if (error_) return zero;                                                                   \
  if (column_ >= row_.size()) {                                                              \
    error_ = make_error(Code::kInternal, "a database row has only {} columns", row_.size()); \
    return zero;                                                                             \
  }

std::int64_t RowReader::int64() {
  DIL_ROW_READER_GUARD(0)
  return take(row_.int64(column_++));
}

bool RowReader::boolean() {
  DIL_ROW_READER_GUARD(false)
  return take(row_.boolean(column_++));
}

double RowReader::float64() {
  DIL_ROW_READER_GUARD(0)
  return take(row_.float64(column_++));
}

std::string RowReader::text() {
  DIL_ROW_READER_GUARD({})
  return std::string(take(row_.text(column_++)));
}

std::string RowReader::bytea() {
  DIL_ROW_READER_GUARD({})
  return take(row_.bytea(column_++));
}

std::vector<std::int64_t> RowReader::int64_array() {
  DIL_ROW_READER_GUARD({})
  return take(row_.int64_array(column_++));
}

std::optional<std::int64_t> RowReader::optional_int64() {
  DIL_ROW_READER_GUARD({})
  return take(row_.optional_int64(column_++));
}

std::optional<bool> RowReader::optional_boolean() {
  DIL_ROW_READER_GUARD({})
  return take(row_.optional_boolean(column_++));
}

std::optional<double> RowReader::optional_float64() {
  DIL_ROW_READER_GUARD({})
  return take(row_.optional_float64(column_++));
}

std::optional<std::string> RowReader::optional_text() {
  DIL_ROW_READER_GUARD({})
  const std::optional<std::string_view> text = row_[column_++];
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::optional<std::string> RowReader::optional_bytea() {
  DIL_ROW_READER_GUARD({})
  return take(row_.optional_bytea(column_++));
}

#undef DIL_ROW_READER_GUARD

Status RowReader::status() const {
  if (error_) return *error_;
  if (column_ != row_.size()) {
    return make_error(Code::kInternal, "a database row has {} columns, {} were read", row_.size(),
                      column_);
  }
  return {};
}

}  // namespace duckicelake::pg
