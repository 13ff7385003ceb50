// SPDX-License-Identifier: Apache-2.0
#include "catalog/delete_writer.h"

#include "catalog/parallel.h"
#include "iceberg/value.h"
#include "puffin/deletion_vector.h"

namespace duckicelake::catalog {
namespace {

constexpr std::int32_t kFilePathId = 2147483546;
constexpr std::int32_t kPositionId = 2147483545;
constexpr std::size_t kWriters = 4;

Result<manifest::DataFile> write_parquet(objstore::ObjectStore& objects, DataEngine& engine,
                                         const std::string& uri, const FileDeletes& deletes) {
  DIL_TRY(WrittenParquet written,
          engine.write_position_deletes(deletes.data_file_path, deletes.positions));
  DIL_TRY(std::string key, objects.key_of(uri));
  DIL_CHECK_OK(objects.put(key, written.bytes, {}));
  manifest::DataFile file;
  file.content = manifest::Content::kPositionDeletes;
  file.file_path = uri;
  file.record_count = static_cast<std::int64_t>(deletes.positions.size());
  file.file_size_in_bytes = static_cast<std::int64_t>(written.bytes.size());
  file.value_counts = {{kPositionId, file.record_count}, {kFilePathId, file.record_count}};
  file.null_value_counts = {{kPositionId, 0}, {kFilePathId, 0}};
  // The whole path, not cut: readers take equal bounds to mean "deletes of this one file".
  file.lower_bounds = {{kPositionId, iceberg::value_of_long(deletes.positions.front())},
                       {kFilePathId, deletes.data_file_path}};
  file.upper_bounds = {{kPositionId, iceberg::value_of_long(deletes.positions.back())},
                       {kFilePathId, deletes.data_file_path}};
  file.referenced_data_file = deletes.data_file_path;
  return file;
}

// One vector a Puffin file: PyIceberg applies every vector of a file that any entry names, also
// those that another snapshot has replaced since.
Result<manifest::DataFile> write_vector(objstore::ObjectStore& objects, const std::string& uri,
                                        FileDeletes deletes) {
  const std::vector<puffin::DeletionVectorInput> input = {
      {std::move(deletes.data_file_path), std::move(deletes.positions)}};
  const puffin::PuffinFile written = puffin::encode_deletion_vectors(input);
  DIL_TRY(std::string key, objects.key_of(uri));
  DIL_CHECK_OK(objects.put(key, written.bytes, {}));
  manifest::DataFile file;
  file.content = manifest::Content::kPositionDeletes;
  file.file_path = uri;
  file.file_format = "PUFFIN";
  file.record_count = written.places[0].cardinality;
  file.file_size_in_bytes = static_cast<std::int64_t>(written.bytes.size());
  file.referenced_data_file = input[0].referenced_data_file;
  file.content_offset = written.places[0].offset;
  file.content_size_in_bytes = written.places[0].length;
  return file;
}

}  // namespace

Result<std::vector<manifest::DataFile>> write_deletes(objstore::ObjectStore& objects,
                                                      DataEngine& engine,
                                                      const DeleteTarget& target,
                                                      std::vector<FileDeletes> deletes) {
  std::vector<manifest::DataFile> out(deletes.size());
  DIL_CHECK_OK(parallel_for(deletes.size(), kWriters, [&](std::size_t i) -> Status {
    const bool is_vector = target.format_version >= 3;
    const std::string uri = fmt::format("{}{}-{}-deletes.{}", target.folder, target.name, i,
                                        is_vector ? "puffin" : "parquet");
    if (is_vector) {
      DIL_TRY(out[i], write_vector(objects, uri, std::move(deletes[i])));
    } else {
      DIL_TRY(out[i], write_parquet(objects, engine, uri, deletes[i]));
    }
    return {};
  }));
  return out;
}

}  // namespace duckicelake::catalog
