// SPDX-License-Identifier: Apache-2.0
#include "catalog/vend.h"

#include <algorithm>

#include "base/bytes.h"
#include "catalog/audit.h"
#include "sign/hash.h"

namespace duckicelake::catalog {
namespace {

// How long an endpoint without STS is not asked again.
constexpr std::chrono::seconds kStsAbsence{60};
// Refusals make nobody look at a table's folders more often than this.
constexpr std::chrono::seconds kScopeRest{1};
constexpr std::size_t kMaxSessionName = 64;
constexpr std::size_t kMarkBytes = 9;

std::size_t index_of(StorageRight right) { return right == StorageRight::kWrite ? 1 : 0; }

// "[\w+=,.@-]{2,64}": for the store's log; nothing is decided by it.
std::string session_name(const Caller& caller, const TableRef& table) {
  std::string out = "ice-" + caller.principal.id + "-" + display_name(table);
  if (out.size() > kMaxSessionName) out.resize(kMaxSessionName);
  for (char& c : out) {
    const bool is_fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') ||
                        std::string_view("_+=,.@-").find(c) != std::string_view::npos;
    if (!is_fit) c = '-';
  }
  return out;
}

// "arn:aws-cn:iam::1:role/x" -> "aws-cn".
std::string partition_of(std::string_view arn) {
  if (!arn.starts_with("arn:")) return "aws";
  arn.remove_prefix(4);
  std::string out(arn.substr(0, arn.find(':')));
  return out.empty() ? "aws" : out;
}

std::string mark_of(std::string_view what) {
  return to_hex(sign::sha256(what).substr(0, kMarkBytes));
}

}  // namespace

StorageAccess::StorageAccess(Config config, const Backends& backends, const HeadProbe& probe)
    : config_(std::move(config)),
      backends_(backends),
      probe_(probe),
      keys_(config_.max_cached_keys) {}

bool StorageAccess::has_sts() const {
  if (!config_.assume_role) return false;
  const auto now = std::chrono::floor<std::chrono::seconds>(config_.now());
  return now.time_since_epoch().count() >= sts_absent_until_.load(std::memory_order_relaxed);
}

void StorageAccess::note(std::string_view what, const Error* why) const {
  if (config_.on_event) config_.on_event(what, why);
}

ObjectRef StorageAccess::object_of(const GateTarget& target) const {
  ObjectRef object;
  object.catalog_id = backends_.lake.catalog_id;
  object.schema = target.schema;
  object.table = target.id;
  object.name = display_name(target.table);
  object.levels = target.table.levels;
  return object;
}

Result<StorageRight> StorageAccess::right_of(const Caller& caller, const GateTarget& target) const {
  const ObjectRef object = object_of(target);
  const bool may_write = backends_.would_allow(caller, Action::kWriteTableData, object);
  const Action action = may_write ? Action::kWriteTableData : Action::kReadTableData;
  Status allowed = check_authorized(backends_.auth_mode, caller, action, object);
  if (!allowed) {
    ++denied_;
    return std::move(allowed).error();
  }
  return may_write ? StorageRight::kWrite : StorageRight::kRead;
}

Status StorageAccess::note_grant(const Caller& caller, const GateTarget& target,
                                 const StorageGrant& grant) const {
  if (caller.trail == nullptr || caller.trail->audit() == nullptr || !grant.keys) return {};
  const bool is_gateway = grant.kind == StorageGrant::Kind::kGatewayKeys;
  store::AuditRow row = audit_row(caller, "vend_keys", object_of(target));
  row.decision = "ok";
  row.reason = grant.right == StorageRight::kWrite ? "keys to read and write" : "keys to read";
  if (grant.kind == StorageGrant::Kind::kStaticKeys) row.reason = "the principal's static key";
  // What a gateway key is for is in its id, which is long.
  row.key_id = is_gateway ? "gateway:" + grant.keys->mark : grant.keys->access_key;
  return caller.trail->audit()->submit(std::move(row));
}

void StorageAccess::note_refusal(const Caller& caller, std::string_view operation,
                                 const GateTarget& target, std::string reason) const {
  if (caller.trail == nullptr || caller.trail->audit() == nullptr) return;
  store::AuditRow row = audit_row(caller, operation, object_of(target));
  row.decision = "denied";
  row.reason = std::move(reason);
  // Refused either way: nothing is lost but the line.
  (void)caller.trail->audit()->submit(std::move(row));
}

StorageAccess::Policy StorageAccess::make_policy(const StorageScope& scope, StorageRight right,
                                                 bool prefers_wider) const {
  Result<sign::SessionScope> wanted = session_scope(scope, right);
  if (wanted) return make_policy(*wanted, prefers_wider);
  Policy out;
  out.fit = std::move(wanted).error();
  return out;
}

StorageAccess::Policy StorageAccess::make_policy(const sign::SessionScope& wanted,
                                                 bool prefers_wider) const {
  Policy out;
  sign::PolicyOptions options;
  options.wildcards = config_.wildcards;
  options.partition = partition_of(config_.role_arn);
  options.prefers_wider = prefers_wider;
  Result<sign::SessionPolicy> policy = sign::session_policy(wanted, options);
  if (!policy) {
    out.fit = std::move(policy).error();
    return out;
  }
  out.text = std::move(policy->text);
  out.digest = to_hex(sign::sha256(out.text));
  out.is_widened = policy->is_widened;
  return out;
}

StorageAccess::EntryPtr StorageAccess::make_entry(std::shared_ptr<const StorageScope> scope,
                                                  std::string version,
                                                  SnapshotId name_change) const {
  auto out = std::make_shared<ScopeEntry>();
  out->scope = std::move(scope);
  out->version = std::move(version);
  out->name_change = name_change;
  out->loaded = config_.now();
  if (config_.assume_role) {
    for (const StorageRight right : {StorageRight::kRead, StorageRight::kWrite}) {
      out->policies[index_of(right)] = make_policy(*out->scope, right, false);
    }
  }
  return out;
}

StorageAccess::EntryPtr StorageAccess::cached_entry(TableId table, const std::string* version) {
  const Clock::time_point now = config_.now();
  const SnapshotId name_change = probe_.last_name_change();
  std::lock_guard lock(scopes_mutex_);
  const auto found = scopes_.find(table);
  if (found == scopes_.end()) return nullptr;
  const ScopeEntry& entry = *found->second;
  const bool is_good = entry.name_change >= name_change && now >= entry.loaded &&
                       now < entry.loaded + config_.scope_life &&
                       (version == nullptr || entry.version == *version);
  return is_good ? found->second : nullptr;
}

Result<StorageAccess::EntryPtr> StorageAccess::entry_of(TableId table, const std::string* version) {
  if (EntryPtr known = cached_entry(table, version)) return known;
  // Read before the rows: what changes in between is seen as a later change.
  const SnapshotId name_change = probe_.last_name_change();
  ++scope_loads_;
  DIL_TRY(std::shared_ptr<const StorageScope> scope,
          load_storage_scope(backends_.pool, backends_.deadline(), backends_.objects,
                             backends_.lake, table, config_.limits));
  EntryPtr entry =
      make_entry(std::move(scope), version != nullptr ? *version : std::string(), name_change);
  std::lock_guard lock(scopes_mutex_);
  // It fills again with a few queries for each table that is asked for.
  if (scopes_.size() >= config_.max_cached_scopes) scopes_.clear();
  scopes_[table] = entry;
  return entry;
}

Result<std::shared_ptr<const StorageScope>> StorageAccess::scope_of(TableId table) {
  DIL_TRY(const EntryPtr entry, entry_of(table, nullptr));
  return entry->scope;
}

Result<std::shared_ptr<const StorageScope>> StorageAccess::fresh_scope_of(TableId table) {
  {
    std::lock_guard lock(scopes_mutex_);
    const auto found = scopes_.find(table);
    if (found != scopes_.end() && found->second->loaded + kScopeRest < config_.now()) {
      scopes_.erase(found);
    }
  }
  return scope_of(table);
}

std::shared_ptr<const StorageScope> StorageAccess::cached_scope(TableId table) {
  const EntryPtr entry = cached_entry(table, nullptr);
  return entry ? entry->scope : nullptr;
}

std::string StorageAccess::purpose_of(const Caller& caller, const StorageScope& scope,
                                      StorageRight right, const Policy& policy) const {
  const Principal& principal = caller.principal;
  // Lengths first: no two purposes are one text.
  return fmt::format("{}:{}|{}:{}|{}|{}|{}", principal.id.size(), principal.id,
                     principal.subject_id().size(), principal.subject_id(), scope.uuid,
                     index_of(right), policy.digest);
}

VendedKeyCache::Made StorageAccess::make_keys(const Caller& caller, const TableRef& table,
                                              const StorageScope& scope, StorageRight right,
                                              const Policy& policy) {
  return make_keys({session_name(caller, table), right, scope.routes(), policy,
                    [&] { return make_policy(scope, right, true); }});
}

VendedKeyCache::Made StorageAccess::make_keys(const Keying& keying) {
  const Policy& policy = keying.policy;
  objstore::AssumeRoleRequest request;
  request.role_arn = config_.role_arn;
  request.session_name = keying.session_name;
  request.session_policy = policy.text;
  request.duration = config_.duration;
  const auto made = std::chrono::floor<std::chrono::seconds>(config_.now());
  bool is_widened = policy.is_widened;
  ++sts_calls_;
  Result<objstore::AssumedRole> role = config_.assume_role(request);
  if (!role && role.error().code() == Code::kPayloadTooLarge && !is_widened) {
    // The service packs policies and measures that.
    const Policy wider = keying.wider();
    if (wider.fit && wider.text != policy.text) {
      request.session_policy = wider.text;
      is_widened = true;
      ++sts_calls_;
      role = config_.assume_role(request);
    }
  }
  if (!role) {
    if (role.error().code() == Code::kUnsupported) {
      sts_absent_until_.store((made + kStsAbsence).time_since_epoch().count(),
                              std::memory_order_relaxed);
    } else {
      ++sts_failures_;
    }
    note("no keys could be had", &role.error());
    return std::move(role).error();
  }
  if (is_widened) {
    ++sts_widened_;
    note("keys name folders where their policy has no room for files", nullptr);
  }
  auto keys = std::make_shared<VendedKeys>();
  keys->access_key = std::move(role->access_key);
  keys->secret_key = std::move(role->secret_key);
  keys->session_token = std::move(role->session_token);
  keys->made = made;
  keys->expiration = role->expiration;
  keys->right = keying.right;
  keys->routes = keying.routes;
  keys->mark = mark_of(keys->access_key + "|" + keys->session_token.reveal());
  return std::shared_ptr<const VendedKeys>(std::move(keys));
}

GatewayClaims StorageAccess::claims_for(const Caller& caller, const GateTarget& target,
                                        const StorageScope& scope, StorageRight right,
                                        const GatewayKeys& maker) const {
  GatewayClaims out;
  out.catalog_id = backends_.lake.catalog_id;
  out.table = target.id.value_or(TableId(-1));
  out.uuid = scope.uuid;
  if (!target.id) {
    out.location = scope.location;
    out.staged = target.table;
    out.schema = target.schema;
  }
  out.right = right;
  out.expiration = maker.expiration_at(std::chrono::floor<std::chrono::seconds>(config_.now()));
  out.principal = caller.principal;
  if (const auto& subject = caller.principal.subject) {
    // Keys are no way to outlast the token.
    out.expiration = std::min(out.expiration,
                              std::chrono::sys_seconds(std::chrono::seconds(subject->expires_at)));
  }
  return out;
}

std::optional<StorageGrant> StorageAccess::grant_without_keys(const Caller& caller,
                                                              const GateTarget& target,
                                                              const ScopeEntry* entry,
                                                              StorageRight right,
                                                              DelegationRequest asked) {
  StorageGrant out;
  out.right = right;
  if (asked.wants_keys && config_.gateway) {
    if (entry == nullptr) return std::nullopt;
    const GatewayKeys& gateway = *config_.gateway;
    const GatewayClaims claims = claims_for(caller, target, *entry->scope, right, gateway);
    GatewayKeys::Minted minted = gateway.mint(claims);
    auto keys = std::make_shared<VendedKeys>();
    keys->made = std::chrono::floor<std::chrono::seconds>(config_.now());
    keys->expiration = claims.expiration;
    keys->right = right;
    keys->routes = entry->scope->routes();
    keys->mark = mark_of(minted.access_key);
    keys->access_key = std::move(minted.access_key);
    keys->secret_key = std::move(minted.secret_key);
    // Clients that refresh keys ask for one.
    keys->session_token = Secret(std::string(GatewayKeys::kSessionToken));
    out.kind = StorageGrant::Kind::kGatewayKeys;
    out.keys = std::move(keys);
    ++granted_gateway_;
    return out;
  }
  if (config_.signs_requests) {
    out.kind = StorageGrant::Kind::kSigning;
    if (!target.id && entry != nullptr && config_.staging) {
      const GatewayKeys::Minted minted =
          config_.staging->mint(claims_for(caller, target, *entry->scope, right, *config_.staging));
      out.staged_token = minted.access_key + "." + minted.secret_key.reveal();
    }
    ++granted_signing_;
  }
  return out;
}

Result<StorageGrant> StorageAccess::grant_from(const Caller& caller, const GateTarget& target,
                                               const ScopeEntry& entry, StorageRight right,
                                               DelegationRequest asked) {
  if (asked.wants_keys && has_sts()) {
    StorageRight of_keys = right;
    const Policy* policy = &entry.policies[index_of(right)];
    // A writer whose folder is not its own gets the rest, unless there is a better way.
    if (!policy->fit && right == StorageRight::kWrite && !config_.gateway && !asked.wants_signing) {
      of_keys = StorageRight::kRead;
      policy = &entry.policies[index_of(of_keys)];
    }
    if (policy->fit) {
      auto keys = keys_.find_or_make(
          purpose_of(caller, *entry.scope, of_keys, *policy), config_.now(),
          [&] { return make_keys(caller, target.table, *entry.scope, of_keys, *policy); });
      if (keys) {
        StorageGrant out{StorageGrant::Kind::kKeys, of_keys, std::move(*keys)};
        DIL_CHECK_OK(note_grant(caller, target, out));
        ++granted_keys_;
        return out;
      }
      const Code code = keys.error().code();
      if (code != Code::kUnsupported && code != Code::kPayloadTooLarge) {
        return std::move(keys).error();
      }
    } else {
      note("no keys are narrow enough", &policy->fit.error());
    }
    ++unfit_;
  }
  auto out = grant_without_keys(caller, target, &entry, right, asked);
  if (!out) return StorageGrant{};
  DIL_CHECK_OK(note_grant(caller, target, *out));
  return std::move(*out);
}

Result<StorageGrant> StorageAccess::grant(const Caller& caller, const StorageTarget& target,
                                          DelegationRequest asked) {
  if (!asked.wants_any()) return StorageGrant{};
  if (auto ready = cached_grant(caller, target, asked)) return std::move(*ready);
  const GateTarget gate{target.table, target.ids.table, target.ids.schema};
  DIL_TRY(const StorageRight right, right_of(caller, gate));
  DIL_TRY(const EntryPtr entry, entry_of(target.ids.table, &target.version));
  return grant_from(caller, gate, *entry, right, asked);
}

std::optional<Result<StorageGrant>> StorageAccess::cached_grant(const Caller& caller,
                                                                const StorageTarget& target,
                                                                DelegationRequest asked) {
  using Out = std::optional<Result<StorageGrant>>;
  if (!asked.wants_any()) return Out(StorageGrant{});
  const bool needs_scope = asked.wants_keys && (has_sts() || config_.gateway);
  EntryPtr entry;
  if (needs_scope) {
    entry = cached_entry(target.ids.table, &target.version);
    if (!entry) return std::nullopt;
  }
  const GateTarget gate{target.table, target.ids.table, target.ids.schema};
  const ObjectRef object = object_of(gate);
  const bool may_write = backends_.would_allow(caller, Action::kWriteTableData, object);
  const StorageRight right = may_write ? StorageRight::kWrite : StorageRight::kRead;
  if (asked.wants_keys && has_sts()) {
    const Policy& policy = entry->policies[index_of(right)];
    // What is less usual is left to the worker.
    if (!policy.fit) return std::nullopt;
    auto keys = keys_.find(purpose_of(caller, *entry->scope, right, policy), config_.now());
    if (!keys) return std::nullopt;
    Result<StorageRight> allowed = right_of(caller, gate);
    if (!allowed) return Out(std::move(allowed).error());
    if (*allowed != right) return std::nullopt;
    StorageGrant granted{StorageGrant::Kind::kKeys, right, std::move(keys)};
    if (Status noted = note_grant(caller, gate, granted); !noted) {
      return Out(std::move(noted).error());
    }
    ++granted_keys_;
    return Out(std::move(granted));
  }
  Result<StorageRight> allowed = right_of(caller, gate);
  if (!allowed) return Out(std::move(allowed).error());
  auto out = grant_without_keys(caller, gate, entry.get(), *allowed, asked);
  if (!out) return std::nullopt;
  if (Status noted = note_grant(caller, gate, *out); !noted) {
    return Out(std::move(noted).error());
  }
  return Out(std::move(*out));
}

Result<StorageGrant> StorageAccess::grant_staged(const Caller& caller, const TableRef& table,
                                                 const std::string& uuid,
                                                 const std::string& location,
                                                 DelegationRequest asked) {
  if (!asked.wants_any()) return StorageGrant{};
  // Signed one by one, each request is looked at when it comes.
  GateTarget gate{table, std::nullopt, {}};
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(const store::NamespaceRow space,
            require_namespace(*lease, backends_.lake, table.levels));
    gate.schema = space.schema_id;
  }
  DIL_TRY(const StorageRight right, right_of(caller, gate));
  if (right != StorageRight::kWrite) {
    ++denied_;
    return Error(Code::kPermissionDenied,
                 "not allowed to write data of \"" + display_name(table) + "\"");
  }
  Result<std::shared_ptr<const StorageScope>> scope = staged_storage_scope(
      backends_.pool, backends_.deadline(), backends_.objects, backends_.lake, uuid, location);
  if (!scope && scope.error().code() == Code::kUnsupported) {
    ++unfit_;
    note("no keys for a staged table", &scope.error());
    return StorageGrant{};
  }
  if (!scope) return std::move(scope).error();
  const EntryPtr entry = make_entry(std::move(*scope), {}, probe_.last_name_change());
  return grant_from(caller, gate, *entry, right, asked);
}

