// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/table_commits.h"

// Bodies of requests that create, change or register tables (REST specification, the schemas of the
// same names). A member that is null counts as absent (case A-14). kInvalidArgument names the
// member.
namespace duckicelake::rest {

inline constexpr std::size_t kMaxCommitBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxTransactionTables = 1000;

struct CreateTableBody {
  catalog::CreateTableRequest request;
  bool is_staged = false;
};
Result<CreateTableBody> read_create_table(std::string_view body, const catalog::Levels& levels);

// The table is that of the path; a body that names another one is refused.
Result<catalog::TableCommit> read_commit_table(std::string_view body,
                                               const catalog::TableRef& table);
Result<std::vector<catalog::TableCommit>> read_commit_transaction(std::string_view body);

Result<catalog::RegisterTableRequest> read_register_table(std::string_view body,
                                                          const catalog::Levels& levels);

}  // namespace duckicelake::rest
