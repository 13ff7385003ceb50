// SPDX-License-Identifier: Apache-2.0
#include "catalog/access_admin.h"

#include <sys/random.h>

#include <algorithm>

#include "auth/clients.h"
#include "auth/crypto.h"
#include "auth/jwt.h"
#include "base/bytes.h"
#include "catalog/random_name.h"
#include "catalog/write_run.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kSaltBytes = 16;

ObjectRef named(std::string name) {
  ObjectRef out;
  out.name = std::move(name);
  return out;
}

ObjectRef client_named(const std::string& id) { return named("client:" + id); }

Status check_principal(std::string_view principal) {
  const bool is_fit = !principal.empty() && principal.size() <= auth::kMaxSubjectBytes &&
                      std::none_of(principal.begin(), principal.end(), [](char c) {
                        return static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
                      });
  if (is_fit) return {};
  return invalid_argument("a principal has 1 to {} bytes and no control characters",
                          auth::kMaxSubjectBytes);
}

Status check_scope(std::string_view scope) {
  std::string_view rest = scope;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!word.empty() && !auth::ScopeSet::is_known_word(word)) {
      return invalid_argument("\"{}\" is no scope", word);
    }
  }
  DIL_CHECK_OK(auth::ScopeSet::parse(scope));
  return {};
}

Status check_roles(const std::vector<std::string>& roles) {
  if (roles.size() > 256) return invalid_argument("more than {} roles", 256);
  for (const std::string& role : roles) DIL_CHECK_OK(auth::check_role_name(role));
  return {};
}

Status check_account(std::string_view account) {
  if (account.size() <= 128 && std::all_of(account.begin(), account.end(), [](char c) {
        return c > ' ' && c < '\x7F' && c != '|' && c != ',';
      })) {
    return {};
  }
  return invalid_argument("an account has at most {} printable characters, none of them | or ,",
                          128);
}

Error no_such_client(const std::string& id) {
  return make_error(Code::kNotFound, "Client does not exist: {}", id);
}

std::string target_name(const GrantTarget& target) {
  const std::string space = display_name(target.levels);
  return target.object.empty() ? space : space + "." + target.object;
}

}  // namespace

Result<pg::Lease> AccessAdmin::lease() const {
  return backends_.pool.acquire(backends_.deadline());
}

// The row names what is done; the gate's own action says only that access is changed.
Status AccessAdmin::admit(const Caller& caller, std::string_view operation,
                          ObjectRef object) const {
  object.catalog_id = backends_.lake.catalog_id;
  const Decision decision = authorize(backends_.auth_mode, caller, Action::kChangeAccess, object);
  if (!decision.is_allowed()) {
    return check_authorized(backends_.auth_mode, caller, Action::kChangeAccess, object);
  }
  if (caller.trail != nullptr) {
    store::AuditRow row = audit_row(caller, operation, object);
    row.reason = decision.reason;
    caller.trail->add_change(std::move(row));
  }
  return {};
}

Status AccessAdmin::write(const WriteContext& context,
                          const std::function<Status(pg::Transaction&)>& apply) const {
  Write write;
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_CHECK_OK(apply(transaction));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

Status AccessAdmin::create_role(const WriteContext& context, const std::string& role) const {
  DIL_CHECK_OK(admit(context.caller, "create_role", named("role:" + role)));
  DIL_CHECK_OK(auth::check_role_name(role));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_CHECK_OK(store::insert_role(transaction, backends_.lake, role));
    return {};
  });
}

Status AccessAdmin::delete_role(const WriteContext& context, const std::string& role) const {
  DIL_CHECK_OK(admit(context.caller, "delete_role", named("role:" + role)));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(const bool is_gone, store::delete_role(transaction, backends_.lake, role));
    if (!is_gone) return make_error(Code::kNotFound, "Role does not exist: {}", role);
    return {};
  });
}

Status AccessAdmin::grant_role(const WriteContext& context, const store::RoleGrant& grant) const {
  DIL_CHECK_OK(admit(context.caller, "grant_role",
                     named(fmt::format("role:{} to {}", grant.role, grant.principal))));
  DIL_CHECK_OK(check_principal(grant.principal));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_CHECK_OK(store::insert_role_grant(transaction, backends_.lake, grant));
    return {};
  });
}

Status AccessAdmin::revoke_role(const WriteContext& context, const store::RoleGrant& grant) const {
  DIL_CHECK_OK(admit(context.caller, "revoke_role",
                     named(fmt::format("role:{} from {}", grant.role, grant.principal))));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_CHECK_OK(store::delete_role_grant(transaction, backends_.lake, grant));
    return {};
  });
}

