// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "catalog/data_engine.h"
#include "engine/config.h"
#include "engine/database.h"

namespace duckicelake::engine {

// An instance that is good for one thing: binding views of one lake. It reads PostgreSQL with the
// role it was given (which must have read rights only: text of a view's author may reach that
// connection) in READ ONLY transactions; local files, HTTP, extensions, further attachments and
// settings are shut off before the first view is bound, and views that call table functions of
// consequence are refused (view_guard.h). Thread-safe.
class ViewDescriber {
 public:
  static Result<std::unique_ptr<ViewDescriber>> open(std::shared_ptr<const DuckdbApi> api,
                                                     DatabaseConfig config, const LakeConfig& lake,
                                                     Deadline deadline);

  // kInvalidArgument when there is no such view or its query does not bind.
  Result<std::vector<catalog::DataEngine::ViewColumn>> describe(const std::string& schema_name,
                                                                const std::string& view_name,
                                                                Deadline deadline);
  bool is_broken() const { return database_->is_broken(); }

 private:
  ViewDescriber(std::unique_ptr<Database> database, std::string metadata_schema,
                std::set<std::string> system_functions);

  std::unique_ptr<Database> database_;
  const std::string metadata_schema_;
  const std::set<std::string> system_functions_;
};

}  // namespace duckicelake::engine