Result<AttachedGrant> StorageAccess::grant_attached(const Caller& caller,
                                                    const std::vector<GateTarget>& targets,
                                                    StorageRight right) {
  // DuckDB reads and writes below DATA_PATH, and files that were added by name.
  DIL_TRY(const std::string data_prefix, backends_.objects.key_of(backends_.lake.data_path));
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  AttachedGrant answer;
  sign::SessionScope wanted;
  std::vector<std::string> routes;
  std::vector<EntryPtr> entries;
  std::vector<const GateTarget*> included;
  for (const GateTarget& target : targets) {
    Result<EntryPtr> entry = entry_of(*target.id, nullptr);
    if (!entry && entry.error().code() == Code::kNoSuchTable) continue;  // dropped meanwhile
    Result<sign::SessionScope> one = Error(Code::kUnsupported, "");
    if (entry && right == StorageRight::kWrite &&
        backends_.would_allow(caller, Action::kWriteTableData, object_of(target))) {
      one = session_scope(*(*entry)->scope, StorageRight::kWrite);
      if (!one) answer.not_written.push_back(target.table.name);
    }
    if (entry && !one) one = session_scope(*(*entry)->scope, StorageRight::kRead);
    if (one) {
      std::erase_if(one->read_prefixes,
                    [&](const std::string& prefix) { return !prefix.starts_with(data_prefix); });
      if (one->read_prefixes.empty() && one->read_keys.empty()) {
        one = Error(Code::kUnsupported, "none of its files is known to be its own alone");
      }
    }
    const Error* why = !entry ? &entry.error() : !one ? &one.error() : nullptr;
    if (why != nullptr) {
      if (why->code() != Code::kUnsupported) return *why;
      answer.not_read.push_back(target.table.name);
      continue;
    }
    wanted.bucket = one->bucket;
    append(wanted.read_prefixes, one->read_prefixes);
    append(wanted.read_keys, one->read_keys);
    append(wanted.write_prefixes, one->write_prefixes);
    append(wanted.wider_prefixes, one->wider_prefixes);
    append(routes, (*entry)->scope->routes());
    entries.push_back(std::move(*entry));
    included.push_back(&target);
  }
  if (included.empty()) {
    return Error(Code::kUnsupported, "there is no table that keys could be for alone");
  }
  const GateTarget& first = *included.front();
  StorageGrant& out = answer.grant;
  out.right = right;
  if (has_sts()) {
    const Policy policy = make_policy(wanted, false);
    if (!policy.fit) {
      ++unfit_;
      note("no keys for a DuckLake client are narrow enough", &policy.fit.error());
      return Error(Code::kUnsupported,
                   "keys for all of these tables fit into no session policy; ask for one table");
    }
    const std::string purpose = "attached|" + purpose_of(caller, *entries[0]->scope, right, policy);
    auto keys = keys_.find_or_make(purpose, config_.now(), [&] {
      return make_keys({session_name(caller, first.table), right, routes, policy,
                        [&] { return make_policy(wanted, true); }});
    });
    if (keys) {
      out.kind = StorageGrant::Kind::kKeys;
      out.keys = std::move(*keys);
      DIL_CHECK_OK(note_grant(caller, first, out));
      ++granted_keys_;
      return answer;
    }
    if (keys.error().code() != Code::kUnsupported) return std::move(keys).error();
  }
  if (!config_.gateway || included.size() > 1) {
    Result<AttachedGrant> own = grant_static(caller, included, right);
    if (own || own.error().code() != Code::kUnsupported) {
      if (own) append(own->not_read, answer.not_read);
      return own;
    }
    if (!config_.gateway) return own;
    return Error(Code::kUnsupported, "keys of the gateway are for one table; ask for one");
  }
  auto minted = grant_without_keys(caller, first, entries[0].get(), right, {true, false});
  if (!minted) return Error(Code::kUnsupported, "there are no keys to be had");
  DIL_CHECK_OK(note_grant(caller, first, *minted));
  out = std::move(*minted);
  return answer;
}

