// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "catalog/data_engine.h"
#include "engine/config.h"

namespace duckicelake::engine {

class Database;
class TempFolder;
class ViewDescriber;
struct DuckdbApi;
struct FileReference;

// The DataEngine port on an embedded DuckDB. Construction is free: libduckdb is mapped, and an
// instance opened, by the first call that needs one. Files are read and written in one instance
// with the object store's keys; views are described in another one, which has none
// (view_describer.h). Every call ends by EngineConfig::call_timeout. Thread-safe.
class DuckdbDataEngine final : public catalog::DataEngine {
 public:
  explicit DuckdbDataEngine(EngineConfig config);
  ~DuckdbDataEngine() override;

  // Maps the library and opens the file instance now: for doctor, and to warm up.
  Status check();
  // Closes the view instance if nobody used it meanwhile; the next describe_view opens another one.
  void release_idle();

  Result<std::vector<catalog::DeletedPosition>> read_position_deletes(
      const std::string& uri) override;
  Result<std::vector<catalog::SnapshotRun>> read_row_snapshots(const std::string& uri) override;
  Result<std::optional<std::int64_t>> read_min_row_id(const std::string& uri) override;
  Result<std::vector<NamedFieldId>> read_field_ids(const std::string& uri) override;
  Result<std::vector<translate::ParquetNode>> read_schema(const std::string& uri) override;
  Result<PositionsByFile> read_client_position_deletes(const std::string& uri) override;
  Result<std::vector<std::int64_t>> find_equality_matches(
      const catalog::EqualityScan& scan) override;
  Result<std::vector<std::optional<std::int64_t>>> count_nans(
      const std::string& uri, std::span<const FieldId> columns,
      std::chrono::milliseconds limit) override;
  Result<catalog::WrittenParquet> write_position_deletes(
      const std::string& data_file_path, std::span<const std::int64_t> positions) override;
  Result<catalog::WrittenParquet> write_rows(std::span<const catalog::ParquetColumn> columns,
                                             std::span<const catalog::TextRow> rows,
                                             std::span<const std::int64_t> row_ids,
                                             std::span<const std::int64_t> snapshot_ids) override;
  Result<std::vector<ViewColumn>> describe_view(const std::string& schema_name,
                                                const std::string& view_name) override;

 private:
  Status load_library();  // under instances_mutex_
  Result<std::shared_ptr<Database>> files();
  Result<std::shared_ptr<ViewDescriber>> views();
  Result<FileReference> resolve(const std::string& uri) const;
  std::chrono::steady_clock::time_point deadline() const;

  const EngineConfig config_;
  std::mutex instances_mutex_;  // guards all below; held while an instance is opened
  std::shared_ptr<const DuckdbApi> api_;
  std::unique_ptr<TempFolder> folder_;
  std::shared_ptr<Database> files_;
  std::shared_ptr<ViewDescriber> views_;
};

}  // namespace duckicelake::engine
