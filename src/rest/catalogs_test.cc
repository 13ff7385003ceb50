// SPDX-License-Identifier: Apache-2.0
// Calls about catalogs beside the own one, on a directory in memory.
#include <gtest/gtest.h>

#include "rest/catalog_directory.h"
#include "rest/test_support.h"

namespace duckicelake::rest {
namespace {

// One catalog, "other"; whether it is open, and known, as a test sets it.
class FakeDirectory final : public CatalogDirectory {
 public:
  FakeDirectory() {
    there.head = catalog::HeadProbe::Fresh{};
    set_registration(7);
  }
  void set_registration(std::int64_t registration) {
    auto made = std::make_shared<OpenCatalog>(OpenCatalog{"other", {}, registration, there});
    opened = made;
    there.head->head.registration = registration;
  }

  CatalogPtr active(std::string_view id) override {
    return is_active && id == "other" ? opened : nullptr;
  }
  Answer known(std::string_view id, std::int64_t) override {
    if (!is_read) return {};
    if (id != "other" || !is_registered) return {true, std::nullopt};
    return {true, Known{{}, opened->registration}};
  }
  Result<Answer> look_up(const std::string& id, std::int64_t version) override {
    ++look_ups;
    is_read = true;
    return known(id, version);
  }
  Result<CatalogPtr> open(const std::string&, std::int64_t) override {
    ++opens;
    if (failure) return *failure;
    return opened;
  }
  void drop(const OpenCatalog&) override {
    ++drops;
    is_active = false;
  }
  const catalog::CatalogAdmin& admin() const override { std::abort(); }

  testing::FakeCatalog there;
  CatalogPtr opened;
  bool is_active = true, is_read = true, is_registered = true;
  std::optional<Error> failure;
  int look_ups = 0, opens = 0, drops = 0;
};

class Catalogs : public ::testing::Test {
 protected:
  Catalogs()
      : handler(RestConfig{}, [this] {
          HandlerDeps deps{own, executor, observer, [] { return std::string(); },
                           [] { return std::optional<std::string>(); }};
          deps.directory = &directory;
          return deps;
        }()) {
    directory.there.namespaces = {{"theirs"}};
  }

  net::Response get(std::string target) {
    net::Request request;
    request.method = net::Method::kGet;
    request.method_text = "GET";
    request.target = std::move(target);
    request.request_id = "req-1";
    auto sink = std::make_shared<testing::CatchingSink>();
    handler.handle(std::move(request), net::Responder(sink, 1));
    return sink->caught.value_or(net::Response{.status = 0, .headers = {}, .body = {}});
  }

  testing::FakeCatalog own;
  testing::FakeExecutor executor;
  testing::FakeObserver observer;
  FakeDirectory directory;
  RestHandler handler;
};

TEST_F(Catalogs, AnOpenOneAnswersAfterOneHeadOfItsOwn) {
  const net::Response answer = get("/v1/other/namespaces");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body_text(), R"({"namespaces":[["theirs"]]})");
  EXPECT_EQ(directory.there.heads, 1);
  EXPECT_EQ(own.heads, 0);
  EXPECT_EQ(get("/v1/lake/namespaces").status, 200);
  EXPECT_EQ(directory.there.heads, 1);
}

TEST_F(Catalogs, AnUnknownOneCostsAHeadAndNothingElse) {
  const net::Response answer = get("/v1/nobody/namespaces/%FF/tables?pageToken=%zz");
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body_text().find("NoSuchWarehouseException"), std::string::npos);
  EXPECT_EQ(own.heads, 1);
  EXPECT_EQ(directory.look_ups, 0);
  EXPECT_EQ(directory.opens, 0);
}

TEST_F(Catalogs, IsClosedWhenItsHeadSaysSo) {
  directory.there.head->head.registration = 0;
  directory.is_registered = false;
  EXPECT_EQ(get("/v1/other/namespaces").status, 404);
  EXPECT_EQ(directory.drops, 1);
  EXPECT_EQ(directory.opens, 0);
}

TEST_F(Catalogs, IsOpenedAnewUnderAnotherRegistrationAndOnlyOnce) {
  const CatalogPtr stale = directory.opened;
  directory.set_registration(8);
  directory.is_active = false;
  EXPECT_EQ(get("/v1/other/namespaces").status, 503) << "there is no I/O thread to go on with";
  EXPECT_EQ(directory.opens, 1);
}

TEST_F(Catalogs, WhatIsWrongWithOneIsSaidToThoseWhoReachIt) {
  directory.there.head = Error(Code::kUnavailable, "its database is away");
  EXPECT_EQ(get("/v1/other/namespaces").status, 503);
  directory.is_registered = false;
  EXPECT_EQ(get("/v1/other/namespaces").status, 404);
}

TEST_F(Catalogs, ConfigNamesThoseThatAreRegistered) {
  EXPECT_NE(get("/v1/config?warehouse=other").body_text().find(R"("prefix":"other")"),
            std::string::npos);
  EXPECT_NE(get("/v1/config?warehouse=").body_text().find(R"("prefix":"lake")"), std::string::npos);
  EXPECT_EQ(get("/v1/config?warehouse=nobody").status, 404);
  directory.is_registered = false;
  EXPECT_EQ(get("/v1/config?warehouse=other").status, 404);
}

}  // namespace
}  // namespace duckicelake::rest
