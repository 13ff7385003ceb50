// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "app/settings.h"
#include "engine/config.h"
#include "objstore/s3_object_store.h"
#include "objstore/sts.h"
#include "pg/config.h"

namespace duckicelake::app {

// A role for binding the SQL of views: it may read the lake's tables and nothing else.
struct ViewRole {
  std::string user;
  Secret password;
};

pg::PgConfig postgres_config(const Settings& settings);
objstore::S3Config store_config(const Settings& settings);
// nullopt: the settings say that there is no STS.
std::optional<objstore::StsConfig> sts_config(const Settings& settings);

// The lake as DuckDB reaches it, in the rights of the settings' own role. `data_path` only to make
// it.
engine::LakeConfig lake_config(const Settings& settings, const std::string& data_path);
// `view_role` absent: describe_view will not work.
engine::EngineConfig engine_config(const Settings& settings,
                                   const std::optional<ViewRole>& view_role);

}  // namespace duckicelake::app
