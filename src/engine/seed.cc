// SPDX-License-Identifier: Apache-2.0
#include "engine/seed.h"

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace duckicelake::engine {
namespace {

constexpr const char* kCreateSchema = "CREATE SCHEMA IF NOT EXISTS lake.analytics";

constexpr const char* kCreateCustomers =
    "CREATE TABLE lake.analytics.customers ("
    "customer_id BIGINT NOT NULL, name VARCHAR NOT NULL, email VARCHAR, country VARCHAR, "
    "created_at TIMESTAMPTZ)";

constexpr const char* kInsertCustomers =
    "INSERT INTO lake.analytics.customers VALUES "
    "(1, 'Ada Okafor', 'ada.okafor@example.com', 'NG', '2025-01-14 09:12:31+00'), "
    "(2, 'Bruno Keller', 'bruno.keller@example.com', 'DE', '2025-01-20 16:40:05+00'), "
    "(3, 'Chloé Martin', 'chloe.martin@example.com', 'FR', '2025-02-03 11:05:47+00'), "
    "(4, 'Daichi Mori', 'daichi.mori@example.com', 'JP', '2025-02-18 01:33:20+00'), "
    "(5, 'Elena Rossi', 'elena.rossi@example.com', 'IT', '2025-03-01 13:27:58+00'), "
    "(6, 'Farid Haddad', NULL, 'MA', '2025-03-09 08:00:00+00'), "
    "(7, 'Grace Lin', 'grace.lin@example.com', 'US', '2025-03-22 22:51:16+00'), "
    "(8, 'Henrik Sørensen', 'henrik.sorensen@example.com', 'DK', '2025-04-02 06:18:44+00')";

constexpr const char* kCreateOrders =
    "CREATE TABLE lake.analytics.orders ("
    "order_id BIGINT NOT NULL, customer_id BIGINT NOT NULL, amount DECIMAL(10,2), "
    "status VARCHAR, ordered_at TIMESTAMPTZ)";

constexpr const char* kInsertFirstOrders =
    "INSERT INTO lake.analytics.orders VALUES "
    "(1001, 1, 120.50, 'delivered', '2025-04-05 10:15:00+00'), "
    "(1002, 3, 75.00, 'delivered', '2025-04-06 12:47:09+00'), "
    "(1003, 2, 312.99, 'delivered', '2025-04-08 18:02:55+00'), "
    "(1004, 5, 19.90, 'returned', '2025-04-11 07:30:12+00'), "
    "(1005, 1, 58.25, 'delivered', '2025-04-13 15:21:40+00'), "
    "(1006, 7, 1049.00, 'delivered', '2025-04-16 23:59:59+00'), "
    "(1007, 4, 33.40, 'cancelled', '2025-04-19 02:11:33+00'), "
    "(1008, 8, 240.00, 'delivered', '2025-04-22 09:45:18+00'), "
    "(1009, 3, 89.95, 'shipped', '2025-04-25 14:08:27+00'), "
    "(1010, 6, 5.60, 'shipped', '2025-04-28 19:36:51+00')";

constexpr const char* kInsertLaterOrders =
    "INSERT INTO lake.analytics.orders VALUES "
    "(1011, 2, 410.75, 'shipped', '2025-05-02 08:22:14+00'), "
    "(1012, 7, 64.30, 'pending', '2025-05-03 17:55:00+00'), "
    "(1013, 5, 150.00, 'pending', '2025-05-05 11:13:42+00'), "
    "(1014, 1, 27.80, 'pending', '2025-05-06 20:40:36+00'), "
    "(1015, 4, 999.99, 'pending', '2025-05-07 03:05:29+00')";

constexpr const char* kCommentOrders =
    "COMMENT ON TABLE lake.analytics.orders IS 'Example orders, one row per order'";

Result<std::int64_t> count_of(Lake& lake, const std::string& sql) {
  DIL_TRY(const auto rows, lake.query_text(sql));
  std::int64_t count = 0;
  if (rows.size() == 1 && rows[0].size() == 1 && rows[0][0]) {
    const std::string& text = *rows[0][0];
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failure == std::errc() && end == text.data() + text.size()) return count;
  }
  return make_error(Code::kInternal, "the lake gave no count");
}

Result<bool> has_table(Lake& lake, std::string_view name) {
  DIL_TRY(const std::int64_t count,
          count_of(lake, fmt::format("SELECT count(*) FROM duckdb_tables() WHERE database_name = "
                                     "'lake' AND schema_name = 'analytics' AND table_name = '{}'",
                                     name)));
  return count > 0;
}

Status in_transaction(Lake& lake, std::vector<std::string> statements) {
  statements.insert(statements.begin(), "BEGIN");
  statements.emplace_back("COMMIT");
  return lake.run_statements(statements);
}

// Adds what is missing and counts it in `report`, which keeps what was added when a later step
// fails.
Status add_missing(Lake& lake, SeedReport& report) {
  // A table and its first rows are one transaction, so a table that exists was seeded: rows which
  // are not there any more were deleted by somebody.
  DIL_TRY(const bool has_customers, has_table(lake, "customers"));
  if (!has_customers) {
    DIL_CHECK_OK(in_transaction(lake, {kCreateSchema, kCreateCustomers, kInsertCustomers}));
    report.customers_added = 8;
  }
  DIL_TRY(const bool has_orders, has_table(lake, "orders"));
  if (!has_orders) {
    DIL_CHECK_OK(in_transaction(lake, {kCreateSchema, kCreateOrders, kInsertFirstOrders}));
    report.orders_added = 10;
  }
  // The comment comes with the later orders. It marks them as written, and of two seeders that run
  // at the same moment the second is refused: two inserts would both be accepted.
  DIL_TRY(const std::int64_t unfinished,
          count_of(lake,
                   "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake' AND "
                   "schema_name = 'analytics' AND table_name = 'orders' AND comment IS NULL"));
  if (unfinished > 0) {
    DIL_CHECK_OK(in_transaction(lake, {kInsertLaterOrders, kCommentOrders}));
    report.orders_added += 5;
  }
  return {};
}

}  // namespace

Result<SeedReport> seed_lake(Lake& lake) {
  constexpr int kAttempts = 5;  // another seeder may win each of the three steps
  const auto is_lost_race = [](const Status& status) {
    return !status && (status.error().code() == Code::kCommitFailed ||
                       status.error().code() == Code::kAlreadyExists);
  };
  SeedReport report;
  Status added = add_missing(lake, report);
  for (int attempt = 1; attempt < kAttempts && is_lost_race(added); ++attempt) {
    added = add_missing(lake, report);
  }
  DIL_CHECK_OK(added);
  DIL_TRY(report.customers_total, count_of(lake, "SELECT count(*) FROM lake.analytics.customers"));
  DIL_TRY(report.orders_total, count_of(lake, "SELECT count(*) FROM lake.analytics.orders"));
  return report;
}

}  // namespace duckicelake::engine
