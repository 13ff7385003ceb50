// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace duckicelake::sign {

// SHA-256 and HMAC-SHA256 over bytes; results are the 32 raw bytes (to_hex of base/bytes.h prints
// them). They cannot fail: a libcrypto that does not offer SHA-256 ends the process.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Lower-case hex of sha256(bytes): the payload hash of SigV4.
std::string sha256_hex(std::string_view bytes);

// Base64 of MD5, for the Content-MD5 header that some S3 operations demand; no use for security.
// Empty where libcrypto is configured without MD5.
std::string md5_base64(std::string_view bytes);

// SHA-256 of data that arrives in pieces. Not thread-safe. `finish` may be called once.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void update(std::string_view bytes);
  std::string finish();  // 32 raw bytes

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duckicelake::sign
