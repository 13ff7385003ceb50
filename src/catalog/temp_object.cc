// SPDX-License-Identifier: Apache-2.0
#include "catalog/temp_object.h"

#include <filesystem>

#include "catalog/random_name.h"

namespace duckicelake::catalog {

Status copy_object(objstore::ObjectStore& objects, const std::string& from, const std::string& to) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return Error(Code::kInternal, "no folder for temporary files", error.message());
  const std::string path = (folder / ("duckicelake-copy-" + random_name())).string();
  Status got = objects.get_file(from, path);
  Status put = got.has_value() ? objects.put_file(to, path, {}) : Status();
  std::filesystem::remove(path, error);
  DIL_CHECK_OK(std::move(got));
  return put;
}

}  // namespace duckicelake::catalog
