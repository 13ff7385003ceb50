// SPDX-License-Identifier: Apache-2.0
#include "store/slot.h"

#include <array>

namespace duckicelake::store {
namespace {

using pg::Param;
using pg::RowReader;
using pg::Sql;
using pg::Statement;

constexpr int kMaxTries = 50;

// Our own processes queue here, so that they do not race each other for the same row.
constexpr Sql kQueue =
    "SELECT pg_advisory_xact_lock(hashtextextended('duckicelake slot ' || $1, 0))";

// Waits for a writer that holds the same snapshot id in an open transaction. No row comes back when
// that one commits: then its successor is asked for. The time is not now(): this transaction may
// have begun before the snapshot that it follows.
constexpr Sql kTake =
    "INSERT INTO {schema}.ducklake_snapshot (snapshot_id, snapshot_time, schema_version, "
    "next_catalog_id, next_file_id) "
    "SELECT snapshot_id + 1, greatest(clock_timestamp(), snapshot_time + interval '1 "
    "microsecond'), "
    "schema_version + $1, next_catalog_id + $2, next_file_id + $3 "
    "FROM {schema}.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1 ON CONFLICT DO NOTHING "
    "RETURNING snapshot_id, schema_version, next_catalog_id - $2, next_file_id - $3";

// What take_slot tells apart by it is how busy others are; nothing else depends on it.
constexpr std::string_view kOwnMark = R"({"duckicelake":true})";
constexpr Sql kForeign =
    "SELECT coalesce(max(s.snapshot_id), -1) FROM (SELECT snapshot_id FROM "
    "{schema}.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 64) AS s "
    "JOIN {schema}.ducklake_snapshot_changes c USING (snapshot_id) "
    "WHERE c.commit_extra_info IS NULL OR NOT starts_with(c.commit_extra_info, '{\"duckicelake\"')";

constexpr Sql kRefit =
    "UPDATE {schema}.ducklake_snapshot SET schema_version = $2, next_catalog_id = $3, "
    "next_file_id = $4 WHERE snapshot_id = $1";
// Nobody else can have made them: their ids follow one that only this transaction has.
constexpr Sql kFollow =
    "INSERT INTO {schema}.ducklake_snapshot (snapshot_id, snapshot_time, schema_version, "
    "next_catalog_id, next_file_id) "
    "SELECT $1 + n.place, f.snapshot_time + n.place * interval '1 microsecond', n.schema_version, "
    "n.catalog_id, n.file_id FROM {schema}.ducklake_snapshot f CROSS JOIN "
    "unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY "
    "AS n(schema_version, catalog_id, file_id, place) WHERE f.snapshot_id = $1";

constexpr Sql kRecord =
    "INSERT INTO {schema}.ducklake_snapshot_changes (snapshot_id, changes_made, author, "
    "commit_message, commit_extra_info) VALUES ($1, $2, $3, $4, $5)";

constexpr Sql kRaise =
    "INSERT INTO duckicelake.revision AS r (metadata_schema, value) VALUES ($1, 1) "
    "ON CONFLICT (metadata_schema) DO UPDATE SET value = r.value + 1";

}  // namespace

Result<Slot> take_slot(pg::Transaction& transaction, const Lake& lake, const SlotNeeds& needs) {
  const std::int64_t file_ids = needs.file_ids + 1;
  const std::array<Statement, 3> statements = {
      Statement{kQueue, {lake.metadata_schema.name()}, pg::Prepare::kCached, "queue for the slot"},
      Statement{pg::sql_for_schema(lake.metadata_schema, kTake),
                {std::int64_t{needs.changes_schema ? 1 : 0}, needs.catalog_ids, file_ids},
                pg::Prepare::kCached,
                "take the slot"},
      Statement{pg::sql_for_schema(lake.metadata_schema, kForeign), {}}};
  DIL_TRY(std::vector<pg::ResultSet> results, transaction.batch(statements));
  pg::ResultSet taken = std::move(results[1]);
  for (int attempt = 1; taken.empty() && attempt < kMaxTries; ++attempt) {
    DIL_TRY(taken, transaction.exec(statements[1]));
  }
  if (taken.empty()) {
    return Error(Code::kCommitFailed, "other writers keep committing to the catalog; try again");
  }
  RowReader in(taken.row(0));
  Slot slot;
  slot.snapshot = SnapshotId(in.int64());
  slot.schema_version = in.int64();
  slot.first_catalog_id = in.int64();
  slot.first_file_id = in.int64();
  DIL_CHECK_OK(in.status());
  DIL_TRY(std::int64_t foreign, results[2].row(0).int64(0));
  slot.newest_foreign = SnapshotId(foreign);
  return slot;
}

std::vector<Slot> spread_slots(pg::Transaction& transaction, const Lake& lake, const Slot& first,
                               const SlotNeeds& taken_with, std::span<const SlotNeeds> needs) {
  std::vector<Slot> out;
  std::vector<std::int64_t> versions, catalog_ids, file_ids;
  Slot next = first;
  if (taken_with.changes_schema) --next.schema_version;
  for (const SlotNeeds& need : needs) {
    if (need.changes_schema) ++next.schema_version;
    out.push_back(next);
    ++next.snapshot.value;
    next.first_catalog_id += need.catalog_ids;
    next.first_file_id += need.file_ids + 1;
    versions.push_back(next.schema_version);
    catalog_ids.push_back(next.first_catalog_id);
    file_ids.push_back(next.first_file_id);
  }
  if (!(needs.front() == taken_with)) {
    transaction.defer(
        Statement{pg::sql_for_schema(lake.metadata_schema, kRefit),
                  {first.snapshot, versions.front(), catalog_ids.front(), file_ids.front()}});
  }
  if (needs.size() > 1) {
    for (auto* values : {&versions, &catalog_ids, &file_ids}) values->erase(values->begin());
    transaction.defer(Statement{pg::sql_for_schema(lake.metadata_schema, kFollow),
                                {first.snapshot, Param::int64_array(versions),
                                 Param::int64_array(catalog_ids), Param::int64_array(file_ids)}});
  }
  return out;
}

Status record_slot(pg::Transaction& transaction, const Lake& lake, SnapshotId snapshot,
                   const SlotRecord& record) {
  transaction.defer(Statement{pg::sql_for_schema(lake.metadata_schema, kRecord),
                              {snapshot, record.changes_made, record.author, record.message,
                               record.extra.value_or(std::string(kOwnMark))}});
  return {};
}

Status raise_revision(pg::Transaction& transaction, const Lake& lake) {
  transaction.defer(Statement{kRaise, {lake.metadata_schema.name()}});
  return {};
}

}  // namespace duckicelake::store
