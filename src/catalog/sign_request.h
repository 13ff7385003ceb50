// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "catalog/vend.h"
#include "sign/s3_operation.h"
#include "sign/sigv4.h"

namespace duckicelake::catalog {

// RemoteSignRequest of the REST specification.
struct SignRequest {
  std::string method;
  std::string uri;
  std::vector<sign::Header> headers;
  std::optional<std::string> body;  // of DeleteObjects only
};

struct SignedRequest {
  std::string uri;                    // to be used in the place of the one that was sent
  std::vector<sign::Header> headers;  // to be added to those that were sent
};

// Where the objects are, for those who sign.
struct ObjectPlace {
  std::string scheme;  // "http" or "https"
  sign::S3Place place;
  std::string region;
  sign::Credentials root;
  bool is_path_style = true;  // how requests of our own are addressed

  std::string host() const {
    return is_path_style ? place.authority : place.bucket + "." + place.authority;
  }
  // Decoded; the bucket's itself for an empty key.
  std::string path_of(std::string_view key) const {
    std::string out = place.path;
    if (is_path_style) out.append("/").append(place.bucket);
    return out.append("/").append(key);
  }
};

// Whether an operation on objects may be done for a caller, of whom the gate said what right he
// has. The same for the signer and the gateway. Thread-safe.
class ObjectGuard {
 public:
  ObjectGuard(StorageAccess& access, const Backends& backends)
      : access_(access), backends_(backends) {}

  // kPermissionDenied with the reason. Blocks where the scope is not at hand, or an object has to
  // be looked up.
  Status check(TableId table, StorageRight right, const sign::S3Operation& operation);
  // The same without blocking; nullopt: `check` has to work.
  std::optional<Status> check_cached(TableId table, StorageRight right,
                                     const sign::S3Operation& operation);

 private:
  StorageAccess& access_;
  const Backends& backends_;
};

// Whether the operation is inside the scope, as far as the scope alone says; nullopt: whoever
// decides has to look at the catalog's rows, or whether the object exists.
std::optional<Status> check_in_scope(const StorageScope& scope, StorageRight right,
                                     const sign::S3Operation& operation);

// Signs requests to the object store with the root keys, one by one, each after it was understood
// and found to be the caller's: "remote signing". Thread-safe.
class RequestSigning {
 public:
  RequestSigning(ObjectPlace place, StorageAccess& access, const Backends& backends,
                 std::function<Clock::time_point()> now = Clock::now)
      : place_(std::move(place)),
        access_(access),
        backends_(backends),
        guard_(access, backends),
        now_(std::move(now)) {}

  // For a table whose name was looked up. Pre-condition: target.id. kPermissionDenied, with the
  // reason, for everything that is not understood or not the caller's.
  Result<SignedRequest> sign(const Caller& caller, const GateTarget& target,
                             const SignRequest& request);
  std::optional<Result<SignedRequest>> sign_cached(const Caller& caller, const GateTarget& target,
                                                   const SignRequest& request);
  // For one that is staged; `token` is StorageGrant::staged_token.
  Result<SignedRequest> sign_staged(const Caller& caller, const TableRef& table,
                                    std::string_view token, const SignRequest& request);
  // For whichever table the object belongs to.
  Result<SignedRequest> sign_anywhere(const Caller& caller, const SignRequest& request);

  struct Counters {
    std::uint64_t granted = 0;
    std::uint64_t denied = 0;
  };
  Counters counters() const { return {granted_, denied_}; }

 private:
  struct Read;  // a request that was understood
  struct Owner {
    GateTarget target;
    SnapshotId name_change;
    Clock::time_point looked_up;
  };
  Result<Read> read(const SignRequest& request) const;
  Result<SignedRequest> make(const Read& read) const;
  Result<Owner> owner_of(const std::string& key);
  std::shared_ptr<const sign::SigningKey> key_at(sign::Time time) const;
  Result<SignedRequest> finish(const Caller& caller, const GateTarget& target, const Read& read,
                               Status allowed);

  const ObjectPlace place_;
  StorageAccess& access_;
  const Backends& backends_;
  ObjectGuard guard_;
  const std::function<Clock::time_point()> now_;
  std::atomic<std::uint64_t> granted_{0}, denied_{0};

  mutable std::mutex key_mutex_;  // guards day_key_
  mutable std::shared_ptr<const sign::SigningKey> day_key_;

  std::mutex owners_mutex_;                        // guards owners_
  std::unordered_map<std::string, Owner> owners_;  // by folder of the key
};

}  // namespace duckicelake::catalog
