// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace duckicelake::net {

// The certificate in use. Connections keep the one they began with. Thread-safe.
class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> load(std::string certificate_file,
                                                  std::string key_file);

  std::shared_ptr<boost::asio::ssl::context> current() const;
  // On an error the current one stays.
  Status reload();

 private:
  TlsContext(std::string certificate_file, std::string key_file);

  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex context_mutex_;  // guards context_
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace duckicelake::net
