// SPDX-License-Identifier: Apache-2.0
#include "rest/path.h"

#include <algorithm>

#include "net/url.h"

namespace duckicelake::rest {
namespace {

constexpr char kUnitSeparator = '\x1F';

}  // namespace

std::optional<RawPath> split_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return std::nullopt;
  RawPath out;
  std::size_t begin = 1;
  while (true) {
    const std::size_t end = path.find('/', begin);
    const std::string_view segment =
        path.substr(begin, end == std::string_view::npos ? end : end - begin);
    if (segment.empty() || segment == "." || segment == ".." || out.count == kMaxSegments) {
      return std::nullopt;
    }
    out.segments[out.count++] = segment;
    if (end == std::string_view::npos) return out;
    begin = end + 1;
  }
}

PlusSign plus_sign_of(std::string_view x_client_version) {
  return x_client_version.starts_with("Apache Iceberg ") ? PlusSign::kSpace : PlusSign::kLiteral;
}

Result<std::string> decode_name(std::string_view raw, PlusSign plus) {
  // A byte takes at most three characters.
  if (raw.size() > 3 * kMaxNameBytes) return invalid_argument("a name in the path is too long");
  Result<std::string> name =
      plus == PlusSign::kSpace ? net::decode_query_component(raw) : net::decode_segment(raw);
  if (name.has_value() && name->size() > kMaxNameBytes) {
    return invalid_argument("a name in the path is longer than {} bytes", kMaxNameBytes);
  }
  return name;
}

Result<catalog::Levels> split_levels(std::string_view decoded) {
  catalog::Levels levels;
  levels.reserve(
      1 + static_cast<std::size_t>(std::count(decoded.begin(), decoded.end(), kUnitSeparator)));
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = decoded.find(kUnitSeparator, begin);
    levels.emplace_back(decoded.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (levels.back().empty()) {
      return Error(Code::kNoSuchNamespace, "Namespace does not exist: a level is empty");
    }
    if (end == std::string_view::npos) return levels;
    begin = end + 1;
  }
}

}  // namespace duckicelake::rest
