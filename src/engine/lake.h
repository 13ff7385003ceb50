// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/lake_attach.h"

namespace duckicelake::engine {

class TempFolder;

// A DuckLake attached with an owner's rights in an instance of its own, for `init`, `seed` and
// maintenance. It runs SQL that the project itself wrote and nothing else: no text of a user may
// get here. In SQL the lake is `lake`; data goes to Parquet, never inlined. One call at a time.
class Lake {
 public:
  using Row = std::vector<std::optional<std::string>>;

  // With kCreateIfMissing the PostgreSQL schema and DuckLake's tables are made if absent (the
  // database and a role that may CREATE in it must exist). kUnavailable when PostgreSQL is away;
  // kInvalidArgument when the lake cannot be attached: another data path, a format of another
  // version, no rights.
  static Result<std::unique_ptr<Lake>> open(const EngineConfig& engine, const LakeConfig& lake,
                                            AttachMode mode);
  ~Lake();

  // The statements one after the other, each in its own transaction (or between BEGIN and COMMIT of
  // the list). Stops at the first failure and rolls an open transaction back.
  Status run_statements(std::span<const std::string> statements);
  // One SELECT; all columns as text. At most 10,000 rows.
  Result<std::vector<Row>> query_text(const std::string& sql);
  // For the other parts of the engine (maintenance.h); ends by the engine's call timeout.
  Result<Session> session();
  const std::string& metadata_schema() const { return metadata_schema_; }

 private:
  Lake(std::chrono::milliseconds timeout, std::string metadata_schema,
       std::unique_ptr<TempFolder> folder, std::unique_ptr<Database> database);
  Status run_all(Session& session, std::span<const std::string> statements);

  std::chrono::milliseconds timeout_;
  std::string metadata_schema_;
  std::unique_ptr<TempFolder> folder_;
  std::unique_ptr<Database> database_;
};

// Makes the lake if it is not there: ATTACH with kCreateIfMissing, and nothing more (the object
// store is not touched). Several processes may do it at the same moment.
Status create_lake(const EngineConfig& engine, const LakeConfig& lake);

}  // namespace duckicelake::engine
