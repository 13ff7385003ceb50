// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/service.h"

namespace duckicelake::rest {

// The segments of a path between its slashes, still encoded; views into the target.
inline constexpr std::size_t kMaxSegments = 12;
struct RawPath {
  std::array<std::string_view, kMaxSegments> segments;
  std::size_t count = 0;
};
// nullopt: no path of ours could read so (no leading slash, an empty segment, "." or "..", too many
// segments).
std::optional<RawPath> split_path(std::string_view path);

// What a raw '+' in a path segment stands for: itself (RFC 3986), or a space for Iceberg's Java
// client, which encodes path segments as if they were form fields (a plus is always %2B there).
enum class PlusSign : std::uint8_t { kLiteral, kSpace };
PlusSign plus_sign_of(std::string_view x_client_version);

// Decoded exactly once. kInvalidArgument: malformed encoding, NUL, not UTF-8, more than
// kMaxNameBytes.
inline constexpr std::size_t kMaxNameBytes = 1024;
Result<std::string> decode_name(std::string_view raw, PlusSign plus);

// The levels of a decoded namespace parameter, which the unit separator 0x1F joins (it is what the
// advertised namespace-separator "%1F" decodes to). kNoSuchNamespace when a level is empty: no
// namespace reads so.
Result<catalog::Levels> split_levels(std::string_view decoded);

}  // namespace duckicelake::rest
