// SPDX-License-Identifier: Apache-2.0
#include "sign/session_policy.h"

#include <algorithm>
#include <span>

#include "sign/policy_text.h"

namespace duckicelake::sign {
namespace {

using Names = PolicyNames;

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

}  // namespace

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
