// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/secret.h"
#include "objstore/counters.h"

namespace duckicelake::objstore {

class Transport;
class RequestSigner;

struct StsConfig {
  std::string endpoint;  // "https://sts.eu-west-1.amazonaws.com", or the store's own
  std::string region;
  std::string access_key;  // who calls AssumeRole
  Secret secret_key;
  Secret session_token;  // empty: none
  std::chrono::milliseconds connect_timeout{3000};
  std::chrono::milliseconds total_timeout{15000};
  std::size_t max_connections = 8;
  std::string ca_file;  // empty: the system's
};

struct AssumeRoleRequest {
  std::string role_arn;
  std::string session_name;    // 2..64 of [A-Za-z0-9_+=,.@-]
  std::string session_policy;  // JSON; empty: the role's own rights
  std::chrono::seconds duration{3600};
};

struct AssumedRole {
  std::string access_key;
  Secret secret_key;
  Secret session_token;
  std::chrono::sys_seconds expiration{};
};

// AssumeRole at an STS endpoint. Thread-safe. Knows nothing of who may get which policy.
class StsClient {
 public:
  // kInvalidArgument for an endpoint that is no http(s) URL.
  static Result<std::unique_ptr<StsClient>> make(StsConfig config);
  ~StsClient();

  // A duration above one hour that the role does not allow is asked for again as one hour.
  // kPayloadTooLarge: the session policy is too long for the service (PackedPolicyTooLarge);
  // kInvalidArgument: it, the name or the duration is refused; kUnsupported: no STS at this
  // endpoint; kInternal: the caller's credentials or the role are refused (cause in the log);
  // kUnavailable, kDeadlineExceeded as ObjectStore.
  Result<AssumedRole> assume_role(const AssumeRoleRequest& request);

  Counters counters() const;

 private:
  StsClient();
  Result<AssumedRole> assume_role_once(const AssumeRoleRequest& request, bool& duration_refused);

  StsConfig config_;
  std::string url_;
  std::string host_;
  std::string path_;
  std::unique_ptr<RequestSigner> signer_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace duckicelake::objstore
