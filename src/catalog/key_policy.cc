// SPDX-License-Identifier: Apache-2.0
#include "catalog/key_policy.h"

#include <algorithm>

#include "catalog/name_lookup.h"
#include "json/value.h"
#include "json/writer.h"
#include "sign/bucket_policy.h"
#include "store/names.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int64_t kMaxTables = 100'000;
// A policy of 20 KB names far fewer.
constexpr std::size_t kMaxOpened = 300;

void write_list(json::Writer& json, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  json.key(name);
  json.begin_array();
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

Result<std::vector<std::string>> read_list(const json::Object& object, std::string_view name) {
  std::vector<std::string> out;
  DIL_TRY(const std::optional<json::Array> list, object.optional_array(name));
  if (!list) return out;
  for (const json::Value value : *list) {
    DIL_TRY(const std::string_view text, value.as_string());
    out.emplace_back(text);
  }
  return out;
}

bool is_below(std::string_view key, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

bool is_plain_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("+=,.@_-").find(c) != std::string_view::npos;
  });
}

// Whether the store can be told of this table in a policy.
Status check_nameable(const sign::SessionScope& scope, sign::Wildcards wildcards) {
  sign::KeyGrant grant{"x", scope};
  sign::BucketPolicyOptions options;
  options.bucket = scope.bucket;
  options.wildcards = wildcards;
  DIL_CHECK_OK(sign::key_statements({grant}, options));
  return {};
}

}  // namespace

std::string to_json(const KeyOpening& opening) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.member("bucket", opening.bucket);
  json.key("tables");
  json.begin_array();
  for (const OpenedTable& table : opening.tables) {
    json.begin_object();
    json.member("id", table.table.value);
    write_list(json, "read", table.read_prefixes);
    write_list(json, "read-keys", table.read_keys);
    write_list(json, "write", table.write_prefixes);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out;
}

Result<KeyOpening> key_opening_from_json(std::string_view text) {
  DIL_TRY(const json::Document document, json::Document::parse(text));
  DIL_TRY(const json::Object root, document.root_object());
  KeyOpening out;
  DIL_TRY(out.bucket, root.require_string("bucket"));
  DIL_TRY(const json::Array tables, root.require_array("tables"));
  for (const json::Value value : tables) {
    DIL_TRY(const json::Object object, value.as_object());
    OpenedTable table;
    DIL_TRY(const std::int64_t id, object.require_int64("id"));
    table.table = TableId(id);
    DIL_TRY(table.read_prefixes, read_list(object, "read"));
    DIL_TRY(table.read_keys, read_list(object, "read-keys"));
    DIL_TRY(table.write_prefixes, read_list(object, "write"));
    out.tables.push_back(std::move(table));
  }
  return out;
}

sign::SessionScope scope_of(const KeyOpening& opening) {
  sign::SessionScope out;
  out.bucket = opening.bucket;
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (const OpenedTable& table : opening.tables) {
    append(out.read_prefixes, table.read_prefixes);
    append(out.read_keys, table.read_keys);
    append(out.write_prefixes, table.write_prefixes);
  }
  return out;
}

OpenedTable opened_table(TableId table, const sign::SessionScope& scope) {
  OpenedTable out{table, scope.read_prefixes, scope.read_keys, scope.write_prefixes};
  for (auto* list : {&out.read_prefixes, &out.read_keys, &out.write_prefixes}) {
    std::sort(list->begin(), list->end());
  }
  return out;
}

bool is_within(const OpenedTable& inner, const OpenedTable& outer) {
  const auto reads = [&](const std::string& prefix) {
    return is_below(prefix, outer.read_prefixes);
  };
  const auto reads_key = [&](const std::string& key) {
    return is_below(key, outer.read_prefixes) ||
           std::find(outer.read_keys.begin(), outer.read_keys.end(), key) != outer.read_keys.end();
  };
  const auto writes = [&](const std::string& prefix) {
    return is_below(prefix, outer.write_prefixes);
  };
  return std::all_of(inner.read_prefixes.begin(), inner.read_prefixes.end(), reads) &&
         std::all_of(inner.read_keys.begin(), inner.read_keys.end(), reads_key) &&
         std::all_of(inner.write_prefixes.begin(), inner.write_prefixes.end(), writes);
}

Result<std::string> store_principal(std::string_view pattern, std::string_view principal,
                                    std::string_view access_key_id) {
  std::string out(pattern);
  bool names_one = false;
  for (const auto& [mark, value] :
       {std::pair<std::string_view, std::string_view>{"{principal}", principal},
        {"{access-key-id}", access_key_id}}) {
    const std::size_t at = out.find(mark);
    if (at == std::string::npos) continue;
    names_one = true;
    if (!is_plain_word(value)) {
      return invalid_argument("\"{}\" cannot stand for a user of the object store", value);
    }
    out.replace(at, mark.size(), value);
  }
  if (!names_one) {
    return invalid_argument(
        "the pattern \"{}\" tells no user from another: it has neither "
        "{{principal}} nor {{access-key-id}}",
        pattern);
  }
  return out;
}

