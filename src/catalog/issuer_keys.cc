// SPDX-License-Identifier: Apache-2.0
#include "catalog/issuer_keys.h"

namespace duckicelake::catalog {

IssuerKeys::Known IssuerKeys::known(const std::optional<std::string>& key_id,
                                    std::int64_t now) const {
  const std::lock_guard lock(mutex_);
  Known out;
  if (keys_ && now - fetched_at_ < kUsableSeconds) out.keys = keys_;
  const bool is_old = !out.keys || now - fetched_at_ >= kRefreshSeconds;
  const bool lacks_key = out.keys && key_id && !out.keys->has_key(*key_id);
  const bool may_try = tried_at_ == 0 || now - tried_at_ >= kRetrySeconds;
  out.wants_fetch = (is_old || lacks_key) && may_try;
  return out;
}

Result<std::shared_ptr<const auth::KeySet>> IssuerKeys::fetch(
    const std::optional<std::string>& key_id, std::int64_t now) {
  const std::lock_guard fetching(fetching_);
  Known before = known(key_id, now);
  if (before.wants_fetch) {
    {
      const std::lock_guard lock(mutex_);
      tried_at_ = now;
    }
    Result<auth::KeySet> read_now = read();
    if (read_now.has_value()) {
      before.keys = std::make_shared<const auth::KeySet>(std::move(*read_now));
      const std::lock_guard lock(mutex_);
      keys_ = before.keys;
      fetched_at_ = now;
    } else if (!before.keys) {
      return std::move(read_now).error().with_code(Code::kUnavailable);
    }
  }
  if (!before.keys) {
    return Error(Code::kUnavailable, "the keys of the token's issuer are not known");
  }
  return std::move(before.keys);
}

Result<auth::KeySet> IssuerKeys::read() const {
  std::string url = issuer_.jwks_url;
  if (url.empty()) {
    DIL_TRY(const std::string document, fetch_(auth::discovery_url(issuer_.issuer)));
    DIL_TRY(url, auth::jwks_url_of(document, issuer_.issuer));
  }
  DIL_TRY(const std::string document, fetch_(url));
  return auth::KeySet::from_jwks(document);
}

}  // namespace duckicelake::catalog
