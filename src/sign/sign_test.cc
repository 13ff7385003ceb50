// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "sign/hash.h"
#include "sign/sigv4.h"

namespace duckicelake::sign {
namespace {

using std::chrono::sys_days;
using std::chrono::year;

const Time kSuiteTime =
    sys_days(year(2015) / 8 / 30) + std::chrono::hours(12) + std::chrono::minutes(36);
const Time kS3Time = sys_days(year(2013) / 5 / 24);

Credentials suite_credentials() {
  return {"AKIDEXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), Secret()};
}

Credentials s3_credentials() {
  return {"AKIAIOSFODNN7EXAMPLE", Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), Secret()};
}

std::string authorization(const std::vector<Header>& headers) {
  for (const Header& h : headers) {
    if (h.name == "authorization") return h.value;
  }
  return {};
}

std::string signature_of(const Result<std::vector<Header>>& headers) {
  if (!headers.has_value()) return headers.error().to_string();
  std::string value = authorization(*headers);
  return value.substr(value.rfind('=') + 1);
}

TEST(Hash, MatchesPublishedDigests) {
  EXPECT_EQ(sha256_hex(""), kEmptyPayloadHash);
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, test case 2.
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(md5_base64(""), "1B2M2Y8AsgTpgAmY7PhCfg==");
  Sha256Stream stream;
  stream.update("a");
  stream.update("");
  stream.update("bc");
  EXPECT_EQ(to_hex(stream.finish()), sha256_hex("abc"));
}

TEST(SigningKey, MatchesTheDocumentedDerivation) {
  auto key =
      SigningKey::derive(suite_credentials().secret_key, Scope{"20150830", "us-east-1", "iam"});
  // "Calculate signature" of the SigV4 documentation: string to sign of its IAM ListUsers example.
  EXPECT_EQ(key.sign("AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/iam/aws4_request\n"
                     "f536975d06c0309214f805bb90ccff089219ecd68b2577efef23edd43b7e1a59"),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

struct SuiteCase {
  const char* name;
  const char* method;
  const char* path;
  const char* query;
  std::vector<Header> headers;
  const char* body;
  const char* signature;
};

std::vector<SuiteCase> suite_cases() {
  return {
      {"get-vanilla",
       "GET",
       "/",
       "",
       {},
       "",
       "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "/",
       "Param2=value2&Param1=value1",
       {},
       "",
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-query-order-value",
       "GET",
       "/",
       "Param1=value2&Param1=value1",
       {},
       "",
       "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
      {"get-vanilla-query-unreserved",
       "GET",
       "/",
       "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz="
       "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
       {},
       "",
       "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
      {"get-vanilla-utf8-query",
       "GET",
       "/",
       "\xe1\x88\xb4=bar",
       {},
       "",
       "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
      {"get-unreserved",
       "GET",
       "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
       "",
       {},
       "",
       "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
      {"get-utf8",
       "GET",
       "/\xe1\x88\xb4",
       "",
       {},
       "",
       "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
      {"get-header-key-duplicate",
       "GET",
       "/",
       "",
       {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
       "",
       "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
      {"get-header-value-order",
       "GET",
       "/",
       "",
       {{"My-Header1", "value4"},
        {"My-Header1", "value1"},
        {"My-Header1", "value3"},
        {"My-Header1", "value2"}},
       "",
       "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
      {"get-header-value-trim",
       "GET",
       "/",
       "",
       {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
       "",
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
      {"post-vanilla",
       "POST",
       "/",
       "",
       {},
       "",
       "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"post-vanilla-query",
       "POST",
       "/",
       "Param1=value1",
       {},
       "",
       "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
      {"post-x-www-form-urlencoded",
       "POST",
       "/",
       "",
       {{"Content-Type", "application/x-www-form-urlencoded"}},
       "Param1=value1",
       "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
  };
}

TEST(SigV4, MatchesThePublishedTestSuite) {
  auto credentials = suite_credentials();
  auto key =
      SigningKey::derive(credentials.secret_key, Scope::at(kSuiteTime, "us-east-1", "service"));
  for (const SuiteCase& c : suite_cases()) {
    Request request{c.method, c.path, *parse_query(c.query), c.headers, sha256_hex(c.body)};
    request.headers.push_back({"Host", "example.amazonaws.com"});
    EXPECT_EQ(signature_of(sign_request(request, credentials, key, kSuiteTime)), c.signature)
        << c.name;
  }
}

TEST(SigV4, SignsTheSessionTokenAndReplacesSigningHeaders) {
  auto credentials = suite_credentials();
  auto key =
      SigningKey::derive(credentials.secret_key, Scope::at(kSuiteTime, "us-east-1", "service"));
  credentials.session_token = Secret(
      "AQoDYXdzEPT//////////"
      "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfI"
      "eoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
      "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0"
      "wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
      "scqKmlzm8FDrypN"
      "C9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==");
  Request request{
      "POST", "/", {}, {{"Host", "example.amazonaws.com"}}, std::string(kEmptyPayloadHash)};
  request.headers.push_back({"X-Amz-Date", "19990101T000000Z"});
  request.headers.push_back({"Authorization", "stale"});
  request.headers.push_back({"X-Amz-Security-Token", "stale"});
  // post-sts-header-before of the published suite.
  EXPECT_EQ(signature_of(sign_request(request, credentials, key, kSuiteTime)),
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

TEST(SigV4, MatchesTheS3DocumentationExamples) {
  auto credentials = s3_credentials();
  auto key = SigningKey::derive(credentials.secret_key, Scope::at(kS3Time, "us-east-1", "s3"));
  const Header host{"Host", "examplebucket.s3.amazonaws.com"};
  Request get{
      "GET", "/test.txt", {}, {host, {"Range", "bytes=0-9"}}, std::string(kEmptyPayloadHash)};
  auto signed_get = sign_request(get, credentials, key, kS3Time);
  EXPECT_EQ(authorization(*signed_get),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature="
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  Request put{"PUT",
              "/test$file.text",
              {},
              {host,
               {"Date", "Fri, 24 May 2013 00:00:00 GMT"},
               {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
              sha256_hex("Welcome to Amazon S3.")};
  EXPECT_EQ(signature_of(sign_request(put, credentials, key, kS3Time)),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  Request lifecycle{"GET", "/", {{"lifecycle", ""}}, {host}, std::string(kEmptyPayloadHash)};
  EXPECT_EQ(signature_of(sign_request(lifecycle, credentials, key, kS3Time)),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  Request list{
      "GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {host}, std::string(kEmptyPayloadHash)};
  EXPECT_EQ(signature_of(sign_request(list, credentials, key, kS3Time)),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, PresignsTheS3DocumentationExample) {
  auto credentials = s3_credentials();
  auto key = SigningKey::derive(credentials.secret_key, Scope::at(kS3Time, "us-east-1", "s3"));
  Request get{"GET", "/test.txt", {}, {{"host", "examplebucket.s3.amazonaws.com"}}, ""};
  auto query = presign_query(get, credentials, key, kS3Time, std::chrono::seconds(86400));
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(*query,
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
  EXPECT_FALSE(presign_query(get, credentials, key, kS3Time, std::chrono::seconds(0)));
  EXPECT_FALSE(presign_query(get, credentials, key, kS3Time, std::chrono::hours(24 * 7 + 1)));
  get.query.push_back({"x-amz-expires", "1"});
  EXPECT_FALSE(presign_query(get, credentials, key, kS3Time, std::chrono::seconds(60)));
}

TEST(SigV4, RefusesAKeyOfAnotherDay) {
  auto credentials = s3_credentials();
  auto key = SigningKey::derive(credentials.secret_key, Scope::at(kS3Time, "us-east-1", "s3"));
  Request get{"GET", "/", {}, {{"host", "h"}}, std::string(kEmptyPayloadHash)};
  auto late = sign_request(get, credentials, key, kS3Time + std::chrono::hours(24));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), Code::kInvalidArgument);
}

TEST(SigV4, RefusesHostileRequests) {
  Request good{"GET", "/", {}, {{"host", "h"}}, std::string(kEmptyPayloadHash)};
  ASSERT_TRUE(canonical_request(good).has_value());
  auto refuses = [&](auto change) {
    Request bad = good;
    change(bad);
    return !canonical_request(bad).has_value();
  };
  EXPECT_TRUE(refuses([](Request& r) { r.path = ""; }));
  EXPECT_TRUE(refuses([](Request& r) { r.path = "a"; }));
  EXPECT_TRUE(refuses([](Request& r) { r.method = "GET\n/"; }));
  EXPECT_TRUE(refuses([](Request& r) { r.method = ""; }));
  EXPECT_TRUE(refuses([](Request& r) { r.headers.clear(); }));
  EXPECT_TRUE(refuses([](Request& r) { r.headers.push_back({"x-a:b", "v"}); }));
  EXPECT_TRUE(refuses([](Request& r) { r.headers.push_back({"", "v"}); }));
  EXPECT_TRUE(refuses([](Request& r) { r.headers.push_back({"x", "v\nhost:evil"}); }));
  EXPECT_TRUE(refuses([](Request& r) { r.headers.push_back({"x", std::string("v\0", 2)}); }));
}

TEST(SigV4, EncodesThePathOnceAndKeepsDotsAndSlashes) {
  Request request{"GET", "/b/a%20b//../c d+\xff", {}, {{"host", "h"}}, "x"};
  auto canonical = canonical_request(request);
  ASSERT_TRUE(canonical.has_value());
  EXPECT_EQ(canonical->text.substr(0, 42), "GET\n/b/a%2520b//../c%20d%2B%FF\n\nhost:h\n\nho");
}

TEST(Uri, EncodesAllBytesAndDecodesThemBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(static_cast<unsigned char>(i)));
  EXPECT_EQ(*uri_decode(uri_encode(all, Slash::kEncode)), all);
  EXPECT_EQ(*uri_decode(uri_encode(all, Slash::kKeep)), all);
  EXPECT_EQ(uri_encode("a/b c", Slash::kKeep), "a/b%20c");
  EXPECT_EQ(uri_encode("a/b c", Slash::kEncode), "a%2Fb%20c");
  EXPECT_EQ(*uri_decode("a+b"), "a+b");
  EXPECT_FALSE(uri_decode("%").has_value());
  EXPECT_FALSE(uri_decode("%4").has_value());
  EXPECT_FALSE(uri_decode("%zz").has_value());
}

TEST(Uri, ParsesQueriesAndBoundsThem) {
  auto parsed = parse_query("a=1&&b&c=x=y&d=%26%3d&");
  ASSERT_TRUE(parsed.has_value());
  std::vector<Parameter> want{{"a", "1"}, {"b", ""}, {"c", "x=y"}, {"d", "&="}};
  EXPECT_EQ(*parsed, want);
  EXPECT_FALSE(parse_query("a&b&c", 2).has_value());
  EXPECT_FALSE(parse_query("a=%f").has_value());
  // Names are sorted after encoding, byte by byte: "-" < "A" < "a", and "a" before "a-".
  EXPECT_EQ(canonical_query({{"a-", "1"}, {"a", "2"}, {"A", "3"}, {"a", "1"}}), "A=3&a=1&a=2&a-=1");
}

TEST(AmzDate, PrintsAndClamps) {
  EXPECT_EQ(amz_date(kSuiteTime), "20150830T123600Z");
  EXPECT_EQ(amz_date(Time{}), "19700101T000000Z");
  EXPECT_EQ(amz_date(sys_days(year(20000) / 1 / 1)).substr(0, 8), "99990101");
}

}  // namespace
}  // namespace duckicelake::sign
