// SPDX-License-Identifier: Apache-2.0
// The table of all routes. A route's code path: here -> operations.cc -> catalog/service.h.
#include "rest/operations.h"
#include "rest/route_table.h"

namespace duckicelake::rest {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kService = "Service";
constexpr std::string_view kConfiguration = "Configuration";
constexpr std::string_view kCatalog = "Catalog";

constexpr std::string_view kString = R"({"type":"string"})";
constexpr std::string_view kSnapshot = R"({"type":"integer","format":"int64","minimum":0})";
constexpr QueryParameter kPageToken{"pageToken", R"({"type":["string","null"]})",
                                    "Without it the whole list is answered. Empty: the first page; "
                                    "else next-page-token of the page before."};
constexpr QueryParameter kPageSize{
    "pageSize", R"({"type":"integer","minimum":1})",
    "At most so many names on a page; 1000 at most, 100 by default."};

constexpr QueryParameter kConfigQuery[] = {{"warehouse", kString, "The name of the catalog."}};
constexpr QueryParameter kNamespacesQuery[] = {
    {"parent", kString, "List the namespaces right below this one; levels are joined by 0x1F."},
    kPageToken,
    kPageSize};
constexpr QueryParameter kPageQuery[] = {kPageToken, kPageSize};
constexpr QueryParameter kLoadTableQuery[] = {
    {"snapshots", R"({"type":"string","enum":["all","refs"],"default":"all"})",
     "refs: only the snapshots that a branch or tag names."},
    {"snapshot-id", kSnapshot, "Make this snapshot the current one of the answer."},
    {"snapshot_id", kSnapshot, "The same as snapshot-id."}};

constexpr std::string_view kNamespaces = "/v1/{prefix}/namespaces";
constexpr std::string_view kNamespace = "/v1/{prefix}/namespaces/{namespace}";
constexpr std::string_view kTables = "/v1/{prefix}/namespaces/{namespace}/tables";
constexpr std::string_view kTable = "/v1/{prefix}/namespaces/{namespace}/tables/{table}";
constexpr std::string_view kViews = "/v1/{prefix}/namespaces/{namespace}/views";
constexpr std::string_view kView = "/v1/{prefix}/namespaces/{namespace}/views/{view}";

constexpr auto kGet = net::Method::kGet;
constexpr auto kHead = net::Method::kHead;

constexpr Route kRoutes[] = {
    // The hot one first.
    {.method = kGet,
     .path = kTable,
     .operation_id = "loadTable",
     .summary = "Load a table",
     .tag = kCatalog,
     .query = kLoadTableQuery,
     .media_type = kJson,
     .schema = "LoadTableResult",
     .in_config = InConfig::kYes,
     .answer = load_table,
     .prepare = prepare_load_table,
     .peek = load_cached_table},
    {.method = kHead,
     .path = kTable,
     .operation_id = "tableExists",
     .summary = "Check whether a table exists",
     .tag = kCatalog,
     .status = 204,
     .in_config = InConfig::kYes,
     .answer = check_table},
    {.method = kGet,
     .path = kTables,
     .operation_id = "listTables",
     .summary = "List the tables of a namespace",
     .tag = kCatalog,
     .query = kPageQuery,
     .media_type = kJson,
     .schema = "ListTablesResponse",
     .in_config = InConfig::kYes,
     .answer = list_tables},
    {.method = kGet,
     .path = kNamespaces,
     .operation_id = "listNamespaces",
     .summary = "List namespaces",
     .tag = kCatalog,
     .query = kNamespacesQuery,
     .media_type = kJson,
     .schema = "ListNamespacesResponse",
     .in_config = InConfig::kYes,
     .answer = list_namespaces},
    {.method = kGet,
     .path = kNamespace,
     .operation_id = "loadNamespaceMetadata",
     .summary = "Load a namespace",
     .tag = kCatalog,
     .media_type = kJson,
     .schema = "GetNamespaceResponse",
     .in_config = InConfig::kYes,
     .answer = load_namespace},
    {.method = kHead,
     .path = kNamespace,
     .operation_id = "namespaceExists",
     .summary = "Check whether a namespace exists",
     .tag = kCatalog,
     .status = 204,
     .in_config = InConfig::kYes,
     .answer = check_namespace},
    {.method = kGet,
     .path = kViews,
     .operation_id = "listViews",
     .summary = "List the views of a namespace",
     .tag = kCatalog,
     .query = kPageQuery,
     .media_type = kJson,
     .schema = "ListTablesResponse",
     .in_config = InConfig::kYes,
     .answer = list_views},
    {.method = kGet,
     .path = kView,
     .operation_id = "loadView",
     .summary = "Load a view",
     .tag = kCatalog,
     .media_type = kJson,
     .schema = "LoadViewResult",
     .in_config = InConfig::kYes,
     .answer = load_view},
    {.method = kHead,
     .path = kView,
     .operation_id = "viewExists",
     .summary = "Check whether a view exists",
     .tag = kCatalog,
     .status = 204,
     .in_config = InConfig::kYes,
     .answer = check_view},
    {.method = kGet,
     .path = "/v1/config",
     .operation_id = "getConfig",
     .summary = "What a client has to know first: the prefix and the served routes",
     .tag = kConfiguration,
     .query = kConfigQuery,
     .media_type = kJson,
     .schema = "CatalogConfig",
     .in_config = InConfig::kYes,
     .run_on = RunOn::kIoThread,
     .answer = get_config},
    {.method = kGet,
     .path = "/healthz",
     .operation_id = "getHealth",
     .summary = "Whether the process is alive",
     .tag = kService,
     .media_type = kJson,
     .schema = "Health",
     .run_on = RunOn::kIoThread,
     .answer = get_health},
    {.method = kGet,
     .path = "/readyz",
     .operation_id = "getReadiness",
     .summary = "Whether the process can answer requests",
     .tag = kService,
     .media_type = kJson,
     .schema = "Health",
     .run_on = RunOn::kIoThread,
     .answer = get_readiness,
     .prepare = prepare_readiness,
     .peek = peek_readiness},
    {.method = kGet,
     .path = "/metrics",
     .operation_id = "getMetrics",
     .summary = "Metrics in Prometheus' text format",
     .tag = kService,
     .media_type = kText,
     .answer = get_metrics},
    {.method = kGet,
     .path = "/openapi.json",
     .operation_id = "getOpenApi",
     .summary = "This description",
     .tag = kService,
     .media_type = kJson,
     .schema = "OpenApi",
     .answer = get_openapi},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace duckicelake::rest
