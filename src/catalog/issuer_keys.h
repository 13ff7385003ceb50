// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "auth/issuers.h"
#include "auth/keys.h"
#include "base/result.h"

namespace duckicelake::catalog {

// The body behind an http(s) URL; blocks, within bounds of its own. kUnavailable.
using Fetch = std::function<Result<std::string>(const std::string& url)>;

// The published keys of another issuer. They are fetched at first need, again every
// kRefreshSeconds, and at once (but not more often than every kRetrySeconds) for a key id that is
// not known yet. While the issuer does not answer, the known keys serve up to kUsableSeconds after
// they were fetched; then its tokens are refused. Thread-safe.
class IssuerKeys {
 public:
  static constexpr std::int64_t kRefreshSeconds = 300;
  static constexpr std::int64_t kUsableSeconds = 3600;
  static constexpr std::int64_t kRetrySeconds = 10;

  IssuerKeys(auth::ExternalIssuer issuer, Fetch fetch)
      : issuer_(std::move(issuer)), fetch_(std::move(fetch)) {}

  const auth::ExternalIssuer& issuer() const { return issuer_; }

  // Does not block. `keys` is nullptr when none are usable; `wants_fetch` when `fetch` could do
  // better.
  struct Known {
    std::shared_ptr<const auth::KeySet> keys;
    bool wants_fetch = false;
  };
  Known known(const std::optional<std::string>& key_id, std::int64_t now) const;
  // Fetches when that is still wanted. Blocks. An error only when no keys are usable.
  Result<std::shared_ptr<const auth::KeySet>> fetch(const std::optional<std::string>& key_id,
                                                    std::int64_t now);

 private:
  Result<auth::KeySet> read() const;

  const auth::ExternalIssuer issuer_;
  const Fetch fetch_;
  std::mutex fetching_;       // held by who fetches: the others find its result
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const auth::KeySet> keys_;
  std::int64_t fetched_at_ = 0;
  std::int64_t tried_at_ = 0;
};

}  // namespace duckicelake::catalog
