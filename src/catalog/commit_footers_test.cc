// SPDX-License-Identifier: Apache-2.0
#include "catalog/commit_footers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/value.h"
#include "objstore/memory_object_store.h"
#include "parquet/test_footers.h"

namespace duckicelake::catalog {
namespace {

using parquet::testing::plain_logical;
using parquet::testing::TestColumn;
using parquet::testing::TestFooter;

iceberg::Schema schema() {
  iceberg::Field text;
  text.id = FieldId(1);
  text.name = "word";
  text.type = iceberg::Type::primitive(iceberg::TypeKind::kString);
  iceberg::Schema out;
  out.fields = {text};
  return out;
}

TestFooter footer(std::string low, std::string high) {
  TestColumn words{.logical = plain_logical(1)};
  words.groups = {{.low = std::move(low),
                   .high = std::move(high),
                   .is_low_exact = true,
                   .is_high_exact = true}};
  TestFooter out;
  out.columns = {std::move(words)};
  return out;
}

class CommitFootersTest : public testing::Test {
 protected:
  CommitFootersTest() {
    store.fail_with = [this](std::string_view operation, std::string_view) -> Status {
      if (operation != "put") ++calls;
      if (is_away) return Error(Code::kUnavailable, "away");
      return {};
    };
  }

  manifest::DataFile add(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(store.put(name, bytes, {}).has_value());
    manifest::DataFile file;
    file.file_path = "s3://b/" + name;
    file.record_count = 10;
    file.file_size_in_bytes = static_cast<std::int64_t>(bytes.size());
    file.value_counts = {{1, 10}};
    file.null_value_counts = {{1, 0}};
    file.lower_bounds = {{1, "abcdefghijklmnop"}};
    file.upper_bounds = {{1, "x"}};
    return file;
  }
  SnapshotDelta delta(std::vector<manifest::DataFile> files) {
    AddedDataFiles item;
    for (manifest::DataFile& file : files) {
      item.entries.emplace_back();
      item.entries.back().data_file = std::move(file);
    }
    SnapshotDelta out;
    out.added.push_back(std::move(item));
    return out;
  }
  // nullptr when nothing was learned.
  const translate::LeafFacts* read(manifest::DataFile file) {
    last = delta({std::move(file)});
    const Status status = footers.read(last);
    EXPECT_TRUE(status.has_value()) << status.error().to_string();
    const translate::FileFacts* facts = footers.find(entry().file_path);
    return facts == nullptr || !facts->contains(1) ? nullptr : &facts->at(1);
  }
  Code code(manifest::DataFile file) {
    SnapshotDelta one = delta({std::move(file)});
    const Status status = footers.read(one);
    return status.has_value() ? Code::kInternal : status.error().code();
  }
  const manifest::DataFile& entry() const { return last.added[0].entries[0].data_file; }

