// SPDX-License-Identifier: Apache-2.0
#include "catalog/direct.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

pg::SqlIdent schema(const char* name) { return *pg::SqlIdent::make(name); }

TEST(DirectGroups, AreNamedAsTheSettingSaysAndTellSchemasApart) {
  const auto plain = direct_groups("duckicelake_reader", schema("public"));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->reader.name(), "duckicelake_reader");
  EXPECT_EQ(plain->writer.name(), "duckicelake_writer");
  // The first ten digits of the schema's SHA-256.
  const auto other = direct_groups("readers", schema("lake_two"));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->reader.name(), "readers_" + other->writer.name().substr(19));
  EXPECT_EQ(other->writer.name().size(), std::string("duckicelake_writer_").size() + 10);
  EXPECT_NE(other->writer.name(), direct_groups("readers", schema("lake_three"))->writer.name());
}

TEST(DirectGroups, RefuseNamesThatPostgresqlOrTheOtherGroupHas) {
  EXPECT_FALSE(direct_groups("", schema("public")).has_value());
  EXPECT_FALSE(direct_groups("pg_readers", schema("public")).has_value());
  EXPECT_FALSE(direct_groups("duckicelake_writer", schema("public")).has_value());
  EXPECT_FALSE(direct_groups(std::string(60, 'r'), schema("lake_two")).has_value());
  EXPECT_TRUE(direct_groups(std::string(63, 'r'), schema("public")).has_value());
}

}  // namespace
}  // namespace duckicelake::catalog
