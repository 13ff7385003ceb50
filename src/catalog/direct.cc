// SPDX-License-Identifier: Apache-2.0
#include "catalog/direct.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/quote.h"
#include "catalog/access.h"
#include "catalog/audit.h"
#include "catalog/random_name.h"
#include "json/writer.h"
#include "sign/hash.h"
#include "sign/scram.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxSubject = 24;
constexpr std::size_t kMaxTables = 1000;  // more prefixes fit into no policy
constexpr std::chrono::seconds kLeastDuration{900};
// A role that is handed out again has at least so long to live.
constexpr std::chrono::seconds kLeastLeft{60};

// "duckicelake_p_<name>_<hash>_<nonce>": people see whose it is, and no two are alike.
std::string role_name(const std::string& principal) {
  std::string name;
  for (const char c : principal) {
    if (name.size() == kMaxSubject) break;
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_fit = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    name.push_back(is_fit ? lower : '_');
  }
  return fmt::format("{}{}_{}_{}", store::kVendedRolePrefix, name,
                     sign::sha256_hex(principal).substr(0, 8), to_hex(random_bytes(3)));
}

// A value of libpq's "key=value" form.
std::string conninfo_value(std::string_view value) {
  const bool is_plain = !value.empty() && value.find_first_of(" '\\") == std::string_view::npos;
  if (is_plain) return std::string(value);
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('\'');
  return out;
}

// As people write it.
std::string sql_identifier(std::string_view name) {
  const bool is_plain = !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                        });
  if (is_plain) return std::string(name);
  return quote_identifier(name);
}

std::string levels_json(const auth::ScopeSet& scopes, auth::Right right) {
  std::string out;
  json::Writer json(out);
  json.begin_array();
  for (const auto& [levels, rights] : scopes.named()) {
    if (!covers(rights | scopes.rights_everywhere(), right)) continue;
    json.begin_array();
    for (const std::string& level : levels) json.value(level);
    json.end_array();
  }
  json.end_array();
  return out;
}

// What the keys do not open although the role shows it; empty: nothing.
std::string left_out(const AttachedGrant& storage) {
  std::string out;
  const bool is_static = storage.grant.kind == StorageGrant::Kind::kStaticKeys;
  if (!storage.not_read.empty()) {
    out = fmt::format(
        "no keys for tables that {}: {}",
        is_static ? "the bucket's policy does not open (all of)" : "share their folder with others",
        fmt::join(storage.not_read, ", "));
  }
  if (!storage.not_written.empty()) {
    if (!out.empty()) out += "; ";
    out += fmt::format("keys to read only, for the same reason: {}",
                       fmt::join(storage.not_written, ", "));
  }
  return out;
}

}  // namespace

Result<store::DirectGroups> direct_groups(const std::string& reader, const pg::SqlIdent& schema) {
  std::string suffix;
  if (schema.name() != "public") suffix = "_" + sign::sha256_hex(schema.name()).substr(0, 10);
  if (reader.empty() || reader.starts_with("pg_") || reader.size() + suffix.size() > kMaxName) {
    return invalid_argument("\"{}\" is no name for a group of PostgreSQL roles", reader);
  }
  DIL_TRY(pg::SqlIdent group, pg::SqlIdent::make(reader + suffix));
  DIL_TRY(pg::SqlIdent writer, pg::SqlIdent::make("duckicelake_writer" + suffix));
  if (group == writer) return invalid_argument("the readers' group has the writers' name");
  return store::DirectGroups{std::move(group), std::move(writer)};
}

DirectAccess::DirectAccess(Config config, const Backends& backends, StorageAccess& storage)
    : config_(std::move(config)), backends_(backends), storage_(storage) {
  auto groups = direct_groups(config_.reader_group, backends_.lake.metadata_schema);
  if (groups) {
    groups_ = std::move(*groups);
  } else {
    groups_status_ = std::move(groups).error();
  }
}

