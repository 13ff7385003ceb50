// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

namespace duckicelake {

Secret::Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.wipe(); }

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe();
    value_ = other.value_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    value_ = std::move(other.value_);
    other.wipe();
  }
  return *this;
}

Secret::~Secret() { wipe(); }

void Secret::wipe() {
  // volatile: the compiler must not drop stores to memory that is about to be freed.
  volatile char* bytes = value_.data();
  for (std::size_t i = 0; i < value_.size(); ++i) bytes[i] = 0;
  value_.clear();
}

bool Secret::equals(std::string_view other) const {
  if (other.size() != value_.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < other.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (value_[i] ^ other[i]));
  }
  return difference == 0;
}

}  // namespace duckicelake
