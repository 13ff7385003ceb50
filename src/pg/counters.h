// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace duckicelake::pg {

// What was asked of PostgreSQL. Statements are those of callers: neither BEGIN, COMMIT and ROLLBACK
// of Transaction nor what keeps the session in order.
struct Cost {
  std::uint64_t statements = 0;
  std::uint64_t rows_read = 0;
  std::uint64_t round_trips = 0;  // waits for an answer, session set-up and pings included

  friend Cost operator-(const Cost& a, const Cost& b) {
    return {a.statements - b.statements, a.rows_read - b.rows_read, a.round_trips - b.round_trips};
  }
  friend bool operator==(const Cost&, const Cost&) = default;
};

// A sum over the connections of a pool. Thread-safe.
struct CostCounters {
  std::atomic<std::uint64_t> statements{0};
  std::atomic<std::uint64_t> rows_read{0};
  std::atomic<std::uint64_t> round_trips{0};

  void add(const Cost& cost) {
    statements.fetch_add(cost.statements, std::memory_order_relaxed);
    rows_read.fetch_add(cost.rows_read, std::memory_order_relaxed);
    round_trips.fetch_add(cost.round_trips, std::memory_order_relaxed);
  }
  Cost snapshot() const {
    return {statements.load(std::memory_order_relaxed), rows_read.load(std::memory_order_relaxed),
            round_trips.load(std::memory_order_relaxed)};
  }
};

}  // namespace duckicelake::pg