void DirectAccess::record(const Caller& caller, const ObjectRef& object, std::string_view decision,
                          std::string reason, const std::string& role) const {
  if (caller.trail == nullptr || caller.trail->audit() == nullptr) return;
  store::AuditRow row = audit_row(caller, "ducklake_credentials", object);
  row.decision = decision;
  row.reason = std::move(reason);
  row.key_id = role;
  // A grant is on record by the gate's decision too: a full queue loses this line, and the next
  // request of any kind is refused.
  (void)caller.trail->audit()->submit(std::move(row));
}

Error DirectAccess::refuse(const Caller& caller, const ObjectRef& object, std::string_view decision,
                           Error why) {
  ++(why.code() == Code::kPermissionDenied ? refused_ : failures_);
  record(caller, object, decision, why.message(), "");
  return why;
}

Result<DirectAccess::Target> DirectAccess::find(pg::Connection& connection, const Caller& caller,
                                                const DirectRequest& request) const {
  Target out;
  if (request.table) {
    const TableRef table{request.levels, *request.table};
    DIL_TRY(const FoundTable found, require_table(connection, backends_.lake, table));
    out.object = object_of(found);
    out.object.name = display_name(table);
    out.tables.push_back({table, found.table.table_id, found.space.schema_id});
  } else {
    DIL_TRY(const store::NamespaceRow space,
            require_namespace(connection, backends_.lake, request.levels));
    out.object = object_of(space);
    DIL_TRY(const auto tables,
            store::list_table_ids(connection, backends_.lake, space.schema_id, kMaxTables + 1));
    for (const store::NamedTable& table : tables) {
      out.tables.push_back({{request.levels, table.name}, table.id, space.schema_id});
    }
  }
  out.object.catalog_id = backends_.lake.catalog_id;
  std::erase_if(out.tables, [&](const GateTarget& target) {
    ObjectRef object = out.object;
    object.table = target.id;
    return !backends_.would_allow(caller, Action::kReadTableData, object);
  });
  return out;
}

std::string DirectAccess::purpose_of(const Caller& caller, const DirectRequest& request,
                                     const Target& target) const {
  const Principal& who = caller.principal;
  std::string roles;
  for (const std::string& role : who.roles()) roles += fmt::format("{}:{}", role.size(), role);
  // Lengths first: no two purposes are one text.
  const std::string text =
      fmt::format("{}:{}|{}:{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", who.id.size(), who.id,
                  who.subject_id().size(), who.subject_id(), who.scopes().to_text(), roles,
                  who.is_named, who.subject ? who.subject->issued_at : 0,
                  caller.access ? caller.access->version() : -1, request.is_write,
                  request.duration.count(), target.object.schema ? target.object.schema->value : -1,
                  request.table && !target.tables.empty() ? target.tables.front().id->value : -1);
  return sign::sha256_hex(text);
}

store::DirectRole DirectAccess::describe(const Caller& caller) const {
  const Principal& who = caller.principal;
  store::DirectRole out;
  out.principal = who.id;
  out.subject = who.subject_id();
  if (who.subject) {
    out.subject_client = who.subject->client_id;
    out.issued_at = who.subject->issued_at;
    if (!out.subject_client.empty()) out.clients.push_back(out.subject_client);
  }
  if (who.is_named && who.id != out.subject_client) out.clients.push_back(who.id);
  // Granted roles are looked up when rows are read. One that the token has besides stays.
  std::vector<std::string> granted;
  if (caller.access) granted = caller.access->roles_of(who.id);
  const bool is_self = who.subject != nullptr && who.id == who.subject_id();
  for (const std::string& role : who.roles()) {
    const bool is_granted = std::binary_search(granted.begin(), granted.end(), role);
    const bool is_of_token = is_self && std::binary_search(who.subject->token_roles.begin(),
                                                           who.subject->token_roles.end(), role);
    if (!is_granted || is_of_token) out.roles.push_back(role);
  }
  out.sees_all = who.is_superuser();
  const auth::ScopeSet& scopes = who.scopes();
  out.reads_everywhere = covers(scopes.rights_everywhere(), auth::Right::kRead);
  out.writes_everywhere = covers(scopes.rights_everywhere(), auth::Right::kWrite);
  out.reads = levels_json(scopes, auth::Right::kRead);
  out.writes = levels_json(scopes, auth::Right::kWrite);
  return out;
}

