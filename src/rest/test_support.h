// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rest/handler.h"

namespace duckicelake::rest::testing {

// A catalog in memory: tables, views and namespaces by name.
class FakeCatalog final : public CatalogApi {
 public:
  FakeCatalog() {
    add_table({"shop"}, "t", R"({"format-version":2,"snapshots":[]})");
    namespaces = {{"shop"}, {"a.b"}, {"a"}};
  }
  void add_table(const catalog::Levels& levels, const std::string& name, std::string metadata) {
    auto answer = std::make_shared<catalog::TableAnswer>();
    answer->metadata_location = "s3://b/" + name + "/metadata/v1.metadata.json";
    answer->metadata = std::make_shared<const std::string>(std::move(metadata));
    answer->version_tag = name + "-1-all";
    tables[{levels, name}] = answer;
  }

  void await_head(std::size_t, catalog::HeadProbe::Callback callback) override {
    ++heads;
    if (defers_head) {
      waiting.push_back(std::move(callback));
    } else {
      callback(head);
    }
  }
  std::shared_ptr<const catalog::TableAnswer> cached_table(
      const catalog::Caller&, const catalog::LoadTableRequest& request,
      const catalog::HeadProbe::Fresh&) override {
    return is_cold ? nullptr : find(request);
  }
  Result<std::shared_ptr<const catalog::TableAnswer>> load_table(
      const catalog::Caller&, const catalog::LoadTableRequest& request) override {
    ++loads;
    last_load = request;
    if (failure) return *failure;
    if (throws) throw std::runtime_error("SELECT secret");
    if (auto found = find(request)) return found;
    return Error(Code::kNoSuchTable, "Table does not exist: " + request.table.name);
  }
  Status check_table(const catalog::Caller&, const catalog::TableRef& table) override {
    if (tables.contains({table.levels, table.name})) return {};
    return Error(Code::kNoSuchTable, "Table does not exist");
  }
  std::optional<catalog::TableIds> known_table(const catalog::TableRef&) override {
    return std::nullopt;
  }
  Result<catalog::TableIds> find_table(const catalog::TableRef& table) override {
    if (tables.contains({table.levels, table.name}))
      return catalog::TableIds{TableId(1), SchemaId(1)};
    return Error(Code::kNoSuchTable, "Table does not exist");
  }
  Result<std::vector<catalog::Levels>> list_namespaces(
      const catalog::Caller&, const std::optional<catalog::Levels>& parent) override {
    last_parent = parent;
    if (!parent) return namespaces;
    if (auto it = children.find(*parent); it != children.end()) return it->second;
    return Error(Code::kNoSuchNamespace, "Namespace does not exist");
  }
  Result<std::map<std::string, std::string>> load_namespace(
      const catalog::Caller&, const catalog::Levels& levels) override {
    last_levels = levels;
    for (const catalog::Levels& known : namespaces) {
      if (known == levels) return std::map<std::string, std::string>{{"owner", "me"}};
    }
    return Error(Code::kNoSuchNamespace, "Namespace does not exist");
  }
  Result<catalog::Page> list_tables(const catalog::Caller&, const catalog::Levels& levels,
                                    const store::PageRequest& page) override {
    last_page = page;
    catalog::Page out;
    for (const auto& [key, answer] : tables) {
      if (key.first != levels || key.second <= page.after) continue;
      if (page.limit > 0 && static_cast<std::int64_t>(out.names.size()) == page.limit) {
        out.next = out.names.back();
        break;
      }
      out.names.push_back(key.second);
    }
    return out;
  }
  Result<catalog::Page> list_views(const catalog::Caller&, const catalog::Levels&,
                                   const store::PageRequest&) override {
    return catalog::Page{{"seen"}, {}};
  }
  Result<catalog::ViewAnswer> load_view(const catalog::Caller&,
                                        const catalog::TableRef& view) override {
    if (view.name != "seen") return Error(Code::kNoSuchView, "View does not exist");
    return catalog::ViewAnswer{"s3://b/seen/1.metadata.json", R"({"format-version":1})"};
  }
  Status check_view(const catalog::Caller&, const catalog::TableRef& view) override {
    if (view.name == "seen") return {};
    return Error(Code::kNoSuchView, "View does not exist");
  }

