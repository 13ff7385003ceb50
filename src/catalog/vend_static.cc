// SPDX-License-Identifier: Apache-2.0
// Static keys of the store, for a store that makes none for clients (docs/adr/0013).
#include <algorithm>
#include <map>

#include "catalog/vend.h"
#include "sign/hash.h"
#include "store/key_policy.h"
#include "store/names.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

constexpr std::string_view kApply = "`duckicelake bucket-policy --apply`";

Error none() { return {Code::kUnsupported, "the store makes no keys for clients"}; }

Error withheld(std::string_view why) {
  return make_error(Code::kUnsupported, "the principal's static key is not given out: {}", why);
}

}  // namespace

// Tables by name are in no message: those that the caller may not see are meant.
Result<bool> StorageAccess::may_reach_all(const Caller& caller, const KeyOpening& opening) {
  std::vector<std::int64_t> ids;
  for (const OpenedTable& table : opening.tables) ids.push_back(table.table.value);
  std::map<TableId, GateTarget> live;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(const auto spaces, store::list_namespaces(*lease, backends_.lake));
    std::map<SchemaId, const Levels*> levels;
    for (const store::NamespaceRow& space : spaces) levels[space.schema_id] = &space.levels;
    DIL_TRY(const auto tables, store::load_live_tables(*lease, backends_.lake, ids));
    for (const store::ObjectOwner& table : tables) {
      const auto space = levels.find(table.schema);
      if (space == levels.end()) return false;
      live[table.table] = {{*space->second, table.name}, table.table, table.schema};
    }
  }
  for (const OpenedTable& table : opening.tables) {
    const auto found = live.find(table.table);
    // Its folder may be somebody else's by now.
    if (found == live.end()) return false;
    const ObjectRef object = object_of(found->second);
    const bool writes = !table.write_prefixes.empty();
    if (!backends_.would_allow(caller, Action::kReadTableData, object)) return false;
    if (writes && !backends_.would_allow(caller, Action::kWriteTableData, object)) return false;
    if (config_.is_masked && config_.is_masked(caller, object)) return false;
    Result<EntryPtr> entry = entry_of(table.table, nullptr);
    if (!entry && entry.error().code() != Code::kUnsupported &&
        entry.error().code() != Code::kNoSuchTable) {
      return std::move(entry).error();
    }
    if (!entry) return false;
    const auto now =
        session_scope(*(*entry)->scope, writes ? StorageRight::kWrite : StorageRight::kRead);
    if (!now || !is_within(table, opened_table(table.table, *now))) return false;
  }
  return true;
}

Result<AttachedGrant> StorageAccess::use_static_key(const Caller& caller,
                                                    const store::KeyInForce& found,
                                                    const std::vector<const GateTarget*>& targets,
                                                    StorageRight right) {
  if (found.key.access_key_id == config_.root_key) return none();
  if (found.is_shared) return withheld("others have the same access key");
  if (found.key.secret_access_key.empty()) return withheld("the server does not know its secret");
  if (!found.applied || found.applied->access_key_id != found.key.access_key_id) {
    return withheld(fmt::format("no bucket policy is known to confine it; run {}", kApply));
  }
  if (!found.applied->is_proved) {
    return withheld(
        fmt::format("the bucket's policy was not proved to confine it; run {}", kApply));
  }
  DIL_TRY(const KeyOpening opening, key_opening_from_json(found.applied->opens));
  if (opening.bucket != backends_.objects.bucket()) {
    return withheld(fmt::format("its policy is another bucket's; run {}", kApply));
  }
  DIL_TRY(const bool is_narrow, may_reach_all(caller, opening));
  if (!is_narrow) {
    return withheld(
        fmt::format("the bucket's policy opens more to it than the request may see; when grants, "
                    "scopes or tables have changed, run {}",
                    kApply));
  }

  AttachedGrant answer;
  StorageGrant& out = answer.grant;
  out.kind = StorageGrant::Kind::kStaticKeys;
  out.right = StorageRight::kRead;
  bool is_masked = false;
  std::vector<std::string> routes;
  const GateTarget* first = nullptr;
  for (const GateTarget* target : targets) {
    const ObjectRef object = object_of(*target);
    const bool is_bound = config_.is_masked && config_.is_masked(caller, object);
    if (is_bound && !found.key.is_confined) {
      return withheld("masks bind the principal, and the key is not confined");
    }
    is_masked = is_masked || is_bound;
    const auto opened =
        std::find_if(opening.tables.begin(), opening.tables.end(),
                     [&](const OpenedTable& one) { return one.table == *target->id; });
    DIL_TRY(const EntryPtr entry, entry_of(*target->id, nullptr));
    const auto reads = session_scope(*entry->scope, StorageRight::kRead);
    if (opened == opening.tables.end() || !reads ||
        !is_within(opened_table(*target->id, *reads), *opened)) {
      answer.not_read.push_back(target->table.name);
      continue;
    }
    if (first == nullptr) first = target;
    for (std::string& route : entry->scope->routes()) routes.push_back(std::move(route));
    if (right != StorageRight::kWrite ||
        !backends_.would_allow(caller, Action::kWriteTableData, object)) {
      continue;
    }
    if (opened->write_prefixes.empty()) {
      answer.not_written.push_back(target->table.name);
    } else {
      out.right = StorageRight::kWrite;
    }
  }
  if (first == nullptr) {
    return withheld(
        fmt::format("the bucket's policy opens none of the tables to it; run {}", kApply));
  }
  out.enforcement = is_masked                           ? "bucket-policy-confined"
                    : out.right == StorageRight::kWrite ? "bucket-policy-write"
                                                        : "bucket-policy";
  auto keys = std::make_shared<VendedKeys>();
  keys->access_key = found.key.access_key_id;
  keys->secret_key = found.key.secret_access_key;
  keys->made = std::chrono::floor<std::chrono::seconds>(config_.now());
  keys->expiration = std::chrono::sys_seconds::max();
  keys->right = out.right;
  keys->routes = std::move(routes);
  keys->mark = sign::sha256_hex(keys->access_key).substr(0, 18);
  out.keys = std::move(keys);
  DIL_CHECK_OK(note_grant(caller, *first, out));
  return answer;
}

Result<AttachedGrant> StorageAccess::grant_static(const Caller& caller,
                                                  const std::vector<const GateTarget*>& targets,
                                                  StorageRight right) {
  std::optional<store::KeyInForce> found;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(found, store::find_key_in_force(*lease, backends_.lake, caller.principal.id));
  }
  if (!found) return none();
  Result<AttachedGrant> out = use_static_key(caller, *found, targets, right);
  ++(out ? granted_static_ : withheld_static_);
  return out;
}

}  // namespace duckicelake::catalog
