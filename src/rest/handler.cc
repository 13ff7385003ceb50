// SPDX-License-Identifier: Apache-2.0
#include "rest/handler.h"

#include <limits>
#include <utility>

#include "catalog/guard.h"
#include "net/gzip.h"
#include "net/server.h"
#include "rest/error_mapping.h"
#include "rest/handler_impl.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

using Clock = std::chrono::steady_clock;

// A body of which the rules need not be asked first: who comes in at all may send so much.
constexpr std::uint64_t kSmallBody = std::uint64_t{64} << 10;

Secret token_key(const RestConfig& config) {
  if (!config.page_token_key.empty()) return config.page_token_key;
  return Secret(sign::sha256("duckicelake page tokens of " + config.catalog_id));
}

TableAnswers::Settings answer_settings(const RestConfig& config) {
  return {storage_config_json(config.storage), config.server_version, config.gzip_level,
          config.gzip_min_bytes, config.gzip_cache_bytes};
}

bool has_header(const net::Response& response, std::string_view lower_name) {
  for (const auto& [name, value] : response.headers) {
    if (name == lower_name) return true;
  }
  return false;
}

// Compresses the body of a 200 that does not say anything about its coding yet.
void compress(const RestConfig& config, const net::Request& request, net::Response& response) {
  if (response.status != 200 || has_header(response, "vary")) return;
  const std::size_t size = response.body_size();
  if (size < config.gzip_min_bytes) return;
  response.add_header("vary", "Accept-Encoding");
  if (request.method == net::Method::kHead || !net::accepts_gzip(request)) return;
  Result<std::string> packed = net::gzip_compress(response.body_text(), config.gzip_level);
  if (!packed.has_value()) return;
  response.body.clear();
  response.body.emplace_back(std::move(*packed));
  response.add_header("content-encoding", "gzip");
}

// Errors about the request itself, found before a route runs.
Status read_parameters(const PathParameters& parameters, Call& call) {
  const PlusSign plus = plus_sign_of(call.request.header("x-client-version"));
  if (parameters.space) {
    DIL_TRY(std::string joined, decode_name(*parameters.space, plus));
    DIL_TRY(call.levels, split_levels(joined));
  }
  if (parameters.name) {
    DIL_TRY(call.name, decode_name(*parameters.name, plus));
  }
  return {};
}

OpenCatalog own_catalog(const RestConfig& config, const HandlerDeps& deps) {
  return {config.catalog_id,
          {},
          0,
          deps.catalog,
          deps.guard == nullptr ? nullptr : &deps.guard->access(),
          deps.storage,
          deps.signing,
          PageTokens(token_key(config)),
          deps.direct};
}

}  // namespace

Call::~Call() {
  if (!respond) return;
  respond(error_response(Error(Code::kUnavailable, "the server is ending"), request.request_id));
}

Result<std::optional<std::string_view>> Call::parameter(std::string_view wanted) const {
  std::optional<std::string_view> only;
  for (const auto& [key, value] : query) {
    if (key != wanted) continue;
    if (only && *only != value) return invalid_argument("{} is given twice", wanted);
    only = value;
  }
  return only;
}

RestHandler::Impl::Impl(const RestConfig& config, HandlerDeps deps)
    : table_answers(answer_settings(config)),
      context{config, deps, own_catalog(config, deps), table_answers,
              std::make_shared<const std::string>(config_json(config.catalog_id))} {}

void RestHandler::Impl::handle(net::Request request, net::Responder respond) {
  auto call =
      std::make_shared<Call>(std::move(request), std::move(respond),
                             context.deps.guard == nullptr ? nullptr : &context.deps.guard->audit(),
                             context.own_catalog());
  guarded(call, [&] { start(call); });
}

void RestHandler::Impl::start(const CallPtr& call) {
  if (call->request.method == net::Method::kOther) return refuse_unknown_method(*call);
  if (call->request.method == net::Method::kOptions && call->request.target == "*") {
    return describe_server(*call);
  }
  const net::SplitTarget target = net::split_target(call->request.target);
  const std::optional<RawPath> path = split_path(target.path);
  if (!path) return fail(*call, Error(Code::kNotFound, "no such route"));
  const RouteMatch match = match_route(call->request.method, *path);
  if (!match.is_path_known) return fail(*call, Error(Code::kNotFound, "no such route"));
  if (match.id == kNoRoute) return refuse_method(*call, *path);
  call->route = match.id;

  call->raw_parameters = match.parameters;
  call->raw_query = target.query;
  if (routes()[match.id].gate == RouteGate::kOpen) return go_on(call);
  identified(call, &Impl::go_on);
}

