// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "rest/auth_gate.h"
#include "rest/call.h"
#include "rest/handler.h"
#include "rest/operations.h"

namespace duckicelake::rest {

using CallPtr = std::shared_ptr<Call>;

// For reading the access rules anew.
inline constexpr std::chrono::seconds kRulesTime{10};

// The way of a call from its first byte to its answer: handler.cc; and to the catalog that it is
// about, when that is not the process's own: handler_catalogs.cc. Steps run on the call's I/O
// thread unless they say otherwise.
struct RestHandler::Impl {
  Impl(const RestConfig& config, HandlerDeps deps);

  void handle(net::Request request, net::Responder respond);

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
  template <class Step>
  void on_worker(const CallPtr& call, Step step) {
    const bool is_taken = context.deps.executor.try_run(
        [this, call, step = std::move(step)]() mutable { guarded(call, [&] { step(); }); });
    if (is_taken) return;
    refused.fetch_add(1, std::memory_order_relaxed);
    fail(*call, Error(Code::kUnavailable, "the server is busy"));
  }
  // From a worker, back to where the way of every request goes on.
  template <class Step>
  void on_io_thread(const CallPtr& call, Step step) {
    const net::Executor io = call->respond.executor();
    (void)io.post(
        [this, call, step = std::move(step)]() mutable { guarded(call, [&] { step(); }); });
  }

  void start(const CallPtr& call);
  // Finds out of whom the call is, then goes on; or refuses it.
  void identified(const CallPtr& call, void (Impl::*next)(const CallPtr&));
  // The caller is known to be somebody, if need be.
  void go_on(const CallPtr& call);
  static bool awaits_body(const Call& call);
  void receive_body(const CallPtr& call);
  Status prepare(Call& call);
  // The rules are known, if they are needed: asks the gate, and runs the operation.
  void decide(const CallPtr& call, const HeadResult* head,
              std::shared_ptr<const catalog::Access> access);
  void on_head(const CallPtr& call, const HeadResult& head);
  void load_rules(const CallPtr& call, std::int64_t version);
  void run(const CallPtr& call);

  // --- handler_catalogs.cc
  // Goes to the catalog of this name, which is not the own one: the path's.
  void go_to(const CallPtr& call, const std::string& id);
  void on_head_there(const CallPtr& call, const HeadResult& head);
  void decide_there(const CallPtr& call, const HeadResult& head,
                    std::shared_ptr<const catalog::Access> access);
  // Finds the catalog in the registry, for this caller: `next` gets its registration, or the error
  // that it does not exist, the same for whoever may not reach it.
  using Found = std::function<void(const Result<CatalogDirectory::Known>&)>;
  void look_up(const CallPtr& call, std::string id, Found next);
  void look_up_at(const CallPtr& call, const std::string& id, const HeadResult& head,
                  const Found& next);
  // On any thread.
  void answer_lookup(const CallPtr& call, const std::string& id, const catalog::Access* access,
                     const CatalogDirectory::Answer& answer, const Found& next);
  // Looks it up, opens it, and goes on there.
  void open(const CallPtr& call, const std::string& id);
  void get_config_of(const CallPtr& call);

  // A token that the rules made void is no token.
  void refuse(Call& call, const Error& error);
  void refuse_caller(Call& call, const NotAuthenticated& reason);
  void refuse_unknown_method(Call& call);
  void describe_server(Call& call);
  void refuse_method(Call& call, const RawPath& path);
  void finish(Call& call, Answered answered);
  void fail(Call& call, const Error& error) noexcept;
  void send(Call& call, net::Response response, const Error* error) noexcept;

  TableAnswers table_answers;
  const Context context;
  std::atomic<std::uint64_t> refused{0};
};

}  // namespace duckicelake::rest
