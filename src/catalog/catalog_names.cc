// SPDX-License-Identifier: Apache-2.0
#include "catalog/catalog_names.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxName = 63;  // PostgreSQL's names
constexpr std::size_t kMaxPrefix = 512;
constexpr std::size_t kMaxAccount = 128;

// Segments of routes, now or likely: a catalog of such a name could not be told from them.
constexpr std::array<std::string_view, 18> kReservedIds = {
    "catalogs",   "config", "oauth", "aws",          "admin",     "governance",
    "namespaces", "tables", "views", "transactions", "functions", "metrics",
    "healthz",    "readyz", "docs",  "redoc",        "v1",        "openapi.json"};
constexpr std::array<std::string_view, 3> kReservedSchemas = {"public", "duckicelake",
                                                              "information_schema"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }

template <class Reserved>
bool is_among(std::string_view name, const Reserved& reserved) {
  return std::find(reserved.begin(), reserved.end(), name) != reserved.end();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_segment(std::string_view segment) {
  if (segment.empty() || !is_alphanumeric(segment.front())) return false;
  return std::all_of(segment.begin(), segment.end(), [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '=';
  });
}

}  // namespace

Status check_catalog_id(std::string_view id) {
  const bool is_fit = !id.empty() && id.size() <= kMaxName && is_alphanumeric(id.front()) &&
                      std::all_of(id.begin(), id.end(), [](char c) {
                        return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
                      });
  if (!is_fit) {
    return invalid_argument(
        "catalog_id has to be 1 to {} letters, digits, '_', '-' or '.', a letter or digit first",
        kMaxName);
  }
  if (is_among(lower(id), kReservedIds)) {
    return invalid_argument("catalog_id cannot be \"{}\": routes begin with it", id);
  }
  return {};
}

Status check_metadata_schema(std::string_view schema) {
  const bool is_fit = !schema.empty() && schema.size() <= kMaxName && !is_digit(schema.front()) &&
                      std::all_of(schema.begin(), schema.end(),
                                  [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  if (!is_fit) {
    return invalid_argument(
        "metadata_schema has to be 1 to {} lower-case letters, digits or '_', no digit first",
        kMaxName);
  }
  if (schema.starts_with("pg_") || is_among(schema, kReservedSchemas)) {
    return invalid_argument("metadata_schema cannot be \"{}\"", schema);
  }
  return {};
}

Result<std::string> normal_data_prefix(std::string_view prefix) {
  if (prefix.size() > kMaxPrefix) {
    return invalid_argument("data_prefix is longer than {} bytes", kMaxPrefix);
  }
  std::string_view rest = prefix;
  if (rest.ends_with('/')) rest.remove_suffix(1);
  while (true) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (!is_segment(rest.substr(0, end))) {
      return invalid_argument(
          "data_prefix has to be a folder inside of the bucket, as \"a/b/\": segments of letters, "
          "digits, '_', '-', '.' or '=', each with a letter or digit first");
    }
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  std::string out(prefix);
  if (!out.ends_with('/')) out.push_back('/');
  return out;
}

Status check_account(std::string_view account) {
  const bool is_fit = !account.empty() && account.size() <= kMaxAccount && is_valid_utf8(account) &&
                      std::none_of(account.begin(), account.end(), [](char c) {
                        return static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
                      });
  if (is_fit) return {};
  return invalid_argument("account_id has to be 1 to {} bytes of text without control characters",
                          kMaxAccount);
}

}  // namespace duckicelake::catalog
