// SPDX-License-Identifier: Apache-2.0
#include "auth/keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "auth/crypto.h"
#include "base/bytes.h"
#include "json/value.h"

namespace duckicelake::auth {
namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;
constexpr std::size_t kMaxExponentBytes = 8;
constexpr std::size_t kP256Bytes = 32;
constexpr std::size_t kMaxKeyIdBytes = 512;

template <class T, void (*Free)(T*)>
struct Freed {
  void operator()(T* what) const { Free(what); }
};
using Bignum = std::unique_ptr<BIGNUM, Freed<BIGNUM, BN_free>>;
using ParamBuild = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM, OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX, EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX, EVP_MD_CTX_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG, ECDSA_SIG_free>>;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Bignum number(std::string_view bytes) {
  return Bignum(BN_bin2bn(raw(bytes), static_cast<int>(bytes.size()), nullptr));
}

EVP_PKEY* make_key(const char* type, OSSL_PARAM_BLD* build) {
  const Params params(OSSL_PARAM_BLD_to_param(build));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    return nullptr;
  }
  return key;
}

bool is_sound(EVP_PKEY* key) {
  const KeyContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  return context && EVP_PKEY_public_check(context.get()) == 1;
}

// JWS has the two numbers side by side (RFC 7518 §3.4), OpenSSL wants them in DER.
std::string der_of(std::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return {};
  Signature pair(ECDSA_SIG_new());
  Bignum r = number(signature.substr(0, kP256Bytes));
  Bignum s = number(signature.substr(kP256Bytes));
  if (!pair || !r || !s || ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) return {};
  (void)r.release();  // the pair owns them now
  (void)s.release();
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &bytes);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

Result<std::string> bytes_of(const json::Object& key, std::string_view member) {
  DIL_TRY(const std::string_view text, key.require_string(member));
  return from_base64url(text);
}

// nullopt: a key for something else.
Result<std::optional<VerifyKey>> key_of(const json::Object& key) {
  std::optional<VerifyKey> none;
  DIL_TRY(const auto type, key.optional_string("kty"));
  DIL_TRY(const auto use, key.optional_string("use"));
  DIL_TRY(const auto algorithm, key.optional_string("alg"));
  DIL_TRY(const auto key_id, key.optional_string("kid"));
  if (!type || (use && *use != "sig")) return none;
  std::string id(key_id.value_or(""));
  if (id.size() > kMaxKeyIdBytes) return none;
  if (*type == "RSA") {
    if (algorithm && *algorithm != "RS256") return none;
    DIL_TRY(const std::string modulus, bytes_of(key, "n"));
    DIL_TRY(const std::string exponent, bytes_of(key, "e"));
    DIL_TRY(VerifyKey out, VerifyKey::from_rsa(std::move(id), modulus, exponent));
    return std::optional<VerifyKey>(std::move(out));
  }
  if (*type == "EC") {
    DIL_TRY(const auto curve, key.optional_string("crv"));
    if ((algorithm && *algorithm != "ES256") || !curve || *curve != "P-256") return none;
    DIL_TRY(const std::string x, bytes_of(key, "x"));
    DIL_TRY(const std::string y, bytes_of(key, "y"));
    DIL_TRY(VerifyKey out, VerifyKey::from_p256(std::move(id), x, y));
    return std::optional<VerifyKey>(std::move(out));
  }
  return none;  // symmetric keys above all: whoever publishes one has none
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kHs256: return "HS256";
    case Algorithm::kRs256: return "RS256";
    case Algorithm::kEs256: break;
  }
  return "ES256";
}

std::optional<Algorithm> algorithm_of(std::string_view name) {
  if (name == "HS256") return Algorithm::kHs256;
  if (name == "RS256") return Algorithm::kRs256;
  if (name == "ES256") return Algorithm::kEs256;
  return std::nullopt;
}

struct VerifyKey::Public {
  explicit Public(EVP_PKEY* made) : key(made) {}
  ~Public() { EVP_PKEY_free(key); }
  Public(const Public&) = delete;
  Public& operator=(const Public&) = delete;
  EVP_PKEY* key;
};

VerifyKey VerifyKey::from_secret(std::string key_id, Secret secret) {
  DIL_ASSERT(!secret.empty());
  VerifyKey out(std::move(key_id), Algorithm::kHs256);
  out.secret_ = std::make_shared<const Secret>(std::move(secret));
  return out;
}

