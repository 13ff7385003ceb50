// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "base/result.h"
#include "catalog/s3_gateway.h"

namespace duckicelake::app {

class Tenant;
class Tenants;

// Where requests to the S3 gateway come in: finds out whose keys they are signed with, and has the
// catalog of the keys decide. Thread-safe; blocks.
class GatewayFront {
 public:
  // The references must outlive it. Pre-condition: own.storage().gateway().
  GatewayFront(Tenant& own, Tenants& tenants, std::chrono::milliseconds wait)
      : own_(own), tenants_(tenants), wait_(wait) {}

  // As S3Gateway::admit.
  Result<catalog::S3Gateway::Passed> admit(const sign::ReceivedRequest& request,
                                           const std::string& request_id);
  // Of requests with keys of no catalog.
  std::uint64_t denied() const { return denied_; }

 private:
  Tenant& own_;
  Tenants& tenants_;
  const std::chrono::milliseconds wait_;
  std::atomic<std::uint64_t> denied_{0};
};

}  // namespace duckicelake::app
