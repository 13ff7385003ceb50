// SPDX-License-Identifier: Apache-2.0
#include "sign/verify.h"

#include <gtest/gtest.h>

#include <functional>

namespace duckicelake::sign {
namespace {

using std::chrono::sys_days;
using std::chrono::year;

const Time kTime = sys_days(year(2013) / 5 / 24);
const Secret kSecret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");

Credentials credentials() { return {"AKIAIOSFODNN7EXAMPLE", kSecret, Secret()}; }
SigningKey day_key() { return SigningKey::derive(kSecret, Scope::at(kTime, "us-east-1", "s3")); }

// A received request that owns its target.
struct Wire {
  ReceivedRequest request;
  std::string path;
  std::string query;
  const ReceivedRequest& get() {
    request.path = path;
    request.query = query;
    return request;
  }
};

Wire wire(Request signed_request, std::string raw_path = {}) {
  Wire out;
  out.path = raw_path.empty() ? uri_encode(signed_request.path, Slash::kKeep) : raw_path;
  out.query = canonical_query(signed_request.query);
  out.request.method = signed_request.method;
  auto headers = sign_request(signed_request, credentials(), day_key(), kTime);
  EXPECT_TRUE(headers.has_value());
  for (Header& header : *headers) {
    for (char& c : header.name) c = static_cast<char>(std::tolower(c));
    out.request.headers.push_back(header);
  }
  return out;
}

Request plain_get() {
  return {"GET", "/lake/d/t/f", {}, {{"host", "h"}}, std::string(kEmptyPayloadHash)};
}

std::string outcome(Wire& one, Time now = kTime, const Secret& secret = kSecret) {
  auto presented = parse_presented(one.get());
  if (!presented) return std::string("parse: ") + presented.error().message();
  if (Status fresh = check_fresh(*presented, now); !fresh) return fresh.error().message();
  Status good = verify_signature(one.get(), *presented, secret);
  return good ? "ok" : good.error().message();
}

TEST(Verify, TakesWhatSignRequestMakes) {
  Wire one = wire(plain_get());
  EXPECT_EQ(outcome(one), "ok");
  auto presented = parse_presented(one.get());
  EXPECT_EQ(presented->access_key, "AKIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(presented->payload, Payload::kHashed);
  Request more = plain_get();
  more.query = {{"prefix", "a b/\xC3\xBC"}, {"list-type", "2"}, {"delimiter", "/"}};
  more.headers.push_back({"x-amz-meta-x", "  a   b "});
  more.headers.push_back({"range", "bytes=0-1"});
  one = wire(more);
  EXPECT_EQ(outcome(one), "ok");
}

TEST(Verify, TakesTheDocumentedExample) {
  Wire one;
  one.path = "/test.txt";
  one.request.method = "GET";
  one.request.headers = {
      {"host", "examplebucket.s3.amazonaws.com"},
      {"range", "bytes=0-9"},
      {"x-amz-date", "20130524T000000Z"},
      {"x-amz-content-sha256", std::string(kEmptyPayloadHash)},
      {"authorization",
       "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
       "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
       "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"}};
  EXPECT_EQ(outcome(one), "ok");
}

TEST(Verify, ReadsPathsThatTheClientEncodedOtherwise) {
  Request one = plain_get();
  one.path = "/lake/k=1/a b";
  Wire literal = wire(one, "/lake/k=1/a%20b");
  EXPECT_EQ(outcome(literal), "ok");
  Wire lower = wire(one, "/lake/k%3d1/a%20b");
  EXPECT_EQ(outcome(lower), "ok");
}

TEST(Verify, RefusesEveryChangeOfASignedPart) {
  const std::vector<std::pair<const char*, std::function<void(Wire&)>>> changes = {
      {"method", [](Wire& w) { w.request.method = "HEAD"; }},
      {"path", [](Wire& w) { w.path += "2"; }},
      {"query", [](Wire& w) { w.query = "versionId=null"; }},
      {"host", [](Wire& w) { w.request.headers[0].value = "h2"; }},
      {"key",
       [](Wire& w) {
         for (Header& h : w.request.headers) {
           if (h.name != "authorization") continue;
           h.value.replace(h.value.find("AKIA"), 4, "AKIB");
         }
       }},
      {"region",
       [](Wire& w) {
         for (Header& h : w.request.headers) {
           if (h.name != "authorization") continue;
           h.value.replace(h.value.find("us-east-1"), 9, "us-east-2");
         }
       }},
      {"payload",
       [](Wire& w) {
         for (Header& h : w.request.headers) {
           if (h.name == "x-amz-content-sha256") h.value = kUnsignedPayload;
         }
       }},
      {"signature",
       [](Wire& w) {
         for (Header& h : w.request.headers) {
           if (h.name == "authorization") h.value.back() = h.value.back() == 'a' ? 'b' : 'a';
         }
       }},
  };
  for (const auto& [name, change] : changes) {
    Wire one = wire(plain_get());
    ASSERT_EQ(outcome(one), "ok");
    change(one);
    // The access key itself is not part of the string to sign: another key has another secret.
    const bool is_key = std::string_view(name) == "key";
    EXPECT_EQ(outcome(one, kTime, is_key ? Secret("other") : kSecret),
              "the signature does not match the request")
        << name;
  }
  Wire one = wire(plain_get());
  EXPECT_NE(outcome(one, kTime, Secret("wrong")), "ok");
}

TEST(Verify, RefusesWhatIsNoSignedRequest) {
  const std::vector<std::pair<const char*, std::function<void(Wire&)>>> changes = {
      {"an unsigned x-amz- header",
       [](Wire& w) { w.request.headers.push_back({"x-amz-copy-source", "lake/x"}); }},
      {"a second x-amz-date",
       [](Wire& w) { w.request.headers.push_back({"x-amz-date", "20130524T000000Z"}); }},
      {"a second host", [](Wire& w) { w.request.headers.push_back({"host", "evil"}); }},
      {"a second authorization",
       [](Wire& w) { w.request.headers.push_back(w.request.headers.back()); }},
      {"presigned as well", [](Wire& w) { w.query = "X-Amz-Signature=0"; }},
      {"bad percent-encoding", [](Wire& w) { w.path += "%zz"; }},
      {"no authorization", [](Wire& w) { w.request.headers.pop_back(); }},
  };
  for (const auto& [name, change] : changes) {
    Wire one = wire(plain_get());
    change(one);
    EXPECT_FALSE(parse_presented(one.get()).has_value()) << name;
  }
  const std::string good = wire(plain_get()).request.headers.back().value;
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string out = good;
    out.replace(out.find(from), from.size(), to);
    return out;
  };
  for (const std::string& value :
       {std::string(), std::string("Bearer x"), std::string("AWS4-HMAC-SHA256"),
        replaced("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), replaced("/s3/", "/sts/"),
        replaced("20130524", "20130525"), replaced("20130524", "2013052x"),
        replaced("aws4_request", "aws4"), replaced("AKIAIOSFODNN7EXAMPLE", ""),
        replaced("SignedHeaders=host;", "SignedHeaders="), replaced("host;", "host;host;"),
        replaced("host;x-amz-content-sha256", "x-amz-content-sha256;host"),
        replaced("host;", "absent;host;"), replaced("Signature=", "Signature=A"),
        replaced("Signature=", "Signature=zz"), good + ", Extra=1", good + ", Signature=x",
        std::string(20'000, 'x')}) {
    Wire one = wire(plain_get());
    one.request.headers.back().value = value;
    EXPECT_FALSE(parse_presented(one.get()).has_value()) << value.substr(0, 200);
  }
}

TEST(Verify, KeepsToTheTimeOfTheRequest) {
  Wire one = wire(plain_get());
  using std::chrono::minutes, std::chrono::seconds;
  EXPECT_EQ(outcome(one, kTime + minutes(15)), "ok");
  EXPECT_EQ(outcome(one, kTime - minutes(15)), "ok");
  EXPECT_EQ(outcome(one, kTime + minutes(15) + seconds(1)), "the request is too old");
  EXPECT_EQ(outcome(one, kTime - minutes(15) - seconds(1)), "the request is from the future");
}

TEST(Verify, TakesPresignedUrlsUntilTheyExpire) {
  Request get{"GET", "/test.txt", {}, {{"host", "examplebucket.s3.amazonaws.com"}}, ""};
  auto query = presign_query(get, credentials(), day_key(), kTime, std::chrono::seconds(86400));
  ASSERT_TRUE(query.has_value());
  Wire one;
  one.path = "/test.txt";
  one.query = *query;
  one.request.method = "GET";
  one.request.headers = {{"host", "examplebucket.s3.amazonaws.com"}};
  EXPECT_EQ(outcome(one), "ok");
  EXPECT_EQ(outcome(one, kTime + std::chrono::seconds(86400)), "ok");
  EXPECT_EQ(outcome(one, kTime + std::chrono::seconds(86401)), "the URL has expired");
  EXPECT_EQ(outcome(one, kTime - std::chrono::seconds(901)), "the request is from the future");
  Wire changed = one;
  changed.query.replace(changed.query.find("86400"), 5, "96400");
  EXPECT_EQ(outcome(changed), "the signature does not match the request");
  changed = one;
  changed.query += "&versionId=null";
  EXPECT_EQ(outcome(changed), "the signature does not match the request");
  changed = one;
  changed.query += "&X-Amz-Date=20130524T000000Z";
  EXPECT_NE(outcome(changed), "ok");
  changed = one;
  changed.request.headers.push_back({"x-amz-acl", "public-read"});
  EXPECT_NE(outcome(changed), "ok");
  for (const char* expires : {"0", "604801", "-1", "", "1e3", "9999999999"}) {
    changed = one;
    changed.query.replace(changed.query.find("86400"), 5, expires);
    EXPECT_FALSE(parse_presented(changed.get()).has_value()) << expires;
  }
}

// The example of "Signature Calculations for the Authorization Header: Transferring Payload in
// Multiple Chunks".
Presented documented_stream() {
  Presented out;
  out.scope = Scope::at(kTime, "us-east-1", "s3");
  out.time = kTime;
  out.payload = Payload::kSignedChunks;
  out.signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
  return out;
}

std::string documented_body() {
  return "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
         "\r\n" +
         std::string(65536, 'a') +
         "\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"
         "\r\n" +
         std::string(1024, 'a') +
         "\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"
         "\r\n\r\n";
}

TEST(ChunkedPayload, TakesTheDocumentedExampleInPiecesOfAnySize) {
  const std::string body = documented_body();
  for (std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, body.size()}) {
    ChunkedPayload chunks(documented_stream(), kSecret);
    std::string out;
    for (std::size_t i = 0; i < body.size(); i += piece) {
      ASSERT_FALSE(chunks.is_complete());
      Status fed = chunks.feed(std::string_view(body).substr(i, piece), out);
      ASSERT_TRUE(fed.has_value()) << fed.error().to_string();
    }
    EXPECT_TRUE(chunks.is_complete());
    EXPECT_EQ(out, std::string(66560, 'a'));
    EXPECT_EQ(chunks.decoded_bytes(), 66560U);
  }
}

TEST(ChunkedPayload, NeverGivesOutAForgedBodyWhole) {
  std::string body = documented_body();
  for (std::size_t at : {std::size_t{100}, std::size_t{65000}, std::size_t{30}, body.size() - 1000,
                         body.size() - 20}) {
    std::string forged = body;
    forged[at] = forged[at] == 'b' ? 'c' : 'b';
    ChunkedPayload chunks(documented_stream(), kSecret);
    std::string out;
    Status fed = chunks.feed(forged, out);
    EXPECT_FALSE(fed.has_value()) << at;
    EXPECT_FALSE(chunks.is_complete());
    EXPECT_LT(out.size(), 66560U + (at > body.size() - 100 ? 1 : 0)) << at;
  }
  ChunkedPayload cut(documented_stream(), kSecret);
  std::string out;
  EXPECT_TRUE(cut.feed(body.substr(0, 66000), out).has_value());
  EXPECT_FALSE(cut.is_complete());
}

TEST(ChunkedPayload, RefusesMalformedFraming) {
  for (const char* body :
       {"10000\r\n", "zz;chunk-signature=0\r\n", ";chunk-signature=\r\n", "1;x=y\r\n", "1\n",
        "ffffffffffffffff;chunk-signature="
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n",
        "-1;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"
        "\r\n"}) {
    ChunkedPayload chunks(documented_stream(), kSecret);
    std::string out;
    EXPECT_FALSE(chunks.feed(body, out).has_value()) << body;
  }
  ChunkedPayload endless(documented_stream(), kSecret);
  std::string out;
  EXPECT_FALSE(endless.feed(std::string(10'000, '1'), out).has_value());
}

TEST(ChunkedPayload, ChecksSignedTrailers) {
  // The documented example with a trailing checksum.
  Presented presented = documented_stream();
  presented.has_trailer = true;
  presented.signature = "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e";
  const std::string body =
      "10000;chunk-signature=b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2\r\n" +
      std::string(65536, 'a') +
      "\r\n400;chunk-signature=1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7"
      "\r\n" +
      std::string(1024, 'a') +
      "\r\n0;chunk-signature=2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992\r\n"
      "x-amz-checksum-crc32c:sOO8/Q==\r\n"
      "x-amz-trailer-signature:"
      "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n";
  ChunkedPayload chunks(presented, kSecret);
  std::string out;
  Status fed = chunks.feed(body, out);
  ASSERT_TRUE(fed.has_value()) << fed.error().to_string();
  EXPECT_TRUE(chunks.is_complete());
  EXPECT_EQ(out.size(), 66560U);
  for (const auto& [from, to] : {std::pair{"sOO8", "sOO9"}, std::pair{"d81f", "d81e"},
                                 std::pair{"x-amz-trailer-signature", "x-amz-trailer-signaturf"}}) {
    std::string forged = body;
    forged.replace(forged.find(from), std::string_view(from).size(), to);
    ChunkedPayload other(presented, kSecret);
    out.clear();
    EXPECT_FALSE(other.feed(forged, out).has_value()) << to;
  }
}

TEST(ChunkedPayload, DecodesUnsignedChunks) {
  Presented presented = documented_stream();
  presented.payload = Payload::kUnsignedTrailer;
  presented.has_trailer = true;
  ChunkedPayload chunks(presented, kSecret);
  std::string out;
  ASSERT_TRUE(
      chunks.feed("5\r\nhello\r\n1\r\n!\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", out));
  EXPECT_TRUE(chunks.is_complete());
  EXPECT_EQ(out, "hello!");
  EXPECT_FALSE(chunks.feed("more", out).has_value());
  ChunkedPayload long_chunk(presented, kSecret);
  out.clear();
  EXPECT_FALSE(long_chunk.feed("2\r\nhello\r\n0\r\n\r\n", out).has_value());
}

}  // namespace
}  // namespace duckicelake::sign
