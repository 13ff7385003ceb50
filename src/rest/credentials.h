// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/vend.h"
#include "rest/storage_answer.h"

// What callers get to reach tables' bytes, in the answers of several routes.
namespace duckicelake::rest {

struct Call;
struct Context;

// What the call asks for, when there is anybody to ask.
catalog::DelegationRequest delegation(const Call& call);
// Of a load, whose name was just looked up. nullopt: it has to be looked up again. Pre-condition:
// call.found.
std::optional<catalog::StorageTarget> known_target(const Call& call);
// The same, blocking. kNoSuchTable when the name means another table by now.
Result<catalog::StorageTarget> storage_target(const Call& call, const catalog::TableRef& table,
                                              const catalog::TableAnswer& answer);

StorageAnswer caller_storage(const Context& context, const Call& call,
                             const catalog::TableRef& table, const catalog::StorageGrant& grant);
// For a table that is staged: `metadata` is what the catalog made of the request.
Result<StorageAnswer> staged_storage(const Context& context, const Call& call,
                                     const catalog::TableRef& table, const std::string& metadata);

}  // namespace duckicelake::rest
