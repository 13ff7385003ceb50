// SPDX-License-Identifier: Apache-2.0
#include "sign/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <climits>

#include "base/bytes.h"
#include "base/result.h"

namespace duckicelake::sign {
namespace {

constexpr std::size_t kDigestSize = 32;

unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

struct Sha256Stream::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256Stream::Sha256Stream() : impl_(std::make_unique<Impl>()) {
  DIL_ASSERT(impl_->context != nullptr);
  DIL_ASSERT(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1);
}

Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::update(std::string_view bytes) {
  DIL_ASSERT(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256Stream::finish() {
  std::string out(kDigestSize, '\0');
  unsigned int size = 0;
  DIL_ASSERT(EVP_DigestFinal_ex(impl_->context, raw(out), &size) == 1 && size == kDigestSize);
  return out;
}

std::string sha256(std::string_view bytes) {
  std::string out(kDigestSize, '\0');
  unsigned int size = 0;
  DIL_ASSERT(EVP_Digest(bytes.data(), bytes.size(), raw(out), &size, EVP_sha256(), nullptr) == 1);
  DIL_ASSERT(size == kDigestSize);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  DIL_ASSERT(key.size() <= INT_MAX);
  // A null key means "reuse the last one" to HMAC(); an empty key must not become that.
  static constexpr char kEmpty[1] = {0};
  const void* key_bytes = key.empty() ? kEmpty : key.data();
  std::string out(kDigestSize, '\0');
  unsigned int size = 0;
  DIL_ASSERT(HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()), raw(bytes), bytes.size(),
                  raw(out), &size) != nullptr);
  DIL_ASSERT(size == kDigestSize);
  return out;
}

std::string md5_base64(std::string_view bytes) {
  std::string out(16, '\0');
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), raw(out), &size, EVP_md5(), nullptr) != 1) return {};
  return to_base64(out);
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

}  // namespace duckicelake::sign
