// SPDX-License-Identifier: Apache-2.0
#include "catalog/key_policy.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

OpenedTable orders() {
  OpenedTable out;
  out.table = TableId(7);
  out.read_prefixes = {"d-iceberg/lake/u/", "d/s/orders/"};
  out.read_keys = {"elsewhere/a.parquet"};
  out.write_prefixes = {"d/s/orders/"};
  return out;
}

TEST(KeyOpening, IsReadAsItWasWritten) {
  OpenedTable named;
  named.table = TableId(8);
  named.read_prefixes = {"d/\xC3\xA4 \"x\"/"};
  const KeyOpening opening{"lake", {orders(), named}};
  const auto read = key_opening_from_json(to_json(opening));
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_EQ(read->bucket, "lake");
  ASSERT_EQ(read->tables.size(), 2U);
  EXPECT_EQ(read->tables[0].table, TableId(7));
  EXPECT_EQ(read->tables[0].read_prefixes, orders().read_prefixes);
  EXPECT_EQ(read->tables[0].read_keys, orders().read_keys);
  EXPECT_EQ(read->tables[0].write_prefixes, orders().write_prefixes);
  EXPECT_EQ(read->tables[1].read_prefixes, named.read_prefixes);
  for (const char* text : {"", "{}", "[]", R"({"bucket":"b","tables":[{}]})",
                           R"({"bucket":"b","tables":[{"id":1,"read":"x"}]})"}) {
    EXPECT_FALSE(key_opening_from_json(text).has_value()) << text;
  }
}

TEST(OpenedTable, IsWithinAnotherWhenItOpensNothingMore) {
  EXPECT_TRUE(is_within(orders(), orders()));
  EXPECT_TRUE(is_within(OpenedTable{}, orders()));
  EXPECT_FALSE(is_within(orders(), OpenedTable{}));
  OpenedTable narrower = orders();
  narrower.write_prefixes.clear();
  narrower.read_prefixes = {"d/s/orders/part/"};
  EXPECT_TRUE(is_within(narrower, orders()));
  EXPECT_FALSE(is_within(orders(), narrower));
  // Names that begin alike are others.
  for (const char* prefix : {"d/s/orders2/", "d/s/order", "d/s/", ""}) {
    OpenedTable other;
    other.read_prefixes = {prefix};
    EXPECT_FALSE(is_within(other, orders())) << prefix;
  }
  // To read is not to write.
  OpenedTable writes;
  writes.write_prefixes = {"d-iceberg/lake/u/"};
  EXPECT_FALSE(is_within(writes, orders()));
  OpenedTable key;
  key.read_keys = {"d/s/orders/x", "elsewhere/a.parquet"};
  EXPECT_TRUE(is_within(key, orders()));
  key.read_keys = {"elsewhere/b.parquet"};
  EXPECT_FALSE(is_within(key, orders()));
}

TEST(StorePrincipal, StandsForOneUser) {
  EXPECT_EQ(store_principal("arn:aws:iam::12:user/{principal}", "ann", "AK").value(),
            "arn:aws:iam::12:user/ann");
  EXPECT_EQ(store_principal("{access-key-id}", "*", "AKIA1").value(), "AKIA1");
  EXPECT_EQ(store_principal("arn:aws:iam:::user/p9:{access-key-id}", "ann", "AK").value(),
            "arn:aws:iam:::user/p9:AK");
  EXPECT_FALSE(store_principal("arn:aws:iam::12:user/all", "ann", "AK").has_value());
  EXPECT_FALSE(store_principal("", "ann", "AK").has_value());
  for (const char* name : {"*", "a*", "?", "${aws:username}", "a/b", "../root", "a:b", "a b", "",
                           "a\"", "\xC3\xA4", "{access-key-id}"}) {
    EXPECT_FALSE(store_principal("arn:aws:iam::12:user/{principal}", name, "AK").has_value())
        << name;
  }
}

}  // namespace
}  // namespace duckicelake::catalog
