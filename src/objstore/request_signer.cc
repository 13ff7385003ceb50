// SPDX-License-Identifier: Apache-2.0
#include "objstore/request_signer.h"

namespace duckicelake::objstore {

RequestSigner::RequestSigner(sign::Credentials credentials, std::string region, std::string service)
    : credentials_(std::move(credentials)),
      region_(std::move(region)),
      service_(std::move(service)) {}

Result<std::vector<sign::Header>> RequestSigner::sign(sign::Request request) {
  sign::Time now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return sign::sign_request(std::move(request), credentials_, *key_at(now), now);
}

std::shared_ptr<const sign::SigningKey> RequestSigner::key_at(sign::Time time) {
  sign::Scope scope = sign::Scope::at(time, region_, service_);
  std::lock_guard lock(key_mutex_);
  if (key_ == nullptr || key_->scope() != scope) {
    key_ = std::make_shared<const sign::SigningKey>(
        sign::SigningKey::derive(credentials_.secret_key, std::move(scope)));
  }
  return key_;
}

}  // namespace duckicelake::objstore
