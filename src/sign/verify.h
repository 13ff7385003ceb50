// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sign/hash.h"
#include "sign/sigv4.h"

// The other side of Signature Version 4: what a server makes of a signed S3 request. Pure: time and
// secrets are arguments. Errors are kPermissionDenied for what a client could repair (signature,
// time, expiry) and kInvalidArgument for what is no signed request at all; messages name no secret.
namespace duckicelake::sign {

// A request as it came over the wire. `headers` have lower-case names and no blanks at their ends.
struct ReceivedRequest {
  std::string method;
  std::string_view path;   // still percent-encoded, beginning with '/'
  std::string_view query;  // still percent-encoded, without '?'
  std::vector<Header> headers;
};

// What the body is bound to.
enum class Payload {
  kUnsigned,         // UNSIGNED-PAYLOAD: to nothing
  kHashed,           // its SHA-256 is signed
  kSignedChunks,     // STREAMING-AWS4-HMAC-SHA256-PAYLOAD, and -TRAILER
  kUnsignedTrailer,  // STREAMING-UNSIGNED-PAYLOAD-TRAILER: chunks without signatures
};

// What the request claims, parsed but not yet believed.
struct Presented {
  std::string access_key;
  std::string session_token;  // empty: none
  Scope scope;
  Time time{};
  std::optional<std::chrono::seconds> expires;  // of presigned URLs only
  std::string payload_hash;                     // as it goes into the canonical request
  Payload payload = Payload::kUnsigned;
  bool has_trailer = false;
  std::vector<std::string> signed_headers;  // lower case, ascending
  std::string signature;                    // 64 lower-case hex digits
  std::string decoded_path;
  std::vector<Parameter> query;  // decoded, without X-Amz-Signature
};

// "20130524T000000Z"; kInvalidArgument for what is no time.
Result<Time> parse_amz_date(std::string_view text);

// Takes the claims from the Authorization header, or from the query of a presigned URL; both at
// once are refused, as are algorithms other than AWS4-HMAC-SHA256, services other than s3, a host
// or an x-amz- header that is not signed, and a date in the scope that is not the request's.
Result<Presented> parse_presented(const ReceivedRequest& request);

// Requests are good from 15 minutes before to 15 minutes after their time; presigned URLs until
// their time plus X-Amz-Expires.
inline constexpr std::chrono::minutes kMaxSkew{15};
Status check_fresh(const Presented& presented, Time now);

// Whether `secret_key` made the signature. Constant time in the signature.
Status verify_signature(const ReceivedRequest& request, const Presented& presented,
                        const Secret& secret_key);

// Takes an aws-chunked body apart ("Signature Calculations for the Authorization Header: ...
// Multiple Chunks"): "<hex size>;chunk-signature=<hex>\r\n<bytes>\r\n", ending with an empty chunk
// and perhaps trailers. With signatures each chunk's last byte is kept back until its signature
// proves right, so whoever needs all bytes never gets a forged body whole. Bounded: headers of 8
// KiB, chunks of 2^31 bytes, and no memory but for the header lines.
class ChunkedPayload {
 public:
  // Pre-condition: presented.payload is kSignedChunks or kUnsignedTrailer, and verified.
  ChunkedPayload(const Presented& presented, const Secret& secret_key);

  // Appends what is proved of the body to `out`. kPermissionDenied: a signature is wrong;
  // kInvalidArgument: the framing is. After an error, or bytes behind the end, it is over.
  Status feed(std::string_view input, std::string& out);
  bool is_complete() const { return state_ == State::kDone; }
  std::uint64_t decoded_bytes() const { return decoded_; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kDone };
  Status end_size_line(std::string_view line);
  Status end_chunk(std::string& out);
  Status end_trailer_line(std::string_view line);
  Status check(const std::string& string_to_sign, std::string_view signature);
  // Takes a line ending in CRLF off the input, or all of it; true: `line_` is complete.
  Result<bool> take_line(std::string_view& input);

  SigningKey key_;
  const bool is_signed_;
  const bool has_trailer_;
  std::string date_;
  std::string previous_;  // the signature before
  State state_ = State::kSize;
  std::string line_;
  std::uint64_t left_ = 0;
  std::uint64_t decoded_ = 0;
  std::string chunk_signature_;
  std::optional<char> kept_back_;
  std::optional<Sha256Stream> hash_;
  std::string trailers_;  // canonical: "name:value\n" each
  std::size_t header_bytes_ = 0;
  bool is_last_ = false;
};

}  // namespace duckicelake::sign
