// SPDX-License-Identifier: Apache-2.0
#include "engine/maintenance.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/sql_text.h"

namespace duckicelake::engine {
namespace {

constexpr std::size_t kMaxExpired = 100'000;
constexpr int kMaxMergeRounds = 20;

struct TableInLake {
  std::int64_t id = 0;
  std::vector<std::string> inlined_tables;  // as names in PostgreSQL
};

// What the calls of one compaction share.
class Compaction {
 public:
  Compaction(Session& session, const std::string& metadata_schema, const TableToCompact& target)
      : session_(session),
        metadata_(quote_identifier(fmt::format("__ducklake_metadata_{}", kLakeName)) + "." +
                  quote_identifier(metadata_schema)),
        target_(target),
        operation_{fmt::format("compacting {}.{}", target.schema, target.table), Code::kInternal} {}

  Result<CompactReport> run(const CompactOptions& options);

 private:
  Result<TableInLake> find();
  Result<FileCounts> count_files(std::int64_t table);
  Result<std::int64_t> count_inlined_rows(const TableInLake& table);
  Status flush(const TableInLake& table);
  Status repeat_comment();
  Result<std::int64_t> call_on_table(std::string_view function, std::string_view more);
  Result<std::vector<std::string>> cleanup(std::chrono::seconds age, Upkeep mode);
  Result<std::int64_t> one_number(const std::string& sql, std::span<const Parameter> parameters);

  Session& session_;
  std::string metadata_;
  const TableToCompact& target_;
  Operation operation_;
};

Result<std::int64_t> Compaction::one_number(const std::string& sql,
                                            std::span<const Parameter> parameters) {
  DIL_TRY(Rows rows, session_.query(sql, parameters, operation_, Fetch::kAtOnce));
  DIL_TRY(const bool has_row, rows.next());
  if (!has_row || rows.is_null(0)) return 0;
  return rows.int64(0);
}

Result<TableInLake> Compaction::find() {
  const Parameter parameters[] = {target_.schema, target_.table};
  TableInLake found;
  DIL_TRY(Rows rows,
          session_.query(
              fmt::format("SELECT t.table_id::BIGINT, i.table_name::VARCHAR "
                          "FROM {0}.ducklake_table t JOIN {0}.ducklake_schema s USING (schema_id) "
                          "LEFT JOIN {0}.ducklake_inlined_data_tables i ON i.table_id = t.table_id "
                          "WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL AND "
                          "s.schema_name = $1 AND t.table_name = $2",
                          metadata_),
              parameters, operation_, Fetch::kAtOnce));
  bool has_table = false;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    has_table = true;
    found.id = rows.int64(0);
    if (!rows.is_null(1)) found.inlined_tables.emplace_back(rows.text(1));
  }
  if (has_table) return found;
  return make_error(Code::kNotFound, "there is no table {}.{}", target_.schema, target_.table);
}

Result<FileCounts> Compaction::count_files(std::int64_t table) {
  FileCounts counts;
  const auto count = [&](std::string_view kind) {
    return one_number(fmt::format("SELECT count(*) FROM {}.ducklake_{}_file WHERE table_id = {} "
                                  "AND end_snapshot IS NULL",
                                  metadata_, kind, table),
                      {});
  };
  DIL_TRY(counts.data_files, count("data"));
  DIL_TRY(counts.delete_files, count("delete"));
  return counts;
}

Result<std::int64_t> Compaction::count_inlined_rows(const TableInLake& table) {
  std::int64_t total = 0;
  for (const std::string& name : table.inlined_tables) {
    DIL_TRY(const std::int64_t rows,
            one_number(fmt::format("SELECT count(*) FROM {}.{}", metadata_, quote_identifier(name)),
                       {}));
    total += rows;
  }
  return total;
}

// A comment like the one that is there: it raises schema_version.
Status Compaction::repeat_comment() {
  const Parameter parameters[] = {target_.schema, target_.table};
  std::optional<std::string> comment;
  {
    DIL_TRY(Rows rows, session_.query(fmt::format("SELECT comment::VARCHAR FROM duckdb_tables() "
                                                  "WHERE database_name = '{}' AND schema_name = $1 "
                                                  "AND table_name = $2",
                                                  kLakeName),
                                      parameters, operation_, Fetch::kAtOnce));
    DIL_TRY(const bool has_row, rows.next());
    if (has_row) comment = rows.optional_text(0);
  }
  return session_.execute(
      fmt::format("COMMENT ON TABLE {}.{}.{} IS {}", kLakeName, quote_identifier(target_.schema),
                  quote_identifier(target_.table), comment ? quote_literal(*comment) : "NULL"),
      {}, operation_);
}

// DuckLake drops all inlined tables but the newest when it flushes, and tells nobody: open DuckDB
// sessions that know of the others fail on the table (some fatally) until schema_version moves. So
// it moves with the flush.
Status Compaction::flush(const TableInLake& table) {
  const std::string flush =
      fmt::format("CALL ducklake_flush_inlined_data('{}', schema_name => {}, table_name => {})",
                  kLakeName, quote_literal(target_.schema), quote_literal(target_.table));
  if (table.inlined_tables.size() < 2) return session_.execute(flush, {}, operation_);
  DIL_CHECK_OK(session_.execute("BEGIN", {}, operation_));
  DIL_CHECK_OK(session_.execute(flush, {}, operation_));
  DIL_CHECK_OK(repeat_comment());
  return session_.execute("COMMIT", {}, operation_);
}

// files_processed of a function that answers schema_name, table_name, files_processed,
// files_created.
Result<std::int64_t> Compaction::call_on_table(std::string_view function, std::string_view more) {
  DIL_TRY(Rows rows, session_.query(fmt::format("CALL {}('{}', {}, schema => {}{})", function,
                                                kLakeName, quote_literal(target_.table),
                                                quote_literal(target_.schema), more),
                                    {}, operation_, Fetch::kAtOnce));
  std::int64_t processed = 0;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return processed;
    if (!rows.is_null(2)) processed += rows.int64(2);
  }
}

