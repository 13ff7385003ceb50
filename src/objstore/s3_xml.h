// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "objstore/object_store.h"
#include "objstore/sts.h"

// The XML bodies of S3 and STS. Pure; answers are parsed as hostile input: size-bounded, no DTDs,
// no external entities, unknown elements ignored. A body that is not what it has to be is
// kCorruptData.
namespace duckicelake::objstore {

// Largest XML answer that is read: a full ListObjectsV2 page of 1000 long, percent-encoded keys.
inline constexpr std::size_t kMaxXmlBytes = 8U << 20;

// <Error> of S3 and <ErrorResponse><Error> of STS. Both empty when the body is no such thing.
struct ServiceError {
  std::string code;     // "NoSuchKey"; at most 64 characters of [A-Za-z0-9._-]
  std::string message;  // at most 300 bytes, control characters replaced; for the log only
};
ServiceError parse_error(std::string_view body);

// ListObjectsV2. Keys are decoded when the answer says EncodingType url.
Result<ListPage> parse_list(std::string_view body);

struct DeleteFailure {
  std::string key;
  ServiceError error;
};
// DeleteObjects (asked for with Quiet): what was not deleted.
Result<std::vector<DeleteFailure>> parse_delete_result(std::string_view body);

// CreateMultipartUpload.
Result<std::string> parse_upload_id(std::string_view body);

// CompleteMultipartUpload answers 200 before it knows the outcome: the body may be an <Error>,
// which is returned; no code means that the upload is complete.
Result<ServiceError> parse_complete_upload(std::string_view body);

// The body holds keys: it is wiped before this returns.
Result<AssumedRole> parse_assume_role(std::string body);

// False for keys that XML 1.0 cannot carry unchanged (control characters, bytes that are not
// UTF-8).
bool fits_in_xml(std::string_view key);
// Pre-condition: every key fits_in_xml.
std::string delete_objects_body(const std::vector<std::string_view>& keys);
// etags[i] is of part i + 1, as the store sent it.
std::string complete_upload_body(const std::vector<std::string>& etags);
std::string create_bucket_body(std::string_view region);

// "2026-11-29T19:43:45Z", with or without a fraction.
Result<std::chrono::sys_seconds> parse_iso_time(std::string_view text);

}  // namespace duckicelake::objstore
