// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "rest/requests.h"

namespace duckicelake::rest {

// The body of an administrator's request: a small object. Its members are written with hyphens; the
// same names with underscores are taken as well.
class Body {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

  static Result<Body> parse(std::string_view text) {
    DIL_TRY(json::Document document, parse_body(text, kMaxBytes));
    DIL_CHECK_OK(document.root_object());
    return Body(std::move(document));
  }
  std::optional<json::Value> find(std::string_view name) const {
    const Result<json::Object> root = document_.root_object();
    if (auto value = root->find(name)) return value;
    std::string other(name);
    std::replace(other.begin(), other.end(), '-', '_');
    return root->find(other);
  }
  Result<std::optional<std::string>> optional_text(std::string_view name) const {
    const std::optional<json::Value> value = find(name);
    if (!value) return std::optional<std::string>();
    DIL_TRY(const std::string_view text, value->as_string());
    return std::optional<std::string>(std::string(text));
  }
  Result<std::string> text(std::string_view name) const {
    DIL_TRY(std::optional<std::string> value, optional_text(name));
    if (!value) return invalid_argument("{} is missing", name);
    return std::move(*value);
  }
  Result<std::optional<bool>> flag(std::string_view name) const {
    const std::optional<json::Value> value = find(name);
    if (!value) return std::optional<bool>();
    DIL_TRY(const bool is_set, value->as_bool());
    return std::optional<bool>(is_set);
  }
  Result<std::optional<std::int64_t>> number(std::string_view name) const {
    const std::optional<json::Value> value = find(name);
    if (!value) return std::optional<std::int64_t>();
    DIL_TRY(const std::int64_t number, value->as_int64());
    return std::optional<std::int64_t>(number);
  }
  // A list, or words separated by spaces.
  Result<std::optional<std::vector<std::string>>> words(std::string_view name) const {
    const std::optional<json::Value> value = find(name);
    if (!value) return std::optional<std::vector<std::string>>();
    std::vector<std::string> out;
    if (value->kind() == json::Kind::kString) {
      DIL_TRY(std::string_view rest, value->as_string());
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(' '), rest.size());
        if (end > 0) out.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    } else {
      DIL_TRY(const json::Array list, value->as_array());
      for (const json::Value one : list) {
        DIL_TRY(const std::string_view text, one.as_string());
        out.emplace_back(text);
      }
    }
    return std::optional<std::vector<std::string>>(std::move(out));
  }

 private:
  explicit Body(json::Document document) : document_(std::move(document)) {}
  json::Document document_;
};

}  // namespace duckicelake::rest
