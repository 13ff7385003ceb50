# SPDX-License-Identifier: Apache-2.0
# Flags that every target of the project shares.
find_program(DIL_CCACHE ccache)
if(DIL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DIL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${DIL_CCACHE})
endif()
find_program(DIL_MOLD mold)
if(DIL_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=mold)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -gline-tables-only")
else()
  # g++ 12 is the second compiler: it checks, it does not ship; debug information would only cost time.
  set(CMAKE_CXX_FLAGS_DEBUG "-O0")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
if(DIL_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -gline-tables-only")
  add_compile_options(-fsanitize=${DIL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${DIL_SANITIZE})
  if(DIL_FUZZ)
    # Coverage in everything: unit tests run with it too, and the tree is compiled once for both.
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

# Warnings apply to our own code only; third-party headers come in as SYSTEM.
add_library(dil_warnings INTERFACE)
target_compile_options(dil_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of g++ 12 at -O2 in libstdc++ and fmt.
  target_compile_options(dil_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
                         -Wno-stringop-overflow -Wno-array-bounds)
endif()
