// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/secret.h"
#include "catalog/backends.h"
#include "catalog/name_lookup.h"
#include "catalog/vend.h"
#include "store/direct.h"

namespace duckicelake::catalog {

// What a DuckDB user asks for, to attach the lake itself.
struct DirectRequest {
  Levels levels;
  std::optional<std::string> table;  // keys for its files only; nullopt: for all of the namespace
  std::chrono::seconds duration{3600};
  bool is_write = false;
};

// What he gets.
struct DirectGrant {
  std::string role;
  Secret dsn;         // libpq's words, with the role's password
  Secret attach_sql;  // with it too
  std::string data_path;
  std::chrono::sys_seconds valid_until{};
  bool is_write = false;
  StorageGrant storage;     // kKeys, kGatewayKeys, kStaticKeys, or kNone
  std::string why_no_keys;  // or not for all tables
};

struct DirectCounters {
  std::uint64_t readers = 0;  // roles that were made
  std::uint64_t writers = 0;
  std::uint64_t repeated = 0;  // grants with a role that was made before
  std::uint64_t refused = 0;
  std::uint64_t failures = 0;
};

// Gives DuckDB users PostgreSQL roles that row security binds to what the gate lets them see, and
// keys for the files of it. Every grant passes the gate; what a role sees follows grants and
// clients as they are later, in PostgreSQL (store/direct_schema.h). Thread-safe.
class DirectAccess {
 public:
  struct Config {
    bool is_on = true;  // row security; off: nobody gets a role
    std::string reader_group = "duckicelake_reader";
    std::int64_t registration = 0;                 // of the catalog; 0: the process's own
    std::chrono::milliseconds cache_life{30'000};  // a repeated request gets the same role
    std::chrono::seconds max_duration{43'200};
    // As clients reach PostgreSQL.
    std::string host;
    std::uint16_t port = 5432;
    std::string database;
    std::string sslmode;
    std::size_t max_cached = 1000;
    std::function<Clock::time_point()> now = Clock::now;
  };
  // The references must outlive it.
  DirectAccess(Config config, const Backends& backends, StorageAccess& storage);

  // kPermissionDenied: the gate says no, or row security is off; kUnavailable: tables are not bound
  // by it, or no role can be made.
  Result<DirectGrant> grant(const Caller& caller, const DirectRequest& request);

  DirectCounters counters() const;

 private:
  struct Target {
    ObjectRef object;  // of the gate
    std::vector<GateTarget> tables;
  };
  struct KnownRole {
    std::string name;
    Secret password;
    std::chrono::sys_seconds expires_at;
    Clock::time_point made;
  };
  Result<Target> find(pg::Connection& connection, const Caller& caller,
                      const DirectRequest& request) const;
  Result<KnownRole> role_for(const Caller& caller, const DirectRequest& request,
                             const Target& target);
  Result<KnownRole> make_role(const Caller& caller, const DirectRequest& request);
  store::DirectRole describe(const Caller& caller) const;
  std::string purpose_of(const Caller& caller, const DirectRequest& request,
                         const Target& target) const;
  Error refuse(const Caller& caller, const ObjectRef& object, std::string_view decision, Error why);
  void record(const Caller& caller, const ObjectRef& object, std::string_view decision,
              std::string reason, const std::string& role) const;

  const Config config_;
  const Backends& backends_;
  StorageAccess& storage_;
  Status groups_status_;
  std::optional<store::DirectGroups> groups_;

  std::mutex mutex_;  // guards known_
  std::map<std::string, KnownRole> known_;
  std::atomic<std::uint64_t> readers_{0}, writers_{0}, repeated_{0}, refused_{0}, failures_{0};
};

// The groups of a lake: the setting's name and the writers', and for a schema other than public "_"
// and the first ten digits of its SHA-256. kInvalidArgument: no name of a role.
Result<store::DirectGroups> direct_groups(const std::string& reader, const pg::SqlIdent& schema);

// Makes the groups and binds DuckLake's tables for them, where that was not done. kUnavailable: a
// right is missing, or a table that must be bound is not.
Status arm_lake(pg::Connection& connection, const store::Lake& lake,
                const store::DirectGroups& groups);

}  // namespace duckicelake::catalog
