// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "json/value.h"
#include "rest/operations.h"
#include "rest/route_table.h"

namespace duckicelake::rest {
namespace {

class OpenApi : public ::testing::Test {
 protected:
  void SetUp() override {
    text_ = openapi_json("1.2.3", "https://lake.example/x");
    auto parsed = json::Document::parse(text_);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
    document_.emplace(std::move(*parsed));
  }
  json::Object root() { return *document_->root_object(); }

  std::string text_;
  std::optional<json::Document> document_;
};

TEST_F(OpenApi, DescribesExactlyTheRoutes) {
  const json::Object paths = *root().require_object("paths");
  std::set<std::string> described;
  for (const json::Member& path : paths) {
    const json::Object verbs = *path.value.as_object();
    for (const json::Member& verb : verbs) {
      std::string name(verb.name);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      described.insert(fmt::format("{} {}", name, path.name));
    }
  }
  std::set<std::string> served;
  for (const Route& route : routes()) {
    served.insert(fmt::format("{} {}", method_name(route.method), route.path));
  }
  EXPECT_EQ(described, served);
}

TEST_F(OpenApi, EveryReferenceResolves) {
  constexpr std::string_view kRef = "\"$ref\":\"#/components/";
  int references = 0;
  for (std::size_t at = text_.find(kRef); at != std::string::npos; at = text_.find(kRef, at + 1)) {
    const std::size_t begin = at + kRef.size();
    const std::string where = text_.substr(begin, text_.find('"', begin) - begin);
    const std::size_t slash = where.find('/');
    const json::Object components = *root().require_object("components");
    const json::Object group = *components.require_object(where.substr(0, slash));
    EXPECT_TRUE(group.has(where.substr(slash + 1))) << where;
    ++references;
  }
  EXPECT_GT(references, 50);
  EXPECT_EQ(text_.find("\"$ref\":\"#/definitions"), std::string::npos);
}

TEST_F(OpenApi, DeclaresTheParametersOfEachPath) {
  const json::Object paths = *root().require_object("paths");
  for (const json::Member& path : paths) {
    const json::Object verbs = *path.value.as_object();
    for (const json::Member& verb : verbs) {
      const json::Object operation = *verb.value.as_object();
      const json::Array parameters = *operation.require_array("parameters");
      std::size_t in_path = 0;
      for (const json::Value parameter : parameters) {
        const json::Object declared = *parameter.as_object();
        if (*declared.require_string("in") != "path") continue;
        ++in_path;
        EXPECT_NE(path.name.find(fmt::format("{{{}}}", *declared.require_string("name"))),
                  std::string_view::npos);
      }
      EXPECT_EQ(in_path,
                static_cast<std::size_t>(std::count(path.name.begin(), path.name.end(), '{')));
      EXPECT_GE(operation.require_object("responses")->size(), 1U);
    }
  }
}

TEST_F(OpenApi, NamesVersionAndServer) {
  EXPECT_EQ(*root().require_string("openapi"), "3.1.0");
  EXPECT_EQ(*root().require_object("info")->require_string("version"), "1.2.3");
  const json::Array servers = *root().require_array("servers");
  EXPECT_EQ(*servers[0].as_object()->require_string("url"), "https://lake.example/x");
}

TEST(Config, ListsTheServedRoutesOfTheSpecification) {
  const std::string text = config_json("my lake");
  const auto document = json::Document::parse(text);
  ASSERT_TRUE(document.has_value());
  const json::Object root = *document->root_object();
  EXPECT_EQ(*root.require_object("overrides")->require_string("prefix"), "my%20lake");
  EXPECT_EQ(*root.require_object("overrides")->require_string("namespace-separator"), "%1F");
  std::set<std::string> listed;
  const json::Array endpoints = *root.require_array("endpoints");
  for (const json::Value endpoint : endpoints) listed.emplace(*endpoint.as_string());
  const std::string space = "/v1/{prefix}/namespaces/{namespace}";
  const std::set<std::string> expected = {"GET /v1/config",
                                          "GET /v1/{prefix}/namespaces",
                                          "POST /v1/{prefix}/namespaces",
                                          "GET " + space,
                                          "HEAD " + space,
                                          "DELETE " + space,
                                          "POST " + space + "/properties",
                                          "GET " + space + "/tables",
                                          "GET " + space + "/tables/{table}",
                                          "HEAD " + space + "/tables/{table}",
                                          "DELETE " + space + "/tables/{table}",
                                          "POST " + space + "/tables/{table}/unregister",
                                          "POST " + space + "/tables/{table}/metrics",
                                          "POST /v1/{prefix}/tables/rename",
                                          "GET " + space + "/functions",
                                          "GET " + space + "/functions/{function}",
                                          "GET " + space + "/views",
                                          "POST " + space + "/views",
                                          "GET " + space + "/views/{view}",
                                          "HEAD " + space + "/views/{view}",
                                          "POST " + space + "/views/{view}",
                                          "DELETE " + space + "/views/{view}",
                                          "POST /v1/{prefix}/views/rename",
                                          "POST " + space + "/register-view"};
  for (const std::string& endpoint : expected) {
    EXPECT_TRUE(listed.contains(endpoint)) << endpoint;
  }
  EXPECT_EQ(*root.require_string("idempotency-key-lifetime"), "PT30M");
}

}  // namespace
}  // namespace duckicelake::rest
