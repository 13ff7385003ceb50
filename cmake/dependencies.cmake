# SPDX-License-Identifier: Apache-2.0
# Third-party libraries. Debian packages by find_package / pkg-config; DuckDB and CRoaring from DIL_DEPS_DIR.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
add_library(dil_expected INTERFACE)
target_link_libraries(dil_expected INTERFACE tl::expected)
add_library(dil::expected ALIAS dil_expected)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(OpenSSL 3.0 REQUIRED)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PostgreSQL REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_package(mimalloc 2.0 REQUIRED)
find_library(DIL_SNAPPY snappy REQUIRED)
find_library(DIL_PUGIXML pugixml REQUIRED)

if(EXISTS "${DIL_DEPS_DIR}/croaring/roaring.c")
  add_library(dil_croaring_build STATIC "${DIL_DEPS_DIR}/croaring/roaring.c")
  target_include_directories(dil_croaring_build SYSTEM PUBLIC "${DIL_DEPS_DIR}/croaring")
  target_compile_options(dil_croaring_build PRIVATE -w -O2)
  add_library(dil::croaring ALIAS dil_croaring_build)
endif()

add_library(dil_duckdb SHARED IMPORTED GLOBAL)
set_target_properties(dil_duckdb PROPERTIES
  IMPORTED_LOCATION "${DIL_DEPS_DIR}/duckdb/lib/libduckdb.so"
  INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${DIL_DEPS_DIR}/duckdb/include")
