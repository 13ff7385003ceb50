// SPDX-License-Identifier: Apache-2.0
#include "auth/jwt.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <functional>
#include <memory>

#include "auth/crypto.h"
#include "base/bytes.h"

namespace duckicelake::auth {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
const Secret kSecret("a secret of the server that nobody knows");

// A pair of keys that another issuer might have.
class Issuer {
 public:
  static Issuer rsa() { return Issuer(EVP_RSA_gen(2048)); }
  static Issuer p256() { return Issuer(EVP_EC_gen("P-256")); }

  std::string sign(std::string_view message) const {
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get());
    std::string out(1024, '\0');
    std::size_t size = out.size();
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                   reinterpret_cast<const unsigned char*>(message.data()), message.size());
    out.resize(size);
    if (EVP_PKEY_get_base_id(key_.get()) != EVP_PKEY_EC) return out;
    const auto* der = reinterpret_cast<const unsigned char*>(out.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(out.size()));
    std::string flat = bytes(ECDSA_SIG_get0_r(pair), 32) + bytes(ECDSA_SIG_get0_s(pair), 32);
    ECDSA_SIG_free(pair);
    return flat;
  }
  std::string parameter(const char* name, int size = 0) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &number);
    std::string out = bytes(number, size == 0 ? BN_num_bytes(number) : size);
    BN_free(number);
    return out;
  }
  std::string jwk(std::string_view id) const {
    if (EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_EC) {
      return fmt::format(
          R"({{"kty":"EC","use":"sig","alg":"ES256","kid":"{}","crv":"P-256","x":"{}","y":"{}"}})",
          id, to_base64url(parameter(OSSL_PKEY_PARAM_EC_PUB_X, 32)),
          to_base64url(parameter(OSSL_PKEY_PARAM_EC_PUB_Y, 32)));
    }
    return fmt::format(R"({{"kty":"RSA","kid":"{}","n":"{}","e":"{}"}})", id,
                       to_base64url(parameter(OSSL_PKEY_PARAM_RSA_N)),
                       to_base64url(parameter(OSSL_PKEY_PARAM_RSA_E)));
  }

 private:
  explicit Issuer(EVP_PKEY* key) : key_(key, EVP_PKEY_free) {}
  static std::string bytes(const BIGNUM* number, int size) {
    std::string out(static_cast<std::size_t>(size), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), size);
    return out;
  }
  std::shared_ptr<EVP_PKEY> key_;
};

const Issuer& rsa() {
  static const Issuer one = Issuer::rsa();
  return one;
}
const Issuer& p256() {
  static const Issuer one = Issuer::p256();
  return one;
}

using Signer = std::function<std::string(std::string_view)>;
std::string by_secret(std::string_view message) { return hmac_sha256(kSecret.reveal(), message); }

std::string token_of(std::string_view header, std::string_view payload, const Signer& signer) {
  std::string out = to_base64url(header) + "." + to_base64url(payload);
  const std::string signature = signer(out);
  return out + "." + to_base64url(signature);
}

constexpr std::string_view kGoodPayload =
    R"({"iss":"us","sub":"alice","iat":1800000000,"exp":1800003600})";

KeySet own_keys() { return KeySet({VerifyKey::from_secret("k1", kSecret)}); }
KeySet foreign_keys() {
  return KeySet::from_jwks("{\"keys\":[" + rsa().jwk("r1") + "," + p256().jwk("e1") + "]}").value();
}
Expectations us(std::int64_t now = kNow) {
  return {.issuer = "us", .audiences = {"us"}, .now = now};
}

TokenCheck check(const std::string& token, const KeySet& keys, const Expectations& expected) {
  const auto parsed = parse_token(token);
  if (!parsed.has_value()) return {TokenState::kBad, "does not parse", {}};
  return check_token(*parsed, keys, expected);
}

TEST(Jwt, OwnTokensAreGoodUntilTheyExpire) {
  NewToken token{"us", "alice", "ns:a:r", {"x", "y"}, "acme", "alice",
                 "",   "id-1",  kNow,     kNow + 10,  kNow};
  const std::string id = key_id_of(kSecret);
  const std::string text = sign_token(token, id, kSecret);
  const KeySet keys({VerifyKey::from_secret(id, kSecret)});
  Expectations expected = us();
  expected.expiry_skew_seconds = 0;
  const TokenCheck good = check(text, keys, expected);
  ASSERT_EQ(good.state, TokenState::kGood) << good.why;
  EXPECT_EQ(good.claims.subject, "alice");
  EXPECT_EQ(good.claims.token_id, "id-1");
  EXPECT_EQ(good.claims.expires_at, kNow + 10);
  const ParsedToken parsed = parse_token(text).value();
  EXPECT_EQ(parsed.key_id, id);
  EXPECT_EQ(text_claim(parsed, "scope"), "ns:a:r");
  EXPECT_EQ(text_claim(parsed, "account"), "acme");
  EXPECT_EQ(list_claim(parsed, "roles"), (std::vector<std::string>{"x", "y"}));
  expected.now = kNow + 9;
  EXPECT_EQ(check(text, keys, expected).state, TokenState::kGood);
  expected.now = kNow + 10;
  EXPECT_EQ(check(text, keys, expected).state, TokenState::kExpired);
}

