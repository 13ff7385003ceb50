// SPDX-License-Identifier: Apache-2.0
#include "rest/forwarded.h"

#include <gtest/gtest.h>

namespace duckicelake::rest {
namespace {

UrlPolicy trusting(std::string_view range) {
  UrlPolicy policy;
  policy.trusted_proxies.push_back(*AddressRange::parse(range));
  return policy;
}

net::Request request(net::Headers headers, std::string peer = "10.1.2.3") {
  net::Request out;
  out.headers = std::move(headers);
  out.headers.emplace_back("host", "inner:8181");
  out.peer_address = std::move(peer);
  return out;
}

struct Case {
  net::Headers headers;
  std::string url;
};

TEST(BaseUrl, FollowsATrustedProxy) {
  const std::vector<Case> cases = {
      {{}, "http://inner:8181"},
      {{{"x-forwarded-proto", "https"}, {"x-forwarded-host", "lake.example"}},
       "https://lake.example"},
      {{{"x-forwarded-proto", "HTTPS"}, {"x-forwarded-host", "lake.example:8443"}},
       "https://lake.example:8443"},
      // No doubled port, whichever of the two names it.
      {{{"x-forwarded-proto", "https"},
        {"x-forwarded-host", "lake.example:8443"},
        {"x-forwarded-port", "8443"}},
       "https://lake.example:8443"},
      {{{"x-forwarded-proto", "https"},
        {"x-forwarded-host", "lake.example:8443"},
        {"x-forwarded-port", "8080"}},
       "https://lake.example:8443"},
      {{{"x-forwarded-proto", "https"},
        {"x-forwarded-host", "lake.example"},
        {"x-forwarded-port", "9443"}},
       "https://lake.example:9443"},
      {{{"x-forwarded-proto", "https"},
        {"x-forwarded-host", "lake.example"},
        {"x-forwarded-port", "443"}},
       "https://lake.example"},
      {{{"x-forwarded-proto", "https"}, {"x-forwarded-port", "443"}}, "https://inner"},
      {{{"x-forwarded-prefix", "/lake/"}}, "http://inner:8181/lake"},
      {{{"x-forwarded-prefix", "/"}}, "http://inner:8181"},
      {{{"x-forwarded-host", "outer.example, inner2"}, {"x-forwarded-proto", "https , http"}},
       "https://outer.example"},
      {{{"x-forwarded-host", "[2001:db8::1]:444"}}, "http://[2001:db8::1]:444"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(base_url(request(c.headers), trusting("10.0.0.0/8")), c.url);
  }
}

TEST(BaseUrl, LeavesOutWhatIsNoHostSchemePortOrPath) {
  const net::Headers bad = {{"x-forwarded-proto", "javascript"},
                            {"x-forwarded-host", "evil/@x\"<"},
                            {"x-forwarded-port", "99999"},
                            {"x-forwarded-prefix", "//evil.example?x"}};
  EXPECT_EQ(base_url(request(bad), trusting("10.0.0.0/8")), "http://inner:8181");
  for (std::string host : {"", ":80", "a:b", "a:0", "[::1", "[10.0.0.1]", "a b", "user@h"}) {
    EXPECT_EQ(base_url(request({{"x-forwarded-host", host}}), trusting("10.0.0.0/8")),
              "http://inner:8181")
        << host;
  }
}

TEST(BaseUrl, IgnoresHeadersOfStrangers) {
  const net::Headers headers = {{"x-forwarded-proto", "https"},
                                {"x-forwarded-host", "evil.example"},
                                {"x-forwarded-port", "1"},
                                {"x-forwarded-prefix", "/evil"}};
  EXPECT_EQ(base_url(request(headers, "192.0.2.1"), trusting("10.0.0.0/8")), "http://inner:8181");
  EXPECT_EQ(base_url(request(headers), UrlPolicy{}), "http://inner:8181");
}

TEST(BaseUrl, ThePublicUrlWins) {
  UrlPolicy policy = trusting("10.0.0.0/8");
  policy.public_url = "https://public.example/lake/";
  EXPECT_EQ(base_url(request({{"x-forwarded-host", "other"}}), policy),
            "https://public.example/lake");
}

TEST(BaseUrl, IsHttpsOnATlsConnection) {
  net::Request r = request({});
  r.tls = true;
  EXPECT_EQ(base_url(r, UrlPolicy{}), "https://inner:8181");
}

TEST(BaseUrl, HasAHostWithoutOne) {
  EXPECT_EQ(base_url(net::Request{}, UrlPolicy{}), "http://localhost");
}

TEST(AddressRanges, ContainTheirAddresses) {
  EXPECT_TRUE(AddressRange::parse("10.0.0.0/8")->contains("10.255.0.1"));
  EXPECT_FALSE(AddressRange::parse("10.0.0.0/8")->contains("11.0.0.1"));
  EXPECT_TRUE(AddressRange::parse("10.0.0.129/25")->contains("10.0.0.200"));
  EXPECT_FALSE(AddressRange::parse("10.0.0.129/25")->contains("10.0.0.100"));
  EXPECT_TRUE(AddressRange::parse("127.0.0.1")->contains("127.0.0.1"));
  EXPECT_TRUE(AddressRange::parse("127.0.0.1")->contains("::ffff:127.0.0.1"));
  EXPECT_TRUE(AddressRange::parse("fd00::/8")->contains("fd12::1"));
  EXPECT_FALSE(AddressRange::parse("fd00::/8")->contains("10.0.0.1"));
  EXPECT_TRUE(AddressRange::parse("0.0.0.0/0")->contains("1.2.3.4"));
  EXPECT_FALSE(AddressRange::parse("0.0.0.0/0")->contains("2001:db8::1"));
  EXPECT_TRUE(AddressRange::parse("::/0")->contains("1.2.3.4"));
  EXPECT_FALSE(AddressRange::parse("::/0")->contains("nonsense"));
}

TEST(AddressRanges, RefuseOtherTexts) {
  for (std::string_view text : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "x",
                                "::/129", "10.0.0.0.0", "10.0.0/8", "/8"}) {
    EXPECT_FALSE(AddressRange::parse(text).has_value()) << text;
  }
}

TEST(PublicUrl, IsChecked) {
  for (std::string_view url : {"http://a", "https://a.example:8443/lake/", "https://[::1]:1"}) {
    EXPECT_TRUE(check_public_url(url).has_value()) << url;
  }
  for (std::string_view url : {"", "a.example", "ftp://a", "https://", "https://a:0", "https://u@a",
                               "https://a/x?y", "https://a/#x", "https://a/x y"}) {
    EXPECT_FALSE(check_public_url(url).has_value()) << url;
  }
}

}  // namespace
}  // namespace duckicelake::rest
