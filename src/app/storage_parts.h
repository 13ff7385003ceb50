// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "app/log.h"
#include "app/settings.h"
#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/direct.h"
#include "catalog/direct_upkeep.h"
#include "catalog/guard.h"
#include "catalog/s3_gateway.h"
#include "catalog/sign_request.h"
#include "catalog/vend.h"
#include "objstore/sts.h"

namespace duckicelake::app {

// What gives callers ways to the bytes of one catalog's tables: keys of the store's STS,
// signatures, keys of the gateway. Everything that is passed in must outlive it.
class StorageParts {
 public:
  struct Deps {
    const catalog::Backends& backends;
    catalog::HeadProbe& probe;
    objstore::StsClient* sts;  // may be null
    catalog::Guard& guard;
    catalog::GatewayCatalog catalog;
    std::int64_t registration;  // see rest::OpenCatalog
    Logger& logger;
  };
  static Result<std::unique_ptr<StorageParts>> make(const Settings& settings, const Deps& deps);

  catalog::StorageAccess& access() { return *access_; }
  catalog::DirectAccess& direct() { return *direct_; }
  catalog::RequestSigning* signing() { return signing_.get(); }  // nullptr: not served
  catalog::S3Gateway* gateway() { return gateway_.get(); }       // likewise

  struct Reading {
    catalog::StorageCounters access;
    catalog::RequestSigning::Counters signing;
    catalog::S3Gateway::Counters gateway;
    catalog::DirectCounters direct;
    catalog::DirectUpkeep::Counters direct_upkeep;
  };
  Reading counters() const;

 private:
  StorageParts() = default;
  Status make_gateway(const Settings& settings, const Deps& deps);

  std::unique_ptr<catalog::StorageAccess> access_;
  std::unique_ptr<catalog::DirectAccess> direct_;
  std::unique_ptr<catalog::DirectUpkeep> direct_upkeep_;  // nullptr: row security is off
  std::unique_ptr<catalog::RequestSigning> signing_;
  std::unique_ptr<catalog::S3Gateway> gateway_;
};

// How roles for DuckDB users are made.
catalog::DirectAccess::Config direct_config(const Settings& settings);

// AWS reads "${*}" in a policy as a plain '*'; other stores match other names by it.
sign::Wildcards wildcards_of(std::string_view endpoint);

// Where the bucket's objects are, with the root keys.
Result<catalog::ObjectPlace> object_place(const Settings& settings);

}  // namespace duckicelake::app
