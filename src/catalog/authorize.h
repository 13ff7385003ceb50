// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/scopes.h"
#include "base/ids.h"
#include "base/result.h"

// The one gate. Every use case asks it before it touches anything; nothing else decides. It fails
// closed.
namespace duckicelake::catalog {

class Access;      // catalog/access.h
class AuditTrail;  // catalog/audit.h

enum class Action : std::uint8_t {
  kListNamespaces,
  kReadNamespace,
  kListTables,
  kLoadTable,
  kListViews,
  kLoadView,
  kCreateNamespace,
  kUpdateNamespace,
  kDropNamespace,
  kCreateTable,  // also staged, register
  kCommitTable,
  kDropTable,
  kRenameTable,  // asked for the source and for the destination
  kReportMetrics,
  kCreateView,
  kCommitView,
  kDropView,
  kRenameView,
  kMaintainTable,
  // Bytes of a table on the object store: asked before keys are given out or a request is signed.
  kReadTableData,
  kWriteTableData,
  // A PostgreSQL role for a DuckDB user, which row security binds.
  kAttachLake,
  kAttachToWrite,
  // Who may come in: roles, grants, static keys, clients; the records of decisions.
  kReadAccess,
  kChangeAccess,
  kReadAudit,
  // Catalogs beside the process's own.
  kReadCatalogs,
  kChangeCatalogs,
};
inline constexpr std::size_t kActionCount = static_cast<std::size_t>(Action::kChangeCatalogs) + 1;

// Where an action's right is asked for.
enum class Reach : std::uint8_t {
  kNamespace,  // in the object's namespace; in all of them for an object without one
  kSomewhere,  // in any namespace: the answer is filtered
  kAdmin,      // of the superuser
};

struct ActionRule {
  std::string_view operation;  // its name in audit records
  auth::Right right = auth::Right::kReadWrite;
  Reach reach = Reach::kAdmin;
  bool is_change = true;  // its record is written in the transaction of the change
};
const ActionRule& rule_of(Action action);

// Who authenticated, and what that may do under one state of the access rules. Immutable, shared by
// all requests with the same token.
struct Subject {
  std::string id;         // "sub" of the token
  std::string client_id;  // of a client of this server; empty: the token is another issuer's
  std::string issuer;
  std::string account;                   // empty: none
  auth::ScopeSet scopes;                 // of the token, narrowed by what the client has now
  std::vector<std::string> token_roles;  // sorted
  std::int64_t expires_at = 0;           // seconds since the epoch
  std::int64_t issued_at = 0;            // of the token; likewise
};

// As whom a request is answered. `id` is the subject's, unless a broker acts for somebody else.
struct Principal {
  std::string id = "anonymous";  // so while authentication is off
  bool is_authenticated = false;
  // nullptr: authentication is off.
  std::shared_ptr<const Subject> subject = nullptr;
  // Those of the token (not of a broker's, when it acts for another), granted ones, "actor:…" and
  // "channel:…" of requests that name them; sorted. nullptr: none.
  std::shared_ptr<const std::vector<std::string>> held_roles = nullptr;
  // A request that names the principal itself: a broker's, or any while authentication is off.
  bool is_named = false;
  std::string actor = {};    // of such a request: what kind of a user acts; empty: it does not say
  std::string channel = {};  // and by which way

  const std::vector<std::string>& roles() const;
  const auth::ScopeSet& scopes() const;  // everything while authentication is off
  const std::string& account() const;
  // Whoever authenticated: differs from `id` when a broker acts for another.
  const std::string& subject_id() const { return subject ? subject->id : id; }
  bool has_role(std::string_view role) const;
  // Not bound by object grants: an administrator who acts as himself.
  bool is_superuser() const { return !is_named && scopes().is_superuser(); }
};

// Account rule: a catalog of an account is for tokens of it, and for superusers. Of whoever
// authenticated, before he acts for somebody else.
bool reaches_account(const Principal& principal, std::string_view account);

// Who asks, for decisions, audit and answers that depend on the caller. Valid during the request.
struct Caller {
  Principal principal = {};
  std::string request_id = {};
  // The access rules as they were at a moment after the request came. nullptr: authentication is
  // off and the request names no principal.
  std::shared_ptr<const Access> access = nullptr;
  // Takes down what is decided; nullptr in tests. The request's own: outlives every copy.
  AuditTrail* trail = nullptr;
};

// What is asked for, by identity. The levels are what scopes speak of; the name serves messages
// and audit only.
struct ObjectRef {
  std::string catalog_id = {};
  std::optional<SchemaId> schema = {};
  std::optional<TableId> table = {};
  std::optional<ViewId> view = {};
  std::string name = {};
  std::vector<std::string> levels = {};  // of the namespace; empty: the catalog as a whole
};

struct Decision {
  enum class Verdict : std::uint8_t {
    kDeny,
    kHide,  // answer as if the object did not exist
    kAllow,
  };
  Verdict verdict = Verdict::kDeny;
  std::string_view reason = {};  // a constant
  bool is_allowed() const { return verdict == Verdict::kAllow; }
};

// While authentication is off (DUCKICELAKE_REQUIRE_AUTH unset and no client configured), everybody
// may do everything.
enum class AuthMode : std::uint8_t { kOff, kOn };

// Decides; takes nothing down. For questions about what a caller could do ("read keys or write
// keys?"), whose answer is recorded by who asks.
Decision authorize(AuthMode mode, const Caller& caller, Action action, const ObjectRef& object);

// Decides and takes it down: `authorized` without the proof. kUnavailable when the decision cannot
// be recorded.
Status check_authorized(AuthMode mode, const Caller& caller, Action action,
                        const ObjectRef& object);

// Proof that `authorize` allowed `A` on an object: functions that give out bytes or metadata take
// one, and only `authorized` makes one.
template <Action A>
class Authorized {
 public:
  const ObjectRef& object() const { return object_; }

 private:
  template <Action B>
  friend Result<Authorized<B>> authorized(AuthMode, const Caller&, ObjectRef);
  explicit Authorized(ObjectRef object) : object_(std::move(object)) {}
  ObjectRef object_;
};

// kPermissionDenied; for hidden objects the error that they do not exist.
Error denied(const Decision& decision, const ObjectRef& object);

template <Action A>
Result<Authorized<A>> authorized(AuthMode mode, const Caller& caller, ObjectRef object) {
  DIL_CHECK_OK(check_authorized(mode, caller, A, object));
  return Authorized<A>(std::move(object));
}

}  // namespace duckicelake::catalog