Status arm_lake(pg::Connection& connection, const store::Lake& lake,
                const store::DirectGroups& groups) {
  DIL_TRY(const bool is_there, store::has_direct_groups(connection, lake, groups));
  if (!is_there) DIL_CHECK_OK(store::make_direct_groups(connection, lake, groups));
  DIL_TRY(const auto unarmed, store::find_unarmed(connection, lake));
  for (const store::UnarmedTable& table : unarmed) {
    Status armed;
    if (table.is_known)
      armed = store::arm_table(connection, lake.metadata_schema.name(), table.name);
    if (armed && table.is_known) continue;
    // A payload table that is not ours to arm stays closed. A table of DuckLake's own must be
    // armed, and nothing may be open that is not.
    const bool is_payload = table.name.starts_with("ducklake_inlined_data_") ||
                            table.name.starts_with("ducklake_inlined_delete_");
    const bool is_own =
        table.is_known && (!is_payload || table.name == "ducklake_inlined_data_tables");
    if (is_own || table.is_granted) {
      return Error(Code::kUnavailable, "row security is not armed; roles are not given out",
                   fmt::format("table {}: {}", table.name,
                               armed ? "it is granted, and nothing is known of it"
                                     : armed.error().to_string()));
    }
  }
  return {};
}

Result<DirectAccess::KnownRole> DirectAccess::make_role(const Caller& caller,
                                                        const DirectRequest& request) {
  store::DirectRole role = describe(caller);
  role.name = role_name(caller.principal.id);
  role.is_writer = request.is_write;
  role.registration = config_.registration;
  const auto now = std::chrono::floor<std::chrono::seconds>(config_.now());
  role.expires_at = now + std::clamp(request.duration, kLeastDuration,
                                     std::max(kLeastDuration, config_.max_duration));
  const auto& subject = caller.principal.subject;
  if (subject && subject->client_id.empty()) {
    // Whoever vouches for him cannot be asked again before the token ends.
    role.expires_at = std::min(role.expires_at,
                               std::chrono::sys_seconds(std::chrono::seconds(subject->expires_at)));
  }
  KnownRole out;
  out.name = role.name;
  out.password = Secret(to_hex(random_bytes(32)));
  out.expires_at = role.expires_at;
  out.made = config_.now();
  role.verifier = sign::scram_verifier(out.password, random_bytes(16));
  std::optional<std::int64_t> version;
  if (caller.access) version = caller.access->version();
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_CHECK_OK(store::make_direct_role(*lease, backends_.lake, *groups_, role, version));
  ++(request.is_write ? writers_ : readers_);
  return out;
}

Result<DirectAccess::KnownRole> DirectAccess::role_for(const Caller& caller,
                                                       const DirectRequest& request,
                                                       const Target& target) {
  const std::string purpose = purpose_of(caller, request, target);
  const Clock::time_point now = config_.now();
  std::optional<KnownRole> known;
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(purpose);
    if (found != known_.end() && now >= found->second.made &&
        now < found->second.made + config_.cache_life &&
        now + kLeastLeft < found->second.expires_at) {
      known = found->second;
    }
  }
  if (known) {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(const bool is_good, store::is_direct_role_good(*lease, known->name, kLeastLeft));
    if (is_good) {
      ++repeated_;
      return *known;
    }
  }
  DIL_TRY(KnownRole made, make_role(caller, request));
  if (config_.cache_life.count() > 0) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_,
                  [&](const auto& entry) { return now >= entry.second.made + config_.cache_life; });
    if (known_.size() >= config_.max_cached) known_.clear();
    known_.insert_or_assign(purpose, made);
  }
  return made;
}

