// SPDX-License-Identifier: Apache-2.0
#include "ducklake/changes.h"

#include <gtest/gtest.h>

namespace duckicelake::ducklake {
namespace {

TEST(Changes, ReadsEveryWordWithItsId) {
  auto changes = parse_changes("inserted_into_table:7,deleted_from_table:7,inline_flush:9");
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 3U);
  EXPECT_EQ((*changes)[0].kind, ChangeKind::kInsertedIntoTable);
  EXPECT_EQ((*changes)[1].id, 7);
  EXPECT_TRUE((*changes)[1].touches_data());
  EXPECT_TRUE((*changes)[2].is_compaction());
}

TEST(Changes, KeepsNamesThatLookLikeWords) {
  auto changes =
      parse_changes("created_table:\"s\".\"x,inserted_into_table:5\"\"\",altered_table:3");
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ((*changes)[0].name, "x,inserted_into_table:5\"");
  EXPECT_EQ((*changes)[0].id, -1);
  EXPECT_EQ((*changes)[1].id, 3);
  EXPECT_FALSE((*changes)[1].touches_data());
}

TEST(Changes, EmptyTextHasNoChanges) { EXPECT_TRUE(parse_changes("")->empty()); }

TEST(Changes, UnknownWordsAreKeptAsOther) {
  auto changes = parse_changes("compressed_table:4,inserted_into_table:5,new_word:abc");
  ASSERT_TRUE(changes.has_value());
  EXPECT_EQ((*changes)[0].kind, ChangeKind::kOther);
  EXPECT_EQ((*changes)[1].kind, ChangeKind::kInsertedIntoTable);
  EXPECT_FALSE((*changes)[2].touches_data());
}

TEST(Changes, RefusesTextOutsideTheGrammar) {
  for (const char* text :
       {"inserted_into_table", "inserted_into_table:", "inserted_into_table:x",
        "created_table:\"s\".x", "created_table:\"s", "inserted_into_table:5,",
        "inserted_into_table:5;drop", "inserted_into_table:99999999999999999999"}) {
    EXPECT_FALSE(parse_changes(text).has_value()) << text;
  }
}

}  // namespace
TEST(Changes, TextThatWasWrittenParsesToTheSameChanges) {
  const std::vector<Change> changes = {
      {ChangeKind::kCreatedSchema, -1, "a\"b", ""},
      {ChangeKind::kCreatedTable, -1, "s,1", "t:\"2\""},
      {ChangeKind::kAlteredTable, 4, "", ""},
      {ChangeKind::kInsertedIntoTable, 4, "", ""},
      {ChangeKind::kRewriteDelete, 5, "", ""},
  };
  const std::string text = changes_text(changes);
  EXPECT_EQ(text,
            "created_schema:\"a\"\"b\",created_table:\"s,1\".\"t:\"\"2\"\"\",altered_table:4,"
            "inserted_into_table:4,rewrite_delete:5");
  auto parsed = parse_changes(text);
  ASSERT_TRUE(parsed.has_value());
  ASSERT_EQ(parsed->size(), changes.size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ((*parsed)[i].kind, changes[i].kind);
    EXPECT_EQ((*parsed)[i].id, changes[i].id);
    EXPECT_EQ((*parsed)[i].schema_name, changes[i].schema_name);
    EXPECT_EQ((*parsed)[i].name, changes[i].name);
  }
}

}  // namespace duckicelake::ducklake
