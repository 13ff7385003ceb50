// SPDX-License-Identifier: Apache-2.0
#include "sign/bucket_policy.h"

#include <algorithm>
#include <map>
#include <span>

#include "json/value.h"
#include "json/writer.h"
#include "sign/policy_text.h"

namespace duckicelake::sign {
namespace {

constexpr std::string_view kVersion = "2012-10-17";
constexpr std::size_t kMaxPrincipal = 512;

// What no static key may do, by whatever means it would be allowed. Patterns, for stores differ in
// what they know; none of them meets an action that keys need.
constexpr std::array<std::string_view, 8> kNeverOnObjects = {
    "s3:Delete*",        "s3:GetObjectVersion*",        "s3:*ObjectAcl",
    "s3:*ObjectTagging", "s3:PutObjectRetention",       "s3:PutObjectLegalHold",
    "s3:RestoreObject",  "s3:BypassGovernanceRetention"};
constexpr std::array<std::string_view, 8> kNeverOnBucket = {
    "s3:PutBucket*",        "s3:DeleteBucket*",
    "s3:Put*Configuration", "s3:GetBucketPolicy*",
    "s3:GetBucketAcl",      "s3:ListBucketVersions",
    "s3:CreateBucket",      "s3:ListBucketMultipartUploads"};
// kWriteActions without the harmless one.
constexpr std::array<std::string_view, 2> kChangeActions = {"s3:PutObject",
                                                            "s3:AbortMultipartUpload"};

Status check_principal(std::string_view name) {
  const bool is_fit = !name.empty() && name.size() <= kMaxPrincipal &&
                      std::all_of(name.begin(), name.end(), [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') ||
                               std::string_view("+=,.@_:/-").find(c) != std::string_view::npos;
                      });
  if (is_fit) return {};
  return invalid_argument("\"{}\" cannot stand for one user in a policy", name);
}

// A scope in one form, so that equal ones are found.
struct PlainScope {
  PolicyNames prefixes;
  PolicyNames keys;
  PolicyNames writable;
  friend auto operator<=>(const PlainScope&, const PlainScope&) = default;
};

Result<PlainScope> plain(const SessionScope& scope) {
  PlainScope out;
  DIL_TRY(out.prefixes, normal_prefixes(scope.read_prefixes));
  DIL_TRY(out.writable, normal_prefixes(scope.write_prefixes));
  out.keys = scope.read_keys;
  sort_unique(out.keys);
  for (const std::string& key : out.keys) DIL_CHECK_OK(check_plain_key(key));
  std::erase_if(out.keys, [&](const std::string& key) { return is_below(key, out.prefixes); });
  return out;
}

class Composer {
 public:
  explicit Composer(const BucketPolicyOptions& options) : options_(options) {}

  Status add(const PlainScope& scope, const PolicyNames& principals) {
    ++number_;
    principals_ = &principals;
    PolicyNames readable, listed, writable;
    for (const std::string& prefix : scope.prefixes) {
      DIL_TRY(const std::string name, literal(prefix, options_.wildcards));
      readable.push_back(object_arn(name + "*"));
      listed.push_back(name + "*");
    }
    for (const std::string& key : scope.keys) {
      DIL_TRY(const std::string name, literal(key, options_.wildcards));
      readable.push_back(object_arn(name));
    }
    for (const std::string& prefix : scope.writable) {
      DIL_TRY(const std::string name, literal(prefix, options_.wildcards));
      writable.push_back(object_arn(name + "*"));
    }
    if (!readable.empty()) say("Read", "Allow", kReadActions, "Resource", readable);
    if (!writable.empty()) say("Write", "Allow", kWriteActions, "Resource", writable);
    if (!listed.empty()) {
      say("List", "Allow", kListActions, "Resource", {bucket_arn()}, "StringLike", listed);
    }
    if (options_.deny == DenyForm::kOthers) deny_others(readable, writable, listed);
    return {};
  }

  void deny_never(const PolicyNames& principals) {
    number_ = 0;
    principals_ = &principals;
    say("Never", "Deny", kNeverOnObjects, "Resource", {object_arn("*")});
    say("NeverOnBucket", "Deny", kNeverOnBucket, "Resource", {bucket_arn()});
  }