  // Writes are taken down; they succeed unless `failure` is set.
  Status write(const catalog::WriteContext& context, std::string what) {
    last_write = context;
    written.push_back(std::move(what));
    if (failure) return *failure;
    return {};
  }
  Status create_namespace(const catalog::WriteContext& context, const catalog::Levels& levels,
                          const catalog::Properties& properties) override {
    return write(context,
                 fmt::format("create {} {}", catalog::display_name(levels), properties.size()));
  }
  Status drop_namespace(const catalog::WriteContext& context,
                        const catalog::Levels& levels) override {
    return write(context, "drop " + catalog::display_name(levels));
  }
  Result<catalog::PropertiesChange> update_namespace(
      const catalog::WriteContext& context, const catalog::Levels& levels,
      const catalog::PropertiesUpdate& update) override {
    DIL_CHECK_OK(write(context, "update " + catalog::display_name(levels)));
    catalog::PropertiesChange out;
    for (const auto& [key, value] : update.updates) out.updated.push_back(key);
    out.missing = update.removals;
    return out;
  }
  Result<std::shared_ptr<const catalog::TableAnswer>> create_table(
      const catalog::WriteContext&, catalog::CreateTableRequest) override {
    return Error(Code::kUnsupported, "the fake creates no tables");
  }
  Result<std::string> stage_table(const catalog::WriteContext&,
                                  catalog::CreateTableRequest) override {
    return Error(Code::kUnsupported, "the fake creates no tables");
  }
  Result<std::shared_ptr<const catalog::TableAnswer>> commit_table(const catalog::WriteContext&,
                                                                   catalog::TableCommit) override {
    return Error(Code::kUnsupported, "the fake commits nothing");
  }
  Status commit_transaction(const catalog::WriteContext&,
                            std::vector<catalog::TableCommit>) override {
    return Error(Code::kUnsupported, "the fake commits nothing");
  }
  Result<std::shared_ptr<const catalog::TableAnswer>> register_table(
      const catalog::WriteContext&, catalog::RegisterTableRequest) override {
    return Error(Code::kUnsupported, "the fake registers no tables");
  }
  Status drop_table(const catalog::WriteContext& context, const catalog::TableRef& table,
                    catalog::Purge purge) override {
    return write(context, fmt::format("{} {}", purge == catalog::Purge::kYes ? "purge" : "drop",
                                      catalog::display_name(table)));
  }
  Status rename_table(const catalog::WriteContext& context, const catalog::TableRef& from,
                      const catalog::TableRef& to) override {
    return write(context, fmt::format("rename {} {}", catalog::display_name(from),
                                      catalog::display_name(to)));
  }
  Result<catalog::TableNames::LastMetadata> unregister_table(
      const catalog::WriteContext& context, const catalog::TableRef& table) override {
    DIL_CHECK_OK(write(context, "unregister " + catalog::display_name(table)));
    return catalog::TableNames::LastMetadata{"s3://b/v1.metadata.json", "{}"};
  }
  Status report_metrics(const catalog::Caller&, const catalog::TableRef& table,
                        const std::string& report) override {
    return write({}, "report " + catalog::display_name(table) + " " + report);
  }
  Result<catalog::ViewAnswer> create_view(const catalog::WriteContext& context,
                                          const catalog::CreateViewRequest& request) override {
    return view(context, "create view " + catalog::display_name(request.view));
  }
  Result<catalog::ViewAnswer> register_view(const catalog::WriteContext& context,
                                            const catalog::RegisterViewRequest& request) override {
    return view(context, fmt::format("register {} {}", catalog::display_name(request.view),
                                     request.metadata_location));
  }
  Result<catalog::ViewAnswer> commit_view(const catalog::WriteContext& context,
                                          const catalog::CommitViewRequest& request) override {
    return view(context, fmt::format("commit {} {} {}", catalog::display_name(request.view),
                                     request.requirements.size(), request.updates.size()));
  }
  Status drop_view(const catalog::WriteContext& context, const catalog::TableRef& view) override {
    return write(context, "drop view " + catalog::display_name(view));
  }
  Status rename_view(const catalog::WriteContext& context, const catalog::TableRef& from,
                     const catalog::TableRef& to) override {
    return write(context, fmt::format("rename view {} {}", catalog::display_name(from),
                                      catalog::display_name(to)));
  }
  Result<catalog::CompactReport> compact_table(const catalog::Caller&,
                                               const catalog::TableRef& table,
                                               const catalog::CompactOptions& options) override {
    last_compact = options;
    if (!tables.contains({table.levels, table.name})) {
      return Error(Code::kNoSuchTable, "Table does not exist");
    }
    return catalog::CompactReport{};
  }
  Result<catalog::ExpireReport> expire_table(const catalog::Caller&, const catalog::TableRef&,
                                             bool) override {
    return catalog::ExpireReport{};
  }
  Result<catalog::MaintainReport> maintain(const catalog::Caller&,
                                           const catalog::MaintainOptions& options) override {
    last_maintain = options;
    return catalog::MaintainReport{};
  }
  Result<catalog::ViewAnswer> view(const catalog::WriteContext& context, std::string what) {
    DIL_CHECK_OK(write(context, std::move(what)));
    return catalog::ViewAnswer{"s3://b/seen/1.metadata.json", "{}"};
  }