Result<store::ObjectGrant> AccessAdmin::resolve(pg::Connection& connection,
                                                const GrantTarget& target,
                                                const std::string& privilege,
                                                const std::string& role) const {
  if (privilege != "select" && privilege != "modify") {
    return invalid_argument("there is no privilege \"{}\", but select and modify", privilege);
  }
  if (target.object.empty() != (target.kind == store::ObjectKind::kSchema)) {
    return invalid_argument("an object of kind {} {} a name", store::object_kind_name(target.kind),
                            target.object.empty() ? "needs" : "has not");
  }
  store::ObjectGrant out{target.kind, 0, privilege, role};
  const TableRef ref{target.levels, target.object};
  switch (target.kind) {
    case store::ObjectKind::kSchema: {
      DIL_TRY(const store::NamespaceRow row,
              require_namespace(connection, backends_.lake, target.levels));
      out.object_id = row.schema_id.value;
      break;
    }
    case store::ObjectKind::kTable: {
      DIL_TRY(const FoundTable found, require_table(connection, backends_.lake, ref));
      out.object_id = found.table.table_id.value;
      break;
    }
    case store::ObjectKind::kView: {
      DIL_TRY(const FoundView found, require_view(connection, backends_.lake, ref));
      out.object_id = found.view.view_id.value;
      break;
    }
  }
  return out;
}

Status AccessAdmin::grant_object(const WriteContext& context, const GrantTarget& target,
                                 const std::string& privilege, const std::string& role) const {
  DIL_CHECK_OK(
      admit(context.caller, "grant_object",
            named(fmt::format("{} on {} to role:{}", privilege, target_name(target), role))));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const store::ObjectGrant grant, resolve(*connection, target, privilege, role));
    DIL_CHECK_OK(store::insert_object_grant(transaction, backends_.lake, grant));
    return {};
  });
}

Status AccessAdmin::revoke_object(const WriteContext& context, const GrantTarget& target,
                                  const std::string& privilege, const std::string& role) const {
  DIL_CHECK_OK(
      admit(context.caller, "revoke_object_grant",
            named(fmt::format("{} on {} from role:{}", privilege, target_name(target), role))));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const store::ObjectGrant grant, resolve(*connection, target, privilege, role));
    DIL_CHECK_OK(store::delete_object_grant(transaction, backends_.lake, grant));
    return {};
  });
}

Result<std::vector<std::string>> AccessAdmin::list_roles(const Caller& caller) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, named("roles")));
  DIL_TRY(pg::Lease connection, lease());
  return store::list_roles(*connection, backends_.lake);
}

Result<std::vector<store::RoleGrant>> AccessAdmin::list_role_grants(const Caller& caller) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, named("role-grants")));
  DIL_TRY(pg::Lease connection, lease());
  return store::list_role_grants(*connection, backends_.lake);
}

Result<std::vector<store::NamedGrant>> AccessAdmin::list_object_grants(const Caller& caller) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, named("object-grants")));
  DIL_TRY(pg::Lease connection, lease());
  return store::list_object_grants(*connection, backends_.lake);
}

Status AccessAdmin::set_static_key(const WriteContext& context, const store::StaticKey& key) const {
  DIL_CHECK_OK(admit(context.caller, "set_static_s3_key", named("static-s3-key:" + key.principal)));
  DIL_CHECK_OK(check_principal(key.principal));
  const auto is_key = [](std::string_view text) {
    return text.size() <= 256 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
  };
  if (key.access_key_id.empty() || !is_key(key.access_key_id) ||
      !is_key(key.secret_access_key.reveal())) {
    return Error(Code::kInvalidArgument, "the keys are not those of an object store");
  }
  if (key.note.size() > 1024 || key.note.find('\0') != std::string::npos) {
    return invalid_argument("a note has at most {} bytes and no NUL", 1024);
  }
  // The secret does not go into the record of repeatable requests either.
  WriteContext once{context.caller, std::nullopt};
  return write(once, [&](pg::Transaction& transaction) -> Status {
    return store::upsert_static_key(transaction, backends_.lake, key);
  });
}

Status AccessAdmin::delete_static_key(const WriteContext& context,
                                      const std::string& principal) const {
  DIL_CHECK_OK(admit(context.caller, "delete_static_s3_key", named("static-s3-key:" + principal)));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(const bool is_gone, store::delete_static_key(transaction, backends_.lake, principal));
    if (!is_gone) {
      return make_error(Code::kNotFound, "There is no static key of principal {}", principal);
    }
    return {};
  });
}

Result<std::vector<store::StaticKeySummary>> AccessAdmin::list_static_keys(
    const Caller& caller) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, named("static-s3-keys")));
  DIL_TRY(pg::Lease connection, lease());
  return store::list_static_keys(*connection, backends_.lake);
}

