// SPDX-License-Identifier: Apache-2.0
// URL and query decoding: whatever decodes must survive encoding and decoding again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/gzip.h"
#include "net/url.h"

namespace {

using namespace duckicelake::net;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_path(std::string_view path) {
  auto segments = decode_path(path);
  if (!segments.has_value()) return;
  check(segments->size() <= kMaxPathSegments);
  std::string again;
  for (const std::string& segment : *segments) {
    check(!segment.empty() && segment != "." && segment != "..");
    check(segment.find('\0') == std::string::npos);
    again.append("/").append(encode_component(segment));
  }
  if (again.empty()) again = "/";
  auto reparsed = decode_path(again);
  check(reparsed.has_value() && *reparsed == *segments);
}

void fuzz_query(std::string_view query) {
  auto pairs = parse_query(query);
  if (!pairs.has_value()) return;
  check(pairs->size() <= QueryLimits().max_pairs);
  std::string again;
  for (const auto& [name, value] : *pairs) {
    again.append("&").append(encode_component(name)).append("=").append(encode_component(value));
  }
  QueryLimits limits;
  limits.max_bytes = again.size();
  auto reparsed = parse_query(again, limits);
  check(reparsed.has_value() && *reparsed == *pairs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  SplitTarget target = split_target(input);
  check(target.path.size() + target.query.size() + (target.has_query ? 1 : 0) == size);
  fuzz_path(target.path);
  fuzz_query(target.query);
  fuzz_query(input);
  accepts_gzip(input);
  std::string encoded = encode_component(input);
  auto decoded = decode_segment(encoded);
  if (decoded.has_value()) check(*decoded == input);
  return 0;
}