Result<DirectGrant> DirectAccess::grant(const Caller& caller, const DirectRequest& request) {
  Target target;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(target, find(*lease, caller, request));
  }
  DIL_CHECK_OK(check_authorized(backends_.auth_mode, caller, Action::kAttachLake, target.object));
  if (!config_.is_on) {
    return refuse(caller, target.object, "error_rls_off",
                  Error(Code::kPermissionDenied,
                        "DuckLake-direct access is off (DUCKICELAKE_RLS=0): without row security "
                        "nobody gets a PostgreSQL role"));
  }
  if (request.is_write) {
    if (caller.principal.actor == "agent") {
      return refuse(caller, target.object, "error_agent_readonly",
                    Error(Code::kPermissionDenied, "agents do not write"));
    }
    Status may_write =
        check_authorized(backends_.auth_mode, caller, Action::kAttachToWrite, target.object);
    if (!may_write) {
      ++refused_;
      return std::move(may_write).error();
    }
  }
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    Status armed = groups_status_;
    if (armed) armed = arm_lake(*lease, backends_.lake, *groups_);
    if (!armed) {
      return refuse(caller, target.object, "error_rls_not_armed", std::move(armed).error());
    }
  }
  DirectGrant out;
  out.is_write = request.is_write;
  const StorageRight right = request.is_write ? StorageRight::kWrite : StorageRight::kRead;
  auto storage = target.tables.size() > kMaxTables
                     ? Result<AttachedGrant>(Error(Code::kUnsupported, "too many tables"))
                     : storage_.grant_attached(caller, target.tables, right);
  if (storage) {
    out.why_no_keys = left_out(*storage);
    out.storage = std::move(storage->grant);
  } else if (storage.error().code() == Code::kUnsupported) {
    out.why_no_keys = storage.error().message();
  } else {
    return refuse(caller, target.object, "error_no_creds", std::move(storage).error());
  }
  auto role = role_for(caller, request, target);
  if (!role) {
    return refuse(caller, target.object,
                  request.is_write ? "error_writer_role_failed" : "error_reader_role_failed",
                  std::move(role).error());
  }
  out.role = role->name;
  out.valid_until = role->expires_at;
  out.data_path = backends_.lake.data_path;
  std::string dsn = fmt::format(
      "host={} port={} dbname={} user={} password={}", conninfo_value(config_.host), config_.port,
      conninfo_value(config_.database), role->name, role->password.reveal());
  if (!config_.sslmode.empty()) dsn += " sslmode=" + config_.sslmode;
  std::string options = "DATA_PATH " + quote_literal(out.data_path);
  const std::string& schema = backends_.lake.metadata_schema.name();
  if (schema != "public") options += ", METADATA_SCHEMA " + quote_literal(schema);
  options += request.is_write ? ", DATA_INLINING_ROW_LIMIT 0" : ", READ_ONLY";
  out.attach_sql =
      Secret(fmt::format("ATTACH {} AS {} ({})", quote_literal("ducklake:postgres:" + dsn),
                         sql_identifier(backends_.lake.catalog_id), options));
  out.dsn = Secret(std::move(dsn));
  const bool is_static = out.storage.kind == StorageGrant::Kind::kStaticKeys;
  record(caller, target.object,
         !is_static                                            ? "ok"
         : out.storage.enforcement == "bucket-policy-confined" ? "static_key_masked_confined"
                                                               : "static_key_bucket_policy",
         request.is_write ? "a role to write" : "a role to read", out.role);
  return out;
}

DirectCounters DirectAccess::counters() const {
  DirectCounters out;
  out.readers = readers_;
  out.writers = writers_;
  out.repeated = repeated_;
  out.refused = refused_;
  out.failures = failures_;
  return out;
}

}  // namespace duckicelake::catalog
