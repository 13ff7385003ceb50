// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "app/backends.h"
#include "app/commands.h"
#include "app/pg_checks.h"
#include "app/view_role.h"
#include "catalog/direct.h"
#include "engine/lake.h"
#include "pg/migrations.h"
#include "pg/pool.h"
#include "store/lake.h"
#include "store/lake_setup.h"
#include "store/sidecar.h"

namespace duckicelake::app {
namespace {

constexpr std::chrono::hours kLongest{1};  // indexes on large tables take their time
constexpr std::size_t kShown = 10;         // entries of a list that are printed

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print("init: {}\n", fmt::format(format, std::forward<Args>(args)...));
  std::fflush(stdout);
}

// One run at a time in a database: the lock goes with the connection.
Status lock_init(pg::Connection& connection) {
  constexpr pg::Sql kLock = "SELECT pg_advisory_lock(hashtextextended('duckicelake.init', 0))";
  DIL_TRY(auto locked, connection.exec(pg::Statement{kLock, {}, pg::Prepare::kOnce, "lock init"}));
  (void)locked;
  return {};
}

Status ensure_bucket(const Settings& settings) {
  DIL_TRY(auto store, objstore::S3ObjectStore::make(store_config(settings)));
  const Result<objstore::BucketState> state = store->check_bucket();
  if (!state) return Error(state.error()).with_context("bucket " + store->bucket());
  if (state->exists) {
    say("bucket {}: there", store->bucket());
    return {};
  }
  Status made = store->create_bucket();
  if (made) {
    say("bucket {}: made", store->bucket());
    return {};
  }
  if (made.error().code() == Code::kAlreadyExists) return {};
  return Error(made.error().code(),
               fmt::format("the bucket {} is not there and could not be made; make it, or give "
                           "DUCKICELAKE_S3_ROOT_KEY the right s3:CreateBucket: {}",
                           store->bucket(), made.error().message()),
               made.error().cause());
}

Status check_server(pg::Connection& connection, const Settings& settings, const Rights& rights) {
  say("PostgreSQL {} at {}:{}, database {}, role {}", version_text(connection.server_version()),
      settings.postgres.host, settings.postgres.port, rights.database, rights.role);
  if (connection.server_version() < kLeastPostgresVersion) {
    return make_error(Code::kUnsupported, "PostgreSQL 14 or newer is needed");
  }
  return {};
}

// Said before anything is changed.
Status check_rights(pg::Connection& connection, const pg::SqlIdent& schema, const Rights& rights) {
  DIL_TRY(const store::Ownership owners, store::inspect_ownership(connection, schema));
  if (!owners.foreign_tables.empty()) {
    DIL_TRY(const std::string owner, lake_owner(connection, schema));
    return make_error(
        Code::kPermissionDenied,
        "{0} tables of the lake belong to role {1}, which {2} is not a member of (first: "
        "{3}); run init as {1}, or: GRANT \"{1}\" TO \"{2}\"",
        owners.foreign_tables.size(), owner.empty() ? "another" : owner, rights.role,
        owners.foreign_tables[0]);
  }
  if (!owners.may_create_schema) {
    return make_error(
        Code::kPermissionDenied,
        "to make schema duckicelake, role {0} needs: GRANT CREATE ON DATABASE \"{1}\" TO "
        "\"{0}\"",
        rights.role, rights.database);
  }
  return {};
}

// A catalog id stands for one lake of the database.
Status check_registration(pg::Connection& connection, const Settings& settings,
                          const pg::SqlIdent& schema) {
  DIL_TRY(const int sidecar,
          pg::recorded_version(connection, pg::SqlIdent::constant("duckicelake")));
  if (sidecar == 0) return {};
  DIL_TRY(const std::string catalog, registered_catalog(connection, schema));
  if (!catalog.empty() && catalog != settings.catalog_id) {
    return make_error(Code::kAlreadyExists,
                      "the lake in schema {} is catalog \"{}\"; DUCKICELAKE_CATALOG says \"{}\"",
                      schema.name(), catalog, settings.catalog_id);
  }
  DIL_TRY(const std::string other, registered_schema(connection, settings.catalog_id));
  if (!other.empty() && other != schema.name()) {
    return make_error(Code::kAlreadyExists,
                      "catalog \"{}\" is the lake in schema {}; another lake needs another "
                      "DUCKICELAKE_CATALOG",
                      settings.catalog_id, other);
  }
  return {};
}

// A lake is made by DuckDB itself, so that it is DuckLake's to the letter.
Status create_lake(const Settings& settings, const Rights& rights) {
  const std::string& schema = settings.postgres.schema;
  if (!rights.may_create_tables || (rights.schema_exists && !rights.may_use_schema)) {
    if (rights.schema_exists) {
      return make_error(
          Code::kPermissionDenied,
          "to make the lake, role {0} needs: GRANT USAGE, CREATE ON SCHEMA \"{1}\" TO "
          "\"{0}\"",
          rights.role, schema);
    }
    return make_error(Code::kPermissionDenied,
                      "to make schema \"{1}\", role {0} needs: GRANT CREATE ON DATABASE \"{2}\" TO "
                      "\"{0}\"",
                      rights.role, schema, rights.database);
  }
  say("lake: making it in schema {}, data in {}", schema, settings.store.data_path());
  return engine::create_lake(engine_config(settings, std::nullopt),
                             lake_config(settings, settings.store.data_path()));
}

Status create_default_namespace(const Settings& settings) {
  DIL_TRY(auto lake, engine::Lake::open(engine_config(settings, std::nullopt),
                                        lake_config(settings, ""), engine::AttachMode::kExisting));
  const std::string statements[] = {"CREATE SCHEMA IF NOT EXISTS lake.\"default\""};
  DIL_CHECK_OK(lake->run_statements(statements));
  say("namespace default: made");
  return {};
}

Result<store::Lake> ensure_lake(pg::Connection& connection, const Settings& settings,
                                const Rights& rights) {
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(settings.postgres.schema));
  Result<store::Lake> lake = store::open_lake(connection, settings.catalog_id, schema);
  const bool is_new = !lake && lake.error().code() == Code::kNotFound;
  if (is_new) {
    DIL_CHECK_OK(create_lake(settings, rights));
    lake = store::open_lake(connection, settings.catalog_id, schema);
  }
  if (!lake) return std::move(lake).error();
  DIL_TRY(const objstore::S3Uri place, objstore::parse_s3_uri(lake->data_path));
  if (place.bucket != settings.store.bucket) {
    return invalid_argument("the lake's data is in bucket {}, but DUCKICELAKE_S3_BUCKET is {}",
                            place.bucket, settings.store.bucket);
  }
  say("lake: DuckLake {} in schema {}, data in {}", lake->format_version, schema.name(),
      lake->data_path);
  if (!is_new && lake->data_path != settings.store.data_path()) {
    say("note: DUCKICELAKE_S3_PREFIX does not apply; the lake was made with its own data path");
  }
  // A lake that somebody used stays as it is.
  DIL_TRY(const std::int64_t newest, newest_snapshot(connection, schema));
  if (newest == 0) DIL_CHECK_OK(create_default_namespace(settings));
  return lake;
}

