// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/backends.h"
#include "app/settings.h"
#include "base/result.h"
#include "pg/connection.h"

namespace duckicelake::app {

// The role that the settings name, or else the one that `init` makes for this lake. Its name tells
// the database and the schema; its password is derived from the owner's, so that every process that
// knows the one knows the other and nothing is stored. nullopt: there is no owner's password to
// derive from.
std::optional<ViewRole> derived_view_role(const Settings& settings);

// Whether the role of `derived_view_role` can log in: it is there, or it is the settings' own.
Result<std::optional<ViewRole>> find_view_role(pg::Connection& connection,
                                               const Settings& settings);

enum class ViewRoleOutcome { kReady, kNoPassword, kMayNotCreateRoles };

// Makes or renews the role (LOGIN, read only, USAGE and SELECT on the lake's tables and nothing
// else). Nothing is done when the settings name one. PostgreSQL is given a SCRAM verifier, not the
// password: statements may be logged.
Result<ViewRoleOutcome> make_view_role(pg::Connection& connection, const Settings& settings);

}  // namespace duckicelake::app
