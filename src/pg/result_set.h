// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct pg_result;

namespace duckicelake::pg {

class Row;

struct ResultDeleter {
  void operator()(pg_result* result) const;
};
using ResultHandle = std::unique_ptr<pg_result, ResultDeleter>;

// The rows of one statement, complete in memory, in PostgreSQL's text format. Movable; views and
// rows taken from it are valid while it lives (a move keeps the views, but not the Row objects).
class ResultSet {
 public:
  explicit ResultSet(ResultHandle handle) : handle_(std::move(handle)) {}

  std::size_t size() const;  // rows
  bool empty() const { return size() == 0; }
  std::size_t columns() const;
  std::string_view column_name(std::size_t column) const;
  // Rows that an INSERT, UPDATE, DELETE, MERGE, COPY or SELECT touched; 0 for other statements.
  std::int64_t affected() const;
  std::string_view command_tag() const;  // "INSERT 0 1", "COMMIT", ...

  // No value: SQL NULL. Pre-condition: row and column exist (checked, ends the process).
  std::optional<std::string_view> value(std::size_t row, std::size_t column) const;
  Row row(std::size_t index) const;
  // The row when there is exactly one, else kCorruptData.
  Result<Row> only_row() const;

  class Iterator;
  Iterator begin() const;
  Iterator end() const;

 private:
  ResultHandle handle_;
};

// One row. The getters that are not optional answer kCorruptData, naming the column, for NULL and
// for text that is not of the type asked for.
class Row {
 public:
  Row(const ResultSet& results, std::size_t index) : results_(&results), index_(index) {}

  std::size_t size() const { return results_->columns(); }
  std::optional<std::string_view> operator[](std::size_t column) const {
    return results_->value(index_, column);
  }
  bool is_null(std::size_t column) const { return !(*this)[column].has_value(); }

  Result<std::string_view> text(std::size_t column) const;
  Result<std::int64_t> int64(std::size_t column) const;
  Result<bool> boolean(std::size_t column) const;
  Result<double> float64(std::size_t column) const;
  Result<std::string> bytea(std::size_t column) const;
  Result<std::vector<std::int64_t>> int64_array(std::size_t column) const;
  Result<std::vector<std::optional<std::string>>> text_array(std::size_t column) const;

  Result<std::optional<std::int64_t>> optional_int64(std::size_t column) const;
  Result<std::optional<bool>> optional_boolean(std::size_t column) const;
  Result<std::optional<double>> optional_float64(std::size_t column) const;
  Result<std::optional<std::string>> optional_bytea(std::size_t column) const;

 private:
  Error null_error(std::size_t column) const;
  Error with_column(Error error, std::size_t column) const;
  template <class T, class Parse>
  Result<T> parsed(std::size_t column, Parse parse) const;
  template <class T, class Parse>
  Result<std::optional<T>> optional_parsed(std::size_t column, Parse parse) const;

  const ResultSet* results_;
  std::size_t index_;
};

// Reads the columns of a row from left to right and keeps the first error, so that a row reader is
// one line per field and one check at its end:
//   RowReader in(row);
//   file.id = DataFileId(in.int64());
//   file.path = in.text();
//   DIL_CHECK_OK(in.status());
// After an error the getters answer zero values.
class RowReader {
 public:
  explicit RowReader(const Row& row) : row_(row) {}

  std::int64_t int64();
  bool boolean();
  double float64();
  std::string text();
  std::string bytea();
  std::vector<std::int64_t> int64_array();
  std::optional<std::int64_t> optional_int64();
  std::optional<bool> optional_boolean();
  std::optional<double> optional_float64();
  std::optional<std::string> optional_text();
  std::optional<std::string> optional_bytea();
  void skip() { ++column_; }

  // Fails also when columns were left unread: reader and statement then disagree.
  Status status() const;

 private:
  template <class T>
  T take(Result<T> result);

  Row row_;
  std::size_t column_ = 0;
  std::optional<Error> error_;
};

class ResultSet::Iterator {
 public:
  Iterator(const ResultSet& results, std::size_t index) : results_(&results), index_(index) {}
  Row operator*() const { return {*results_, index_}; }
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.index_ == b.index_; }

 private:
  const ResultSet* results_;
  std::size_t index_;
};

}  // namespace duckicelake::pg
