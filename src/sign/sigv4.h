// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "sign/uri.h"

// AWS Signature Version 4 for S3 ("Authenticating Requests (AWS Signature Version 4)" of the S3 API
// reference). Pure: the time is an argument. Paths are encoded once and never normalised, as S3
// wants it; for the other services used here (STS) the path is "/" and the difference does not
// show.
namespace duckicelake::sign {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
// SHA-256 of no bytes.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

using Time = std::chrono::sys_seconds;

// "20130524T000000Z". Years outside 0..9999 are clamped.
std::string amz_date(Time time);

struct Credentials {
  std::string access_key;
  Secret secret_key;
  Secret session_token;  // empty: none
};

// Day, region and service that a signing key is good for.
struct Scope {
  std::string date;  // "20130524"
  std::string region;
  std::string service;

  static Scope at(Time time, std::string region, std::string service);
  std::string to_string() const;  // "20130524/us-east-1/s3/aws4_request"
  friend bool operator==(const Scope&, const Scope&) = default;
};

// The derived key of one secret and scope. Deriving costs four HMACs: keep it for the day.
class SigningKey {
 public:
  static SigningKey derive(const Secret& secret_key, Scope scope);

  const Scope& scope() const { return scope_; }
  // Lower-case hex HMAC of the string to sign.
  std::string sign(std::string_view string_to_sign) const;

 private:
  SigningKey(Scope scope, Secret key) : scope_(std::move(scope)), key_(std::move(key)) {}

  Scope scope_;
  Secret key_;
};

struct Header {
  std::string name;  // any case
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

// A request before it is signed. `path` is the decoded path, beginning with '/'.
// All `headers` are signed; "host" must be among them.
struct Request {
  std::string method;
  std::string path;
  std::vector<Parameter> query;
  std::vector<Header> headers;
  std::string payload_hash;  // hex SHA-256 of the body, or kUnsignedPayload
};

struct CanonicalRequest {
  std::string text;
  std::string signed_headers;  // "host;x-amz-date"
};

// kInvalidArgument when the method is no token, the path does not begin with '/', the host is
// missing, a header name is no token, or a header value holds CR, LF or NUL.
Result<CanonicalRequest> canonical_request(const Request& request);

std::string string_to_sign(std::string_view amz_date, const Scope& scope,
                           std::string_view canonical_request);

// Adds x-amz-date, x-amz-security-token (when there is one) and, for service s3,
// x-amz-content-sha256, signs, and adds authorization. Headers of these names that the request
// brings along are replaced. Pre-condition: `key` was derived from these credentials for the day of
// `time`; another day is kInvalidArgument. Errors as canonical_request.
Result<std::vector<Header>> sign_request(Request request, const Credentials& credentials,
                                         const SigningKey& key, Time time);

// The query string of a presigned URL (X-Amz-Signature last), valid for `expires` from `time`. All
// request headers become signed headers, which whoever uses the URL has to send. The payload is
// unsigned. kInvalidArgument when `expires` is not in 1 s .. 7 days, and as sign_request.
Result<std::string> presign_query(Request request, const Credentials& credentials,
                                  const SigningKey& key, Time time, std::chrono::seconds expires);

}  // namespace duckicelake::sign
