// SPDX-License-Identifier: Apache-2.0
#include "rest/page_token.h"

#include "base/bytes.h"
#include "sign/hash.h"

namespace duckicelake::rest {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kHeadBytes = 2 + kTagBytes;
constexpr std::size_t kMaxTokenBytes = 8 * 1024;

}  // namespace

std::string PageTokens::tag(Listing listing, const std::vector<std::string>& levels,
                            std::string_view after) const {
  std::string text = "page-token";
  text.push_back(kVersion);
  text.push_back(static_cast<char>(listing));
  // Lengths first: no two inputs read the same.
  append_big_endian(text, static_cast<std::uint32_t>(levels.size()));
  for (const std::string& level : levels) {
    append_big_endian(text, static_cast<std::uint32_t>(level.size()));
    text.append(level);
  }
  text.append(after);
  return sign::hmac_sha256(key_.reveal(), text).substr(0, kTagBytes);
}

std::string PageTokens::make(Listing listing, const std::vector<std::string>& levels,
                             std::string_view after) const {
  std::string bytes;
  bytes.push_back(kVersion);
  bytes.push_back(static_cast<char>(listing));
  bytes.append(tag(listing, levels, after));
  bytes.append(after);
  return to_base64url(bytes);
}

Result<std::string> PageTokens::read(Listing listing, const std::vector<std::string>& levels,
                                     std::string_view token) const {
  const auto refuse = [] { return invalid_argument("pageToken was not made for this listing"); };
  if (token.size() > kMaxTokenBytes) return refuse();
  Result<std::string> bytes = from_base64url(token);
  if (!bytes.has_value() || bytes->size() < kHeadBytes) return refuse();
  if (to_base64url(*bytes) != token) return refuse();  // one spelling only
  if ((*bytes)[0] != kVersion || (*bytes)[1] != static_cast<char>(listing)) return refuse();
  std::string after = bytes->substr(kHeadBytes);
  if (!Secret(tag(listing, levels, after)).equals(std::string_view(*bytes).substr(2, kTagBytes))) {
    return refuse();
  }
  return after;
}

}  // namespace duckicelake::rest
