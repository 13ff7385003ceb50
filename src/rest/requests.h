// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/namespaces.h"
#include "catalog/views.h"
#include "json/value.h"

// Bodies of requests about namespaces, names and views (REST specification, the schemas of the same
// names). A member that is null counts as absent (case A-14). kInvalidArgument names the member.
namespace duckicelake::rest {

// Any body: at most `max_bytes` of JSON; kInvalidArgument for an empty one.
inline constexpr std::size_t kMaxDefinitionBytes = std::size_t{16} << 20;
Result<json::Document> parse_body(std::string_view body,
                                  std::size_t max_bytes = kMaxDefinitionBytes);

// Members that several bodies have. Levels must not be empty; names are checked by the use cases.
Result<catalog::Levels> read_levels(const json::Value& value);
Result<std::map<std::string, std::string>> read_string_map(const json::Object& object,
                                                           std::string_view name);

struct CreateNamespaceRequest {
  catalog::Levels levels;
  catalog::Properties properties;
};
Result<CreateNamespaceRequest> read_create_namespace(std::string_view body);

Result<catalog::PropertiesUpdate> read_properties_update(std::string_view body);

struct RenameRequest {
  catalog::TableRef source;
  catalog::TableRef destination;
};
Result<RenameRequest> read_rename(std::string_view body);

// Of the view {name} in the namespace of the path.
Result<catalog::CreateViewRequest> read_create_view(std::string_view body,
                                                    const catalog::Levels& levels);
Result<catalog::RegisterViewRequest> read_register_view(std::string_view body,
                                                        const catalog::Levels& levels);
// The view is that of the path; a body that names another one is refused.
Result<catalog::CommitViewRequest> read_commit_view(std::string_view body,
                                                    const catalog::TableRef& view);

// A ScanReport or CommitReport of at most kMaxReportBytes: the same JSON without blanks.
inline constexpr std::size_t kMaxReportBytes = std::size_t{256} << 10;
Result<std::string> read_metrics_report(std::string_view body);

}  // namespace duckicelake::rest
