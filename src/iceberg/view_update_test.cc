// SPDX-License-Identifier: Apache-2.0
#include "iceberg/view_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/commit_test_support.h"

namespace duckicelake::iceberg {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1700000009000;

std::string version(std::string_view id, std::string_view schema, std::string_view sql,
                    std::string_view dialect = "spark", std::string_view more = "") {
  return fmt::format(
      R"({{"version-id":{},"timestamp-ms":1700000001000,"schema-id":{},"summary":{{"engine":"e"}},"default-catalog":"lake","default-namespace":["a","b"],"representations":[{{"type":"sql","sql":"{}","dialect":"{}"}}{}]}})",
      id, schema, sql, dialect, more);
}

std::string add_version(std::string_view json) {
  return fmt::format(R"({{"action":"add-view-version","view-version":{}}})", json);
}
constexpr std::string_view kSetLast =
    R"({"action":"set-current-view-version","view-version-id":-1})";

ViewMetadata base_view() {
  NewView view;
  view.uuid = "fa6506c3-7681-40c8-86dc-e36561f83385";
  view.location = "s3://b/v";
  view.now_ms = 1700000000000;
  view.properties = {{"comment", "c"}};
  view.schema = *schema_from_json(
      R"({"type":"struct","schema-id":3,"fields":[{"id":1,"name":"n","required":false,"type":"long"}]})");
  auto document = json::Document::parse(version("7", "5", "select 1"));
  view.version = *read_view_version(document->root());
  auto made = new_view_metadata(std::move(view));
  EXPECT_TRUE(made.has_value()) << made.error().to_string();
  return made.has_value() ? *made : ViewMetadata{};
}

Result<ViewMetadata> commit_view(ViewMetadata base, std::string_view updates) {
  DIL_TRY(auto list, view_updates_of(updates));
  return apply_view_updates(std::move(base), list, kNow);
}

ViewMetadata committed(ViewMetadata base, std::string_view updates) {
  auto view = commit_view(std::move(base), updates);
  EXPECT_TRUE(view.has_value()) << updates << "\n" << view.error().to_string();
  return view.has_value() ? *view : ViewMetadata{};
}

TEST(NewView, StartsWithSchemaZeroAndVersionOne) {
  ViewMetadata v = base_view();
  EXPECT_EQ(v.schemas.at(0).schema_id, 0);
  EXPECT_EQ(v.current_version_id, 1);
  EXPECT_EQ(v.versions.at(0).version_id, 1);
  EXPECT_EQ(v.versions.at(0).schema_id, 0);
  EXPECT_EQ(v.version_log, (std::vector<ViewLogEntry>{{1700000001000, 1}}));
  EXPECT_EQ(v.properties.at("comment"), "c");
  auto again = view_metadata_from_json(view_metadata_to_json(v));
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  EXPECT_EQ(*again, v);
}

TEST(ViewUpdate, ReplacesAViewAsClientsDo) {
  ViewMetadata v = committed(
      base_view(),
      fmt::format(
          R"([{{"action":"add-schema","schema":{{"type":"struct","schema-id":0,"fields":[{{"id":1,"name":"n","required":false,"type":"string"}}]}}}},{},{}])",
          add_version(version("2", "-1", "select 'a'")), kSetLast));
  EXPECT_EQ(v.current_version_id, 2);
  EXPECT_EQ(v.versions.back().schema_id, 1);
  EXPECT_EQ(v.version_log, (std::vector<ViewLogEntry>{{1700000001000, 1}, {1700000001000, 2}}));
  // The same query again has the id of before; a rollback is logged with its own time.
  v = committed(v, fmt::format("[{},{}]", add_version(version("3", "0", "select 1")), kSetLast));
  EXPECT_EQ(v.versions.size(), 2U);
  EXPECT_EQ(v.current_version_id, 1);
  EXPECT_EQ(v.version_log.back(), (ViewLogEntry{kNow, 1}));
  // An id that is taken is replaced.
  v = committed(v, fmt::format("[{},{}]", add_version(version("1", "0", "select 2")), kSetLast));
  EXPECT_EQ(v.current_version_id, 3);
}

TEST(ViewUpdate, LogsOneEntryForACommit) {
  ViewMetadata v = committed(
      base_view(), fmt::format("[{},{},{},{}]", add_version(version("2", "0", "select 2")),
                               kSetLast, add_version(version("3", "0", "select 3")), kSetLast));
  EXPECT_EQ(v.version_log, (std::vector<ViewLogEntry>{{1700000001000, 1}, {1700000001000, 3}}));
  EXPECT_EQ(v.versions.size(), 3U);
}

TEST(ViewUpdate, ChangesPropertiesLocationAndNothingElse) {
  ViewMetadata v = committed(
      base_view(),
      R"([{"action":"set-properties","updates":{"a":"b"}},{"action":"remove-properties","removals":["comment","x"]},{"action":"set-location","location":"s3://b/w"},{"action":"assign-uuid","uuid":"FA6506C3-7681-40c8-86dc-e36561f83385"},{"action":"upgrade-format-version","format-version":1}])");
  ViewMetadata expected = base_view();
  expected.properties = {{"a", "b"}};
  expected.location = "s3://b/w";
  EXPECT_EQ(v, expected);
}

TEST(ViewUpdate, RefusesWhatDoesNotFit) {
  struct Case {
    std::string updates;
    std::string_view message;
    Code code = Code::kInvalidArgument;
  };
  std::string second = R"(,{"type":"sql","sql":"x","dialect":"SPARK"})";
  for (
      const Case& c : std::vector<Case>{
          {R"([{"action":"add-snapshot"}])", "unknown update of a view: \"add-snapshot\""},
          {R"([{"action":"assign-uuid","uuid":"aa6506c3-7681-40c8-86dc-e36561f83385"}])",
           "Cannot reassign uuid"},
          {R"([{"action":"upgrade-format-version","format-version":2}])",
           "Unsupported format version: 2"},
          {R"([{"action":"upgrade-format-version","format-version":0}])", "Cannot downgrade"},
          {R"([{"action":"set-current-view-version","view-version-id":9}])", "unknown version: 9"},
          {fmt::format("[{}]", kSetLast), "no current version id has been set"},
          {fmt::format("[{}]", add_version(version("2", "9", "q"))), "unknown schema: 9"},
          {fmt::format("[{}]", add_version(version("2", "-1", "q"))), "no schema has been added"},
          {fmt::format("[{}]", add_version(version("2", "0", "q", "spark", second))),
           "Cannot add multiple queries for dialect spark"},
          {fmt::format("[{}]", add_version(version("2", "0", "q", ""))), "a dialect is empty"},
          {fmt::format("[{}]", add_version(version("2147483647", "0", "q")) + "," +
                                   add_version(version("2", "0", "q2"))),
           "no ids left"},
          {fmt::format("[{},{}]", add_version(version("2", "0", "q", "trino")), kSetLast),
           "loss of view dialects (replace.drop-dialect.allowed=false):\nPrevious dialects: "
           "[spark]\nNew dialects: [trino]"},
          {R"([{"action":"set-properties","updates":{"duckicelake.a":"b"}}])",
           "belong to the server", Code::kPermissionDenied},
          {R"([{"action":"remove-properties","removals":["duckicelake.a"]}])",
           "belong to the server", Code::kPermissionDenied},
          {R"([{"action":"set-properties","updates":{"version.history.num-entries":"0"}}])",
           "must be a positive number"},
          {R"([{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"__mask_n","required":false,"type":"long"}]}}])",
           "reserved"},
          {R"([{"action":"add-view-version","view-version":{"version-id":1}}])", "is missing"},
          {R"([{"action":"add-view-version","view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"default-namespace":[],"representations":[{"type":"substrait"}]}}])",
           "another type than sql"},
          {R"([{"action":"add-view-version","view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,"default-namespace":[],"representations":[]}}])",
           "it has no query"}}) {
    auto view = commit_view(base_view(), c.updates);
    ASSERT_FALSE(view.has_value()) << c.updates;
    EXPECT_EQ(view.error().code(), c.code) << c.updates;
    EXPECT_THAT(view.error().message(), HasSubstr(c.message)) << c.updates;
  }
}

