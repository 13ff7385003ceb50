// SPDX-License-Identifier: Apache-2.0
#include "app/backends.h"

namespace duckicelake::app {
namespace {

engine::PostgresConfig engine_postgres(const Settings::Postgres& postgres) {
  engine::PostgresConfig out;
  out.host = postgres.host;
  out.port = postgres.port;
  out.user = postgres.user;
  out.password = postgres.password;
  out.database = postgres.database;
  out.options = fmt::format("application_name=duckicelake-engine connect_timeout={} sslmode={}",
                            postgres.connect_timeout.count(), postgres.sslmode);
  if (!postgres.sslrootcert.empty()) out.options += " sslrootcert=" + postgres.sslrootcert;
  return out;
}

}  // namespace

pg::PgConfig postgres_config(const Settings& settings) {
  const Settings::Postgres& postgres = settings.postgres;
  pg::PgConfig out;
  out.endpoints = {{postgres.host, postgres.port}};
  out.user = postgres.user;
  out.database = postgres.database;
  out.password = postgres.password;
  out.sslmode = postgres.sslmode;
  out.sslrootcert = postgres.sslrootcert;
  out.connect_timeout = postgres.connect_timeout;
  out.statement_timeout = postgres.statement_timeout;
  out.pool_min = postgres.pool_min;
  out.pool_max = postgres.pool_max;
  out.acquire_timeout = postgres.pool_wait;
  return out;
}

objstore::S3Config store_config(const Settings& settings) {
  const Settings::Store& store = settings.store;
  objstore::S3Config out;
  out.endpoint = store.endpoint;
  out.region = store.region;
  out.bucket = store.bucket;
  out.access_key = store.root_key;
  out.secret_key = store.root_secret;
  out.addressing =
      store.path_style ? objstore::Addressing::kPath : objstore::Addressing::kVirtualHost;
  out.max_connections = store.max_connections;
  out.ca_file = store.ca_file;
  return out;
}

std::optional<objstore::StsConfig> sts_config(const Settings& settings) {
  const Settings::Store& store = settings.store;
  if (store.sts_endpoint.empty()) return std::nullopt;
  objstore::StsConfig out;
  out.endpoint = store.sts_endpoint;
  out.region = store.region;
  out.access_key = store.root_key;
  out.secret_key = store.root_secret;
  out.ca_file = store.ca_file;
  return out;
}

engine::LakeConfig lake_config(const Settings& settings, const std::string& data_path) {
  engine::LakeConfig out;
  out.postgres = engine_postgres(settings.postgres);
  out.metadata_schema = settings.postgres.schema;
  out.data_path = data_path;
  return out;
}

engine::EngineConfig engine_config(const Settings& settings,
                                   const std::optional<ViewRole>& view_role) {
  engine::EngineConfig out;
  out.library_path = settings.engine.library;
  out.extension_directory = settings.engine.extensions;
  out.temp_directory = settings.engine.temp_folder;
  out.memory_limit_mb = settings.engine.memory_mb;
  out.threads = settings.engine.threads;
  engine::S3Config s3;
  s3.endpoint = settings.store.endpoint;
  s3.region = settings.store.region;
  s3.access_key = settings.store.root_key;
  s3.secret_key = settings.store.root_secret;
  s3.path_style = settings.store.path_style;
  s3.ca_file = settings.store.ca_file;
  s3.scope = "s3://" + settings.store.bucket + "/";
  out.s3 = std::move(s3);
  if (view_role) {
    out.view_lake = lake_config(settings, "");
    out.view_lake->postgres.user = view_role->user;
    out.view_lake->postgres.password = view_role->password;
  }
  return out;
}

}  // namespace duckicelake::app
