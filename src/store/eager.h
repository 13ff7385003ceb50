// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "base/result.h"
#include "pg/connection.h"
#include "store/lake.h"

// What the process that publishes ahead of loads asks of PostgreSQL. The notification is sent by a
// trigger on ducklake_snapshot (lake_setup.h), with the name of the metadata schema.
namespace duckicelake::store {

// Takes the lake's session lock, if no other session holds it.
Result<bool> try_lead(pg::Connection& connection, const Lake& lake);
// Likewise for all shared catalogs of the database.
Result<bool> try_lead_shared(pg::Connection& connection);
// One channel for all lakes of a database: the metadata schema is in the payload.
Status listen_to_snapshots(pg::Connection& connection);
// Live tables whose newest change of data is not published yet.
Result<std::set<TableId>> load_stale_tables(pg::Connection& connection, const Lake& lake);
// Seconds since the snapshot was made, by PostgreSQL's clock.
Result<double> load_snapshot_age(pg::Connection& connection, const Lake& lake, SnapshotId snapshot);

}  // namespace duckicelake::store
