// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace duckicelake::objstore {

enum class Operation { kGet, kPut, kHead, kDelete, kList, kMultipart, kBucket, kSts };
inline constexpr std::size_t kOperationCount = 8;

enum class Outcome { kOk, kNotFound, kConflict, kDenied, kUnavailable, kTimeout, kError };
inline constexpr std::size_t kOutcomeCount = 7;

// "get", "put", …; metric label values.
std::string_view operation_name(Operation operation);
// "ok", "not_found", …
std::string_view outcome_name(Outcome outcome);

// Totals since the client was made. Each call counts once, whatever its attempts.
struct Counters {
  std::array<std::array<std::uint64_t, kOutcomeCount>, kOperationCount> calls{};
  std::uint64_t retries = 0;
  std::uint64_t bytes_in = 0;     // bodies only
  std::uint64_t bytes_out = 0;    // bodies only, resent bytes included
  std::uint64_t connections = 0;  // opened

  std::uint64_t of(Operation operation, Outcome outcome) const {
    return calls[static_cast<std::size_t>(operation)][static_cast<std::size_t>(outcome)];
  }
};

}  // namespace duckicelake::objstore