Status check_duplicates(pg::Connection& connection, const store::Lake& lake) {
  DIL_TRY(const std::vector<store::DuplicateDelete> duplicates,
          store::find_duplicate_deletes(connection, lake.metadata_schema));
  for (std::size_t i = 0; i < duplicates.size() && i < kShown; ++i) {
    say("duplicate: data file {} of table {} has {} live delete files", duplicates[i].data_file_id,
        duplicates[i].table_id, duplicates[i].live_delete_files);
  }
  return {};
}

Status install(pg::Connection& connection, const store::Lake& lake) {
  const pg::SqlIdent sidecar = pg::SqlIdent::constant("duckicelake");
  DIL_TRY(const int before, pg::recorded_version(connection, sidecar));
  DIL_CHECK_OK(store::migrate_sidecar(connection));
  DIL_TRY(const int after, pg::recorded_version(connection, sidecar));
  if (before == after) {
    say("sidecar: version {}, up to date", after);
  } else {
    say("sidecar: from version {} to {}", before, after);
  }

  DIL_TRY(const std::vector<store::SetupItem> items,
          store::inspect_setup(connection, lake.metadata_schema));
  std::size_t missing = 0;
  for (const store::SetupItem& item : items) missing += item.is_present ? 0 : 1;
  DIL_CHECK_OK(check_duplicates(connection, lake));
  DIL_CHECK_OK(store::install_setup(connection, lake.metadata_schema));
  say("indexes and triggers: {} made, {} were there", missing, items.size() - missing);
  DIL_CHECK_OK(store::register_catalog(connection, lake));
  say("catalog {}: registered", lake.catalog_id);

  DIL_TRY(const std::int64_t sessions, store::count_other_sessions(connection));
  if (missing > 0 && sessions > 0) {
    say("note: {} other sessions are connected to this database. A DuckDB that opened the lake "
        "before "
        "works on; what others change in the lake it sees with its next transaction",
        sessions);
  }
  return {};
}

