// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/database.h"

namespace duckicelake::engine {

// Fills a table of the session with rows, in order, a vector at a time. Bytes are taken by length,
// so a zero byte is a byte like any other. Text must be valid UTF-8; the caller checks.
class BatchAppender {
 public:
  // `types` are those of the table: DUCKDB_TYPE_BIGINT, _VARCHAR or _BLOB. The session must outlive
  // this.
  static Result<std::unique_ptr<BatchAppender>> make(Session& session, const std::string& table,
                                                     std::span<const duckdb_type> types,
                                                     Operation operation);
  BatchAppender(const BatchAppender&) = delete;
  BatchAppender& operator=(const BatchAppender&) = delete;
  ~BatchAppender();

  void put_int64(std::size_t column, std::int64_t value);
  void put_bytes(std::size_t column, std::string_view value);
  void put_null(std::size_t column);
  Status end_row();
  // Call once after the last row; without it rows may be missing.
  Status finish();

 private:
  BatchAppender(Session& session, Operation operation);
  Status flush();
  Error appender_failure();

  Session& session_;
  Operation operation_;
  duckdb_appender appender_ = nullptr;
  duckdb_data_chunk chunk_ = nullptr;
  std::uint64_t row_ = 0;
};

}  // namespace duckicelake::engine