Result<VerifyKey> VerifyKey::from_rsa(std::string key_id, std::string_view modulus,
                                      std::string_view exponent) {
  while (modulus.starts_with('\0')) modulus.remove_prefix(1);
  while (exponent.starts_with('\0')) exponent.remove_prefix(1);
  if (modulus.size() > kMaxRsaBits / 8 || exponent.empty() || exponent.size() > kMaxExponentBytes) {
    return Error(Code::kInvalidArgument, "an RSA key whose numbers are of no sound size");
  }
  const Bignum n = number(modulus);
  const Bignum e = number(exponent);
  if (!n || !e || BN_num_bits(n.get()) < kMinRsaBits || BN_is_odd(n.get()) != 1 ||
      BN_is_odd(e.get()) != 1 || BN_is_one(e.get()) == 1) {
    return Error(Code::kInvalidArgument, "an RSA key that is too weak or none at all");
  }
  const ParamBuild build(OSSL_PARAM_BLD_new());
  if (!build || OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return Error(Code::kInternal, "libcrypto refused an RSA key");
  }
  EVP_PKEY* key = make_key("RSA", build.get());
  if (key == nullptr) {
    ERR_clear_error();
    return Error(Code::kInvalidArgument, "an RSA key that libcrypto does not take");
  }
  VerifyKey out(std::move(key_id), Algorithm::kRs256);
  out.public_ = std::make_shared<const Public>(key);
  return out;
}

Result<VerifyKey> VerifyKey::from_p256(std::string key_id, std::string_view x, std::string_view y) {
  if (x.size() != kP256Bytes || y.size() != kP256Bytes) {
    return Error(Code::kInvalidArgument, "a P-256 key whose coordinates are not of 32 bytes");
  }
  std::string point("\x04");
  point.append(x).append(y);
  const ParamBuild build(OSSL_PARAM_BLD_new());
  if (!build ||
      OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return Error(Code::kInternal, "libcrypto refused a P-256 key");
  }
  EVP_PKEY* key = make_key("EC", build.get());
  auto owned = key == nullptr ? nullptr : std::make_shared<const Public>(key);
  if (key == nullptr || !is_sound(key)) {
    ERR_clear_error();
    return Error(Code::kInvalidArgument, "a P-256 key that lies on no such curve");
  }
  VerifyKey out(std::move(key_id), Algorithm::kEs256);
  out.public_ = std::move(owned);
  return out;
}

bool VerifyKey::verifies(std::string_view message, std::string_view signature) const {
  if (algorithm_ == Algorithm::kHs256) {
    const std::string wanted = hmac_sha256(secret_->reveal(), message);
    return signature.size() == wanted.size() &&
           CRYPTO_memcmp(wanted.data(), signature.data(), wanted.size()) == 0;
  }
  std::string der;
  if (algorithm_ == Algorithm::kEs256) {
    der = der_of(signature);
    if (der.empty()) return false;
    signature = der;
  }
  const DigestContext context(EVP_MD_CTX_new());
  const bool is_good =
      context &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, public_->key) == 1 &&
      EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(message),
                       message.size()) == 1;
  if (!is_good) ERR_clear_error();
  return is_good;
}

Result<KeySet> KeySet::from_jwks(std::string_view json) {
  DIL_TRY(const json::Document document, json::Document::parse(json, {kMaxJwksBytes, 8}));
  DIL_TRY(const json::Object root, document.root_object());
  DIL_TRY(const json::Array keys, root.require_array("keys"));
  KeySet out;
  for (const json::Value value : keys) {
    if (out.keys_.size() == kMaxKeys) {
      return invalid_argument("the key set has more than {} keys", kMaxKeys);
    }
    const Result<json::Object> object = value.as_object();
    if (!object.has_value()) continue;
    Result<std::optional<VerifyKey>> key = key_of(*object);
    if (key.has_value() && *key) out.keys_.push_back(std::move(**key));
  }
  return out;
}

bool KeySet::has_key(std::string_view key_id) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](const VerifyKey& key) { return key.id() == key_id; });
}

bool KeySet::verifies(Algorithm algorithm, const std::optional<std::string>& key_id,
                      std::string_view message, std::string_view signature) const {
  std::size_t tries = 0;
  for (const VerifyKey& key : keys_) {
    if (key.algorithm() != algorithm || (key_id && key.id() != *key_id)) continue;
    if (++tries > kMaxTries) return false;
    if (key.verifies(message, signature)) return true;
  }
  return false;
}

}  // namespace duckicelake::auth
