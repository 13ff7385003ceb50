// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "app/backends.h"
#include "app/commands.h"
#include "app/doctor_catalogs.h"
#include "app/doctor_store.h"
#include "app/pg_checks.h"
#include "app/view_role.h"
#include "catalog/direct.h"
#include "engine/data_engine.h"
#include "engine/lake.h"
#include "pg/migrations.h"
#include "store/lake.h"
#include "store/lake_setup.h"

namespace duckicelake::app {
namespace {

constexpr std::chrono::seconds kPatience{30};

void check_clock(Report& report, pg::Connection& connection) {
  const Result<ClockReading> clock = read_clock(connection);
  if (!clock) {
    report.fail("clock of postgresql", clock.error());
    return;
  }
  const std::string detail =
      fmt::format("{} ms ahead of ours (± {} ms)", clock->lead.count(), clock->error.count());
  // Published timestamps follow PostgreSQL's clock and are compared with those of clients.
  if (std::abs(clock->lead.count()) > 500 + clock->error.count()) {
    report.warn("clock of postgresql", detail);
  } else {
    report.ok("clock of postgresql", detail);
  }
}

void check_setup(Report& report, pg::Connection& connection, const pg::SqlIdent& schema) {
  const auto items = store::inspect_setup(connection, schema);
  if (!items) return report.fail("indexes and triggers", items.error());
  std::size_t missing = 0;
  for (const store::SetupItem& item : *items) {
    if (item.is_present) continue;
    ++missing;
    report.fail("setup",
                fmt::format("{} is missing ({}); run `duckicelake init`", item.name, item.purpose));
  }
  if (missing == 0)
    report.ok("indexes and triggers", fmt::format("all {} are there", items->size()));
}

void check_duplicates(Report& report, pg::Connection& connection, const pg::SqlIdent& schema) {
  const auto duplicates = store::find_duplicate_deletes(connection, schema);
  if (!duplicates) return report.fail("duplicate deletes", duplicates.error());
  if (duplicates->empty()) return report.ok("duplicate deletes", "none");
  report.fail(
      "duplicate deletes",
      fmt::format("{} data files have more than one live delete file (first: {} of table {}); "
                  "rewrite their tables with ducklake_rewrite_data_files",
                  duplicates->size(), duplicates->front().data_file_id,
                  duplicates->front().table_id));
}

// What `init` and `serve` need; a role that lacks it may see nothing of the rest.
void check_rights(Report& report, pg::Connection& connection, const pg::SqlIdent& schema) {
  const auto rights = load_rights(connection, schema);
  if (!rights) return report.fail("rights", rights.error());
  const auto owners = store::inspect_ownership(connection, schema);
  if (!owners) return report.fail("rights", owners.error());
  const auto owner = lake_owner(connection, schema);
  if (!owner) return report.fail("rights", owner.error());
  if (!owners->foreign_tables.empty()) {
    return report.fail("rights",
                       fmt::format("{0} tables of the lake belong to role {1}; {2} must be "
                                   "a member of it: GRANT \"{1}\" TO \"{2}\"",
                                   owners->foreign_tables.size(), *owner, rights->role));
  }
  if (rights->schema_exists && !rights->may_use_schema) {
    return report.fail("rights", fmt::format("{0} needs: GRANT USAGE ON SCHEMA \"{1}\" TO \"{0}\"",
                                             rights->role, schema.name()));
  }
  if (!owners->may_create_schema) {
    return report.fail("rights",
                       fmt::format("{0} needs: GRANT CREATE ON DATABASE \"{1}\" TO \"{0}\"",
                                   rights->role, rights->database));
  }
  report.ok("rights", owner->empty()
                          ? fmt::format("role {} may make schema duckicelake", rights->role)
                          : fmt::format("role {} owns the lake's tables and may keep schema "
                                        "duckicelake",
                                        rights->role));
}

void check_sidecar(Report& report, pg::Connection& connection, const Settings& settings,
                   const pg::SqlIdent& schema) {
  const auto version = pg::recorded_version(connection, pg::SqlIdent::constant("duckicelake"));
  if (!version) return report.fail("sidecar", version.error());
  if (*version == 0) return report.fail("sidecar", "it is not there; run `duckicelake init`");
  const auto catalog = registered_catalog(connection, schema);
  if (!catalog) return report.fail("sidecar", catalog.error());
  if (*catalog == settings.catalog_id) {
    return report.ok("sidecar", fmt::format("version {}, catalog {}", *version, *catalog));
  }
  report.fail("sidecar", fmt::format("schema {} is registered as catalog \"{}\", not \"{}\"",
                                     schema.name(), *catalog, settings.catalog_id));
}

void check_view_role(Report& report, pg::Connection& connection, const Settings& settings) {
  auto role = find_view_role(connection, settings);
  if (!role) return report.fail("view role", role.error());
  if (!*role) {
    return report.warn("view role",
                       "none: views are served without columns (see `duckicelake init`)");
  }
  pg::PgConfig config = postgres_config(settings);
  config.user = (*role)->user;
  config.password = (*role)->password;
  config.session_target = pg::SessionTarget::kAny;
  const auto login = pg::Connection::connect(config, pg::deadline_after(config.connect_timeout));
  if (!login) return report.fail("view role", login.error());
  report.ok("view role", fmt::format("{} can log in", (*role)->user));
}

// Row security on DuckLake's tables, and what PostgreSQL shows to every role besides.
void check_row_security(Report& report, pg::Connection& connection, const Settings& settings,
                        const store::Lake& lake) {
  constexpr std::string_view kName = "row security";
  if (!settings.postgres.row_security) return report.ok(kName, "off: nobody gets a role");
  const auto groups = catalog::direct_groups(settings.postgres.reader_group, lake.metadata_schema);
  if (!groups) return report.fail(kName, groups.error());
  const auto is_there = store::has_direct_groups(connection, lake, *groups);
  if (!is_there) return report.fail(kName, is_there.error());
  if (!*is_there) {
    return report.warn(kName,
                       fmt::format("not armed: DuckDB users get no roles until `duckicelake init` "
                                   "could make {} (the owner needs CREATEROLE)",
                                   groups->reader.name()));
  }
  const auto unarmed = store::find_unarmed(connection, lake);
  if (!unarmed) return report.fail(kName, unarmed.error());
  std::vector<std::string> missing;
  for (const store::UnarmedTable& table : *unarmed) {
    if (table.is_granted) {
      return report.fail(kName, fmt::format("table {} is granted to vended roles and not bound by "
                                            "row security",
                                            table.name));
    }
    missing.push_back(table.name);
  }
  if (missing.empty()) return report.ok(kName, fmt::format("armed for {}", groups->reader.name()));
  report.warn(kName, fmt::format("armed, but {} are closed to DuckDB users: {}", missing.size(),
                                 fmt::join(missing, ", ")));
}

void check_leftover(Report& report, pg::Connection& connection) {
  const auto tables = find_leftover_tables(connection);
  if (!tables) return report.fail("leftover tables", tables.error());
  if (tables->empty()) return report.ok("leftover tables", "none");
  report.warn("leftover tables", fmt::format("of an earlier system, neither read nor touched: {}",
                                             fmt::join(*tables, ", ")));
}

void check_lake(Report& report, pg::Connection& connection, const Settings& settings) {
  const auto schema = pg::SqlIdent::make(settings.postgres.schema);
  if (!schema) return report.fail("lake", schema.error());
  check_rights(report, connection, *schema);
  const auto lake = store::open_lake(connection, settings.catalog_id, *schema);
  if (!lake) {
    return report.fail("lake", lake.error().code() == Code::kNotFound
                                   ? Error(Code::kNotFound, fmt::format("none in schema {}; run "
                                                                        "`duckicelake init`",
                                                                        schema->name()))
                                   : lake.error());
  }
  const auto place = objstore::parse_s3_uri(lake->data_path);
  if (!place || place->bucket != settings.store.bucket) {
    report.fail("lake", fmt::format("its data is in {}, which is not in bucket {}", lake->data_path,
                                    settings.store.bucket));
  } else {
    report.ok("lake", fmt::format("DuckLake {} in schema {}, data in {}", lake->format_version,
                                  schema->name(), lake->data_path));
  }
  check_sidecar(report, connection, settings, *schema);
  check_catalogs(report, connection, settings);
  check_setup(report, connection, *schema);
  check_duplicates(report, connection, *schema);
  check_row_security(report, connection, settings, *lake);
}

void check_postgres(Report& report, const Settings& settings) {
  const pg::PgConfig config = postgres_config(settings);
  auto connected = pg::Connection::connect(config, pg::deadline_after(config.connect_timeout));
  if (!connected) return report.fail("postgresql", connected.error());
  pg::Connection& connection = *connected;
  connection.set_deadline(pg::deadline_after(kPatience));
  const std::string version = version_text(connection.server_version());
  if (connection.server_version() < kLeastPostgresVersion) {
    return report.fail("postgresql", fmt::format("{} is too old: 14 is needed", version));
  }
  report.ok("postgresql", fmt::format("{} at {}:{}, database {}, role {}", version,
                                      settings.postgres.host, settings.postgres.port,
                                      settings.postgres.database, settings.postgres.user));
  check_clock(report, connection);
  check_lake(report, connection, settings);
  check_view_role(report, connection, settings);
  check_leftover(report, connection);
}

void check_engine(Report& report, const Settings& settings) {
  engine::DuckdbDataEngine engine(engine_config(settings, std::nullopt));
  if (const Status checked = engine.check(); !checked) {
    return report.fail("duckdb", checked.error());
  }
  report.ok("duckdb", settings.engine.library);
  // Attaching takes the extensions that `init` and `seed` need.
  auto lake = engine::Lake::open(engine_config(settings, std::nullopt), lake_config(settings, ""),
                                 engine::AttachMode::kReadOnly);
  if (!lake) return report.fail("duckdb extensions", lake.error());
  const auto rows = (*lake)->query_text(
      "SELECT extension_name, extension_version FROM duckdb_extensions() WHERE loaded AND "
      "extension_name IN ('ducklake', 'httpfs', 'postgres_scanner') ORDER BY ALL");
  if (!rows) return report.fail("duckdb extensions", rows.error());
  std::vector<std::string> names;
  for (const auto& row : *rows) {
    names.push_back(fmt::format("{} {}", row[0].value_or(""), row[1].value_or("")));
  }
  report.ok("duckdb extensions", fmt::format("{}; the lake attaches", fmt::join(names, ", ")));
}

}  // namespace

int run_doctor(const Settings& settings, DoctorScope scope) {
  Report report;
  if (scope == DoctorScope::kStorage) {
    check_store(report, settings);
    check_keys(report, settings);
    return report.failures() == 0 ? 0 : 1;
  }
  check_postgres(report, settings);
  check_store(report, settings);
  check_sts(report, settings);
  check_engine(report, settings);
  return report.failures() == 0 ? 0 : 1;
}

}  // namespace duckicelake::app
