// SPDX-License-Identifier: Apache-2.0
#include "catalog/live_set.h"

#include <algorithm>

#include "puffin/deletion_vector.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxManifestBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kMaxVectorBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxPositions = std::size_t{1} << 31;

using Positions = std::vector<std::int64_t>;

}  // namespace

Result<LiveSet> load_live_set(objstore::ObjectStore& objects,
                              std::span<const manifest::ManifestFile> manifests) {
  LiveSet out;
  for (const manifest::ManifestFile& file : manifests) {
    DIL_TRY(std::string key, objects.key_of(file.manifest_path));
    DIL_TRY(std::string bytes, objects.get(key, kMaxManifestBytes));
    DIL_TRY(manifest::DecodedManifest decoded, manifest::decode_manifest(bytes, kMaxEntries));
    DIL_CHECK_OK(manifest::inherit(file, decoded.entries));
    for (manifest::ManifestEntry& entry : decoded.entries) {
      if (entry.status == manifest::EntryStatus::kDeleted) continue;
      if (file.content == manifest::ManifestContent::kData) {
        std::string path = entry.data_file.file_path;
        out.data.insert_or_assign(std::move(path), LiveSet::File{std::move(entry), decoded.header});
      } else if (entry.data_file.referenced_data_file) {
        out.deletes[*entry.data_file.referenced_data_file].push_back(std::move(entry.data_file));
      } else {
        return make_error(Code::kUnsupported,
                          "snapshot with delete files of several data files cannot become main's");
      }
    }
  }
  return out;
}

Result<Positions> load_positions(objstore::ObjectStore& objects, DataEngine& engine,
                                 const std::string& data_file,
                                 const std::vector<manifest::DataFile>& files) {
  Positions out;
  for (const manifest::DataFile& file : files) {
    if (file.file_format == "PUFFIN") {
      DIL_TRY(std::string key, objects.key_of(file.file_path));
      const auto size = static_cast<std::size_t>(file.content_size_in_bytes.value_or(0));
      if (size > kMaxVectorBytes)
        return Error(Code::kCorruptData, "a deletion vector is too large");
      DIL_TRY(std::string blob,
              objects.get_range(
                  key, {static_cast<std::uint64_t>(file.content_offset.value_or(0)), size}));
      DIL_TRY(Positions read, puffin::decode_deletion_vector(blob, kMaxPositions));
      out.insert(out.end(), read.begin(), read.end());
      continue;
    }
    DIL_TRY(auto read, engine.read_client_position_deletes(file.file_path));
    const Positions& own = read[data_file];
    out.insert(out.end(), own.begin(), own.end());
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace duckicelake::catalog
