// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "pg/transaction.h"
#include "store/lake.h"

// PostgreSQL roles for DuckDB users, and the row security that binds them. What the policies say is
// in direct_schema.h.
namespace duckicelake::store {

inline constexpr std::string_view kVendedRolePrefix = "duckicelake_p_";

// The groups that vended roles of one lake belong to. Roles are the cluster's, so a schema other
// than public adds to the names; lakes of equal schemas in other databases share the groups, and
// nothing else: what a role sees follows from its record, which is in one database.
struct DirectGroups {
  pg::SqlIdent reader;
  pg::SqlIdent writer;
};
// Whether the groups are there and the lake's tables were armed for them.
Result<bool> has_direct_groups(pg::Connection& connection, const Lake& lake,
                               const DirectGroups& groups);
// Makes the groups. kUnavailable names the right that is missing.
Status make_direct_groups(pg::Connection& connection, const Lake& lake, const DirectGroups& groups);

struct UnarmedTable {
  std::string name;
  bool is_known = false;    // it can be armed
  bool is_granted = false;  // a group may use it although it is not armed: nobody may get a role
};
Result<std::vector<UnarmedTable>> find_unarmed(pg::Connection& connection, const Lake& lake);
// What a role stands for.
struct DirectRole {
  std::string name;
  std::string verifier;  // of its password
  bool is_writer = false;
  std::string principal;
  std::string subject;
  std::string subject_client;        // empty: none
  std::int64_t issued_at = 0;        // of the token
  std::int64_t registration = 0;     // of the catalog; 0: whichever it is
  std::vector<std::string> clients;  // ids of clients that stand behind it
  std::vector<std::string> roles;    // not those of grants
  bool sees_all = false;
  bool reads_everywhere = false;
  std::string reads = "[]";  // JSON: an array of arrays of levels
  bool writes_everywhere = false;
  std::string writes = "[]";
  std::chrono::sys_seconds expires_at{};
  int connection_limit = 20;
};
// Makes the role and its record. `access_version`: of the rules by which it was decided; nullopt:
// none were asked. kUnavailable: these rules, or the registration, are not those of now, or roles
// cannot be made (the cause says why).
Status make_direct_role(pg::Connection& connection, const Lake& lake, const DirectGroups& groups,
                        const DirectRole& role, std::optional<std::int64_t> access_version);

// Whether the role is still on record, not expired for so long.
Result<bool> is_direct_role_good(pg::Connection& connection, const std::string& name,
                                 std::chrono::seconds left);

// --- of all lakes of the database

// Tables that could be armed and are not, by lake; of one whose schema is named, or of all.
struct UnarmedOf {
  std::string schema;
  std::string table;
};
Result<std::vector<UnarmedOf>> find_unarmed_anywhere(pg::Connection& connection,
                                                     const std::optional<std::string>& schema);
// In a transaction of its own that waits a second at most for the table, so that nobody has to wait
// behind it.
Status arm_table(pg::Connection& connection, const std::string& schema, const std::string& name);

// Sessions of vended roles that must end: their time is over, or they hold a lock of the kind that
// this server works with (anybody may take those). Returns how many were ended.
Result<int> end_direct_sessions(pg::Connection& connection);

// Drops roles whose time is over, at most `limit`; each that cannot be dropped (somebody gave it
// something elsewhere) stays, unable to log in, for another try a day later. Returns how many were
// looked at.
Result<int> drop_expired_roles(pg::Connection& connection, int limit);

// Takes the session lock for this work, if no other session of the database holds it.
Result<bool> try_lead_direct(pg::Connection& connection);

}  // namespace duckicelake::store
