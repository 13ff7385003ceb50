// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sign/session_policy.h"

// What the texts of session policies and of bucket policies have in common.
namespace duckicelake::sign {

// HEAD is GetObject too. GetObjectVersion, which "?versionId=null" asks for even where nothing is
// versioned, is another action and absent on purpose.
inline constexpr std::array<std::string_view, 1> kReadActions = {"s3:GetObject"};
inline constexpr std::array<std::string_view, 3> kWriteActions = {
    "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"};
inline constexpr std::array<std::string_view, 1> kListActions = {"s3:ListBucket"};
inline constexpr std::array<std::string_view, 1> kAllActions = {"s3:*"};

using PolicyNames = std::vector<std::string>;

// A JSON string in ASCII: IAM takes characters up to U+00FF only, so the rest goes as escapes.
// Pre-condition: UTF-8.
void append_ascii_string(std::string& out, std::string_view text);
// "name":["a","b"]
void append_strings(std::string& out, std::string_view name, std::span<const std::string> texts);
void append_strings(std::string& out, std::string_view name,
                    std::span<const std::string_view> texts);

bool is_bucket(std::string_view name);
bool is_partition(std::string_view name);
bool is_below(std::string_view key, const PolicyNames& prefixes);
void sort_unique(PolicyNames& names);

// A key as a pattern that matches it alone. kInvalidArgument: see Wildcards.
Result<std::string> literal(std::string_view key, Wildcards wildcards);
// Sorted, and without what lies below another one. kInvalidArgument as of session_policy.
Result<PolicyNames> normal_prefixes(const PolicyNames& given);

}  // namespace duckicelake::sign
