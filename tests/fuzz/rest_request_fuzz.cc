// SPDX-License-Identifier: Apache-2.0
// What the REST layer reads out of a request by itself: path segments, names, namespaces of several
// levels, page tokens and If-None-Match.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "net/url.h"
#include "rest/page_token.h"
#include "rest/path.h"
#include "rest/table_answer.h"

namespace {

using namespace duckicelake;
using rest::Listing;
using rest::PlusSign;

constexpr std::string_view kSeparator = "\x1F";

void check(bool condition) {
  if (!condition) __builtin_trap();
}

void fuzz_path(std::string_view input) {
  const auto path = rest::split_path(input);
  if (!path) return;
  check(path->count > 0 && path->count <= rest::kMaxSegments);
  std::string again;
  for (std::size_t i = 0; i < path->count; ++i) {
    const std::string_view segment = path->segments[i];
    check(!segment.empty() && segment != "." && segment != "..");
    check(segment.find('/') == std::string_view::npos);
    again.append("/").append(segment);
  }
  check(again == input);
}

void fuzz_name(std::string_view input) {
  for (const PlusSign plus : {PlusSign::kLiteral, PlusSign::kSpace}) {
    const auto name = rest::decode_name(input, plus);
    if (!name.has_value()) continue;
    check(name->size() <= rest::kMaxNameBytes && name->find('\0') == std::string::npos);
    const auto again = rest::decode_name(net::encode_component(*name), plus);
    check(again.has_value() && *again == *name);
  }
  rest::plus_sign_of(input);
}

void fuzz_levels(std::string_view input) {
  const auto levels = rest::split_levels(input);
  if (!levels.has_value()) return;
  std::string again;
  for (const std::string& level : *levels) {
    check(!level.empty() && level.find(kSeparator) == std::string::npos);
    if (!again.empty()) again.append(kSeparator);
    again.append(level);
  }
  check(again == input);
}

void fuzz_token(std::string_view input) {
  static const rest::PageTokens tokens{Secret("the key of the fuzz target")};
  const std::vector<std::string> levels = {"shop", "eu"};
  // Without the key nobody makes a token that is taken, unless it is one that `make` makes.
  const auto forged = tokens.read(Listing::kTables, levels, input);
  if (forged.has_value()) check(tokens.make(Listing::kTables, levels, *forged) == input);

  if (input.size() > rest::kMaxNameBytes) return;
  const std::string token = tokens.make(Listing::kTables, levels, input);
  const auto name = tokens.read(Listing::kTables, levels, token);
  check(name.has_value() && *name == input);
  check(!tokens.read(Listing::kViews, levels, token).has_value());
  check(!tokens.read(Listing::kTables, {"shop"}, token).has_value());
}

void fuzz_none_match(std::string_view input) {
  rest::none_match_names(input, "tag");
  const bool is_opaque_tag = std::all_of(input.begin(), input.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);  // etagc of RFC 9110 §8.8.3
    return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
  });
  if (!is_opaque_tag) return;
  const std::string ours = std::string(input) + "-0a";  // a tag ends with hexadecimal digits
  const std::string named = "\"" + ours + "\"";
  check(rest::none_match_names(named, ours));
  check(rest::none_match_names(named + " , W/\"tag\"", "tag"));
  check(rest::none_match_names("\"other\"," + named, ours));
  check(rest::none_match_names("\"" + ours + ".gz\"", ours));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  fuzz_path(input);
  fuzz_name(input);
  fuzz_levels(input);
  fuzz_token(input);
  fuzz_none_match(input);
  return 0;
}
