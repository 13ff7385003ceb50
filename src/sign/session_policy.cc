// SPDX-License-Identifier: Apache-2.0
#include "sign/session_policy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace duckicelake::sign {
namespace {

// HEAD is GetObject too. GetObjectVersion, which "?versionId=null" asks for even where nothing is
// versioned, is another action and absent on purpose.
constexpr std::array<std::string_view, 1> kReadActions = {"s3:GetObject"};
constexpr std::array<std::string_view, 3> kWriteActions = {
    "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"};
constexpr std::array<std::string_view, 1> kListActions = {"s3:ListBucket"};
constexpr std::array<std::string_view, 1> kAllActions = {"s3:*"};

constexpr std::size_t kMaxKeyBytes = 1024;

std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto first = static_cast<unsigned char>(text[i++]);
  if (first < 0x80) return first;
  int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  std::uint32_t point = first & (0x3FU >> more);
  for (; more > 0; --more) {
    point = point << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
  }
  return point;
}

void append_escape(std::string& out, std::uint32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(kDigits[unit >> shift & 15U]);
}

// IAM takes characters up to U+00FF only, so the rest goes as escapes. Pre-condition: UTF-8.
void append_ascii_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t point = next_code_point(text, i);
    if (point == '"' || point == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(point));
    } else if (point >= 0x20 && point < 0x7F) {
      out.push_back(static_cast<char>(point));
    } else if (point < 0x10000) {
      append_escape(out, point);
    } else {
      append_escape(out, 0xD800 + ((point - 0x10000) >> 10));
      append_escape(out, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  out.push_back('"');
}

void append_strings(std::string& out, std::string_view name, auto&& texts) {
  append_ascii_string(out, name);
  out.append(":[");
  bool is_first = true;
  for (const auto& text : texts) {
    if (!is_first) out.push_back(',');
    is_first = false;
    append_ascii_string(out, text);
  }
  out.push_back(']');
}

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

bool is_wildcard(char c) { return c == '*' || c == '?' || c == '$'; }

Result<std::string> literal(std::string_view key, Wildcards wildcards) {
  std::string out;
  out.reserve(key.size());
  for (char c : key) {
    if (!is_wildcard(c)) {
      out.push_back(c);
    } else if (wildcards == Wildcards::kEscape) {
      out.append("${").append(1, c).append("}");
    } else {
      return invalid_argument("a name with '{}' cannot be told from a pattern by the store", c);
    }
  }
  return out;
}

Status check_prefix(std::string_view prefix) {
  if (!prefix.ends_with('/')) return invalid_argument("a prefix must end in '/'");
  return check_plain_key(prefix.substr(0, prefix.size() - 1));
}

using Names = std::vector<std::string>;

void sort_unique(Names& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool is_below(std::string_view key, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return key.starts_with(prefix); });
}

// Sorted, and without what lies below another one.
Result<Names> normal_prefixes(const Names& given) {
  Names sorted = given;
  sort_unique(sorted);
  Names out;
  for (std::string& prefix : sorted) {
    DIL_CHECK_OK(check_prefix(prefix));
    // Sorted: what holds it came just before.
    if (out.empty() || !prefix.starts_with(out.back())) out.push_back(std::move(prefix));
  }
  return out;
}

class Composer {
 public:
  Composer(const SessionScope& scope, const PolicyOptions& options)
      : scope_(scope), options_(options) {}

  Result<std::string> compose(const Names& read_prefixes, const Names& read_keys,
                              const Names& write_prefixes, const Names& denied) {
    text_ = R"({"Version":"2012-10-17","Statement":[)";
    is_first_ = true;
    Names readable, writable, forbidden, listed, hidden;
    for (const std::string& prefix : read_prefixes) {
      DIL_TRY(std::string name, literal(prefix, options_.wildcards));
      readable.push_back(object_arn(name + "*"));
      // A listing above a denied prefix would show the names in it.
      const bool shows_denied = std::any_of(denied.begin(), denied.end(), [&](const auto& one) {
        return one.starts_with(prefix) || prefix.starts_with(one);
      });
      if (!shows_denied) listed.push_back(name + "*");
    }
    for (const std::string& key : read_keys) {
      DIL_TRY(const std::string name, literal(key, options_.wildcards));
      readable.push_back(object_arn(name));
    }
    for (const std::string& prefix : write_prefixes) {
      DIL_TRY(const std::string name, literal(prefix, options_.wildcards));
      writable.push_back(object_arn(name + "*"));
    }
    for (const std::string& prefix : denied) {
      DIL_TRY(const std::string name, literal(prefix, options_.wildcards));
      forbidden.push_back(object_arn(name + "*"));
      hidden.push_back(name + "*");
    }
    if (!readable.empty()) statement("Allow", kReadActions, readable, {});
    if (!writable.empty()) statement("Allow", kWriteActions, writable, {});
    if (!listed.empty()) statement("Allow", kListActions, {bucket_arn()}, listed);
    if (!forbidden.empty()) {
      statement("Deny", kAllActions, forbidden, {});
      statement("Deny", kListActions, {bucket_arn()}, hidden);
    }
    text_.append("]}");
    return std::move(text_);
  }

