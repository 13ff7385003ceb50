// SPDX-License-Identifier: Apache-2.0
#include "catalog/table_places.h"

namespace duckicelake::catalog {

bool is_in_own_place(const store::Lake& lake, std::string_view uri) {
  std::string base = lake.data_path;
  while (base.ends_with('/')) base.pop_back();
  return uri.starts_with(base + "/") || uri.starts_with(store::iceberg_only_root(lake));
}

Result<TablePlaces> places_of(const store::Lake& lake, const ducklake::TableRow& table) {
  constexpr std::string_view kScheme = "s3://";
  std::string base = lake.data_path;
  while (base.ends_with('/')) base.pop_back();
  if (base.size() <= kScheme.size() || base.find('/', kScheme.size()) == std::string::npos) {
    return make_error(Code::kUnsupported,
                      "the lake's DATA_PATH \"{}\" is the root of its bucket; a prefix is needed, "
                      "so that files for "
                      "Iceberg readers can lie beside it",
                      lake.data_path);
  }
  if (!table.path.starts_with(kScheme)) {
    return make_error(Code::kUnsupported, "the table's path \"{}\" is not on S3", table.path);
  }
  TablePlaces places;
  places.location = table.path;
  while (places.location.ends_with('/')) places.location.pop_back();
  places.metadata = places.location + "/metadata/";
  places.iceberg_only = store::iceberg_only_root(lake) + table.uuid + "/";
  return places;
}

}  // namespace duckicelake::catalog
