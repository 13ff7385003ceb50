// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <duckdb.h>

#include <memory>
#include <string>

#include "base/result.h"

// The functions of DuckDB's C API that the engine uses. The deprecated duckdb_value_* family is
// left out on purpose: it crashes on results that mix nested or timestamptz columns with text.
// clang-format off
#define DIL_DUCKDB_FUNCTIONS(X)                                                                    \
  X(library_version)                                                                               \
  X(create_config)                                                                                 \
  X(set_config)                                                                                    \
  X(destroy_config) X(open_ext) X(close) X(connect) X(disconnect) X(interrupt) X(free) X(query)    \
      X(prepare) X(prepare_error) X(destroy_prepare) X(bind_null) X(bind_boolean) X(bind_int64)    \
          X(bind_varchar_length) X(execute_prepared) X(execute_prepared_streaming) X(result_error) \
              X(result_error_type) X(destroy_result) X(column_count) X(column_type) X(fetch_chunk) \
                  X(destroy_data_chunk) X(data_chunk_get_size) X(data_chunk_get_vector)            \
                      X(vector_get_data) X(vector_get_validity) X(list_vector_get_child) X(        \
                          struct_vector_get_child) X(create_logical_type) X(destroy_logical_type)  \
                          X(create_data_chunk) X(data_chunk_reset) X(data_chunk_set_size)          \
                              X(vector_size) X(vector_ensure_validity_writable)                    \
                                  X(validity_set_row_invalid) X(vector_assign_string_element_len)  \
                                      X(appender_create) X(append_data_chunk) X(appender_close)    \
                                          X(appender_destroy) X(appender_error)
// clang-format on

namespace duckicelake::engine {

// The DuckDB release that the extensions and the SQL of this module are pinned to.
inline constexpr const char* kDuckdbVersion = "v1.5.5";

// Entry points of libduckdb, resolved at run time, so that a process which never works on data
// never maps the library. Immutable after load; the library stays mapped until the process ends,
// because its threads and thread-local destructors may outlive any handle.
struct DuckdbApi {
#define DIL_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name = nullptr;
  DIL_DUCKDB_FUNCTIONS(DIL_DUCKDB_MEMBER)
#undef DIL_DUCKDB_MEMBER

  // kInternal when the file is missing, is no DuckDB library, or is of another release than
  // kDuckdbVersion.
  static Result<std::shared_ptr<const DuckdbApi>> load(const std::string& library_path);
};

}  // namespace duckicelake::engine