 private:
  std::string bucket_arn() const { return "arn:" + options_.partition + ":s3:::" + scope_.bucket; }
  std::string object_arn(const std::string& name) const { return bucket_arn() + "/" + name; }

  void statement(std::string_view effect, std::span<const std::string_view> actions,
                 const Names& resources, const Names& listed_prefixes) {
    if (!is_first_) text_.push_back(',');
    is_first_ = false;
    text_.append(R"({"Effect":)");
    append_ascii_string(text_, effect);
    text_.push_back(',');
    append_strings(text_, "Action", actions);
    text_.push_back(',');
    append_strings(text_, "Resource", resources);
    if (!listed_prefixes.empty()) {
      text_.append(R"(,"Condition":{"StringLike":{)");
      append_strings(text_, "s3:prefix", listed_prefixes);
      text_.append("}}");
    }
    text_.push_back('}');
  }

  const SessionScope& scope_;
  const PolicyOptions& options_;
  std::string text_;
  bool is_first_ = true;
};

bool is_partition(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

Status check_plain_key(std::string_view key) {
  if (key.empty() || key.size() > kMaxKeyBytes) return invalid_argument("no key has this length");
  if (!is_valid_utf8(key)) return invalid_argument("a key must be UTF-8");
  for (char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return invalid_argument("a key with a control character");
    // Some stores take it for '/'.
    if (c == '\\') return invalid_argument("a key with '\\'");
  }
  while (true) {
    const std::size_t slash = std::min(key.find('/'), key.size());
    const std::string_view segment = key.substr(0, slash);
    // Some stores resolve these, and another object is meant.
    if (segment.empty() || segment == "." || segment == "..") {
      return invalid_argument("a key with an empty or dotted segment");
    }
    if (slash == key.size()) return {};
    key.remove_prefix(slash + 1);
  }
}

Result<SessionPolicy> session_policy(const SessionScope& scope, const PolicyOptions& options) {
  if (!is_bucket(scope.bucket)) return invalid_argument("malformed bucket name");
  if (!is_partition(options.partition)) return invalid_argument("malformed ARN partition");
  DIL_TRY(const Names prefixes, normal_prefixes(scope.read_prefixes));
  DIL_TRY(const Names writable, normal_prefixes(scope.write_prefixes));
  DIL_TRY(const Names denied, normal_prefixes(scope.denied_prefixes));
  Names keys = scope.read_keys;
  sort_unique(keys);
  for (const std::string& key : keys) DIL_CHECK_OK(check_plain_key(key));
  std::erase_if(keys, [&](const std::string& key) { return is_below(key, prefixes); });
  if (prefixes.empty() && keys.empty() && writable.empty()) {
    return invalid_argument("a policy that allows nothing");
  }

  SessionPolicy out;
  if (!options.prefers_wider || keys.empty()) {
    DIL_TRY(out.text, Composer(scope, options).compose(prefixes, keys, writable, denied));
    if (out.text.size() <= options.max_bytes) return out;
  }
  if (!keys.empty() && !scope.wider_prefixes.empty()) {
    Names all = scope.read_prefixes;
    all.insert(all.end(), scope.wider_prefixes.begin(), scope.wider_prefixes.end());
    DIL_TRY(const Names wider, normal_prefixes(all));
    // They have to cover every key, or some file could not be read.
    std::erase_if(keys, [&](const std::string& key) { return is_below(key, wider); });
    DIL_TRY(out.text, Composer(scope, options).compose(wider, keys, writable, denied));
    out.is_widened = true;
    if (out.text.size() <= options.max_bytes) return out;
  }
  return make_error(Code::kPayloadTooLarge,
                    "the keys' policy would be larger than the {} bytes that can be sent",
                    options.max_bytes);
}

}  // namespace duckicelake::sign