Result<std::shared_ptr<const StorageScope>> StorageAccess::staged_scope(
    const Caller& caller, const TableRef& table, std::string_view token) const {
  const Error refusal(Code::kPermissionDenied, "the table is not staged for the caller");
  const std::size_t dot = token.rfind('.');
  if (!config_.staging || dot == std::string_view::npos) return refusal;
  const std::string_view claimed = token.substr(0, dot);
  if (!config_.staging->secret_of(claimed).equals(token.substr(dot + 1))) return refusal;
  const Result<GatewayClaims> claims = GatewayKeys::parse(claimed);
  const auto now = std::chrono::floor<std::chrono::seconds>(config_.now());
  const bool is_good = claims && now < claims->expiration && claims->staged == table &&
                       claims->table.value < 0 && claims->catalog_id == backends_.lake.catalog_id &&
                       claims->principal.id == caller.principal.id &&
                       claims->principal.subject_id() == caller.principal.subject_id();
  if (!is_good) return refusal;
  DIL_TRY(const StorageRight right, right_of(caller, {table, std::nullopt, claims->schema}));
  if (right != StorageRight::kWrite) return refusal;
  auto scope =
      staged_storage_scope(backends_.pool, backends_.deadline(), backends_.objects, backends_.lake,
                           claims->uuid, backends_.objects.uri_of(claims->location));
  // Somebody else has the place by now.
  if (!scope && scope.error().code() == Code::kUnsupported) return refusal;
  return scope;
}

StorageCounters StorageAccess::counters() const {
  StorageCounters out;
  out.sts_calls = sts_calls_;
  out.sts_failures = sts_failures_;
  out.sts_widened = sts_widened_;
  out.granted_keys = granted_keys_;
  out.granted_gateway = granted_gateway_;
  out.granted_signing = granted_signing_;
  out.granted_static = granted_static_;
  out.withheld_static = withheld_static_;
  out.denied = denied_;
  out.unfit = unfit_;
  out.scope_loads = scope_loads_;
  out.keys = keys_.counters();
  return out;
}

}  // namespace duckicelake::catalog