  std::vector<std::string> take() { return std::move(out_); }

 private:
  std::string bucket_arn() const {
    return "arn:" + options_.partition + ":s3:::" + options_.bucket;
  }
  std::string object_arn(const std::string& name) const { return bucket_arn() + "/" + name; }

  void deny_others(const PolicyNames& readable, const PolicyNames& writable,
                   const PolicyNames& listed) {
    if (readable.empty() && writable.empty()) {
      say("All", "Deny", kAllActions, "Resource", {bucket_arn(), object_arn("*")});
      return;
    }
    PolicyNames own = readable;
    own.insert(own.end(), writable.begin(), writable.end());
    sort_unique(own);
    own.push_back(bucket_arn());
    say("Others", "Deny", kAllActions, "NotResource", own);
    if (listed.empty()) {
      say("OtherLists", "Deny", kListActions, "Resource", {bucket_arn()});
    } else {
      // Also a listing without a prefix: a negated condition holds where there is nothing.
      say("OtherLists", "Deny", kListActions, "Resource", {bucket_arn()}, "StringNotLike", listed);
    }
    if (writable.empty()) {
      say("Writes", "Deny", kChangeActions, "Resource", {object_arn("*")});
    } else {
      say("OtherWrites", "Deny", kChangeActions, "NotResource", writable);
    }
  }

  void say(std::string_view what, std::string_view effect,
           std::span<const std::string_view> actions, std::string_view which,
           const PolicyNames& resources, std::string_view condition = {},
           const PolicyNames& prefixes = {}) {
    std::string& text = out_.emplace_back(R"({"Sid":)");
    append_ascii_string(text, fmt::format("{}{}{}", options_.sid, what,
                                          number_ == 0 ? "" : std::to_string(number_)));
    text.append(R"(,"Effect":)");
    append_ascii_string(text, effect);
    text.append(R"(,"Principal":{)");
    append_strings(text, "AWS", *principals_);
    text.append("},");
    append_strings(text, "Action", actions);
    text.push_back(',');
    append_strings(text, which, resources);
    if (!condition.empty()) {
      text.append(R"(,"Condition":{)");
      append_ascii_string(text, condition);
      text.append(":{");
      append_strings(text, "s3:prefix", prefixes);
      text.append("}}");
    }
    text.push_back('}');
  }

