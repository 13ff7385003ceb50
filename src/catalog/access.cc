// SPDX-License-Identifier: Apache-2.0
#include "catalog/access.h"

#include <algorithm>
#include <atomic>

namespace duckicelake::catalog {
namespace {

using store::ObjectKind;

bool share_one(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    const int order = left->compare(*right);
    if (order == 0) return true;
    if (order < 0) {
      ++left;
    } else {
      ++right;
    }
  }
  return false;
}

void sort_unique(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::uint64_t next_mark() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Access::Access(store::AccessRules rules) : version_(rules.version), mark_(next_mark()) {
  for (store::ClientRow& row : rules.clients) {
    Client client;
    if (auto scopes = auth::ScopeSet::parse(row.scope); scopes.has_value()) {
      client.scopes = std::move(*scopes);
    }
    client.roles = std::move(row.roles);
    sort_unique(client.roles);
    client.account = std::move(row.account);
    client.is_disabled = row.is_disabled;
    client.tokens_from = row.tokens_from;
    clients_.emplace(std::move(row.id), std::move(client));
  }
  for (store::RoleGrant& grant : rules.role_grants) {
    roles_by_principal_[grant.principal].push_back(std::move(grant.role));
  }
  for (auto& [principal, roles] : roles_by_principal_) sort_unique(roles);
  for (store::ObjectGrant& grant : rules.object_grants) {
    Grants& grants = grants_[{grant.kind, grant.object_id}];
    (grant.privilege == "modify" ? grants.modify : grants.select).push_back(std::move(grant.role));
  }
  for (auto& [key, grants] : grants_) {
    sort_unique(grants.select);
    sort_unique(grants.modify);
  }
}

const Access::Client* Access::client(std::string_view id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

std::vector<std::string> Access::roles_of(std::string_view principal) const {
  const auto found = roles_by_principal_.find(principal);
  return found == roles_by_principal_.end() ? std::vector<std::string>() : found->second;
}

const Access::Grants* Access::grants(ObjectKind kind, std::int64_t id) const {
  const auto found = grants_.find({kind, id});
  return found == grants_.end() ? nullptr : &found->second;
}

bool Access::allows_reading(const Roles& roles, const Grants* own, const Grants* of_schema) {
  const bool is_restricted = (own != nullptr && !own->select.empty()) ||
                             (of_schema != nullptr && !of_schema->select.empty());
  if (!is_restricted) return true;
  for (const Grants* grants : {own, of_schema}) {
    if (grants == nullptr) continue;
    if (share_one(roles, grants->select) || share_one(roles, grants->modify)) return true;
  }
  return false;
}

bool Access::hides_schema(const std::vector<std::string>& roles, SchemaId schema) const {
  return !allows_reading(roles, nullptr, grants(ObjectKind::kSchema, schema.value));
}

bool Access::sees(const std::vector<std::string>& roles, const ObjectRef& object) const {
  if (grants_.empty()) return true;
  // Grants go by both ids: half a name is no way around them.
  if (!object.schema) return !object.table && !object.view;
  const Grants* of_schema = grants(ObjectKind::kSchema, object.schema->value);
  const Grants* own = nullptr;
  if (object.table) own = grants(ObjectKind::kTable, object.table->value);
  if (object.view) own = grants(ObjectKind::kView, object.view->value);
  return allows_reading(roles, own, of_schema);
}

bool Access::may_modify(const std::vector<std::string>& roles, const ObjectRef& object) const {
  if (grants_.empty()) return true;
  // Grants go by both ids: half a name is no way around them.
  if (!object.schema) return !object.table && !object.view;
  const Grants* of_schema = grants(ObjectKind::kSchema, object.schema->value);
  const Grants* own = nullptr;
  if (object.table) own = grants(ObjectKind::kTable, object.table->value);
  if (object.view) own = grants(ObjectKind::kView, object.view->value);
  bool is_restricted = false;
  for (const Grants* one : {own, of_schema}) {
    if (one == nullptr || one->modify.empty()) continue;
    if (share_one(roles, one->modify)) return true;
    is_restricted = true;
  }
  return !is_restricted;
}

std::vector<std::int64_t> Access::hidden(const std::vector<std::string>& roles,
                                         ObjectKind kind) const {
  std::vector<std::int64_t> out;
  for (const auto& [key, grants] : grants_) {
    if (key.first == kind && !allows_reading(roles, &grants, nullptr)) out.push_back(key.second);
  }
  return out;
}

std::vector<std::int64_t> Access::hidden_in(const std::vector<std::string>& roles, SchemaId schema,
                                            ObjectKind kind) const {
  if (grants_.empty()) return {};
  const Grants* of_schema = grants(ObjectKind::kSchema, schema.value);
  const bool holds_schema = of_schema != nullptr && (share_one(roles, of_schema->select) ||
                                                     share_one(roles, of_schema->modify));
  if (holds_schema) return {};
  return hidden(roles, kind);
}

std::shared_ptr<const Access> AccessCache::at_least(std::int64_t version) const {
  const std::lock_guard lock(mutex_);
  if (!newest_ || newest_->version() < version) return nullptr;
  return newest_;
}

Result<std::shared_ptr<const Access>> AccessCache::load(std::int64_t version, pg::Deadline until) {
  if (auto known = at_least(version)) return known;
  const std::lock_guard reading(reading_);
  if (auto known = at_least(version)) return known;
  DIL_TRY(pg::Lease lease, pool_.acquire(until));
  DIL_TRY(store::AccessRules rules, store::load_access_rules(*lease, lake_));
  auto made = std::make_shared<const Access>(std::move(rules));
  if (made->version() < version) {
    return Error(Code::kUnavailable, "the access rules could not be read",
                 "PostgreSQL answered older rules than before");
  }
  const std::lock_guard lock(mutex_);
  newest_ = made;
  return std::shared_ptr<const Access>(std::move(made));
}

}  // namespace duckicelake::catalog
