// SPDX-License-Identifier: Apache-2.0
#include "iceberg/reserved_names.h"

#include <algorithm>
#include <array>

#include "iceberg/ascii.h"

namespace duckicelake::iceberg {
namespace {

constexpr std::string_view kServerProperties = "duckicelake.";
constexpr std::array<std::string_view, 2> kReservedPrefixes = {"__mask_", "__masked_"};
constexpr std::array<std::string_view, 9> kMetadataProperties = {
    kFormatVersionProperty,     "uuid",
    "snapshot-count",           "current-snapshot-id",
    "current-snapshot-summary", "current-snapshot-timestamp-ms",
    "current-schema",           "default-partition-spec",
    "default-sort-order"};

}  // namespace

bool is_reserved_name(std::string_view name) {
  return std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(),
                     [&](std::string_view prefix) {
                       return lower_ascii(name.substr(0, prefix.size())) == prefix;
                     });
}

Status check_unreserved_name(std::string_view what, std::string_view name) {
  if (!is_reserved_name(name)) return {};
  return invalid_argument(
      "{} names that begin with __mask_ or __masked_ are reserved for the server", what);
}

bool is_server_property(std::string_view key) {
  return lower_ascii(key.substr(0, kServerProperties.size())) == kServerProperties;
}

bool is_metadata_property(std::string_view key) {
  return std::find(kMetadataProperties.begin(), kMetadataProperties.end(), key) !=
         kMetadataProperties.end();
}

}  // namespace duckicelake::iceberg
