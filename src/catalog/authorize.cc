// SPDX-License-Identifier: Apache-2.0
#include "catalog/authorize.h"

#include <algorithm>
#include <array>

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
    {"read_access", kRead, Reach::kAdmin, false},
    {"change_access", kWrite, Reach::kAdmin, true},
    {"read_audit", kRead, Reach::kAdmin, false},
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

Decision authorize(AuthMode mode, const Caller& caller, Action action, const ObjectRef& object) {
  const ActionRule& rule = rule_of(action);
  const Principal& principal = caller.principal;
  if (mode == AuthMode::kOff) return {kAllow, "authentication is off"};
  if (!principal.is_authenticated || !principal.subject) return {kDeny, "nobody authenticated"};
  if (!is_within_scope(rule, principal.scopes(), object)) {
    return {kDeny, "the token's scope does not allow it"};
  }
  return {kAllow, "the token's scope allows it"};
}

Error denied(const Decision& decision, const ObjectRef& object) {
  if (decision.verdict == kHide) {
    if (object.table)
      return make_error(Code::kNoSuchTable, "Table does not exist: {}", object.name);
    if (object.view) return make_error(Code::kNoSuchView, "View does not exist: {}", object.name);
    return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}", object.name);
  }
  return Error(Code::kPermissionDenied, "not allowed on \"" + object.name + "\"",
               std::string(decision.reason));
}

Status check_authorized(AuthMode mode, const Caller& caller, Action action,
                        const ObjectRef& object) {
  const Decision decision = authorize(mode, caller, action, object);
  if (!decision.is_allowed()) return denied(decision, object);
  return {};
}

}  // namespace duckicelake::catalog
