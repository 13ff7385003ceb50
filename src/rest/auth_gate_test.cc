// SPDX-License-Identifier: Apache-2.0
#include "rest/auth_gate.h"

#include <gtest/gtest.h>

#include <tuple>

#include "rest/route_table.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

TEST(RouteGates, EveryRouteIsOpenOrAsksTheGate) {
  for (const Route& route : routes()) {
    EXPECT_NE(route.gate, RouteGate::kClosed) << route.operation_id;
    if (route.gate != RouteGate::kPath) continue;
    const bool is_read = route.method == net::Method::kGet || route.method == net::Method::kHead ||
                         route.operation_id == "reportMetrics" ||
                         route.operation_id == "signRequest";
    const catalog::ActionRule& rule = catalog::rule_of(route.action);
    // What only the superuser may do is his, whatever its method.
    if (rule.reach == catalog::Reach::kAdmin && !is_read) continue;
    EXPECT_EQ(rule.right == auth::Right::kRead, is_read) << route.operation_id;
  }
}

TEST(RouteGates, OnlyTheseRoutesAreOpen) {
  for (const Route& route : routes()) {
    const bool is_known = route.path == "/v1/config" || route.path == "/v1/oauth/tokens" ||
                          route.path == "/healthz" || route.path == "/readyz" ||
                          route.path == "/metrics" || route.path == "/openapi.json";
    EXPECT_EQ(route.gate == RouteGate::kOpen, is_known) << route.operation_id;
  }
}

TEST(BearerToken, IsThatOfOneHeader) {
  const auto token_of = [](net::Headers headers) -> std::string {
    net::Request request;
    request.headers = std::move(headers);
    std::string_view why;
    const auto token = bearer_token(request, why);
    EXPECT_EQ(token.has_value(), why.empty());
    return std::string(token.value_or("-"));
  };
  EXPECT_EQ(token_of({{"authorization", "Bearer abc"}}), "abc");
  EXPECT_EQ(token_of({{"authorization", "BEARER  abc"}}), "abc");
  EXPECT_EQ(token_of({}), "-");
  EXPECT_EQ(token_of({{"authorization", "Bearer"}}), "-");
  EXPECT_EQ(token_of({{"authorization", "Bearer "}}), "-");
  EXPECT_EQ(token_of({{"authorization", "Basic abc"}}), "-");
  EXPECT_EQ(token_of({{"authorization", "Bearer a"}, {"authorization", "Bearer a"}}), "-");
}

constexpr std::uint64_t kLarge = 50'000'000;

TEST(BodyOfARequest, IsAskedForWhenItIsKnownWhatItIsFor) {
  testing::Bench bench;
  for (auto [method, target, status] : {std::tuple{"POST", "/v1/none", 404},
                                        {"PUT", "/v1/lake/namespaces", 405},
                                        {"POST", "/v1/other/namespaces", 404},
                                        {"GET", "/v1/config", 200},
                                        {"BREW", "/v1/lake/namespaces", 501},
                                        {"POST", "/v1/lake/namespaces?pageToken=%zz", 400}}) {
    EXPECT_EQ(bench.ask(method, target, {}, {}, kLarge).status, status) << target;
    EXPECT_EQ(bench.last_sink->asked_for, 0U) << target;
  }
  bench.ask("POST", "/v1/lake/namespaces", {}, {}, kLarge);
  EXPECT_GE(bench.last_sink->asked_for, kLarge);
  EXPECT_EQ(bench.last_sink->calls, 0);
  auto take = std::exchange(bench.last_sink->take, nullptr);
  take(R"({"namespace":["n"]})");
  ASSERT_TRUE(bench.last_sink->caught.has_value());
  EXPECT_EQ(bench.last_sink->caught->status, 200);
  // Nobody has to be known for a token: a form is short.
  bench.ask("POST", "/v1/oauth/tokens", {}, {}, kLarge);
  EXPECT_EQ(bench.last_sink->asked_for, 65536U);
}

TEST(NotAuthenticated, SaysWhatTheSpecificationAsksFor) {
  const net::Response none = not_authenticated({false, false, "a bearer token is needed"});
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(testing::header_of(none, "www-authenticate"), "Bearer realm=\"duckicelake\"");
  EXPECT_NE(none.body_text().find("NotAuthorizedException"), std::string::npos);
  const net::Response expired = not_authenticated({true, true, "the token has expired"});
  EXPECT_EQ(expired.status, 419);
  EXPECT_NE(expired.body_text().find("AuthenticationTimeoutException"), std::string::npos);
  EXPECT_NE(testing::header_of(expired, "www-authenticate").find("error=\"invalid_token\""),
            std::string::npos);
}

}  // namespace
}  // namespace duckicelake::rest
