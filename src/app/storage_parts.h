// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/gateway_server.h"
#include "app/log.h"
#include "app/settings.h"
#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/guard.h"
#include "catalog/s3_gateway.h"
#include "catalog/sign_request.h"
#include "catalog/vend.h"
#include "objstore/sts.h"

namespace duckicelake::app {

// What gives callers ways to the bytes of a catalog's tables: keys of the store's STS, signatures,
// keys of the gateway. Everything that is passed in must outlive it.
class StorageParts {
 public:
  static Result<std::unique_ptr<StorageParts>> make(const Settings& settings,
                                                    catalog::Backends backends,
                                                    catalog::HeadProbe& probe, Logger& logger);

  catalog::StorageAccess& access() { return *access_; }
  catalog::RequestSigning* signing() { return signing_.get(); }  // nullptr: not served
  // Listens for the gateway's clients, when the settings say so.
  Status start_gateway(const Settings& settings, catalog::HeadProbe& probe, catalog::Guard& guard,
                       Logger& logger);
  void stop_gateway(std::chrono::milliseconds grace);

  struct Reading {
    catalog::StorageCounters access;
    catalog::RequestSigning::Counters signing;
    catalog::S3Gateway::Counters gateway;
    GatewayServer::Counters gateway_traffic;
  };
  Reading counters() const;

 private:
  explicit StorageParts(catalog::Backends backends) : backends_(std::move(backends)) {}

  const catalog::Backends backends_;
  std::unique_ptr<objstore::StsClient> sts_;
  std::unique_ptr<catalog::StorageAccess> access_;
  std::unique_ptr<catalog::RequestSigning> signing_;
  std::unique_ptr<catalog::S3Gateway> gateway_;
  std::unique_ptr<GatewayServer> gateway_server_;  // the last: it uses the others
};

// Where the bucket's objects are, with the root keys.
Result<catalog::ObjectPlace> object_place(const Settings& settings);

}  // namespace duckicelake::app