  objstore::MemoryObjectStore store{"b"};
  std::atomic<int> calls{0};
  bool is_away = false;
  const iceberg::Schema columns = schema();
  CommitFooters footers{store, columns};
  SnapshotDelta last;
};

TEST_F(CommitFootersTest, ReadsOneTailForAFile) {
  const translate::LeafFacts* facts = read(add("f", footer("abcdefghijklmnopqrs", "wxyz").file()));
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(facts->low->value, "abcdefghijklmnopqrs");
  EXPECT_TRUE(facts->high->is_exact);
  EXPECT_EQ(calls, 1);
  // The client's entry was right, and stays.
  EXPECT_EQ(entry().upper_bounds[0].second, "x");
}

TEST_F(CommitFootersTest, ReadsALargeFooterInTwoCalls) {
  TestFooter wide = footer("a", "b");
  wide.columns[0].name = std::string(2 * CommitFooters::kTailBytes, 'n');
  ASSERT_NE(read(add("f", wide.file())), nullptr);
  EXPECT_EQ(calls, 2);
}

TEST_F(CommitFootersTest, AsksForNothingWhereTheClientIsExact) {
  manifest::DataFile file = add("f", footer("same", "same").file());
  file.lower_bounds[0].second = file.upper_bounds[0].second = "same";
  EXPECT_EQ(read(file), nullptr);
  manifest::DataFile bare = file;
  bare.file_path = "/no/scheme";
  bare.upper_bounds.clear();
  EXPECT_EQ(read(bare), nullptr);
  EXPECT_EQ(calls, 0);
}

TEST_F(CommitFootersTest, WhatCannotBeReadStaysAsTheClientSaid) {
  manifest::DataFile missing = add("x", footer("a", "b").file());
  missing.file_path = "s3://b/missing";
  EXPECT_EQ(read(missing), nullptr);
  missing.file_path = "s3://other/x";
  EXPECT_EQ(read(missing), nullptr);
  const std::string good = footer("a", "b").file();
  EXPECT_EQ(read(add("encrypted", good.substr(0, good.size() - 1) + "E")), nullptr);
  std::string damaged = good;
  for (std::size_t i = 110; i < damaged.size() - 8; ++i) damaged[i] = '\xff';
  EXPECT_EQ(read(add("damaged", damaged)), nullptr);
  std::string lying = good;
  lying[lying.size() - 5] = '\x7f';
  EXPECT_EQ(read(add("lying", lying)), nullptr);
  EXPECT_EQ(read(add("short", "PAR1")), nullptr);
  EXPECT_EQ(read(add("text", std::string(200'000, 't'))), nullptr);
  const manifest::DataFile away = add("away", good);
  is_away = true;
  EXPECT_EQ(read(away), nullptr);
  EXPECT_EQ(entry().upper_bounds[0].second, "x");
}

TEST_F(CommitFootersTest, RefusesAFileOfAnotherSize) {
  const std::string bytes = footer("a", "b").file(200'000);
  manifest::DataFile file = add("f", bytes);
  for (const std::int64_t wrong : {0, 7, 100, 199'000, 200'000, 300'000, 1 << 30}) {
    file.file_size_in_bytes = wrong;
    EXPECT_EQ(code(file), Code::kInvalidArgument) << wrong;
  }
  file.file_size_in_bytes = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code(file), Code::kInvalidArgument);
}

// Nobody can read it whatever its size, and scans fail loudly.
TEST_F(CommitFootersTest, TheSizeOfWhatIsNoParquetFileIsNoMatter) {
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(100'000, 'x')}) {
    manifest::DataFile file = add("f", bytes);
    for (const std::int64_t wrong : {0, 10, 99'999, 100'001, 1 << 30}) {
      file.file_size_in_bytes = wrong;
      EXPECT_EQ(read(file), nullptr) << wrong;
    }
  }
}

TEST_F(CommitFootersTest, RefusesAnotherNumberOfRows) {
  manifest::DataFile file = add("f", footer("a", "b").file());
  file.record_count = 11;
  EXPECT_EQ(code(file), Code::kInvalidArgument);
  file.record_count = 0;  // looked at even where its statistics leave nothing open
  file.lower_bounds.clear();
  file.upper_bounds.clear();
  EXPECT_EQ(code(file), Code::kInvalidArgument);
}

TEST_F(CommitFootersTest, CorrectsAnEntryThatLeavesValuesOut) {
  manifest::DataFile file = add("f", footer("aaa", "zzz").file());
  file.lower_bounds[0].second = "b";
  file.upper_bounds[0].second = "c";
  file.null_value_counts[0].second = 10;
  file.value_counts.clear();
  ASSERT_NE(read(file), nullptr);
  EXPECT_EQ(entry().lower_bounds[0].second, "aaa");
  EXPECT_EQ(entry().upper_bounds[0].second, "zzz");
  EXPECT_EQ(entry().null_value_counts[0].second, 0);
}

TEST_F(CommitFootersTest, ReadsNoneOfTooManyColumns) {
  iceberg::Schema wide = schema();
  while (wide.fields.size() <= CommitFooters::kMaxColumns / 2) {
    wide.fields.push_back(wide.fields.front());
    wide.fields.back().id.value = static_cast<std::int32_t>(wide.fields.size());
  }
  CommitFooters reader{store, wide};
  std::vector<manifest::DataFile> files = {add("a", footer("a", "b").file()),
                                           add("b", footer("a", "b").file())};
  SnapshotDelta two = delta(files);
  EXPECT_TRUE(reader.read(two).has_value());
  EXPECT_EQ(calls, 0);
  files.pop_back();
  SnapshotDelta one = delta(files);
  EXPECT_TRUE(reader.read(one).has_value());
  EXPECT_EQ(calls, 1);
}

TEST_F(CommitFootersTest, ReadsNoneOfTooMany) {
  std::vector<manifest::DataFile> files;
  for (std::size_t i = 0; i <= CommitFooters::kMaxFiles; ++i) {
    files.push_back(add("f" + std::to_string(i), footer("a", "b").file()));
  }
  SnapshotDelta all = delta(files);
  EXPECT_TRUE(footers.read(all).has_value());
  EXPECT_EQ(calls, 0);
  files.pop_back();
  SnapshotDelta fewer = delta(files);
  EXPECT_TRUE(footers.read(fewer).has_value());
  EXPECT_EQ(calls, static_cast<int>(CommitFooters::kMaxFiles));
  // They are of one commit.
  EXPECT_EQ(read(add("one more", footer("a", "b").file())), nullptr);
  EXPECT_EQ(calls, static_cast<int>(CommitFooters::kMaxFiles));
}

}  // namespace
}  // namespace duckicelake::catalog
