// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/commit_test_support.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

// "" when it holds.
std::string outcome(std::string_view requirement, const TableMetadata* base) {
  auto read = requirements_of(fmt::format("[{}]", requirement));
  EXPECT_TRUE(read.has_value()) << read.error().to_string();
  if (!read.has_value()) return "unread";
  auto status = check_requirement((*read)[0], base);
  if (status.has_value()) return "";
  EXPECT_EQ(status.error().code(), Code::kCommitFailed);
  return status.error().message();
}

TEST(Requirement, HoldsOrFailsInTheWordsThatClientsLookFor) {
  TableMetadata base = base_table();
  base.refs["main"].snapshot_id = 7;
  base.refs["v1"].snapshot_id = 3;
  base.refs["v1"].type = RefType::kTag;
  struct Case {
    std::string_view requirement, message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"type":"assert-create"})", "Requirement failed: table already exists"},
           {R"({"type":"assert-table-uuid","uuid":"FB072C92-A02B-11E9-AE9C-1BB7BC9ECA94"})", ""},
           {R"({"type":"assert-table-uuid","uuid":"x"})",
            "Requirement failed: UUID does not match: expected "
            "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94 != x"},
           {R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":7})", ""},
           {R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":8})",
            "Requirement failed: branch main has changed: expected id 8 != 7"},
           {R"({"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null})",
            "Requirement failed: branch main was created concurrently"},
           {R"({"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":4})",
            "Requirement failed: tag v1 has changed: expected id 4 != 3"},
           {R"({"type":"assert-ref-snapshot-id","ref":"v2"})", ""},
           {R"({"type":"assert-ref-snapshot-id","ref":"v2","snapshot-id":4})",
            "Requirement failed: branch or tag v2 is missing, expected 4"},
           {R"({"type":"assert-last-assigned-field-id","last-assigned-field-id":8})", ""},
           {R"({"type":"assert-last-assigned-field-id","last-assigned-field-id":7})",
            "Requirement failed: last assigned field id changed: expected id 7 != 8"},
           {R"({"type":"Assert-Current-Schema-Id","current-schema-id":0})", ""},
           {R"({"type":"assert-current-schema-id","current-schema-id":1})",
            "Requirement failed: current schema changed: expected id 1 != 0"},
           {R"({"type":"assert-last-assigned-partition-id","last-assigned-partition-id":1001})",
            ""},
           {R"({"type":"assert-last-assigned-partition-id","last-assigned-partition-id":999})",
            "Requirement failed: last assigned partition id changed: expected id 999 != 1001"},
           {R"({"type":"assert-default-spec-id","default-spec-id":1})", ""},
           {R"({"type":"assert-default-spec-id","default-spec-id":0})",
            "Requirement failed: default partition spec changed: expected id 0 != 1"},
           {R"({"type":"assert-default-sort-order-id","default-sort-order-id":1})", ""},
           {R"({"type":"assert-default-sort-order-id","default-sort-order-id":0})",
            "Requirement failed: default sort order changed: expected id 0 != 1"}}) {
    EXPECT_EQ(outcome(c.requirement, &base), c.message) << c.requirement;
  }
}

TEST(Requirement, OfATableThatIsNotThere) {
  EXPECT_EQ(outcome(R"({"type":"assert-create"})", nullptr), "");
  for (std::string_view holds :
       {R"({"type":"assert-last-assigned-field-id","last-assigned-field-id":0})",
        R"({"type":"assert-last-assigned-partition-id","last-assigned-partition-id":0})"}) {
    EXPECT_EQ(outcome(holds, nullptr), "") << holds;
  }
  for (std::string_view fails :
       {R"({"type":"assert-table-uuid","uuid":"x"})",
        R"({"type":"assert-ref-snapshot-id","ref":"a"})",
        R"({"type":"assert-current-schema-id","current-schema-id":0})",
        R"({"type":"assert-default-spec-id","default-spec-id":0})",
        R"({"type":"assert-default-sort-order-id","default-sort-order-id":0})"}) {
    EXPECT_EQ(outcome(fails, nullptr), "Requirement failed: table does not exist") << fails;
  }
}

TEST(Requirement, RefusesUnknownAndMalformedOnes) {
  struct Case {
    std::string_view requirements, message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"([{"type":"assert-nothing"}])", "unknown requirement of a table: \"assert-nothing\""},
           {R"([{"type":"assert-view-uuid","uuid":"x"}])", "unknown requirement"},
           {R"([{}])", "\"type\" is missing"},
           {R"([{"type":"assert-create"},{"type":"assert-table-uuid"}])", "[1]"},
           {R"([{"type":"assert-ref-snapshot-id"}])", "\"ref\" is missing"},
           {R"([{"type":"assert-ref-snapshot-id","ref":"a","snapshot-id":"1"}])", "snapshot-id"},
           {R"([{"type":"assert-default-spec-id","default-spec-id":2147483648}])", "32 bits"},
           {R"([[]])", "expected an object"}}) {
    auto read = requirements_of(c.requirements);
    ASSERT_FALSE(read.has_value()) << c.requirements;
    EXPECT_EQ(read.error().code(), Code::kInvalidArgument);
    EXPECT_THAT(read.error().message(), HasSubstr(c.message));
  }
  std::string many = "[{\"type\":\"assert-create\"}";
  for (std::size_t i = 0; i < kMaxRequirements; ++i) many += ",{\"type\":\"assert-create\"}";
  EXPECT_FALSE(requirements_of(many + "]").has_value());
}

}  // namespace
}  // namespace duckicelake::iceberg