Result<std::vector<std::string>> Compaction::cleanup(std::chrono::seconds age, Upkeep mode) {
  DIL_TRY(Rows rows,
          session_.query(fmt::format("CALL ducklake_cleanup_old_files('{}', older_than => now() - "
                                     "to_seconds({}){})",
                                     kLakeName, age.count(),
                                     mode == Upkeep::kDryRun ? ", dry_run => true" : ""),
                         {}, {"cleaning up old files", Code::kInternal}, Fetch::kAtOnce));
  std::vector<std::string> paths;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) return paths;
    if (!rows.is_null(0)) paths.emplace_back(rows.text(0));
  }
}

Result<CompactReport> Compaction::run(const CompactOptions& options) {
  CompactReport report;
  DIL_TRY(const TableInLake table, find());
  DIL_TRY(report.before, count_files(table.id));
  DIL_TRY(report.inlined_rows, count_inlined_rows(table));
  report.after = report.before;
  if (options.mode == Upkeep::kRun) {
    // Inlined deletes of rows in files are flushed too, so this is not for inlined rows alone.
    DIL_CHECK_OK(flush(table));
    // Files without deletes can be merged, so deletes are applied first.
    DIL_TRY(report.files_rewritten,
            call_on_table("ducklake_rewrite_data_files",
                          fmt::format(", delete_threshold => {}", options.delete_threshold)));
    for (int round = 0; round < kMaxMergeRounds; ++round) {
      DIL_TRY(const std::int64_t merged, call_on_table("ducklake_merge_adjacent_files", ""));
      report.files_merged += merged;
      if (merged == 0) break;
    }
    DIL_TRY(report.after, count_files(table.id));
  }
  if (options.cleanup_older_than) {
    DIL_TRY(report.removed_objects, cleanup(*options.cleanup_older_than, options.mode));
  }
  return report;
}

}  // namespace

Result<CompactReport> compact_table(Session& session, const std::string& metadata_schema,
                                    const TableToCompact& target, const CompactOptions& options) {
  if (!(options.delete_threshold >= 0 && options.delete_threshold <= 1)) {
    return invalid_argument("a share of deleted rows lies between 0 and 1");
  }
  if (options.cleanup_older_than && *options.cleanup_older_than < std::chrono::seconds(0)) {
    return invalid_argument("an age may not be below 0");
  }
  return Compaction(session, metadata_schema, target).run(options);
}

Result<std::vector<SnapshotId>> expire_snapshots(Session& session,
                                                 std::span<const SnapshotId> snapshots,
                                                 Upkeep mode) {
  std::vector<SnapshotId> expired;
  if (snapshots.empty()) return expired;
  if (snapshots.size() > kMaxExpired) {
    return make_error(Code::kPayloadTooLarge, "more than {} snapshots to expire", kMaxExpired);
  }
  std::string list;
  for (SnapshotId id : snapshots) {
    if (id.value < 0) return invalid_argument("{} is no snapshot", id.value);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", id.value);
  }
  DIL_TRY(Rows rows,
          session.query(
              fmt::format("CALL ducklake_expire_snapshots('{}', versions => [{}]{})", kLakeName,
                          list, mode == Upkeep::kDryRun ? ", dry_run => true" : ""),
              {}, {"expiring snapshots", Code::kInternal}, Fetch::kAtOnce));
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    if (!rows.is_null(0)) expired.emplace_back(rows.int64(0));
  }
  std::sort(expired.begin(), expired.end());
  return expired;
}

Result<CompactReport> compact_table(Lake& lake, const TableToCompact& target,
                                    const CompactOptions& options) {
  DIL_TRY(Session session, lake.session());
  return compact_table(session, lake.metadata_schema(), target, options);
}

Result<std::vector<SnapshotId>> expire_snapshots(Lake& lake, std::span<const SnapshotId> snapshots,
                                                 Upkeep mode) {
  DIL_TRY(Session session, lake.session());
  return expire_snapshots(session, snapshots, mode);
}

}  // namespace duckicelake::engine
