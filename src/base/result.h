// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace duckicelake {

// A value or an Error. Derived so that the type itself is [[nodiscard]]: neither tl::expected nor
// std::expected is, and a dropped check must not become "allowed".
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}  // NOLINT
};

template <>
class [[nodiscard]] Result<void> : public tl::expected<void, Error> {
 public:
  using tl::expected<void, Error>::expected;
  Result(Error error) : tl::expected<void, Error>(tl::unexpect, std::move(error)) {}  // NOLINT
};

using Status = Result<void>;

// make_error(Code::kNoSuchTable, "no table {}", name)
template <class... Args>
Error make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error(code, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
Error invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace duckicelake

#define DIL_CONCAT_INNER(a, b) a##b
#define DIL_CONCAT(a, b) DIL_CONCAT_INNER(a, b)

#define DIL_TRY_IMPL(temp, declaration, expression)      \
  auto temp = (expression);                              \
  if (!temp.has_value()) return std::move(temp).error(); \
  declaration = std::move(*temp)

// DIL_TRY(auto x, f()): declares x from the value of f(), or returns its Error from this function.
#define DIL_TRY(declaration, expression) \
  DIL_TRY_IMPL(DIL_CONCAT(dil_try_, __COUNTER__), declaration, expression)

// DIL_CHECK_OK(f()): returns the Error of f() from this function, if it has one.
#define DIL_CHECK_OK(expression)                                 \
  do {                                                           \
    if (auto dil_status = (expression); !dil_status.has_value()) \
      return std::move(dil_status).error();                      \
  } while (false)

// A broken invariant ends the process, in release builds too: going on could corrupt data.
#define DIL_ASSERT(condition)                                                          \
  do {                                                                                 \
    if (!(condition)) ::duckicelake::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (false)

namespace duckicelake {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace duckicelake