void RestHandler::Impl::identified(const CallPtr& call, void (Impl::*next)(const CallPtr&)) {
  if (auth_mode(context) == catalog::AuthMode::kOff) return (this->*next)(call);
  Identified found = identify(context, *call);
  if (found.refusal) return refuse_caller(*call, *found.refusal);
  if (!found.needs_work) return (this->*next)(call);
  on_worker(call, [this, call, next] {
    auto refusal = identify_thoroughly(context, *call);
    if (!refusal.has_value()) return fail(*call, refusal.error());
    if (*refusal) return refuse_caller(*call, **refusal);
    on_io_thread(call, [this, call, next] { (this->*next)(call); });
  });
}

void RestHandler::Impl::go_on(const CallPtr& call) {
  if (awaits_body(*call) && call->request.body_to_come <= kSmallBody) return receive_body(call);
  if (call->raw_parameters.prefix) {
    Result<std::string> prefix = decode_name(
        *call->raw_parameters.prefix, plus_sign_of(call->request.header("x-client-version")));
    if (!prefix.has_value()) return fail(*call, prefix.error());
    if (*prefix != context.own.id) return go_to(call, *prefix);
  }
  if (Status status = prepare(*call); !status.has_value()) {
    return fail(*call, std::move(status).error());
  }
  if (!call->wants_warehouse.empty()) {
    // Whether there is another one is no open knowledge: without a token none of them is.
    if (auth_mode(context) == catalog::AuthMode::kOff ||
        !call->request.header("authorization").empty()) {
      return identified(call, &Impl::get_config_of);
    }
  }
  const Route& route = routes()[call->route];
  if (needs_access(context, *call) || (route.peek != nullptr && call->wants_head)) {
    call->at->api.await_head(call->respond.thread_index(),
                             [this, call](const HeadResult& head) { on_head(call, head); });
    return;
  }
  decide(call, nullptr, nullptr);
}

// A body that no operation reads stays with the client.
bool RestHandler::Impl::awaits_body(const Call& call) {
  return call.request.body_to_come > 0 && !routes()[call.route].request.empty();
}

// What was asked until now is asked again afterwards, under the rules of then: the body may take
// its time.
void RestHandler::Impl::receive_body(const CallPtr& call) {
  const bool is_open = routes()[call->route].gate == RouteGate::kOpen;
  const std::size_t most = is_open ? kSmallBody : std::numeric_limits<std::size_t>::max();
  call->respond.receive_body(most, [this, call](std::string body) {
    call->request.body = std::move(body);
    call->request.body_to_come = 0;
    guarded(call, [&] { go_on(call); });
  });
}

Status RestHandler::Impl::prepare(Call& call) {
  const Route& route = routes()[call.route];
  DIL_CHECK_OK(read_parameters(call.raw_parameters, call));
  if (!call.raw_query.empty()) {
    DIL_TRY(call.query, net::parse_query(call.raw_query));
    DIL_CHECK_OK(read_acting(call));
  }
  if (route.prepare == nullptr) return {};
  return route.prepare(context, call);
}

void RestHandler::Impl::on_head(const CallPtr& call, const HeadResult& head) {
  guarded(call, [&] {
    std::shared_ptr<const catalog::Access> access;
    if (needs_access(context, *call)) {
      // Without the head nobody knows whether the rules are still those that are known.
      if (!head.has_value()) return fail(*call, head.error());
      access = call->at->access->at_least(head->head.access);
      if (!access) return load_rules(call, head->head.access);
    }
    decide(call, &head, std::move(access));
  });
}

void RestHandler::Impl::decide(const CallPtr& call, const HeadResult* head,
                               std::shared_ptr<const catalog::Access> access) {
  if (Status status = permit(context, *call, std::move(access)); !status.has_value()) {
    return refuse(*call, status.error());
  }
  if (awaits_body(*call)) return receive_body(call);
  const Route& route = routes()[call->route];
  if (head != nullptr && route.peek != nullptr && call->wants_head) {
    if (std::optional<Answered> answered = route.peek(context, *call, *head)) {
      return finish(*call, std::move(*answered));
    }
  }
  run(call);
}