Result<ClientWithSecret> AccessAdmin::create_client(const WriteContext& context,
                                                    const NewClient& client) const {
  DIL_CHECK_OK(admit(context.caller, "create_client", client_named(client.id)));
  DIL_CHECK_OK(auth::check_client_id(client.id));
  DIL_CHECK_OK(check_scope(client.scope));
  DIL_CHECK_OK(check_roles(client.roles));
  DIL_CHECK_OK(check_account(client.account));
  ClientWithSecret out;
  out.client.id = client.id;
  out.client.scope = client.scope;
  out.client.roles = client.roles;
  out.client.account = client.account;
  out.secret = Secret(to_base64url(random_bytes(kSecretBytes)));
  DIL_TRY(const std::string hash, auth::hash_secret(out.secret.reveal(), random_bytes(kSaltBytes)));
  const WriteContext once{context.caller, std::nullopt};
  DIL_CHECK_OK(write(once, [&](pg::Transaction& transaction) -> Status {
    return store::insert_client(transaction, out.client, hash);
  }));
  return out;
}

Result<ClientWithSecret> AccessAdmin::rotate_client(const WriteContext& context,
                                                    const std::string& id,
                                                    std::int64_t overlap_seconds) const {
  DIL_CHECK_OK(admit(context.caller, "rotate_client", client_named(id)));
  if (overlap_seconds < 0 || overlap_seconds > kMaxOverlapSeconds) {
    return invalid_argument("overlap-seconds is not between 0 and {}", kMaxOverlapSeconds);
  }
  ClientWithSecret out;
  out.secret = Secret(to_base64url(random_bytes(kSecretBytes)));
  DIL_TRY(const std::string hash, auth::hash_secret(out.secret.reveal(), random_bytes(kSaltBytes)));
  const WriteContext once{context.caller, std::nullopt};
  DIL_CHECK_OK(write(once, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(const bool is_there, store::rotate_client(transaction, id, hash, overlap_seconds));
    if (!is_there) return no_such_client(id);
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(std::optional<store::ClientRecord> record, store::find_client(*connection, id));
    if (!record) return no_such_client(id);
    out.client = std::move(record->client);
    return {};
  }));
  return out;
}

Result<store::ClientRecord> AccessAdmin::update_client(const WriteContext& context,
                                                       const std::string& id,
                                                       const store::ClientUpdate& update) const {
  DIL_CHECK_OK(admit(context.caller, "update_client", client_named(id)));
  if (update.scope) DIL_CHECK_OK(check_scope(*update.scope));
  if (update.roles) DIL_CHECK_OK(check_roles(*update.roles));
  if (update.account) DIL_CHECK_OK(check_account(*update.account));
  std::optional<store::ClientRecord> record;
  const WriteContext once{context.caller, std::nullopt};
  DIL_CHECK_OK(write(once, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(const bool is_there, store::update_client(transaction, id, update));
    if (!is_there) return no_such_client(id);
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(record, store::find_client(*connection, id));
    return {};
  }));
  if (!record) return no_such_client(id);
  return std::move(*record);
}

Status AccessAdmin::delete_client(const WriteContext& context, const std::string& id) const {
  DIL_CHECK_OK(admit(context.caller, "delete_client", client_named(id)));
  return write(context, [&](pg::Transaction& transaction) -> Status {
    DIL_TRY(const bool is_gone, store::delete_client(transaction, id));
    if (!is_gone) return no_such_client(id);
    return {};
  });
}

Result<store::ClientRecord> AccessAdmin::load_client(const Caller& caller,
                                                     const std::string& id) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, client_named(id)));
  DIL_TRY(pg::Lease connection, lease());
  DIL_TRY(std::optional<store::ClientRecord> record, store::find_client(*connection, id));
  if (!record) return no_such_client(id);
  return std::move(*record);
}

Result<std::vector<store::ClientRow>> AccessAdmin::list_clients(const Caller& caller) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAccess>(caller, named("clients")));
  DIL_TRY(pg::Lease connection, lease());
  return store::list_clients(*connection);
}

Result<std::vector<store::AuditRow>> AccessAdmin::audit(const Caller& caller,
                                                        const store::AuditFilter& filter) const {
  DIL_CHECK_OK(backends_.check<Action::kReadAudit>(caller, named("audit")));
  if (caller.trail != nullptr && caller.trail->audit() != nullptr) {
    DIL_CHECK_OK(caller.trail->audit()->flush());
  }
  DIL_TRY(pg::Lease connection, lease());
  return store::load_audit(*connection, backends_.lake, filter);
}

}  // namespace duckicelake::catalog
