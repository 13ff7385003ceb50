// SPDX-License-Identifier: Apache-2.0
#include "catalog/purge.h"

#include <algorithm>

#include "catalog/table_places.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kChunk = 1000;

Status out_of_time(pg::Deadline until) {
  if (!pg::has_passed(until)) return {};
  return Error(Code::kDeadlineExceeded, "removing the table's objects takes too long");
}

Status remove_keys(objstore::ObjectStore& objects, const std::vector<std::string>& keys) {
  for (const Status& removed : objects.remove_many(keys)) {
    if (!removed.has_value()) return removed.error();
  }
  return {};
}

Status remove_files(objstore::ObjectStore& objects, const std::vector<std::string>& uris,
                    pg::Deadline until) {
  for (std::size_t begin = 0; begin < uris.size(); begin += kChunk) {
    DIL_CHECK_OK(out_of_time(until));
    std::vector<std::string> keys;
    for (std::size_t i = begin; i < std::min(begin + kChunk, uris.size()); ++i) {
      // Files added from another bucket are none of ours.
      Result<std::string> key = objects.key_of(uris[i]);
      if (key.has_value()) keys.push_back(std::move(*key));
    }
    DIL_CHECK_OK(remove_keys(objects, keys));
  }
  return {};
}

Status remove_below(objstore::ObjectStore& objects, const std::string& folder_uri,
                    pg::Deadline until) {
  DIL_TRY(const std::string prefix, objects.key_of(folder_uri));
  while (true) {
    DIL_CHECK_OK(out_of_time(until));
    // From the start each time: what was listed before is gone.
    DIL_TRY(const objstore::ListPage page, objects.list(prefix, {}));
    if (page.objects.empty()) return {};
    std::vector<std::string> keys;
    for (const objstore::ObjectInfo& object : page.objects) keys.push_back(object.key);
    DIL_CHECK_OK(remove_keys(objects, keys));
  }
}

}  // namespace

Status purge_objects(objstore::ObjectStore& objects, const store::Lake& lake,
                     const store::OwnedObjects& owned, pg::Deadline until) {
  DIL_CHECK_OK(remove_files(objects, owned.files, until));
  ducklake::TableRow row;
  row.path = owned.folder;
  row.uuid = owned.uuid;
  DIL_TRY(const TablePlaces places, places_of(lake, row));
  if (!owned.is_uuid_shared) DIL_CHECK_OK(remove_below(objects, places.iceberg_only, until));
  if (!owned.is_folder_shared) DIL_CHECK_OK(remove_below(objects, places.metadata, until));
  return {};
}

}  // namespace duckicelake::catalog
