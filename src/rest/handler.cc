// SPDX-License-Identifier: Apache-2.0
#include "rest/handler.h"

#include <atomic>
#include <exception>
#include <limits>
#include <utility>

#include "catalog/guard.h"
#include "net/gzip.h"
#include "net/server.h"
#include "rest/auth_gate.h"
#include "rest/call.h"
#include "rest/error_mapping.h"
#include "rest/operations.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

using CallPtr = std::shared_ptr<Call>;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRulesTime{10};
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
Status read_parameters(const Context& context, const PathParameters& parameters, Call& call) {
  const PlusSign plus = plus_sign_of(call.request.header("x-client-version"));
  if (parameters.prefix) {
    DIL_TRY(std::string prefix, decode_name(*parameters.prefix, plus));
    if (prefix != context.config.catalog_id) {
      return make_error(Code::kNoSuchWarehouse, "Warehouse does not exist: {}", prefix);
    }
  }
  if (parameters.space) {
    DIL_TRY(std::string joined, decode_name(*parameters.space, plus));
    DIL_TRY(call.levels, split_levels(joined));
  }
  if (parameters.name) {
    DIL_TRY(call.name, decode_name(*parameters.name, plus));
  }
  return {};
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

struct RestHandler::Impl {
  Impl(const RestConfig& config, HandlerDeps deps)
      : table_answers(answer_settings(config)),
        context{config, std::move(deps), PageTokens(token_key(config)), table_answers,
                std::make_shared<const std::string>(config_json(config.catalog_id))} {}

  void handle(net::Request request, net::Responder respond) {
    auto call = std::make_shared<Call>(
        std::move(request), std::move(respond),
        context.deps.guard == nullptr ? nullptr : &context.deps.guard->audit());
    guarded(call, [&] { start(call); });
  }

  // The request boundary: what was thrown below becomes a 500 for this one request.
  template <class Step>
  void guarded(const CallPtr& call, Step step) noexcept {
    try {
      step();
    } catch (const std::exception& error) {
      fail(*call, Error(Code::kInternal, "internal error", error.what()));
    } catch (...) {
      fail(*call, Error(Code::kInternal, "internal error", "an exception of unknown type"));
    }
  }

  void start(const CallPtr& call) {
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
    const bool is_open = routes()[match.id].gate == RouteGate::kOpen;
    if (is_open || auth_mode(context) == catalog::AuthMode::kOff) return go_on(call);
    Identified found = identify(context, *call);
    if (found.refusal) return refuse_caller(*call, *found.refusal);
    if (!found.needs_work) return go_on(call);
    // Back on the I/O thread afterwards, where the way of every request goes on.
    on_worker(call, [this, call] {
      auto refusal = identify_thoroughly(context, *call);
      if (!refusal.has_value()) return fail(*call, refusal.error());
      if (*refusal) return refuse_caller(*call, **refusal);
      const net::Executor io = call->respond.executor();
      (void)io.post([this, call] { guarded(call, [&] { go_on(call); }); });
    });
  }

  // The caller is known to be somebody, if need be.
  void go_on(const CallPtr& call) {
    const Route& route = routes()[call->route];
    if (awaits_body(*call) && call->request.body_to_come <= kSmallBody) return receive_body(call);
    if (Status status = prepare(route, call->raw_parameters, call->raw_query, *call);
        !status.has_value()) {
      return fail(*call, std::move(status).error());
    }
    const bool asks_rules = needs_access(context, *call);
    if (asks_rules || (route.peek != nullptr && call->wants_head)) {
      context.deps.catalog.await_head(
          call->respond.thread_index(),
          [this, call](const HeadResult& head) { on_head(call, head); });
      return;
    }
    if (Status status = permit(context, *call, nullptr); !status.has_value()) {
      return fail(*call, std::move(status).error());
    }
    if (awaits_body(*call)) return receive_body(call);
    run(call);
  }

  // A body that no operation reads stays with the client.
  static bool awaits_body(const Call& call) {
    return call.request.body_to_come > 0 && !routes()[call.route].request.empty();
  }

  // What was asked until now is asked again afterwards, under the rules of then: the body may take
  // its time.
  void receive_body(const CallPtr& call) {
    const bool is_open = routes()[call->route].gate == RouteGate::kOpen;
    const std::size_t most = is_open ? kSmallBody : std::numeric_limits<std::size_t>::max();
    call->respond.receive_body(most, [this, call](std::string body) {
      call->request.body = std::move(body);
      call->request.body_to_come = 0;
      guarded(call, [&] { go_on(call); });
    });
  }

  Status prepare(const Route& route, const PathParameters& parameters, std::string_view query,
                 Call& call) {
    DIL_CHECK_OK(read_parameters(context, parameters, call));
    if (!query.empty()) {
      DIL_TRY(call.query, net::parse_query(query));
      DIL_CHECK_OK(read_acting(call));
    }
    if (route.prepare == nullptr) return {};
    return route.prepare(context, call);
  }

  void on_head(const CallPtr& call, const HeadResult& head) {
    guarded(call, [&] {
      std::shared_ptr<const catalog::Access> access;
      if (needs_access(context, *call)) {
        // Without the head nobody knows whether the rules are still those that are known.
        if (!head.has_value()) return fail(*call, head.error());
        access = context.deps.guard->access().at_least(head->head.access);
        if (!access) return load_rules(call, head->head.access);
      }
      if (Status status = permit(context, *call, std::move(access)); !status.has_value()) {
        return refuse(*call, status.error());
      }
      if (awaits_body(*call)) return receive_body(call);
      const Route& route = routes()[call->route];
      if (route.peek != nullptr && call->wants_head) {
        if (std::optional<Answered> answered = route.peek(context, *call, head)) {
          return finish(*call, std::move(*answered));
        }
      }
      run(call);
    });
  }

  // Once after each change of the rules.
  void load_rules(const CallPtr& call, std::int64_t version) {
    on_worker(call, [this, call, version] {
      auto access = context.deps.guard->access().load(version, pg::deadline_after(kRulesTime));
      if (!access.has_value()) return fail(*call, access.error());
      if (Status status = permit(context, *call, std::move(*access)); !status.has_value()) {
        return refuse(*call, status.error());
      }
      if (awaits_body(*call)) return receive_body(call);
      finish(*call, routes()[call->route].answer(context, *call));
    });
  }

  void run(const CallPtr& call) {
    const Route& route = routes()[call->route];
    if (route.run_on == RunOn::kIoThread) return finish(*call, route.answer(context, *call));
    on_worker(call, [this, call] { finish(*call, routes()[call->route].answer(context, *call)); });
  }

  template <class Step>
  void on_worker(const CallPtr& call, Step step) {
    const bool is_taken = context.deps.executor.try_run(
        [this, call, step = std::move(step)]() mutable { guarded(call, [&] { step(); }); });
    if (is_taken) return;
    refused.fetch_add(1, std::memory_order_relaxed);
    fail(*call, Error(Code::kUnavailable, "the server is busy"));
  }

  // A token that the rules made void is no token.
  void refuse(Call& call, const Error& error) {
    if (error.code() != Code::kUnauthenticated) return fail(call, error);
    refuse_caller(call, {false, true, error.message()});
  }

  void refuse_caller(Call& call, const NotAuthenticated& reason) {
    note_refusal(context, call, reason);
    const Error error(Code::kUnauthenticated, std::string(reason.why));
    send(call, not_authenticated(reason), &error);
  }

  // A method that no resource here knows is a 501; one that this resource does not serve, a 405
  // (RFC 9110 §9.1).
  void refuse_unknown_method(Call& call) {
    const Error error(Code::kUnsupported, "the request's method is not known here");
    send(call,
         net::make_json_response(
             501, net::default_error_body(501, "UnsupportedOperationException", error.message())),
         &error);
  }

  // OPTIONS * asks about the server as a whole (RFC 9110 §9.3.7).
  void describe_server(Call& call) {
    net::Response response;
    response.status = 204;
    response.add_header("allow", allowed_methods() + ", OPTIONS");
    send(call, std::move(response), nullptr);
  }

  void refuse_method(Call& call, const RawPath& path) {
    const Error error = make_error(Code::kMethodNotAllowed, "{} is not served here",
                                   method_name(call.request.method));
    net::Response response = error_response(error, call.request.request_id);
    response.add_header("allow", allowed_methods(path));
    send(call, std::move(response), &error);
  }

  void finish(Call& call, Answered answered) {
    if (!answered.has_value()) return fail(call, std::move(answered).error());
    compress(context.config, call.request, *answered);
    send(call, std::move(*answered), nullptr);
  }

  void fail(Call& call, const Error& error) noexcept {
    send(call, error_response(error, call.request.request_id, call.invalid_type), &error);
  }

  void send(Call& call, net::Response response, const Error* error) noexcept {
    if (!call.respond) return;  // thrown after the answer was given
    call.trail.finish(error);
    RequestRecord record;
    record.route = call.route;
    record.method = call.request.method;
    record.target = call.request.target;
    record.status = response.status;
    record.duration = Clock::now() - call.start;
    record.request_bytes = call.request.body.size();
    const bool has_body = call.request.method != net::Method::kHead && response.status != 204 &&
                          response.status != 304;
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

  TableAnswers table_answers;
  const Context context;
  std::atomic<std::uint64_t> refused{0};
};

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
