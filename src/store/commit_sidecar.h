// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "pg/transaction.h"
#include "store/lake.h"

// The sidecar's rows about what Iceberg clients committed.
namespace duckicelake::store {

// A snapshot that a client made.
struct ClientSnapshot {
  std::int64_t client_id = 0;  // as the client chose it
  SnapshotId ducklake_id;      // the DuckLake snapshot that it became, and its sequence number
  bool is_main = true;         // else on another branch or staged, published under client_id
  bool is_published = false;   // of those: its manifest list was written and it is in the metadata
  std::optional<std::int64_t> parent_id;  // as published; nullopt: none
  std::optional<std::int32_t> schema_id;
  std::string summary;                       // JSON object of strings, as the client sent it
  std::string manifest_list;                 // the client's
  std::optional<std::int64_t> first_row_id;  // v3
  std::optional<std::int64_t> added_rows;    // v3
  std::optional<std::string> key_id;
};

Status insert_client_snapshot(pg::Transaction& transaction, const Lake& lake, TableId table,
                              const ClientSnapshot& snapshot);
Result<std::optional<ClientSnapshot>> find_client_snapshot(pg::Connection& connection,
                                                           const Lake& lake, TableId table,
                                                           std::int64_t client_id);
// Those that became one of the given DuckLake snapshots on main.
Result<std::vector<ClientSnapshot>> load_client_snapshots(
    pg::Connection& connection, const Lake& lake, TableId table,
    std::span<const std::int64_t> ducklake_ids);
// Those beside main that were not published yet, in the order of their commits.
Result<std::vector<ClientSnapshot>> load_unpublished(pg::Connection& connection, const Lake& lake,
                                                     TableId table);
Status mark_published(pg::Transaction& transaction, const Lake& lake, TableId table,
                      std::span<const std::int64_t> client_ids);
// A snapshot of a branch (or a staged one) became a snapshot of main.
Status move_to_main(pg::Transaction& transaction, const Lake& lake, TableId table,
                    std::int64_t client_id, SnapshotId ducklake_id,
                    std::optional<std::int64_t> parent_id);

// What a commit leaves for the projection to publish. The table has a state already.
struct CommittedState {
  std::string document;
  std::string refs;
  std::int64_t spec_binding = -1;
  std::int64_t sort_binding = -1;
  std::int64_t main_after = -1;
  bool must_rewrite = false;  // or stays so
};
Status save_committed_state(pg::Transaction& transaction, const Lake& lake, TableId table,
                            const CommittedState& state);
Status change_table_properties(pg::Transaction& transaction, const Lake& lake, TableId table,
                               const std::map<std::string, std::string>& set,
                               std::span<const std::string> dropped);

// Manifest entries of new data files, as one Avro manifest whose entries run parallel to `ids`.
Status insert_committed_files(pg::Transaction& transaction, const Lake& lake, TableId table,
                              std::span<const std::int64_t> ids, std::string manifest);
struct CommittedFiles {
  std::string manifest;
  std::vector<std::pair<std::int64_t, std::int32_t>> files;  // data file id, index of its entry
};
// Of data files with an id of at least `min_file_id`.
Result<std::vector<CommittedFiles>> load_committed_files(pg::Connection& connection,
                                                         const Lake& lake, TableId table,
                                                         std::int64_t min_file_id);
Result<std::vector<CommittedFiles>> load_committed_files_of(pg::Connection& connection,
                                                            const Lake& lake, TableId table,
                                                            std::span<const std::int64_t> ids);

// What load_client_snapshots, load_unpublished and load_committed_files ask for, to be read ahead.
std::vector<pg::Statement> committed_statements(const Lake& lake, TableId table,
                                                std::span<const std::int64_t> ducklake_ids,
                                                std::int64_t min_file_id);

}  // namespace duckicelake::store
