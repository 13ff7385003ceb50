// SPDX-License-Identifier: Apache-2.0
#include "app/lake_maker.h"

#include "app/backends.h"
#include "app/pg_checks.h"
#include "app/tenant.h"
#include "app/view_role.h"
#include "engine/lake.h"
#include "store/lake.h"
#include "store/lake_setup.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kLogger = "duckicelake.server";

// Held with the connection: others that make the same lake wait and find it.
constexpr pg::Sql kLock =
    "SELECT pg_advisory_lock(hashtextextended('duckicelake.catalog ' || $1, 0))";
constexpr pg::Sql kRelations =
    "SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
    "ON n.oid = c.relnamespace WHERE n.nspname = $1";

Status check_empty(pg::Connection& connection, const pg::SqlIdent& schema) {
  DIL_TRY(const pg::ResultSet rows, connection.exec(kRelations, {schema.name()}));
  DIL_TRY(const std::int64_t count, rows.row(0).int64(0));
  if (count == 0) return {};
  return make_error(Code::kAlreadyExists,
                    "PostgreSQL schema \"{}\" holds something else than a DuckLake", schema.name());
}

Status make_lake(const Settings& settings, const std::string& data_path, bool with_namespace) {
  DIL_TRY(auto lake, engine::Lake::open(engine_config(settings, std::nullopt),
                                        lake_config(settings, data_path),
                                        engine::AttachMode::kCreateIfMissing));
  if (!with_namespace) return {};
  const std::string statements[] = {"CREATE SCHEMA IF NOT EXISTS lake.\"default\""};
  return lake->run_statements(statements);
}

}  // namespace

Status DuckdbLakeMaker::make(const store::CatalogRow& catalog, bool with_namespace,
                             pg::Deadline until) {
  const Settings settings = settings_for(settings_, catalog);
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(catalog.metadata_schema));
  pg::PgConfig config = postgres_config(settings);
  config.statement_timeout = std::chrono::milliseconds(0);  // indexes of a large lake take long
  DIL_TRY(pg::Connection connection, pg::Connection::connect(config, until));
  DIL_TRY(auto locked,
          connection.exec(pg::Statement{kLock, {catalog.id}, pg::Prepare::kOnce, "lock catalog"}));
  (void)locked;

  Result<store::Lake> lake = store::open_lake(connection, catalog.id, schema);
  bool is_new = !lake && lake.error().code() == Code::kNotFound;
  if (is_new) {
    DIL_CHECK_OK(check_empty(connection, schema));
  } else if (!lake && lake.error().code() == Code::kUnsupported) {
    return Error(Code::kAlreadyExists,
                 "the lake in the schema cannot be served: " + lake.error().message());
  } else if (!lake) {
    return std::move(lake).error();
  } else if (lake->data_path != catalog.data_path) {
    return make_error(Code::kAlreadyExists,
                      "PostgreSQL schema \"{}\" holds a lake whose data is in another place",
                      schema.name());
  } else {
    // One that was cut short is as new; one that somebody used stays as it is.
    DIL_TRY(const std::int64_t newest, newest_snapshot(connection, schema));
    is_new = newest == 0 && with_namespace;
  }
  if (is_new) {
    DIL_CHECK_OK(make_lake(settings, catalog.data_path, with_namespace));
    connection.set_deadline(until);
  }
  DIL_CHECK_OK(store::install_setup(connection, schema));
  DIL_TRY(const ViewRoleOutcome views, make_view_role(connection, settings));
  if (views != ViewRoleOutcome::kReady) {
    logger_.log(LogLevel::kWarning, kLogger,
                "views of a catalog are served without columns: there is no role to bind them with",
                {{"catalog", std::string_view(catalog.id)}});
  }
  logger_.log(LogLevel::kInfo, kLogger, "a catalog's lake is made",
              {{"catalog", std::string_view(catalog.id)},
               {"schema", std::string_view(catalog.metadata_schema)},
               {"data_path", std::string_view(catalog.data_path)}});
  return {};
}

}  // namespace duckicelake::app
