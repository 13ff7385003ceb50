// SPDX-License-Identifier: Apache-2.0
#include "engine/duckdb_api.h"

#include <dlfcn.h>

#include <string_view>

namespace duckicelake::engine {

Result<std::shared_ptr<const DuckdbApi>> DuckdbApi::load(const std::string& library_path) {
  if (library_path.empty()) {
    return make_error(Code::kInternal, "the path of libduckdb.so is not configured");
  }
  void* handle = ::dlopen(library_path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return Error(Code::kInternal,
                 fmt::format("the DuckDB library {} cannot be opened", library_path),
                 reason == nullptr ? "" : reason);
  }
  auto api = std::make_shared<DuckdbApi>();
#define DIL_DUCKDB_RESOLVE(name)                                                              \
  api->name = reinterpret_cast<decltype(&::duckdb_##name)>(::dlsym(handle, "duckdb_" #name)); \
  if (api->name == nullptr) {                                                                 \
    return make_error(Code::kInternal, "{} has no function duckdb_" #name, library_path);     \
  }
  DIL_DUCKDB_FUNCTIONS(DIL_DUCKDB_RESOLVE)
#undef DIL_DUCKDB_RESOLVE
  const std::string_view version = api->library_version();
  if (version != kDuckdbVersion) {
    return make_error(Code::kInternal, "{} is DuckDB {}, but {} is required", library_path, version,
                      kDuckdbVersion);
  }
  return std::shared_ptr<const DuckdbApi>(std::move(api));
}

}  // namespace duckicelake::engine