// Once after each change of the rules.
void RestHandler::Impl::load_rules(const CallPtr& call, std::int64_t version) {
  on_worker(call, [this, call, version] {
    auto access = call->at->access->load(version, pg::deadline_after(kRulesTime));
    if (!access.has_value()) return fail(*call, access.error());
    if (Status status = permit(context, *call, std::move(*access)); !status.has_value()) {
      return refuse(*call, status.error());
    }
    if (awaits_body(*call)) return receive_body(call);
    finish(*call, routes()[call->route].answer(context, *call));
  });
}

void RestHandler::Impl::run(const CallPtr& call) {
  const Route& route = routes()[call->route];
  if (route.run_on == RunOn::kIoThread) return finish(*call, route.answer(context, *call));
  on_worker(call, [this, call] { finish(*call, routes()[call->route].answer(context, *call)); });
}

void RestHandler::Impl::refuse(Call& call, const Error& error) {
  if (error.code() != Code::kUnauthenticated) return fail(call, error);
  refuse_caller(call, {false, true, error.message()});
}

void RestHandler::Impl::refuse_caller(Call& call, const NotAuthenticated& reason) {
  note_refusal(context, call, reason);
  const Error error(Code::kUnauthenticated, std::string(reason.why));
  send(call, not_authenticated(reason), &error);
}

// A method that no resource here knows is a 501; one that this resource does not serve, a 405
// (RFC 9110 §9.1).
void RestHandler::Impl::refuse_unknown_method(Call& call) {
  const Error error(Code::kUnsupported, "the request's method is not known here");
  send(call,
       net::make_json_response(
           501, net::default_error_body(501, "UnsupportedOperationException", error.message())),
       &error);
}

// OPTIONS * asks about the server as a whole (RFC 9110 §9.3.7).
void RestHandler::Impl::describe_server(Call& call) {
  net::Response response;
  response.status = 204;
  response.add_header("allow", allowed_methods() + ", OPTIONS");
  send(call, std::move(response), nullptr);
}

void RestHandler::Impl::refuse_method(Call& call, const RawPath& path) {
  const Error error = make_error(Code::kMethodNotAllowed, "{} is not served here",
                                 method_name(call.request.method));
  net::Response response = error_response(error, call.request.request_id);
  response.add_header("allow", allowed_methods(path));
  send(call, std::move(response), &error);
}

void RestHandler::Impl::finish(Call& call, Answered answered) {
  if (!answered.has_value()) return fail(call, std::move(answered).error());
  compress(context.config, call.request, *answered);
  send(call, std::move(*answered), nullptr);
}

void RestHandler::Impl::fail(Call& call, const Error& error) noexcept {
  send(call, error_response(error, call.request.request_id, call.invalid_type), &error);
}

void RestHandler::Impl::send(Call& call, net::Response response, const Error* error) noexcept {
  if (!call.respond) return;  // thrown after the answer was given
  call.trail.finish(error);
  RequestRecord record;
  record.route = call.route;
  record.method = call.request.method;
  record.target = call.request.target;
  record.status = response.status;
  record.duration = Clock::now() - call.start;
  record.request_bytes = call.request.body.size();
  const bool has_body =
      call.request.method != net::Method::kHead && response.status != 204 && response.status != 304;
  record.response_bytes = has_body ? response.body_size() : 0;
  record.request_id = call.request.request_id;
  record.caller = call.caller.principal.id;
  record.peer_address = call.request.peer_address;
  if (error != nullptr) {
    record.error = error->code();
    record.message = error->message();
    record.cause = error->cause();
  }
  context.deps.observer.on_request(record);
  call.respond(std::move(response));
}

RestHandler::RestHandler(const RestConfig& config, HandlerDeps deps)
    : impl_(std::make_unique<Impl>(config, std::move(deps))) {}

RestHandler::~RestHandler() = default;

void RestHandler::handle(net::Request request, net::Responder respond) noexcept {
  impl_->handle(std::move(request), std::move(respond));
}

RestHandler::Counters RestHandler::counters() const {
  const TableAnswers::Counters gzip = impl_->table_answers.counters();
  return {gzip.hits, gzip.misses, gzip.bytes, impl_->refused.load(std::memory_order_relaxed)};
}

}  // namespace duckicelake::rest
