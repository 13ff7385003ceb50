// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/head_probe.h"
#include "catalog/key_policy.h"
#include "catalog/name_lookup.h"
#include "catalog/s3_gateway_keys.h"
#include "catalog/service.h"
#include "catalog/vend_keys.h"
#include "catalog/vend_scope.h"
#include "objstore/sts.h"
#include "sign/session_policy.h"

namespace duckicelake::catalog {

// What a client asks for (X-Iceberg-Access-Delegation).
struct DelegationRequest {
  bool wants_keys = false;
  bool wants_signing = false;
  bool wants_any() const { return wants_keys || wants_signing; }
};

// What it gets to reach a table's objects with.
struct StorageGrant {
  enum class Kind : std::uint8_t {
    kNone,
    kKeys,         // of the object store's STS
    kGatewayKeys,  // for our own gateway
    kSigning,      // requests are signed one by one
    kStaticKeys,   // the principal's own, which the bucket's policy confines
  };
  Kind kind = Kind::kNone;
  StorageRight right = StorageRight::kRead;
  std::shared_ptr<const VendedKeys> keys;  // of all but kNone and kSigning
  // Of kStaticKeys, what holds them: "bucket-policy", "bucket-policy-write" where they also write,
  // "bucket-policy-confined" for who is bound by masks. A constant.
  std::string_view enforcement = {};
  // Of kSigning for a table that is staged: what the signer is to be shown, for it does not find
  // the table. Says where it is staged, and by whom.
  std::string staged_token = {};
};

// A table as it was just loaded.
struct StorageTarget {
  TableRef table;
  TableIds ids;
  std::string version;  // its metadata location
};

// What the gate is asked about. Grants go by both ids: without the schema's they would not count.
struct GateTarget {
  TableRef table;
  std::optional<TableId> id;  // nullopt: of a table that is staged
  SchemaId schema;
};

// Keys for several tables at once.
struct AttachedGrant {
  StorageGrant grant;
  std::vector<std::string> not_read;     // tables that the keys leave out
  std::vector<std::string> not_written;  // or only read, although the caller may write
};

struct StorageCounters {
  std::uint64_t sts_calls = 0;
  std::uint64_t sts_failures = 0;
  std::uint64_t sts_widened = 0;   // a policy had to name folders where files were meant
  std::uint64_t granted_keys = 0;  // answers with keys of the STS, made anew or not
  std::uint64_t granted_gateway = 0;
  std::uint64_t granted_signing = 0;
  std::uint64_t granted_static = 0;
  std::uint64_t withheld_static = 0;  // there was a key, but its policy is not known to hold
  std::uint64_t denied = 0;
  std::uint64_t unfit = 0;  // no keys could be that narrow
  std::uint64_t scope_loads = 0;
  VendedKeyCache::Counters keys;
};

// Gives out the ways to a table's objects: keys as narrow as the table and the caller's right, or
// leave to have requests signed. Every grant passes the gate. Thread-safe.
class StorageAccess {
 public:
  using AssumeRole =
      std::function<Result<objstore::AssumedRole>(const objstore::AssumeRoleRequest&)>;
  struct Config {
    AssumeRole assume_role;  // empty: there is no STS
    std::string role_arn;
    std::chrono::seconds duration{3600};
    sign::Wildcards wildcards = sign::Wildcards::kRefuse;
    std::optional<GatewayKeys> gateway;
    std::optional<GatewayKeys> staging;  // makes staged_token; its URL is not used
    bool signs_requests = true;
    std::string root_key;  // access key of the server: nobody's static key
    // Whether masks or row filters bind the caller on a table. Empty: nobody is bound.
    std::function<bool(const Caller& caller, const ObjectRef& object)> is_masked;
    StorageScopeLimits limits;
    std::size_t max_cached_keys = 10'000;
    std::size_t max_cached_scopes = 10'000;
    // A scope is looked up again after so long: files of other tables may have come into a folder.
    std::chrono::seconds scope_life{60};
    std::function<Clock::time_point()> now = Clock::now;
    // For the log: what made a policy wider, or impossible.
    std::function<void(std::string_view what, const Error* why)> on_event;
  };
  // All references must outlive it.
  StorageAccess(Config config, const Backends& backends, const HeadProbe& probe);

  // kNone when nothing is asked for, or nothing is to be had. kPermissionDenied when the caller may
  // not read the table's data; kUnavailable, kDeadlineExceeded when STS or PostgreSQL is away.
  Result<StorageGrant> grant(const Caller& caller, const StorageTarget& target,
                             DelegationRequest asked);
  // The same without blocking; nullopt: `grant` has to work.
  std::optional<Result<StorageGrant>> cached_grant(const Caller& caller,
                                                   const StorageTarget& target,
                                                   DelegationRequest asked);
  // For a table that is staged at `location` with `uuid`, after it was found to be good: keys that
  // may write there, and nowhere else.
  Result<StorageGrant> grant_staged(const Caller& caller, const TableRef& table,
                                    const std::string& uuid, const std::string& location,
                                    DelegationRequest asked);

