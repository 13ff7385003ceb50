// SPDX-License-Identifier: Apache-2.0
#include "rest/operations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "json/writer.h"
#include "rest/answers.h"
#include "rest/call.h"
#include "rest/credentials.h"
#include "rest/paging.h"

namespace duckicelake::rest {
namespace {

Answered answer_identifiers(const Call& call, Listing listing, const Paging& paging,
                            const catalog::Page& page) {
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("identifiers");
  json.begin_array();
  for (const std::string& name : page.names) {
    json.begin_object();
    json.key("namespace");
    write_levels(json, call.levels);
    json.member("name", name);
    json.end_object();
  }
  json.end_array();
  write_next(json, call, listing, call.levels, paging, page.next);
  json.end_object();
  return json_answer(std::move(body));
}

// Clients before Iceberg 1.8 join the levels of `parent` with the three characters "%1F" and encode
// the whole once more. A namespace that really has these characters in its name comes first.
std::optional<catalog::Levels> split_escaped_levels(std::string_view parent) {
  catalog::Levels levels;
  std::size_t begin = 0;
  while (true) {
    std::size_t end = parent.find("%1F", begin);
    if (end == std::string_view::npos) end = parent.find("%1f", begin);
    levels.emplace_back(parent.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (levels.back().empty()) return std::nullopt;
    if (end == std::string_view::npos) break;
    begin = end + 3;
  }
  if (levels.size() < 2) return std::nullopt;
  return levels;
}

Result<std::vector<catalog::Levels>> children_of(const Call& call, std::string_view parent) {
  if (parent.empty()) return call.at->api.list_namespaces(call.caller, std::nullopt);
  if (parent.size() > kMaxNameBytes) {
    return invalid_argument("parent is longer than {} bytes", kMaxNameBytes);
  }
  DIL_TRY(catalog::Levels levels, split_levels(parent));
  auto found = call.at->api.list_namespaces(call.caller, levels);
  if (!found.has_value() && found.error().code() == Code::kNoSuchNamespace && levels.size() == 1) {
    if (auto escaped = split_escaped_levels(parent)) {
      return call.at->api.list_namespaces(call.caller, escaped);
    }
  }
  return found;
}

// Sorted, so that a page continues where the one before ended.
std::optional<std::string> cut_page(std::vector<catalog::Levels>& namespaces,
                                    const Paging& paging) {
  std::sort(namespaces.begin(), namespaces.end());
  if (!paging.is_paged) return std::nullopt;
  // Siblings differ in their last level only.
  const auto begin =
      paging.page.after.empty()
          ? namespaces.begin()
          : std::upper_bound(namespaces.begin(), namespaces.end(), paging.page.after,
                             [](const std::string& after, const catalog::Levels& levels) {
                               return after < levels.back();
                             });
  namespaces.erase(namespaces.begin(), begin);
  const auto limit = static_cast<std::size_t>(paging.page.limit);
  if (namespaces.size() <= limit) return std::nullopt;
  namespaces.resize(limit);
  return namespaces.back().back();
}

catalog::TableRef reference(const Call& call) { return {call.levels, call.name}; }

// The answer to a load with what the grant gives; 304 when the client has exactly that.
net::Response answer_with(const Context& context, const Call& call,
                          const catalog::StorageGrant& grant) {
  return context.table_answers.respond_with(call.request, *call.found,
                                            caller_storage(context, call, call.load.table, grant));
}

}  // namespace

Answered list_namespaces(const Context&, Call& call) {
  DIL_TRY(std::optional<std::string_view> parent, call.parameter("parent"));
  const catalog::Levels bound = {std::string(parent.value_or(std::string_view()))};
  DIL_TRY(Paging paging, parse_paging(call, Listing::kNamespaces, bound));
  DIL_TRY(std::vector<catalog::Levels> namespaces,
          children_of(call, parent.value_or(std::string_view())));
  const std::optional<std::string> next = cut_page(namespaces, paging);
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("namespaces");
  json.begin_array();
  for (const catalog::Levels& levels : namespaces) write_levels(json, levels);
  json.end_array();
  write_next(json, call, Listing::kNamespaces, bound, paging, next);
  json.end_object();
  return json_answer(std::move(body));
}

Answered load_namespace(const Context&, Call& call) {
  DIL_TRY(auto properties, call.at->api.load_namespace(call.caller, call.levels));
  std::string body;
  json::Writer json(body);
  json.begin_object();
  json.key("namespace");
  write_levels(json, call.levels);
  json.key("properties");
  json.begin_object();
  for (const auto& [name, value] : properties) json.member(name, value);
  json.end_object();
  json.end_object();
  return json_answer(std::move(body));
}

Answered check_namespace(const Context&, Call& call) {
  DIL_TRY([[maybe_unused]] auto properties, call.at->api.load_namespace(call.caller, call.levels));
  return no_content();
}

Answered list_tables(const Context&, Call& call) {
  DIL_TRY(Paging paging, parse_paging(call, Listing::kTables, call.levels));
  DIL_TRY(catalog::Page page, call.at->api.list_tables(call.caller, call.levels, paging.page));
  return answer_identifiers(call, Listing::kTables, paging, page);
}

Answered list_views(const Context&, Call& call) {
  DIL_TRY(Paging paging, parse_paging(call, Listing::kViews, call.levels));
  DIL_TRY(catalog::Page page, call.at->api.list_views(call.caller, call.levels, paging.page));
  return answer_identifiers(call, Listing::kViews, paging, page);
}

Status prepare_load_table(const Context&, Call& call) {
  call.load.table = {call.levels, call.name};  // the gate is asked by the names as well
  DIL_TRY(std::optional<std::string_view> snapshots, call.parameter("snapshots"));
  if (snapshots && *snapshots != "all" && *snapshots != "refs") {
    return invalid_argument("snapshots must be all or refs");
  }
  if (snapshots && *snapshots == "refs") call.load.mode = catalog::SnapshotsMode::kRefs;
  DIL_TRY(std::optional<std::string_view> dashed, call.parameter("snapshot-id"));
  DIL_TRY(std::optional<std::string_view> underscored, call.parameter("snapshot_id"));
  if (dashed && underscored && *dashed != *underscored) {
    return invalid_argument("snapshot-id and snapshot_id differ");
  }
  if (const auto pin = dashed ? dashed : underscored) {
    DIL_TRY(call.load.pinned_snapshot, parse_integer("snapshot-id", *pin));
    call.wants_head = false;
  }
  return {};
}

std::optional<Answered> load_cached_table(const Context& context, Call& call,
                                          const HeadResult& head) {
  if (!head.has_value()) return Answered(head.error());
  call.found = call.at->api.cached_table(call.caller, call.load, *head);
  if (!call.found) return std::nullopt;
  if (const auto asked = delegation(call); asked.wants_any()) {
    const auto target = known_target(call);
    if (!target) return std::nullopt;
    auto grant = call.at->storage->cached_grant(call.caller, *target, asked);
    if (!grant) return std::nullopt;
    if (!grant->has_value()) return Answered(std::move(*grant).error());
    if ((*grant)->kind != catalog::StorageGrant::Kind::kNone) {
      return Answered(answer_with(context, call, **grant));
    }
  }
  std::optional<net::Response> response = context.table_answers.respond(call.request, *call.found);
  if (!response) return std::nullopt;
  return Answered(std::move(*response));
}

Answered load_table(const Context& context, Call& call) {
  if (!call.found) {
    DIL_TRY(call.found, call.at->api.load_table(call.caller, call.load));
  }
  if (const auto asked = delegation(call); asked.wants_any()) {
    DIL_TRY(const catalog::StorageTarget target,
            storage_target(call, call.load.table, *call.found));
    DIL_TRY(const catalog::StorageGrant grant, call.at->storage->grant(call.caller, target, asked));
    if (grant.kind != catalog::StorageGrant::Kind::kNone) return answer_with(context, call, grant);
  }
  if (auto response = context.table_answers.respond(call.request, *call.found)) {
    return std::move(*response);
  }
  return context.table_answers.compress_and_respond(*call.found);
}

Answered check_table(const Context&, Call& call) {
  DIL_CHECK_OK(call.at->api.check_table(call.caller, reference(call)));
  return no_content();
}

Answered load_view(const Context&, Call& call) {
  DIL_TRY(catalog::ViewAnswer view, call.at->api.load_view(call.caller, reference(call)));
  return view_answer(view);
}

Answered check_view(const Context&, Call& call) {
  DIL_CHECK_OK(call.at->api.check_view(call.caller, reference(call)));
  return no_content();
}

}  // namespace duckicelake::rest