TEST(Jwt, SignaturesOfEachAlgorithmAreProved) {
  const KeySet keys = foreign_keys();
  ASSERT_EQ(keys.size(), 2U);
  const auto by_rsa = [](std::string_view m) { return rsa().sign(m); };
  const auto by_ec = [](std::string_view m) { return p256().sign(m); };
  EXPECT_EQ(
      check(token_of(R"({"alg":"RS256","kid":"r1"})", kGoodPayload, by_rsa), keys, us()).state,
      TokenState::kGood);
  EXPECT_EQ(check(token_of(R"({"alg":"ES256","kid":"e1"})", kGoodPayload, by_ec), keys, us()).state,
            TokenState::kGood);
  EXPECT_EQ(check(token_of(R"({"alg":"RS256"})", kGoodPayload, by_rsa), keys, us()).state,
            TokenState::kGood)
      << "without a kid, all keys of the algorithm are tried";
  for (const auto& [header, signer] : std::vector<std::pair<std::string_view, Signer>>{
           {R"({"alg":"RS256","kid":"r2"})", by_rsa},
           {R"({"alg":"RS256","kid":"e1"})", by_rsa},
           {R"({"alg":"ES256","kid":"r1"})", by_ec},
           {R"({"alg":"ES256","kid":"e1"})", by_rsa},
           {R"({"alg":"RS256","kid":"r1"})", by_ec},
           {R"({"alg":"ES256","kid":"e1"})", [](auto) { return std::string(64, '\0'); }},
           {R"({"alg":"ES256","kid":"e1"})", [](auto) { return std::string(64, '\xff'); }},
           {R"({"alg":"RS256","kid":"r1"})", [](auto) { return std::string(256, '\0'); }},
           {R"({"alg":"RS256","kid":"r1"})", [](auto) { return std::string(); }}}) {
    EXPECT_EQ(check(token_of(header, kGoodPayload, signer), keys, us()).state, TokenState::kBad)
        << header;
  }
}

TEST(Jwt, PublicKeysAreNoSecrets) {
  // Whoever takes the public key for a secret is shown tokens "signed" with it.
  const KeySet keys = foreign_keys();
  const std::vector<std::string> publics = {rsa().parameter(OSSL_PKEY_PARAM_RSA_N), rsa().jwk("r1"),
                                            p256().parameter(OSSL_PKEY_PARAM_EC_PUB_X, 32)};
  for (const std::string& key : publics) {
    const auto by_public = [&](std::string_view m) { return hmac_sha256(key, m); };
    EXPECT_EQ(
        check(token_of(R"({"alg":"HS256","kid":"r1"})", kGoodPayload, by_public), keys, us()).state,
        TokenState::kBad);
  }
}

TEST(Jwt, TokensOfNoSignatureOrAnOddOneDoNotParse) {
  const auto unsigned_one = [](auto) { return std::string(); };
  for (const std::string_view header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"nOnE"})", R"({"alg":""})", R"({})",
        R"({"alg":"HS512"})", R"({"alg":"hs256"})", R"({"alg":["HS256"]})", R"({"alg":null})",
        R"({"alg":"HS256","crit":["exp"]})", R"({"alg":"HS256","kid":7})",
        R"({"alg":"HS256","alg":"none"})", R"([])", R"("HS256")", ""}) {
    EXPECT_FALSE(parse_token(token_of(header, kGoodPayload, unsigned_one)).has_value()) << header;
    EXPECT_FALSE(parse_token(token_of(header, kGoodPayload, by_secret)).has_value()) << header;
  }
}

TEST(Jwt, TextsThatAreNoTokensDoNotParse) {
  const std::string good = token_of(R"({"alg":"HS256"})", kGoodPayload, by_secret);
  ASSERT_TRUE(parse_token(good).has_value());
  for (const std::string& text :
       {std::string(), std::string("."), std::string(".."), std::string("..."), good + ".",
        good + "=", good + " ", " " + good, good + "\n", std::string("a.b"),
        good.substr(0, good.rfind('.')), std::string(kMaxTokenBytes + 1, 'a'),
        token_of(R"({"alg":"HS256"})", "[]", by_secret),
        token_of(R"({"alg":"HS256"})", "", by_secret),
        token_of(R"({"alg":"HS256"})", R"({"sub":"a","sub":"b"})", by_secret)}) {
    EXPECT_FALSE(parse_token(text).has_value()) << text;
  }
}

