// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/data_engine.h"

namespace duckicelake::app {

// The engine of one catalog: files are read and written by the engine that all share, views are
// described by one of the catalog's own, in the rights of its own role. Without that, when there is
// no such role, views are served without columns, as those are that do not bind. Both must outlive
// it.
class LakeEngine final : public catalog::DataEngine {
 public:
  LakeEngine(catalog::DataEngine& files, catalog::DataEngine* views)
      : files_(files), views_(views) {}

  Result<std::vector<catalog::DeletedPosition>> read_position_deletes(
      const std::string& uri) override {
    return files_.read_position_deletes(uri);
  }
  Result<std::vector<catalog::SnapshotRun>> read_row_snapshots(const std::string& uri) override {
    return files_.read_row_snapshots(uri);
  }
  Result<std::optional<std::int64_t>> read_min_row_id(const std::string& uri) override {
    return files_.read_min_row_id(uri);
  }
  Result<std::vector<NamedFieldId>> read_field_ids(const std::string& uri) override {
    return files_.read_field_ids(uri);
  }
  Result<std::vector<translate::ParquetNode>> read_schema(const std::string& uri) override {
    return files_.read_schema(uri);
  }
  Result<PositionsByFile> read_client_position_deletes(const std::string& uri) override {
    return files_.read_client_position_deletes(uri);
  }
  Result<std::vector<std::int64_t>> find_equality_matches(
      const catalog::EqualityScan& scan) override {
    return files_.find_equality_matches(scan);
  }
  Result<std::vector<std::optional<std::int64_t>>> count_nans(
      const std::string& uri, std::span<const FieldId> columns,
      std::chrono::milliseconds limit) override {
    return files_.count_nans(uri, columns, limit);
  }
  Result<catalog::WrittenParquet> write_position_deletes(
      const std::string& data_file_path, std::span<const std::int64_t> positions) override {
    return files_.write_position_deletes(data_file_path, positions);
  }
  Result<catalog::WrittenParquet> write_rows(std::span<const catalog::ParquetColumn> columns,
                                             std::span<const catalog::TextRow> rows,
                                             std::span<const std::int64_t> row_ids,
                                             std::span<const std::int64_t> snapshot_ids) override {
    return files_.write_rows(columns, rows, row_ids, snapshot_ids);
  }
  Result<std::vector<ViewColumn>> describe_view(const std::string& schema_name,
                                                const std::string& view_name) override {
    if (views_ != nullptr) return views_->describe_view(schema_name, view_name);
    return invalid_argument("view {}.{}: there is no role to bind it with", schema_name, view_name);
  }

 private:
  catalog::DataEngine& files_;
  catalog::DataEngine* const views_;
};

}  // namespace duckicelake::app
