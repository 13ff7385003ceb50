// SPDX-License-Identifier: Apache-2.0
#include "auth/crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>
#include <climits>
#include <optional>

#include "base/bytes.h"

namespace duckicelake::auth {
namespace {

constexpr std::size_t kDigestBytes = 32;
constexpr std::string_view kScheme = "scrypt";

struct Costs {
  std::uint64_t log_n = 12;
  std::uint64_t r = 8;
  std::uint64_t p = 1;
};
constexpr std::uint64_t kMaxLogN = 16;  // 64 MiB with r = 8
constexpr std::uint64_t kMaxR = 8;
constexpr std::uint64_t kMaxP = 4;

unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Result<std::string> derive(std::string_view secret, std::string_view salt, const Costs& costs) {
  std::string out(kDigestBytes, '\0');
  const std::uint64_t n = std::uint64_t{1} << costs.log_n;
  const std::uint64_t max_memory = 128 * costs.r * (n + costs.p + 2) + (1U << 20U);
  if (EVP_PBE_scrypt(secret.data(), secret.size(), raw(salt), salt.size(), n, costs.r, costs.p,
                     max_memory, raw(out), out.size()) != 1) {
    return Error(Code::kInternal, "secrets cannot be hashed", "EVP_PBE_scrypt failed");
  }
  return out;
}

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
  std::uint64_t out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (out < 1 || out > most) return std::nullopt;
  return out;
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string out(kDigestBytes, '\0');
  unsigned int size = 0;
  DIL_ASSERT(EVP_Digest(bytes.data(), bytes.size(), raw(out), &size, EVP_sha256(), nullptr) == 1);
  DIL_ASSERT(size == kDigestBytes);
  return out;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  DIL_ASSERT(key.size() <= INT_MAX);
  // A null key means "reuse the last one" to HMAC(); an empty key must not become that.
  static constexpr char kEmpty[1] = {0};
  const void* key_bytes = key.empty() ? kEmpty : key.data();
  std::string out(kDigestBytes, '\0');
  unsigned int size = 0;
  DIL_ASSERT(HMAC(EVP_sha256(), key_bytes, static_cast<int>(key.size()), raw(bytes), bytes.size(),
                  raw(out), &size) != nullptr);
  DIL_ASSERT(size == kDigestBytes);
  return out;
}

bool same_secret(std::string_view a, std::string_view b) {
  const std::string left = sha256(a);
  const std::string right = sha256(b);
  return CRYPTO_memcmp(left.data(), right.data(), kDigestBytes) == 0;
}

Result<std::string> hash_secret(std::string_view secret, std::string_view salt) {
  DIL_ASSERT(salt.size() >= 16 && salt.size() <= 64);
  const Costs costs;
  DIL_TRY(const std::string hash, derive(secret, salt, costs));
  return fmt::format("{}${}${}${}${}${}", kScheme, costs.log_n, costs.r, costs.p,
                     to_base64url(salt), to_base64url(hash));
}

Status check_secret(std::string_view secret, std::string_view hash) {
  const Error corrupt(Code::kCorruptData, "the stored hash of a client's secret does not parse");
  std::array<std::string_view, 6> parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t end = hash.find('$');
    if ((end == std::string_view::npos) != (i + 1 == parts.size())) return corrupt;
    parts[i] = hash.substr(0, end);
    if (end != std::string_view::npos) hash.remove_prefix(end + 1);
  }
  const auto log_n = number(parts[1], kMaxLogN);
  const auto r = number(parts[2], kMaxR);
  const auto p = number(parts[3], kMaxP);
  const Result<std::string> salt = from_base64url(parts[4]);
  const Result<std::string> wanted = from_base64url(parts[5]);
  if (parts[0] != kScheme || !log_n || !r || !p || !salt.has_value() || !wanted.has_value() ||
      salt->size() > 64 || wanted->size() != kDigestBytes) {
    return corrupt;
  }
  DIL_TRY(const std::string found, derive(secret, *salt, {*log_n, *r, *p}));
  if (CRYPTO_memcmp(found.data(), wanted->data(), kDigestBytes) != 0) {
    return Error(Code::kUnauthenticated, "not the secret");
  }
  return {};
}

}  // namespace duckicelake::auth
