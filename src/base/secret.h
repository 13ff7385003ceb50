// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace duckicelake {

// A key, token, password or connection string. It has no stream, format or JSON operator, so it
// cannot reach a log by accident, and its bytes are wiped when it dies. `reveal` marks each use.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  bool empty() const { return value_.empty(); }
  // Valid while this object lives and is not assigned to.
  const std::string& reveal() const { return value_; }
  // Constant time in the content; the length is not hidden.
  bool equals(std::string_view other) const;

 private:
  void wipe();
  std::string value_;
};

}  // namespace duckicelake
