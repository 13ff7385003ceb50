// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

// The one gate. Every use case asks it before it touches anything; nothing else decides. It fails
// closed.
namespace duckicelake::catalog {

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
};

struct Principal {
  std::string id;  // "anonymous" while authentication is off
  bool is_authenticated = false;
};

// Who asks, for decisions, audit and answers that depend on the caller.
struct Caller {
  Principal principal;
  std::string request_id;
};

// What is asked for, by identity; the names serve messages and audit only.
struct ObjectRef {
  std::string catalog_id;
  std::optional<SchemaId> schema;
  std::optional<TableId> table;
  std::optional<ViewId> view;
  std::string name;
};

struct Decision {
  bool is_allowed = false;
  std::vector<std::string> reasons;
};

// What `authorize` does while authentication is off (DUCKICELAKE_REQUIRE_AUTH unset and no client
// configured): allow everybody. Authenticated operation is refused until clients can be configured.
enum class AuthMode : std::uint8_t { kOff };

Decision authorize(AuthMode mode, const Principal& principal, Action action,
                   const ObjectRef& object);

// Proof that `authorize` allowed `A` on an object: functions that give out bytes or metadata take
// one, and only `authorized` makes one.
template <Action A>
class Authorized {
 public:
  const ObjectRef& object() const { return object_; }

 private:
  template <Action B>
  friend Result<Authorized<B>> authorized(AuthMode, const Principal&, ObjectRef);
  explicit Authorized(ObjectRef object) : object_(std::move(object)) {}
  ObjectRef object_;
};

Error denied(const Decision& decision, const ObjectRef& object);

template <Action A>
Result<Authorized<A>> authorized(AuthMode mode, const Principal& principal, ObjectRef object) {
  Decision decision = authorize(mode, principal, A, object);
  if (!decision.is_allowed) return denied(decision, object);
  return Authorized<A>(std::move(object));
}

}  // namespace duckicelake::catalog
