// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duckicelake::pg {

class Connection;

// The sending side of COPY ... FROM STDIN. Rows are buffered up to 64 KiB and then sent, so memory
// does not grow with their number. Destroyed without `finish`, it cancels the COPY: no row is
// stored.
class CopyIn {
 public:
  CopyIn(CopyIn&& other) noexcept;
  CopyIn& operator=(CopyIn&&) = delete;
  ~CopyIn();

  // One row of the text format; no value: NULL. A NUL in a value is kInvalidArgument.
  Status row(std::span<const std::optional<std::string_view>> fields);
  // Bytes in the format that the COPY statement names (rows may be split anywhere).
  Status raw(std::string_view bytes);
  // Rows stored. Not to be called twice.
  Result<std::int64_t> finish();

 private:
  friend class Connection;
  explicit CopyIn(Connection& connection) : connection_(&connection) {}
  Status send_buffer();

  Connection* connection_;  // null when finished
  std::string buffer_;
};

}  // namespace duckicelake::pg
