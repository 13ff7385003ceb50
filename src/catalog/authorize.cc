// SPDX-License-Identifier: Apache-2.0
#include "catalog/authorize.h"

#include <algorithm>
#include <array>

#include "catalog/access.h"
#include "catalog/audit.h"
#include "catalog/name_lookup.h"

namespace duckicelake::catalog {
namespace {

using auth::Right;
using enum Decision::Verdict;

constexpr Right kRead = Right::kRead;
constexpr Right kWrite = Right::kWrite;

// In the order of the enumeration.
constexpr std::array<ActionRule, kActionCount> kRules = {{
    {"list_namespaces", kRead, Reach::kSomewhere, false},
    {"load_namespace", kRead, Reach::kNamespace, false},
    {"list_tables", kRead, Reach::kNamespace, false},
    {"load_table", kRead, Reach::kNamespace, false},
    {"list_views", kRead, Reach::kNamespace, false},
    {"load_view", kRead, Reach::kNamespace, false},
    {"create_namespace", kWrite, Reach::kNamespace, true},
    {"update_namespace", kWrite, Reach::kNamespace, true},
    {"drop_namespace", kWrite, Reach::kNamespace, true},
    {"create_table", kWrite, Reach::kNamespace, true},
    {"commit_table", kWrite, Reach::kNamespace, true},
    {"drop_table", kWrite, Reach::kNamespace, true},
    {"rename_table", kWrite, Reach::kNamespace, true},
    {"report_metrics", kRead, Reach::kNamespace, false},
    {"create_view", kWrite, Reach::kNamespace, true},
    {"commit_view", kWrite, Reach::kNamespace, true},
    {"drop_view", kWrite, Reach::kNamespace, true},
    {"rename_view", kWrite, Reach::kNamespace, true},
    {"maintain_table", kWrite, Reach::kNamespace, true},
    {"read_table_data", kRead, Reach::kNamespace, false},
    {"write_table_data", kWrite, Reach::kNamespace, false},
    {"ducklake_credentials", kRead, Reach::kNamespace, false},
    {"ducklake_credentials", kWrite, Reach::kNamespace, false},
    {"read_access", kRead, Reach::kAdmin, false},
    {"change_access", kWrite, Reach::kAdmin, true},
    {"read_audit", kRead, Reach::kAdmin, false},
    {"read_catalogs", kRead, Reach::kAdmin, false},
    {"change_catalogs", kWrite, Reach::kAdmin, true},
}};

const std::vector<std::string> kNoRoles;
const std::string kNoAccount;

const auth::ScopeSet& everything() {
  static const auth::ScopeSet all = auth::ScopeSet::superuser();
  return all;
}

bool is_within_scope(const ActionRule& rule, const auth::ScopeSet& scopes,
                     const ObjectRef& object) {
  switch (rule.reach) {
    case Reach::kAdmin: return scopes.is_superuser();
    case Reach::kSomewhere: return covers(scopes.rights_at_or_below(object.levels), rule.right);
    case Reach::kNamespace:
      return covers(
          object.levels.empty() ? scopes.rights_everywhere() : scopes.rights_in(object.levels),
          rule.right);
  }
  return false;
}

}  // namespace

const ActionRule& rule_of(Action action) { return kRules.at(static_cast<std::size_t>(action)); }

const std::vector<std::string>& Principal::roles() const {
  return held_roles ? *held_roles : kNoRoles;
}

const auth::ScopeSet& Principal::scopes() const { return subject ? subject->scopes : everything(); }

const std::string& Principal::account() const { return subject ? subject->account : kNoAccount; }

bool Principal::has_role(std::string_view role) const {
  return std::binary_search(roles().begin(), roles().end(), role);
}

bool reaches_account(const Principal& principal, std::string_view account) {
  return account.empty() || principal.scopes().is_superuser() || principal.account() == account;
}

Decision authorize(AuthMode mode, const Caller& caller, Action action, const ObjectRef& object) {
  const ActionRule& rule = rule_of(action);
  const Principal& principal = caller.principal;
  if (mode == AuthMode::kOff) {
    if (!principal.is_named) return {kAllow, "authentication is off"};
  } else {
    if (!principal.is_authenticated || !principal.subject) return {kDeny, "nobody authenticated"};
    if (!is_within_scope(rule, principal.scopes(), object)) {
      return {kDeny, "the token's scope does not allow it"};
    }
    if (principal.is_superuser()) return {kAllow, "the token's scope allows everything"};
  }
  if (!caller.access) return {kDeny, "the access rules are not known"};
  if (!caller.access->sees(principal.roles(), object)) {
    return {kHide, "no role of the principal is granted the object"};
  }
  if (covers(rule.right, kWrite) && !caller.access->may_modify(principal.roles(), object)) {
    return {kDeny, "no role of the principal may modify the object"};
  }
  return {kAllow, "scope and grants allow it"};
}

Error denied(const Decision& decision, const ObjectRef& object) {
  if (decision.verdict == kHide) {
    if (object.table) {
      return make_error(Code::kNoSuchTable, "Table does not exist: {}", object.name);
    }
    if (object.view) return make_error(Code::kNoSuchView, "View does not exist: {}", object.name);
    return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}",
                      display_name(object.levels));
  }
  if (object.name.empty()) {
    return Error(Code::kPermissionDenied, "not allowed on the catalog",
                 std::string(decision.reason));
  }
  return Error(Code::kPermissionDenied, "not allowed on \"" + object.name + "\"",
               std::string(decision.reason));
}

Status check_authorized(AuthMode mode, const Caller& caller, Action action,
                        const ObjectRef& object) {
  const Decision decision = authorize(mode, caller, action, object);
  if (caller.trail != nullptr) {
    DIL_CHECK_OK(caller.trail->note(caller, action, object, decision));
  }
  if (!decision.is_allowed()) return denied(decision, object);
  return {};
}

}  // namespace duckicelake::catalog
