// SPDX-License-Identifier: Apache-2.0
// Calls about catalogs beside the process's own. A caller who may not reach one gets what he would
// get if it did not exist, from the same code; so he is asked for before anything of the call is
// read that an existing catalog alone would refuse, and before the catalog is opened.
#include "catalog/access.h"
#include "catalog/guard.h"
#include "net/server.h"
#include "rest/handler_impl.h"

namespace duckicelake::rest {
namespace {

Error no_such_warehouse(std::string_view id) {
  return make_error(Code::kNoSuchWarehouse, "Warehouse does not exist: {}", id);
}

void move_to(Call& call, CatalogPtr there) {
  call.trail.move_to(there->id);
  call.at = std::move(there);
}

}  // namespace

void RestHandler::Impl::go_to(const CallPtr& call, const std::string& id) {
  if (context.deps.directory == nullptr) return fail(*call, no_such_warehouse(id));
  if (CatalogPtr there = context.deps.directory->active(id)) {
    move_to(*call, std::move(there));
    call->at->api.await_head(call->respond.thread_index(),
                             [this, call](const HeadResult& head) { on_head_there(call, head); });
    return;
  }
  open(call, id);
}

void RestHandler::Impl::open(const CallPtr& call, const std::string& id) {
  look_up(call, id, [this, call, id](const Result<CatalogDirectory::Known>& found) {
    if (!found.has_value()) return fail(*call, found.error());
    on_worker(call, [this, call, id, registration = found->registration] {
      Result<CatalogPtr> there = context.deps.directory->open(id, registration);
      if (!there.has_value()) return fail(*call, there.error());
      on_io_thread(call, [this, call, there = std::move(*there)]() mutable {
        move_to(*call, std::move(there));
        call->at->api.await_head(
            call->respond.thread_index(),
            [this, call](const HeadResult& head) { on_head_there(call, head); });
      });
    });
  });
}

void RestHandler::Impl::on_head_there(const CallPtr& call, const HeadResult& head) {
  guarded(call, [&] {
    if (!head.has_value()) {
      // What is wrong with it is for those who may reach it.
      const std::string id = call->at->id;
      move_to(*call, context.own_catalog());
      return look_up(call, id, [this, call, why = head.error()](const auto& found) {
        fail(*call, found.has_value() ? why : found.error());
      });
    }
    if (head->head.registration != call->at->registration) {
      const std::string id = call->at->id;
      context.deps.directory->drop(*call->at);
      move_to(*call, context.own_catalog());
      if (std::exchange(call->was_sent_back, true)) {
        return fail(*call, Error(Code::kUnavailable, "the catalog is being made anew"));
      }
      return open(call, id);
    }
    std::shared_ptr<const catalog::Access> access;
    if (call->at->access != nullptr) {
      access = call->at->access->at_least(head->head.access);
      if (!access) {
        return on_worker(call, [this, call, head = *head] {
          auto loaded = call->at->access->load(head.head.access, pg::deadline_after(kRulesTime));
          if (!loaded.has_value()) return fail(*call, loaded.error());
          on_io_thread(call, [this, call, head, access = std::move(*loaded)]() mutable {
            decide_there(call, head, std::move(access));
          });
        });
      }
    }
    decide_there(call, head, std::move(access));
  });
}

void RestHandler::Impl::decide_there(const CallPtr& call, const HeadResult& head,
                                     std::shared_ptr<const catalog::Access> access) {
  if (call->token) {
    const auto principal = context.deps.guard->authenticator().principal(*call->token, *access);
    if (!principal.has_value()) return refuse(*call, principal.error());
    call->caller.principal = *principal;
    if (!catalog::reaches_account(*principal, call->at->account)) {
      note_out_of_reach(context, *call);
      return fail(*call, no_such_warehouse(call->at->id));
    }
  }
  if (Status status = prepare(*call); !status.has_value()) {
    return fail(*call, std::move(status).error());
  }
  if (!needs_access(context, *call)) access.reset();
  decide(call, &head, std::move(access));
}

void RestHandler::Impl::look_up(const CallPtr& call, std::string id, Found next) {
  context.own.api.await_head(
      call->respond.thread_index(),
      [this, call, id = std::move(id), next = std::move(next)](const HeadResult& head) {
        guarded(call, [&] { look_up_at(call, id, head, next); });
      });
}

void RestHandler::Impl::look_up_at(const CallPtr& call, const std::string& id,
                                   const HeadResult& head, const Found& next) {
  if (!head.has_value()) return fail(*call, head.error());
  const store::LakeHead& at = head->head;
  std::shared_ptr<const catalog::Access> access;
  if (call->token) access = context.own.access->at_least(at.access);
  const CatalogDirectory::Answer known = context.deps.directory->known(id, at.catalogs);
  if (known.is_read && (access || !call->token)) {
    return answer_lookup(call, id, access.get(), known, next);
  }
  on_worker(call, [this, call, id, at, next]() {
    std::shared_ptr<const catalog::Access> rules;
    if (call->token) {
      auto loaded = context.own.access->load(at.access, pg::deadline_after(kRulesTime));
      if (!loaded.has_value()) return fail(*call, loaded.error());
      rules = std::move(*loaded);
    }
    auto found = context.deps.directory->look_up(id, at.catalogs);
    if (!found.has_value()) return fail(*call, found.error());
    on_io_thread(call, [this, call, id, rules = std::move(rules), found = std::move(*found), next] {
      answer_lookup(call, id, rules.get(), found, next);
    });
  });
}

void RestHandler::Impl::answer_lookup(const CallPtr& call, const std::string& id,
                                      const catalog::Access* access,
                                      const CatalogDirectory::Answer& answer, const Found& next) {
  if (call->token) {
    const auto principal = context.deps.guard->authenticator().principal(*call->token, *access);
    if (!principal.has_value()) return refuse(*call, principal.error());
    call->caller.principal = *principal;
    if (answer.known && !catalog::reaches_account(*principal, answer.known->account)) {
      call->trail.move_to(id);
      note_out_of_reach(context, *call);
      call->trail.move_to(call->at->id);
      return next(no_such_warehouse(id));
    }
  }
  if (!answer.known) return next(no_such_warehouse(id));
  next(*answer.known);
}

void RestHandler::Impl::get_config_of(const CallPtr& call) {
  const std::string id = call->wants_warehouse;
  if (context.deps.directory == nullptr) return fail(*call, no_such_warehouse(id));
  look_up(call, id, [this, call, id](const Result<CatalogDirectory::Known>& found) {
    if (!found.has_value()) return fail(*call, found.error());
    finish(*call, config_answer(std::make_shared<const std::string>(config_json(id))));
  });
}

}  // namespace duckicelake::rest
