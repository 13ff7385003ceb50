// SPDX-License-Identifier: Apache-2.0
#include "engine/lake_attach.h"

#include <string_view>

namespace duckicelake::engine {

Status attach_lake(Session& session, const LakeConfig& lake, AttachMode mode) {
  const PostgresConfig& postgres = lake.postgres;
  const Operation configuring{"configuring the lake in the data engine", Code::kInternal};
  const Parameter connection[] = {postgres.host, std::to_string(postgres.port), postgres.user,
                                  postgres.password.reveal(), postgres.database};
  DIL_CHECK_OK(session.execute(
      "CREATE OR REPLACE SECRET dil_postgres (TYPE postgres, HOST $1, PORT $2, USER $3, "
      "PASSWORD $4, DATABASE $5)",
      connection, configuring));
  std::string sql =
      "CREATE OR REPLACE SECRET dil_lake (TYPE ducklake, METADATA_PATH $1, METADATA_SCHEMA $2, "
      "METADATA_PARAMETERS MAP {'TYPE': 'postgres', 'SECRET': 'dil_postgres'}";
  std::vector<Parameter> parameters = {postgres.options, lake.metadata_schema};
  if (!lake.data_path.empty()) {
    sql += ", DATA_PATH $3";
    parameters.emplace_back(lake.data_path);
  }
  DIL_CHECK_OK(session.execute(sql + ")", parameters, configuring));

  std::string_view options = "CREATE_IF_NOT_EXISTS true, DATA_INLINING_ROW_LIMIT 0";
  if (mode == AttachMode::kExisting) {
    options = "CREATE_IF_NOT_EXISTS false, DATA_INLINING_ROW_LIMIT 0";
  }
  if (mode == AttachMode::kReadOnly) options = "READ_ONLY, CREATE_IF_NOT_EXISTS false";
  return session.execute(fmt::format("ATTACH 'ducklake:dil_lake' AS {} ({})", kLakeName, options),
                         {}, {"attaching the lake", Code::kInvalidArgument});
}

}  // namespace duckicelake::engine