TEST(ViewUpdate, MayDropADialectWhenThePropertySaysSo) {
  ViewMetadata v = committed(
      base_view(),
      fmt::format(
          R"([{{"action":"set-properties","updates":{{"replace.drop-dialect.allowed":"True"}}}},{},{}])",
          add_version(version("2", "0", "q", "trino")), kSetLast));
  EXPECT_EQ(v.versions.back().representations.at(0).dialect, "trino");
}

TEST(ViewUpdate, TrimsTheHistory) {
  ViewMetadata v = base_view();
  for (int i = 2; i <= 13; ++i) {
    v = committed(
        v, fmt::format("[{},{}]", add_version(version("1", "0", fmt::format("select {}", i))),
                       kSetLast));
  }
  ASSERT_EQ(v.versions.size(), 10U);
  EXPECT_EQ(v.versions.front().version_id, 4);
  EXPECT_EQ(v.version_log.size(), 10U);
  EXPECT_EQ(v.version_log.front().version_id, 4);
  // The current version stays even when it is the oldest, the log goes back to the first gap.
  v = committed(
      v,
      R"([{"action":"set-current-view-version","view-version-id":4},{"action":"set-properties","updates":{"version.history.num-entries":"2"}}])");
  ASSERT_EQ(v.versions.size(), 2U);
  EXPECT_EQ(v.versions[0].version_id, 4);
  EXPECT_EQ(v.versions[1].version_id, 13);
  EXPECT_EQ(v.version_log, (std::vector<ViewLogEntry>{{1700000001000, 13}, {kNow, 4}}));
  // Versions of this commit are never trimmed by it.
  v = committed(
      v, fmt::format("[{},{},{}]", add_version(version("1", "0", "a")),
                     add_version(version("1", "0", "b")), add_version(version("1", "0", "c"))));
  EXPECT_EQ(v.versions.size(), 4U);
  EXPECT_EQ(v.current_version_id, 4);
}

