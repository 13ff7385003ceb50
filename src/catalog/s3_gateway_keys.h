// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "catalog/authorize.h"
#include "catalog/name_lookup.h"
#include "catalog/vend_scope.h"

namespace duckicelake::catalog {

// Whom keys of the gateway stand for, and what they open. The gate is asked again for each request,
// so they are never more than the caller may have by then.
struct GatewayClaims {
  std::string catalog_id;
  TableId table;
  std::string uuid;      // of the table, or of one that is staged: then table is negative
  std::string location;  // of one that is staged: key prefix ending in '/'
  TableRef staged;       // its name to be
  SchemaId schema;       // and its namespace
  StorageRight right = StorageRight::kRead;
  std::chrono::sys_seconds expiration{};
  Principal principal;
};

// Keys that need no table to be remembered in: the access key id says what they are, the secret is
// its HMAC. Every process with the same secret takes them. Pure; thread-safe.
class GatewayKeys {
 public:
  // `url`: where clients reach the gateway. Pre-condition: the secret is not empty.
  GatewayKeys(Secret secret, std::string url, std::chrono::seconds ttl)
      : secret_(std::move(secret)), url_(std::move(url)), ttl_(ttl) {}

  // Given out with all keys, and without meaning.
  static constexpr std::string_view kSessionToken = "gateway";

  struct Minted {
    std::string access_key;
    Secret secret_key;
  };
  Minted mint(const GatewayClaims& claims) const;
  // Of any access key id: without the right one behind it, signatures just do not match.
  Secret secret_of(std::string_view access_key) const;
  // Whether it looks like one of ours at all.
  static bool is_ours(std::string_view access_key);
  // kPermissionDenied when it is none of ours, or does not parse. Believe it after the signature
  // was verified with secret_of.
  static Result<GatewayClaims> parse(std::string_view access_key);

  // When keys that are made now shall end: the same time for all of a half TTL, so that the same
  // caller gets the same keys.
  std::chrono::sys_seconds expiration_at(std::chrono::sys_seconds now) const;
  const std::string& url() const { return url_; }
  std::chrono::seconds ttl() const { return ttl_; }

 private:
  Secret secret_;
  std::string url_;
  std::chrono::seconds ttl_;
};

}  // namespace duckicelake::catalog
