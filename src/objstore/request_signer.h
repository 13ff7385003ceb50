// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sign/sigv4.h"

namespace duckicelake::objstore {

// Signs with one set of credentials, keeping the derived key of the day. Thread-safe.
class RequestSigner {
 public:
  RequestSigner(sign::Credentials credentials, std::string region, std::string service);

  // The headers to send, for the present time.
  Result<std::vector<sign::Header>> sign(sign::Request request);

 private:
  std::shared_ptr<const sign::SigningKey> key_at(sign::Time time);

  const sign::Credentials credentials_;
  const std::string region_;
  const std::string service_;
  std::mutex key_mutex_;
  std::shared_ptr<const sign::SigningKey> key_;
};

}  // namespace duckicelake::objstore