  // Keys for the data files of several tables of a namespace, for a client that reads DuckLake's
  // own catalog: no more than `right`, whatever the caller may do. The gate was asked for each.
  // A table in a folder that is not its own alone is read, if that, and not written.
  // Without STS and gateway: the principal's static key, while all that the bucket's policy opens
  // to it is what the caller may reach now (docs/adr/0013). kUnsupported: there is no way to keys
  // that are that narrow.
  Result<AttachedGrant> grant_attached(const Caller& caller, const std::vector<GateTarget>& targets,
                                       StorageRight right);

  // The folder of a table that is still staged, which a token speaks of, when it may be written
  // to: by the caller whose token it is, while nothing else is in its way. kPermissionDenied.
  Result<std::shared_ptr<const StorageScope>> staged_scope(const Caller& caller,
                                                           const TableRef& table,
                                                           std::string_view token) const;

  // The keys of the bucket that are the table's; as fresh as `scope_life` says.
  Result<std::shared_ptr<const StorageScope>> scope_of(TableId table);
  std::shared_ptr<const StorageScope> cached_scope(TableId table);
  // Not older than a second: for what an older one would refuse.
  Result<std::shared_ptr<const StorageScope>> fresh_scope_of(TableId table);

  // The right that the gate leaves the caller; the decision is recorded.
  Result<StorageRight> right_of(const Caller& caller, const GateTarget& target) const;

  SnapshotId last_name_change() const { return probe_.last_name_change(); }
  // Tells the record of a request for an object that was refused although the gate allows the
  // table.
  void note_refusal(const Caller& caller, std::string_view operation, const GateTarget& target,
                    std::string reason) const;

  bool has_sts() const;
  bool signs_requests() const { return config_.signs_requests; }
  const std::optional<GatewayKeys>& gateway() const { return config_.gateway; }
  StorageCounters counters() const;

 private:
  struct Policy {
    Status fit = {};  // why there is none
    std::string text;
    std::string digest;
    bool is_widened = false;
  };
  struct ScopeEntry {
    std::shared_ptr<const StorageScope> scope;
    std::string version;
    SnapshotId name_change;
    Clock::time_point loaded;
    std::array<Policy, 2> policies;  // by StorageRight
  };
  using EntryPtr = std::shared_ptr<const ScopeEntry>;

  EntryPtr cached_entry(TableId table, const std::string* version);
  Result<EntryPtr> entry_of(TableId table, const std::string* version);
  EntryPtr make_entry(std::shared_ptr<const StorageScope> scope, std::string version,
                      SnapshotId name_change) const;
  Policy make_policy(const StorageScope& scope, StorageRight right, bool prefers_wider) const;
  Policy make_policy(const sign::SessionScope& wanted, bool prefers_wider) const;
  ObjectRef object_of(const GateTarget& target) const;
  // What keys of our own making say.
  GatewayClaims claims_for(const Caller& caller, const GateTarget& target,
                           const StorageScope& scope, StorageRight right,
                           const GatewayKeys& maker) const;
  // kUnavailable: the record takes no more.
  Status note_grant(const Caller& caller, const GateTarget& target,
                    const StorageGrant& grant) const;
  std::string purpose_of(const Caller& caller, const StorageScope& scope, StorageRight right,
                         const Policy& policy) const;
  // Keys of the STS for a policy; `wider` is tried when the service finds it too large.
  struct Keying {
    std::string session_name;
    StorageRight right = StorageRight::kRead;
    std::vector<std::string> routes;
    const Policy& policy;
    std::function<Policy()> wider;
  };
  VendedKeyCache::Made make_keys(const Keying& keying);
  VendedKeyCache::Made make_keys(const Caller& caller, const TableRef& table,
                                 const StorageScope& scope, StorageRight right,
                                 const Policy& policy);
  Result<StorageGrant> grant_from(const Caller& caller, const GateTarget& target,
                                  const ScopeEntry& entry, StorageRight right,
                                  DelegationRequest asked);
  std::optional<StorageGrant> grant_without_keys(const Caller& caller, const GateTarget& target,
                                                 const ScopeEntry* entry, StorageRight right,
                                                 DelegationRequest asked);
  // vend_static.cc
  Result<AttachedGrant> grant_static(const Caller& caller,
                                     const std::vector<const GateTarget*>& targets,
                                     StorageRight right);
  Result<AttachedGrant> use_static_key(const Caller& caller, const store::KeyInForce& found,
                                       const std::vector<const GateTarget*>& targets,
                                       StorageRight right);
  Result<bool> may_reach_all(const Caller& caller, const KeyOpening& opening);
  void note(std::string_view what, const Error* why) const;

  const Config config_;
  const Backends& backends_;
  const HeadProbe& probe_;
  VendedKeyCache keys_;
  std::atomic<std::int64_t> sts_absent_until_{0};  // seconds since the epoch

  std::mutex scopes_mutex_;  // guards scopes_
  std::unordered_map<TableId, EntryPtr> scopes_;

  mutable std::atomic<std::uint64_t> sts_calls_{0}, sts_failures_{0}, sts_widened_{0},
      granted_keys_{0}, granted_gateway_{0}, granted_signing_{0}, granted_static_{0},
      withheld_static_{0}, denied_{0}, unfit_{0}, scope_loads_{0};
};

}  // namespace duckicelake::catalog
