// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sign/session_policy.h"

// The part of a bucket's policy that keeps static keys to what their principals may do. Others have
// statements in the same policy; ours are known by how their Sid begins.
namespace duckicelake::sign {

// What one of the store's users may do; of the scope the bucket, what is denied and what is wider
// do not count.
struct KeyGrant {
  std::string principal;  // as the store names him in policies
  SessionScope scope;     // empty: nothing at all
};

// How a policy keeps a user from the rest.
enum class DenyForm {
  // Everything beside his own is denied (NotResource, StringNotLike): also what he would be allowed
  // by other means.
  kOthers,
  // Only what nobody may do (delete, versions, policies) is denied: for stores that do not know
  // NotResource. He must not be allowed anything by other means.
  kActions,
};

struct BucketPolicyOptions {
  std::string bucket;
  std::string sid;  // letters and digits; how the Sids of ours begin
  Wildcards wildcards = Wildcards::kRefuse;
  std::string partition = "aws";
  DenyForm deny = DenyForm::kOthers;
};

inline constexpr std::size_t kMaxBucketPolicyBytes = 20480;

// Statements (JSON objects, ASCII), the same for the same grants in any order. Principals that may
// do the same share theirs. kInvalidArgument as of session_policy, for a principal that a store
// could read as a pattern, and for one that has two grants.
Result<std::vector<std::string>> key_statements(const std::vector<KeyGrant>& grants,
                                                const BucketPolicyOptions& options);

// The policy of the bucket (empty: none) with these statements in the place of the earlier ones of
// ours; what is not ours stays. Empty: nothing is left to say. kUnsupported: a policy that cannot
// be kept as it is meant; kPayloadTooLarge.
Result<std::string> merge_statements(std::string_view policy,
                                     const std::vector<std::string>& statements,
                                     std::string_view sid,
                                     std::size_t max_bytes = kMaxBucketPolicyBytes);

// Whether these are the statements of ours in the policy (empty: none), however the store writes
// them. kUnsupported: no policy.
Result<bool> has_statements(std::string_view policy, const std::vector<std::string>& statements,
                            std::string_view sid);

}  // namespace duckicelake::sign