TEST(ViewRequirement, HoldsOrFails) {
  ViewMetadata base = base_view();
  auto outcome = [](std::string_view requirement, const ViewMetadata* view) -> std::string {
    auto read = read_json(fmt::format("[{}]", requirement), read_view_requirements);
    if (!read.has_value()) return read.error().message();
    auto status = check_view_requirement((*read)[0], view);
    if (status.has_value()) return "";
    EXPECT_EQ(status.error().code(), Code::kCommitFailed);
    return status.error().message();
  };
  std::string_view same =
      R"({"type":"assert-view-uuid","uuid":"FA6506C3-7681-40c8-86dc-e36561f83385"})";
  EXPECT_EQ(outcome(same, &base), "");
  EXPECT_EQ(outcome(same, nullptr), "Requirement failed: view does not exist");
  EXPECT_THAT(outcome(R"({"type":"assert-view-uuid","uuid":"x"})", &base),
              HasSubstr("view UUID does not match: expected fa6506c3"));
  EXPECT_EQ(outcome(R"({"type":"assert-create"})", &base),
            "Requirement failed: view already exists");
  EXPECT_EQ(outcome(R"({"type":"assert-create"})", nullptr), "");
  EXPECT_THAT(outcome(R"({"type":"assert-table-uuid","uuid":"x"})", &base),
              HasSubstr("unknown requirement of a view"));
}

TEST(ViewMetadata, RefusesDocumentsThatReadersWouldRefuse) {
  std::string good = view_metadata_to_json(base_view());
  struct Case {
    std::string_view from, to, message;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"\"format-version\":1", "\"format-version\":2", "format-version 2"},
           {"fa6506c3-7681", "fa6506c3+7681", "view-uuid"},
           {"\"s3://b/v\"", "\"\"", "location: empty"},
           {"\"current-version-id\":1", "\"current-version-id\":2", "version 2 is not listed"},
           {"\"schema-id\":0,\"summary\"", "\"schema-id\":4,\"summary\"", "names schema 4"},
           {"\"versions\":", "\"versionz\":", "\"versions\" is missing"},
           {"\"version-log\":", "\"version-logg\":", "\"version-log\" is missing"},
           {"\"type\":\"sql\"", "\"type\":\"substrait\"", "versions[0].representations[0]"},
           {"\"timestamp-ms\":1700000001000,\"schema", "\"timestamp-ms\":-1,\"schema",
            "negative"}}) {
    std::string bad = good;
    std::size_t at = bad.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    bad.replace(at, c.from.size(), c.to);
    auto view = view_metadata_from_json(bad);
    ASSERT_FALSE(view.has_value()) << c.to;
    EXPECT_THAT(view.error().message(), HasSubstr(c.message));
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_FALSE(view_metadata_from_json(std::string_view(good).substr(0, i)).has_value());
    std::string flipped = good;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    (void)view_metadata_from_json(flipped).has_value();  // must not crash
  }
}

}  // namespace
}  // namespace duckicelake::iceberg
