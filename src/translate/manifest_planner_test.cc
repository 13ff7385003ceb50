// SPDX-License-Identifier: Apache-2.0
#include "translate/manifest_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace duckicelake::translate {
namespace {

using manifest::EntryStatus;
using manifest::ManifestContent;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

// Keeps what plans write and lets later plans read it, through the bytes.
class PlannerTest : public testing::Test {
 protected:
  PlannerTest() {
    iceberg::Field field;
    field.id = FieldId(1);
    field.name = "a";
    field.type = iceberg::Type::primitive(iceberg::TypeKind::kLong);
    schemas_.push_back({0, {field}, {}});
    specs_.push_back({});
  }

  static manifest::DataFile data_file(FileKey key) {
    manifest::DataFile file;
    file.file_path = "s3://b/t/f" + std::to_string(key) + ".parquet";
    file.record_count = 10;
    file.file_size_in_bytes = 100;
    return file;
  }

  static manifest::DataFile delete_file(FileKey key, std::int64_t count) {
    manifest::DataFile file;
    file.content = manifest::Content::kPositionDeletes;
    file.file_path = "s3://b/x/d" + std::to_string(key) + "-" + std::to_string(count) + ".parquet";
    file.record_count = count;
    file.file_size_in_bytes = 50;
    file.referenced_data_file = data_file(key).file_path;
    return file;
  }

  SnapshotChange change(std::int64_t id) const {
    SnapshotChange out;
    out.snapshot_id = id;
    return out;
  }

  void add(SnapshotChange& to, FileKey key) const {
    to.added.push_back({key, 0, to.snapshot_id, data_file(key), std::nullopt});
  }