  const BucketPolicyOptions& options_;
  std::vector<std::string> out_;
  const PolicyNames* principals_ = nullptr;
  std::size_t number_ = 0;
};

Error no_policy(std::string_view why) {
  return make_error(Code::kUnsupported, "the bucket's policy is not understood: {}", why);
}

// A policy of any origin. The Document must be kept.
Result<std::vector<json::Value>> statements_of(const json::Document& document) {
  const auto root = document.root_object();
  if (!root) return no_policy(root.error().message());
  const auto member = root->find("Statement");
  if (!member) return no_policy("it has no statements");
  std::vector<json::Value> out;
  if (member->kind() == json::Kind::kObject) {
    out.push_back(*member);
  } else {
    const auto list = member->as_array();
    if (!list) return no_policy(list.error().message());
    for (const json::Value one : *list) out.push_back(one);
  }
  for (const json::Value& one : out) {
    if (one.kind() != json::Kind::kObject) return no_policy("a statement is no object");
  }
  return out;
}

bool is_ours(const json::Value& statement, std::string_view sid) {
  const auto members = statement.as_object();
  if (!members) return false;
  const auto found = members->find("Sid");
  if (!found) return false;
  const auto text = found->as_string();
  return text && text->starts_with(sid);
}

// One text for all ways to write the same: members and elements in order, a single element alone.
std::string canonical(const json::Value& value) {
  if (value.kind() == json::Kind::kArray) {
    const auto list = value.as_array();
    std::vector<std::string> texts;
    for (const json::Value one : *list) texts.push_back(canonical(one));
    if (texts.size() == 1) return texts.front();
    std::sort(texts.begin(), texts.end());
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  if (value.kind() == json::Kind::kObject) {
    const auto members = value.as_object();
    std::vector<std::string> texts;
    for (const json::Member member : *members) {
      std::string text;
      json::append_string(text, member.name);
      texts.push_back(text + ":" + canonical(member.value));
    }
    std::sort(texts.begin(), texts.end());
    return "{" + fmt::format("{}", fmt::join(texts, ",")) + "}";
  }
  return value.to_text();
}

}  // namespace

Result<std::vector<std::string>> key_statements(const std::vector<KeyGrant>& grants,
                                                const BucketPolicyOptions& options) {
  if (!is_bucket(options.bucket)) return invalid_argument("malformed bucket name");
  if (!is_partition(options.partition)) return invalid_argument("malformed ARN partition");
  std::map<PlainScope, PolicyNames> groups;
  PolicyNames all;
  for (const KeyGrant& grant : grants) {
    DIL_CHECK_OK(check_principal(grant.principal));
    DIL_TRY(PlainScope scope, plain(grant.scope));
    groups[std::move(scope)].push_back(grant.principal);
    all.push_back(grant.principal);
  }
  sort_unique(all);
  if (all.size() != grants.size()) {
    return invalid_argument("two static keys are those of one user of the store");
  }
  if (all.empty()) return std::vector<std::string>();
  Composer composer(options);
  for (auto& [scope, principals] : groups) {
    std::sort(principals.begin(), principals.end());
    DIL_CHECK_OK(composer.add(scope, principals));
  }
  composer.deny_never(all);
  return composer.take();
}

Result<std::string> merge_statements(std::string_view policy,
                                     const std::vector<std::string>& statements,
                                     std::string_view sid, std::size_t max_bytes) {
  std::string out;
  json::Writer json(out);
  json.begin_object();
  json.member("Version", kVersion);
  std::vector<std::string> all;
  std::size_t foreign_bytes = 0;
  if (!policy.empty()) {
    const auto document = json::Document::parse(policy);
    if (!document) return no_policy(document.error().message());
    DIL_TRY(const std::vector<json::Value> found, statements_of(*document));
    for (const json::Value& one : found) {
      if (is_ours(one, sid)) continue;
      foreign_bytes += all.emplace_back(one.to_text()).size();
    }
    const auto root = document->root_object();
    for (const json::Member member : *root) {
      if (member.name == "Statement") continue;
      if (member.name != "Version") {
        if (!all.empty()) json.member_raw(member.name, member.value.to_text());
        continue;
      }
      // Variables in what is not ours would begin to mean something.
      const auto version = member.value.as_string();
      if (!all.empty() && (!version || *version != kVersion)) {
        return no_policy(
            fmt::format("others have statements in it, and its version is not {}", kVersion));
      }
    }
    if (!all.empty() && !root->has("Version")) {
      return no_policy("others have statements in it, and it has no version");
    }
  }
  all.insert(all.end(), statements.begin(), statements.end());
  if (all.empty()) return std::string();
  json.key("Statement");
  json.begin_array();
  for (const std::string& one : all) json.raw(one);
  json.end_array();
  json.end_object();
  if (out.size() > max_bytes) {
    return make_error(
        Code::kPayloadTooLarge,
        "the bucket's policy would have {} bytes ({} of them in statements of others), "
        "and {} is all that a store takes",
        out.size(), foreign_bytes, max_bytes);
  }
  return out;
}

Result<bool> has_statements(std::string_view policy, const std::vector<std::string>& statements,
                            std::string_view sid) {
  std::vector<std::string> found, wanted;
  if (!policy.empty()) {
    const auto document = json::Document::parse(policy);
    if (!document) return no_policy(document.error().message());
    DIL_TRY(const std::vector<json::Value> there, statements_of(*document));
    for (const json::Value& one : there) {
      if (is_ours(one, sid)) found.push_back(canonical(one));
    }
  }
  for (const std::string& one : statements) {
    DIL_TRY(const json::Document document, json::Document::parse(one));
    wanted.push_back(canonical(document.root()));
  }
  std::sort(found.begin(), found.end());
  std::sort(wanted.begin(), wanted.end());
  return found == wanted;
}

}  // namespace duckicelake::sign
