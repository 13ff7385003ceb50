// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog_names.h"

#include <gtest/gtest.h>

#include "store/registry.h"

namespace duckicelake::catalog {
namespace {

TEST(CatalogNames, TakesPlainOnes) {
  for (const char* id : {"a", "Acme", "acme-eu.1", "9lives", "a_b"}) {
    EXPECT_TRUE(check_catalog_id(id).has_value()) << id;
  }
  for (const char* schema : {"a", "_a", "acme_1", "pgx"}) {
    EXPECT_TRUE(check_metadata_schema(schema).has_value()) << schema;
  }
  EXPECT_EQ(*normal_data_prefix("a"), "a/");
  EXPECT_EQ(*normal_data_prefix("a/b.c/d=1/"), "a/b.c/d=1/");
  EXPECT_TRUE(check_account("Größe 1").has_value());
}

TEST(CatalogNames, RefusesHostileIds) {
  const std::string long_one(64, 'a');
  for (const std::string& id :
       {std::string(), std::string("."), std::string(".."), std::string("-a"), std::string("a/b"),
        std::string("a b"), std::string("a%2Fb"), std::string("a'b"), std::string("a\"b"),
        std::string("a\0b", 3), std::string("ä"), std::string("a\nb"), std::string("a;b"),
        std::string("a*"), long_one, std::string("catalogs"), std::string("Config"),
        std::string("OAUTH"), std::string("namespaces")}) {
    EXPECT_FALSE(check_catalog_id(id).has_value()) << id;
  }
}

TEST(CatalogNames, RefusesHostileSchemas) {
  for (const std::string& schema :
       {std::string(), std::string("public"), std::string("duckicelake"), std::string("pg_catalog"),
        std::string("pg_x"), std::string("information_schema"), std::string("Acme"),
        std::string("1a"), std::string("a-b"), std::string("a\"b"), std::string("a b"),
        std::string("a;drop"), std::string("a\0b", 3), std::string(64, 'a')}) {
    EXPECT_FALSE(check_metadata_schema(schema).has_value()) << schema;
  }
}

TEST(CatalogNames, RefusesPrefixesThatLeaveTheirPlace) {
  for (const std::string& prefix :
       {std::string(),           std::string("/"),      std::string("/a"),
        std::string("a//b"),     std::string("a//"),    std::string("."),
        std::string(".."),       std::string("a/../b"), std::string("a/./b"),
        std::string("../a"),     std::string("a/.."),   std::string("a*"),
        std::string("a?"),       std::string("a/$x"),   std::string("a%2e"),
        std::string("a\\b"),     std::string("a b"),    std::string("a'"),
        std::string("a\0b", 3),  std::string("a\n"),    std::string("ä"),
        std::string("s3://b/a"), std::string(513, 'a')}) {
    EXPECT_FALSE(normal_data_prefix(prefix).has_value()) << prefix;
  }
}

TEST(CatalogPlaces, OverlapWhenOneFolderIsInAnother) {
  const struct {
    const char* one;
    const char* other;
    bool overlap;
  } kCases[] = {
      {"s3://b/a/", "s3://b/a/", true},
      {"s3://b/a/", "s3://b/a/b/", true},
      {"s3://b/a/", "s3://b/ab/", false},
      {"s3://b/a/", "s3://b/a-iceberg/", true},
      {"s3://b/a/", "s3://b/a-iceberg/x/", true},
      {"s3://b/a/", "s3://b/a-doctor/", true},
      {"s3://b/a/", "s3://b/a-ice/", false},
      {"s3://b/a/", "s3://c/a/", false},
      {"s3://b/", "s3://b/a/", true},
      {"s3://b/x/a/", "s3://b/x/b/", false},
      {"s3://b/a-iceberg/", "s3://b/a-iceberg-iceberg/", true},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(store::places_overlap(c.one, c.other), c.overlap) << c.one << " " << c.other;
    EXPECT_EQ(store::places_overlap(c.other, c.one), c.overlap) << c.other << " " << c.one;
  }
}

}  // namespace
}  // namespace duckicelake::catalog