TEST(Jwt, EachClaimIsLookedAt) {
  struct Case {
    std::string_view payload;
    TokenState state;
  };
  const Case cases[] = {
      {kGoodPayload, TokenState::kGood},
      {R"({"iss":"us","sub":"alice","iat":1800000000.5,"exp":1800003600.25})", TokenState::kGood},
      {R"({"iss":"them","sub":"alice","iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"sub":"alice","iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"","iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"a\nb","iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":["alice"],"iat":1800000000,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1800000000})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1800000000,"exp":"1800003600"})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1800000000,"exp":-1})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1800000000,"exp":1e300})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1800000060,"exp":1800003600})", TokenState::kGood},
      {R"({"iss":"us","sub":"alice","iat":1800000061,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1,"nbf":1800000061,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1,"nbf":1800000060,"exp":1800003600})",
       TokenState::kGood},
      {R"({"iss":"us","sub":"alice","iat":1,"nbf":"x","exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","sub":"alice","iat":1,"exp":1799999941})", TokenState::kGood},
      {R"({"iss":"us","sub":"alice","iat":1,"exp":1799999940})", TokenState::kExpired},
      {R"({"iss":"us","aud":"us","sub":"alice","iat":1,"exp":1800003600})", TokenState::kGood},
      {R"({"iss":"us","aud":["x","us"],"sub":"alice","iat":1,"exp":1800003600})",
       TokenState::kGood},
      {R"({"iss":"us","aud":"them","sub":"alice","iat":1,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","aud":["them"],"sub":"alice","iat":1,"exp":1})", TokenState::kBad},
      {R"({"iss":"us","aud":[],"sub":"alice","iat":1,"exp":1800003600})", TokenState::kBad},
      {R"({"iss":"us","aud":7,"sub":"alice","iat":1,"exp":1800003600})", TokenState::kBad},
  };
  for (const Case& c : cases) {
    const TokenCheck found =
        check(token_of(R"({"alg":"HS256","kid":"k1"})", c.payload, by_secret), own_keys(), us());
    EXPECT_EQ(found.state, c.state) << c.payload << " " << found.why;
  }
  Expectations demanding = us();
  demanding.requires_audience = true;
  EXPECT_EQ(
      check(token_of(R"({"alg":"HS256"})", kGoodPayload, by_secret), own_keys(), demanding).state,
      TokenState::kBad);
}

TEST(Jwt, EveryChangedByteIsNoticed) {
  const std::string good = token_of(R"({"alg":"HS256","kid":"k1"})", kGoodPayload, by_secret);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(check(changed, own_keys(), us()).state, TokenState::kGood) << i;
  }
}

TEST(Jwt, OldKeysServeBesideNewOnes) {
  const Secret old("the secret of the year before");
  const KeySet both({VerifyKey::from_secret("new", kSecret), VerifyKey::from_secret("old", old)});
  const auto by_old = [&](std::string_view m) { return hmac_sha256(old.reveal(), m); };
  EXPECT_EQ(
      check(token_of(R"({"alg":"HS256","kid":"old"})", kGoodPayload, by_old), both, us()).state,
      TokenState::kGood);
  EXPECT_EQ(
      check(token_of(R"({"alg":"HS256","kid":"new"})", kGoodPayload, by_old), both, us()).state,
      TokenState::kBad);
  EXPECT_EQ(check(token_of(R"({"alg":"HS256"})", kGoodPayload, by_old), both, us()).state,
            TokenState::kGood);
}

TEST(Jwt, ClaimsAreFoundByPath) {
  const ParsedToken token =
      parse_token(token_of(R"({"alg":"HS256"})",
                           R"({"a":{"b":["x","",1,"y"]},"a.c":"whole","words":"p  q","n":7})",
                           by_secret))
          .value();
  using List = std::vector<std::string>;
  EXPECT_EQ(list_claim(token, "a.b"), (List{"x", "y"}));
  EXPECT_EQ(text_claim(token, "a.c"), "whole");
  EXPECT_EQ(list_claim(token, "words"), (List{"p", "q"}));
  EXPECT_EQ(text_claim(token, "n"), std::nullopt);
  EXPECT_EQ(text_claim(token, "a.b.c"), std::nullopt);
  EXPECT_TRUE(list_claim(token, "none").empty());
}

TEST(Jwks, KeysForOtherUsesAreLeftOut) {
  const std::string good = rsa().jwk("r1");
  const KeySet keys = KeySet::from_jwks(R"({"keys":[{"kty":"oct","kid":"o","k":"c2VjcmV0"},
      {"kty":"RSA","use":"enc","kid":"x","n":"AQAB","e":"AQAB"},
      {"kty":"RSA","kid":"weak","n":"AQAB","e":"AQAB"},
      {"kty":"EC","crv":"P-384","kid":"p","x":"AA","y":"AA"},
      {"kty":"EC","crv":"P-256","kid":"off","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","y":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
      7, {"kid":"nothing"}, )" + good + "]}")
                          .value();
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_TRUE(keys.has_key("r1"));
  EXPECT_FALSE(keys.has_key("o"));
}

TEST(Jwks, TextsThatAreNoKeySetsAreRefused) {
  for (const std::string_view text : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":)"}) {
    EXPECT_FALSE(KeySet::from_jwks(text).has_value()) << text;
  }
  std::string many = "{\"keys\":[";
  for (std::size_t i = 0; i <= KeySet::kMaxKeys; ++i) many += (i > 0 ? "," : "") + p256().jwk("k");
  EXPECT_FALSE(KeySet::from_jwks(many + "]}").has_value());
}

}  // namespace
}  // namespace duckicelake::auth