Status KeyPlanner::load_tables() {
  DIL_TRY(pg::Lease lease, pool_.acquire(config_.until));
  DIL_TRY(const std::vector<store::NamespaceRow> spaces, store::list_namespaces(*lease, lake_));
  for (const store::NamespaceRow& space : spaces) {
    DIL_TRY(const auto tables, store::list_table_ids(*lease, lake_, space.schema_id, kMaxTables));
    for (const store::NamedTable& table : tables) {
      Known known;
      known.object.catalog_id = lake_.catalog_id;
      known.object.schema = space.schema_id;
      known.object.table = table.id;
      known.object.levels = space.levels;
      known.object.name = display_name(TableRef{space.levels, table.name});
      tables_.push_back(std::move(known));
    }
  }
  return {};
}

void KeyPlanner::open(KeyPlan& plan, Known& table, bool may_write) {
  if (!table.scope) {
    table.scope = load_storage_scope(pool_, config_.until, objects_, lake_, *table.object.table,
                                     config_.limits);
  }
  const Result<std::shared_ptr<const StorageScope>>& scope = *table.scope;
  if (!scope && scope.error().code() == Code::kNoSuchTable) return;  // dropped meanwhile
  const auto leave_out = [&](std::string_view what, const Error& why) {
    plan.left_out.push_back(fmt::format("{}{}: {}", table.object.name, what, why.message()));
  };
  if (!scope) return leave_out("", scope.error());
  Result<sign::SessionScope> wanted = Error(Code::kUnsupported, "");
  if (may_write) {
    wanted = session_scope(**scope, StorageRight::kWrite);
    if (!wanted) leave_out(" (to write)", wanted.error());
  }
  if (!wanted) wanted = session_scope(**scope, StorageRight::kRead);
  if (!wanted) return leave_out("", wanted.error());
  if (wanted->read_prefixes.empty() && wanted->read_keys.empty()) return;
  if (const Status nameable = check_nameable(*wanted, config_.wildcards); !nameable) {
    return leave_out("", nameable.error());
  }
  plan.opens.tables.push_back(opened_table(*table.object.table, *wanted));
}

Status KeyPlanner::plan_one(KeyPlan& plan, const Access& access) {
  plan.opens.bucket = objects_.bucket();
  if (plan.key.is_shared) {
    plan.why_nothing = "another principal, or one of another catalog, has the same access key";
    return {};
  }
  Result<Principal> principal = config_.principal(plan.key.key.principal, access);
  if (!principal) {
    plan.why_nothing = principal.error().message();
    return {};
  }
  if (config_.mode == AuthMode::kOn && !reaches_account(*principal, config_.account)) {
    plan.why_nothing = "the catalog is another account's";
    return {};
  }
  Caller caller;
  caller.principal = std::move(*principal);
  // Not owned: it outlives the caller.
  caller.access = std::shared_ptr<const Access>(std::shared_ptr<const Access>(), &access);
  std::vector<std::pair<Known*, bool>> readable;
  for (Known& table : tables_) {
    const auto allows = [&](Action action) {
      return authorize(config_.mode, caller, action, table.object).is_allowed();
    };
    if (!allows(Action::kReadTableData)) continue;
    if (config_.is_masked && config_.is_masked(caller, table.object)) continue;
    readable.emplace_back(&table, allows(Action::kWriteTableData));
  }
  if (readable.size() > kMaxOpened) {
    // Not an error: one who makes tables could keep the keys of all others as wide as they are.
    plan.is_too_much = true;
    plan.why_nothing = fmt::format(
        "it may read {} tables, more than a bucket policy can name ({} bytes): grant "
        "it less, or use the gateway",
        readable.size(), sign::kMaxBucketPolicyBytes);
    return {};
  }
  for (const auto& [table, may_write] : readable) open(plan, *table, may_write);
  return {};
}

Result<std::vector<KeyPlan>> KeyPlanner::plan() {
  std::vector<KeyPlan> out;
  std::optional<Access> access;
  {
    DIL_TRY(pg::Lease lease, pool_.acquire(config_.until));
    // Before what they are about: what is granted meanwhile counts the next time.
    DIL_TRY(store::AccessRules rules, store::load_access_rules(*lease, lake_));
    access.emplace(std::move(rules));
    DIL_TRY(std::vector<store::KeyInForce> keys, store::load_keys_in_force(*lease, lake_));
    for (store::KeyInForce& key : keys) {
      KeyPlan plan;
      plan.key = std::move(key);
      out.push_back(std::move(plan));
    }
  }
  if (out.empty()) return out;
  DIL_CHECK_OK(load_tables());
  for (KeyPlan& plan : out) DIL_CHECK_OK(plan_one(plan, *access));
  return out;
}

}  // namespace duckicelake::catalog
