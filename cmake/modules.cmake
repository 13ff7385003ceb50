# SPDX-License-Identifier: Apache-2.0
# add_module(<name> [PUBLIC <libs>...] [PRIVATE <libs>...] [TEST_LIBS <libs>...])
#
# Makes the static library dil_<name> of src/<name>/*.cc and, when there are *_test.cc files, the test
# binary <name>_test. PUBLIC: what the headers of the module include; PRIVATE: what only its .cc need.
include(GoogleTest)
find_package(GTest REQUIRED)

function(add_module name)
  cmake_parse_arguments(M "" "" "PUBLIC;PRIVATE;TEST_LIBS" ${ARGN})
  set(dir "${CMAKE_CURRENT_SOURCE_DIR}")
  file(GLOB sources CONFIGURE_DEPENDS "${dir}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  add_library(dil_${name} STATIC ${sources})
  target_include_directories(dil_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(dil_${name} PUBLIC ${M_PUBLIC} PRIVATE dil_warnings ${M_PRIVATE})
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE dil_${name} dil_warnings ${M_TEST_LIBS} GTest::gtest
                          GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE DIL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME ${name} COMMAND ${name}_test)
    set_property(GLOBAL APPEND PROPERTY DIL_TEST_TARGETS ${name}_test)
  endif()
endfunction()