Status ensure_view_role(pg::Connection& connection, const Settings& settings) {
  DIL_TRY(const ViewRoleOutcome outcome, make_view_role(connection, settings));
  switch (outcome) {
    case ViewRoleOutcome::kReady: say("view role: {}", derived_view_role(settings)->user); break;
    case ViewRoleOutcome::kNoPassword:
      say("note: views are served without columns: without a password of the owner there is no "
          "role "
          "for them; DUCKICELAKE_VIEW_USER may name one");
      break;
    case ViewRoleOutcome::kMayNotCreateRoles:
      say("note: views are served without columns: role {} may not create roles (CREATEROLE); "
          "DUCKICELAKE_VIEW_USER may name one that has USAGE and SELECT on the lake's tables",
          settings.postgres.user);
      break;
  }
  return {};
}

// Never what init fails for: the lake is served without.
void ensure_row_security(pg::Connection& connection, const Settings& settings,
                         const store::Lake& lake) {
  if (!settings.postgres.row_security) {
    say("row security: off (DUCKICELAKE_RLS=0); DuckDB users get no roles");
    return;
  }
  const auto groups = catalog::direct_groups(settings.postgres.reader_group, lake.metadata_schema);
  Status armed = groups ? catalog::arm_lake(connection, lake, *groups) : Status(groups.error());
  if (armed) {
    say("row security: armed for {} and {}", groups->reader.name(), groups->writer.name());
    return;
  }
  say("note: DuckDB users get no PostgreSQL roles: {} ({})", armed.error().message(),
      armed.error().cause());
}

Status init(const Settings& settings) {
  pg::PgConfig config = postgres_config(settings);
  config.statement_timeout = std::chrono::milliseconds(0);
  DIL_TRY(pg::Connection connection,
          pg::Connection::connect(config, pg::deadline_after(config.connect_timeout)));
  connection.set_deadline(pg::deadline_after(kLongest));
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(settings.postgres.schema));
  DIL_TRY(const Rights rights, load_rights(connection, schema));
  DIL_CHECK_OK(check_server(connection, settings, rights));
  DIL_CHECK_OK(lock_init(connection));
  DIL_CHECK_OK(check_rights(connection, schema, rights));
  DIL_CHECK_OK(check_registration(connection, settings, schema));
  DIL_CHECK_OK(ensure_bucket(settings));
  DIL_TRY(const store::Lake lake, ensure_lake(connection, settings, rights));
  DIL_CHECK_OK(install(connection, lake));
  DIL_CHECK_OK(ensure_view_role(connection, settings));
  ensure_row_security(connection, settings, lake);
  DIL_TRY(const std::vector<std::string> leftover, find_leftover_tables(connection));
  if (!leftover.empty()) {
    say("note: {} tables of an earlier system are in schema public (first: {}); they are neither "
        "read "
        "nor touched",
        leftover.size(), leftover[0]);
  }
  say("done");
  return {};
}

}  // namespace

int run_init(const Settings& settings) {
  const Status done = init(settings);
  if (done) return 0;
  fmt::print(stderr, "init: failed: {}\n", done.error().to_string());
  return 1;
}

}  // namespace duckicelake::app