  std::shared_ptr<const catalog::TableAnswer> find(const catalog::LoadTableRequest& request) const {
    auto it = tables.find({request.table.levels, request.table.name});
    return it == tables.end() ? nullptr : it->second;
  }

  std::map<std::pair<catalog::Levels, std::string>, std::shared_ptr<const catalog::TableAnswer>>
      tables;
  std::vector<catalog::Levels> namespaces;
  std::map<catalog::Levels, std::vector<catalog::Levels>> children;
  Result<catalog::HeadProbe::Fresh> head = catalog::HeadProbe::Fresh{};
  bool defers_head = false;
  bool is_cold = false;
  bool throws = false;
  std::optional<Error> failure;
  std::vector<catalog::HeadProbe::Callback> waiting;
  int heads = 0;
  int loads = 0;
  catalog::LoadTableRequest last_load;
  std::optional<catalog::Levels> last_parent;
  catalog::Levels last_levels;
  store::PageRequest last_page;
  catalog::WriteContext last_write;
  catalog::CompactOptions last_compact;
  catalog::MaintainOptions last_maintain;
  std::vector<std::string> written;
};

// Runs tasks at once, on the calling thread; or refuses them.
class FakeExecutor final : public Executor {
 public:
  bool try_run(std::function<void()> task) override {
    if (is_full) return false;
    if (is_ending) return true;  // the task is destroyed
    ++taken;
    task();
    return true;
  }
  bool is_full = false;
  bool is_ending = false;
  int taken = 0;
};

class FakeObserver final : public RequestObserver {
 public:
  struct Seen {
    RouteId route;
    int status;
    std::optional<Code> error;
    std::string message, cause, request_id, caller;
    std::size_t response_bytes;
  };
  void on_request(const RequestRecord& r) noexcept override {
    seen.push_back({r.route, r.status, r.error, std::string(r.message), std::string(r.cause),
                    std::string(r.request_id), std::string(r.caller), r.response_bytes});
  }
  std::vector<Seen> seen;
};

class CatchingSink final : public net::ResponseSink {
 public:
  void complete(std::uint64_t, std::optional<net::Response> response) override {
    ++calls;
    caught = std::move(response);
  }
  void receive_body(std::uint64_t, std::size_t max_bytes, net::BodyTaker taker) override {
    asked_for = max_bytes;
    take = std::move(taker);
  }
  net::Executor executor() const override { return {}; }
  int calls = 0;
  std::size_t asked_for = 0;  // bytes of body at most; 0: nobody asked
  net::BodyTaker take;
  std::optional<net::Response> caught;
};

inline std::string header_of(const net::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

// A handler on fakes.
struct Bench {
  explicit Bench(const RestConfig& config = {})
      : handler(std::move(config),
                HandlerDeps{catalog, executor, observer, [] { return std::string("metric 1\n"); },
                            [this] { return not_ready; }}) {}
  ~Bench() { hang_up(); }

  // A body that was asked for does not come: what waits for it holds on to the sink.
  void hang_up() {
    if (last_sink) last_sink->take = nullptr;
  }

  net::Response ask(std::string method, std::string target, net::Headers headers = {},
                    std::string body = {}, std::uint64_t body_to_come = 0) {
    net::Request request;
    request.body = std::move(body);
    request.body_to_come = body_to_come;
    request.method = net::parse_method(method);
    request.method_text = std::move(method);
    request.target = std::move(target);
    request.headers = std::move(headers);
    request.peer_address = "127.0.0.1";
    request.request_id = "req-1";
    auto sink = std::make_shared<CatchingSink>();
    handler.handle(std::move(request), net::Responder(sink, 1));
    hang_up();
    last_sink = sink;
    return sink->caught.value_or(net::Response{.status = 0, .headers = {}, .body = {}});
  }
  net::Response post(std::string target, std::string body, net::Headers headers = {}) {
    return ask("POST", std::move(target), std::move(headers), std::move(body));
  }
  net::Response get(std::string target, net::Headers headers = {}) {
    return ask("GET", std::move(target), std::move(headers));
  }

  FakeCatalog catalog;
  FakeExecutor executor;
  FakeObserver observer;
  std::optional<std::string> not_ready;
  std::shared_ptr<CatchingSink> last_sink;
  RestHandler handler;
};

}  // namespace duckicelake::rest::testing