  Result<PlannedSnapshot> plan(SnapshotChange c) {
    PlanContext context;
    context.schema = &schemas_[0];
    context.schemas = &schemas_;
    context.specs = &specs_;
    context.metadata_folder = "s3://b/t/metadata/";
    context.unique = "u";
    context.read = [this](const manifest::ManifestFile& file)
        -> Result<std::shared_ptr<const manifest::DecodedManifest>> {
      ++reads_;
      auto decoded = std::make_shared<manifest::DecodedManifest>();
      DIL_TRY(*decoded, manifest::decode_manifest(objects_.at(file.manifest_path), 100'000));
      DIL_CHECK_OK(manifest::inherit(file, decoded->entries));
      return std::shared_ptr<const manifest::DecodedManifest>(std::move(decoded));
    };
    DIL_TRY(PlannedSnapshot planned, plan_snapshot(head_, std::move(c), context));
    for (const NewObject& object : planned.objects) objects_[object.uri] = object.bytes;
    head_ = planned.head;
    return planned;
  }

  // Paths that the newest list shows, read back from the bytes as a client does.
  std::multiset<std::string> live(const PlannedSnapshot& planned, ManifestContent content) {
    std::multiset<std::string> out;
    auto list =
        manifest::decode_manifest_list(objects_.at(planned.snapshot.manifest_list), 100'000);
    EXPECT_TRUE(list.has_value());
    for (const manifest::ManifestFile& file : *list) {
      if (file.content != content) continue;
      auto decoded = manifest::decode_manifest(objects_.at(file.manifest_path), 100'000);
      EXPECT_TRUE(decoded.has_value());
      for (const manifest::ManifestEntry& entry : decoded->entries) {
        if (entry.status != EntryStatus::kDeleted) out.insert(entry.data_file.file_path);
      }
    }
    return out;
  }

  std::vector<iceberg::Schema> schemas_;
  std::vector<iceberg::PartitionSpec> specs_;
  std::map<std::string, std::string> objects_;
  HeadState head_;
  int reads_ = 0;
};

TEST_F(PlannerTest, AnAppendWritesOneManifestAndOneListWhateverTheTableHolds) {
  std::size_t most_manifests = 0;
  for (std::int64_t id = 1; id <= 300; ++id) {
    SnapshotChange c = change(id);
    add(c, id);
    auto planned = plan(std::move(c));
    ASSERT_TRUE(planned.has_value()) << planned.error().to_string();
    ASSERT_EQ(planned->objects.size(), 2U) << "snapshot " << id;
    most_manifests = std::max(most_manifests, planned->head.manifests.size());
    if (id == 300) {
      EXPECT_EQ(live(*planned, ManifestContent::kData).size(), 300U);
      EXPECT_EQ(planned->snapshot.summary.at("total-data-files"), "300");
      EXPECT_EQ(planned->snapshot.summary.at("added-records"), "10");
      EXPECT_EQ(planned->snapshot.summary.at("operation"), "append");
    }
  }
  EXPECT_LE(most_manifests, 3 * 7U) << "logarithmic in the number of files";
}

TEST_F(PlannerTest, RemovingAFileRewritesOnlyTheManifestThatHoldsIt) {
  for (std::int64_t id = 1; id <= 20; ++id) {
    SnapshotChange c = change(id);
    add(c, id);
    ASSERT_TRUE(plan(std::move(c)).has_value());
  }
  reads_ = 0;
  SnapshotChange c = change(21);
  c.removed.push_back({3, data_file(3).file_path});
  auto planned = plan(std::move(c));
  ASSERT_TRUE(planned.has_value());
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(planned->objects.size(), 2U);
  EXPECT_EQ(live(*planned, ManifestContent::kData).count(data_file(3).file_path), 0U);
  EXPECT_EQ(live(*planned, ManifestContent::kData).size(), 19U);
  EXPECT_EQ(planned->snapshot.summary.at("operation"), "delete");
  EXPECT_EQ(planned->snapshot.summary.at("total-records"), "190");
  // Survivors keep the snapshot and the sequence number that added them.
  auto decoded = manifest::decode_manifest(objects_.at(planned->objects[0].uri), 100);
  ASSERT_TRUE(decoded.has_value());
  for (const manifest::ManifestEntry& entry : decoded->entries) {
    if (entry.status != EntryStatus::kExisting) continue;
    EXPECT_EQ(*entry.snapshot_id, *entry.sequence_number);
    EXPECT_LE(*entry.snapshot_id, 20);
  }
}

TEST_F(PlannerTest, NewDeletesTakeThePlaceOfTheOldOnesAndGoWithTheirFile) {
  SnapshotChange first = change(1);
  add(first, 1);
  add(first, 2);
  ASSERT_TRUE(plan(std::move(first)).has_value());
  SnapshotChange second = change(2);
  second.deletes.push_back({1, data_file(1).file_path, 0, delete_file(1, 2), std::nullopt});
  auto planned = plan(std::move(second));
  ASSERT_TRUE(planned.has_value());
  EXPECT_THAT(live(*planned, ManifestContent::kDeletes), ElementsAre(delete_file(1, 2).file_path));
  SnapshotChange third = change(3);
  third.deletes.push_back({1, data_file(1).file_path, 0, delete_file(1, 5), std::nullopt});
  planned = plan(std::move(third));
  ASSERT_TRUE(planned.has_value());
  EXPECT_THAT(live(*planned, ManifestContent::kDeletes), ElementsAre(delete_file(1, 5).file_path));
  EXPECT_EQ(planned->snapshot.summary.at("total-position-deletes"), "5");
  EXPECT_EQ(planned->snapshot.summary.at("total-delete-files"), "1");
  SnapshotChange fourth = change(4);
  fourth.removed.push_back({1, data_file(1).file_path});
  planned = plan(std::move(fourth));
  ASSERT_TRUE(planned.has_value());
  EXPECT_TRUE(live(*planned, ManifestContent::kDeletes).empty());
  EXPECT_THAT(live(*planned, ManifestContent::kData), ElementsAre(data_file(2).file_path));
  EXPECT_EQ(planned->snapshot.summary.at("total-position-deletes"), "0");
}

TEST_F(PlannerTest, ARemovedFileThatNoManifestHoldsIsAnError) {
  SnapshotChange c = change(1);
  c.removed.push_back({9, data_file(9).file_path});
  auto planned = plan(std::move(c));
  ASSERT_FALSE(planned.has_value());
  EXPECT_EQ(planned.error().code(), Code::kCorruptData);
}

TEST_F(PlannerTest, RowsOfAnEarlierSnapshotKeepTheirSequenceNumber) {
  SnapshotChange c = change(9);
  c.added.push_back({5, 0, 4, data_file(5), std::nullopt});
  auto planned = plan(std::move(c));
  ASSERT_TRUE(planned.has_value());
  auto decoded = manifest::decode_manifest(objects_.at(planned->objects[0].uri), 100);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->entries[0].sequence_number, 4);
  EXPECT_EQ(planned->head.manifests[0].file.min_sequence_number, 4);
  EXPECT_EQ(planned->head.manifests[0].file.sequence_number, 9);
}

TEST_F(PlannerTest, FilesOfInlinedRowsAreNeverMergedWithOthers) {
  for (std::int64_t id = 1; id <= 40; ++id) {
    SnapshotChange c = change(id);
    add(c, id % 2 == 0 ? id : -id);
    ASSERT_TRUE(plan(std::move(c)).has_value());
  }
  for (const HeadManifest& m : head_.manifests) {
    EXPECT_EQ(m.min_key < 0, m.max_key < 0);
  }
}

}  // namespace
}  // namespace duckicelake::translate
