// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/audit.h"
#include "catalog/guard.h"
#include "catalog/sign_request.h"
#include "sign/verify.h"

namespace duckicelake::catalog {

// Whom the claims of a key stand for under access rules of at least this version: the token that it
// was made with is looked at as if it came again. kUnauthenticated: it is void by now.
// kPermissionDenied: the catalog, whose rules and account these are, is not for it.
struct GatewayCatalog {
  AccessCache& rules;
  std::string account = {};
};
Result<Caller> gateway_caller(Guard& guard, const GatewayCatalog& catalog,
                              const GatewayClaims& claims, std::int64_t access_version,
                              pg::Deadline until);

// A request whose signature was found to be that of keys of the gateway.
struct GatewayRequest {
  sign::Presented presented;
  GatewayClaims claims;
  Secret secret_key;
};
// kUnauthenticated, kPermissionDenied, kInvalidArgument with what S3 clients may read.
Result<GatewayRequest> read_gateway_request(const GatewayKeys& keys,
                                            const sign::ReceivedRequest& request,
                                            std::chrono::sys_seconds now);

// Decides about requests to the S3 gateway with keys for one catalog: what they would do, whether
// that may be done now. Moves no bytes. Thread-safe; blocks (PostgreSQL).
class S3Gateway {
 public:
  struct Config {
    ObjectPlace place;  // of the store behind it
    // As whom the keys act under the rules of a head that was read after the request came, or why
    // they do not any more.
    std::function<Result<Caller>(const GatewayClaims&, const HeadProbe::Fresh&)> caller_of;
    Audit* audit = nullptr;  // may be null
  };
  // All references must outlive it.
  S3Gateway(Config config, StorageAccess& access, const Backends& backends, HeadProbe& probe)
      : config_(std::move(config)),
        access_(access),
        backends_(backends),
        probe_(probe),
        guard_(access, backends) {}

  // A request that may be passed on.
  struct Passed {
    sign::S3Operation operation;
    sign::Presented presented;
    Secret secret_key;      // of the client: its chunks are signed with it
    sign::Request request;  // for the store, unsigned; the payload hash is the body's as it will be
                            // sent: see `decodes_chunks`
    std::string url;
    bool decodes_chunks = false;  // the body is aws-chunked and goes on without that
  };
  // kUnauthenticated, kPermissionDenied, kInvalidArgument with what S3 clients may read;
  // kUnavailable.
  Result<Passed> admit(const sign::ReceivedRequest& request, GatewayRequest read,
                       const std::string& request_id);

  struct Counters {
    std::uint64_t passed = 0;
    std::uint64_t denied = 0;
  };
  Counters counters() const { return {passed_, denied_}; }

 private:
  struct Known;
  Result<Passed> decide(const sign::ReceivedRequest& request, GatewayRequest read,
                        const std::string& request_id);
  Status check(const GatewayClaims& claims, const Caller& caller,
               const sign::S3Operation& operation);
  Status check_staged(const GatewayClaims& claims, const Caller& caller,
                      const sign::S3Operation& operation);

  const Config config_;
  StorageAccess& access_;
  const Backends& backends_;
  HeadProbe& probe_;
  ObjectGuard guard_;
  std::atomic<std::uint64_t> passed_{0}, denied_{0};

  struct Name {
    GateTarget target;
    SnapshotId name_change;
  };
  Result<GateTarget> name_of(TableId table);
  std::mutex names_mutex_;  // guards names_
  std::unordered_map<TableId, Name> names_;
};

}  // namespace duckicelake::catalog
