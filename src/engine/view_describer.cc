// SPDX-License-Identifier: Apache-2.0
#include "engine/view_describer.h"

#include <utility>

#include "base/bytes.h"
#include "engine/lake_attach.h"
#include "engine/sql_text.h"
#include "engine/view_guard.h"

namespace duckicelake::engine {

ViewDescriber::ViewDescriber(std::unique_ptr<Database> database, std::string metadata_schema,
                             std::set<std::string> system_functions)
    : database_(std::move(database)),
      metadata_schema_(std::move(metadata_schema)),
      system_functions_(std::move(system_functions)) {}

Result<std::unique_ptr<ViewDescriber>> ViewDescriber::open(std::shared_ptr<const DuckdbApi> api,
                                                           DatabaseConfig config,
                                                           const LakeConfig& lake,
                                                           Deadline deadline) {
  // DuckLake refuses to attach a lake on s3:// without httpfs; there are no keys for it here.
  config.extensions = {"postgres_scanner", "httpfs", "ducklake"};
  config.redacted = {lake.postgres.password};
  DIL_TRY(auto database, Database::open(std::move(api), std::move(config)));
  std::set<std::string> system_functions;
  {
    DIL_TRY(Session session, database->session(deadline));
    DIL_TRY(system_functions, system_table_functions(session));
    LakeConfig without_path = lake;
    without_path.data_path.clear();  // the lake knows its own
    Status attached = attach_lake(session, without_path, AttachMode::kReadOnly);
    if (!attached) {
      // A lake that cannot be attached is no fault of a view.
      const bool is_ours = attached.error().code() == Code::kInvalidArgument;
      return is_ours ? std::move(attached).error().with_code(Code::kInternal)
                     : std::move(attached).error();
    }
    const Operation locking{"locking the view describer", Code::kInternal};
    for (const char* statement :
         {"DROP SECRET dil_postgres", "DROP SECRET dil_lake", "SET enable_external_access = false",
          "SET lock_configuration = true"}) {
      DIL_CHECK_OK(session.execute(statement, {}, locking));
    }
  }
  return std::unique_ptr<ViewDescriber>(
      new ViewDescriber(std::move(database), lake.metadata_schema, std::move(system_functions)));
}

Result<std::vector<catalog::DataEngine::ViewColumn>> ViewDescriber::describe(
    const std::string& schema_name, const std::string& view_name, Deadline deadline) {
  for (const std::string& name : {schema_name, view_name}) {
    if (name.empty() || name.find('\0') != std::string::npos || !is_valid_utf8(name)) {
      return invalid_argument("a view or schema name is empty or not text");
    }
  }
  DIL_TRY(Session session, database_->session(deadline));
  DIL_CHECK_OK(check_view_functions(session, metadata_schema_, system_functions_, view_name));
  const Operation operation{fmt::format("describing the view {}.{}", schema_name, view_name),
                            Code::kInvalidArgument};
  const std::string sql = fmt::format("DESCRIBE {}.{}.{}", kLakeName, quote_identifier(schema_name),
                                      quote_identifier(view_name));
  DIL_TRY(Rows rows, session.query(sql, {}, operation));
  std::vector<catalog::DataEngine::ViewColumn> columns;
  while (true) {
    DIL_TRY(const bool has_row, rows.next());
    if (!has_row) break;
    columns.push_back({std::string(rows.text(0)), std::string(rows.text(1))});
  }
  return columns;
}

}  // namespace duckicelake::engine
