// SPDX-License-Identifier: Apache-2.0
#include "sign/verify.h"

#include <algorithm>
#include <charconv>

#include "base/bytes.h"

namespace duckicelake::sign {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kSignedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
constexpr std::string_view kSignedChunksTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
constexpr std::string_view kUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
constexpr std::size_t kMaxClaim = 8 * 1024;
constexpr std::size_t kMaxSignedHeaders = 128;
constexpr std::size_t kMaxLine = 8 * 1024;
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 31;
constexpr std::chrono::seconds kMaxExpires = std::chrono::hours(24 * 7);

Error malformed(std::string_view what) {
  return invalid_argument("the request's signature is malformed: {}", what);
}

Error denied(std::string_view why) { return Error(Code::kPermissionDenied, std::string(why)); }

std::string_view header_of(const ReceivedRequest& request, std::string_view name) {
  for (const Header& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

bool has_header(const ReceivedRequest& request, std::string_view name) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [&](const Header& header) { return header.name == name; });
}

// A header that must not come twice: what is checked is what is used.
Status check_single(const ReceivedRequest& request, std::string_view name) {
  const auto count = std::count_if(request.headers.begin(), request.headers.end(),
                                   [&](const Header& header) { return header.name == name; });
  if (count > 1) return malformed("a header is given twice");
  return {};
}

bool is_hex64(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_scope_part(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::optional<int> digits(std::string_view text) {
  int out = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return out;
}

// "<access key>/20130524/us-east-1/s3/aws4_request"; an access key may hold '/', the rest not.
Status read_credential(std::string_view text, Presented& out) {
  std::string_view parts[4];  // from the end
  for (std::string_view& part : parts) {
    const std::size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) return malformed("Credential has too few parts");
    part = text.substr(slash + 1);
    text = text.substr(0, slash);
  }
  if (parts[0] != "aws4_request") return malformed("Credential does not end in aws4_request");
  if (parts[1] != "s3") return malformed("Credential is of another service than s3");
  if (!is_scope_part(parts[2])) return malformed("Credential names no region");
  if (parts[3].size() != 8 || !digits(parts[3])) return malformed("Credential names no day");
  if (text.empty()) return malformed("Credential names no access key");
  out.access_key = text;
  out.scope = Scope{std::string(parts[3]), std::string(parts[2]), "s3"};
  return {};
}

Status read_signed_headers(std::string_view text, Presented& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    out.signed_headers.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (out.signed_headers.size() > kMaxSignedHeaders) return malformed("too many SignedHeaders");
  }
  const auto& names = out.signed_headers;
  if (std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) != names.end() ||
      std::any_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); })) {
    return malformed("SignedHeaders are not in order");
  }
  return {};
}

Status read_authorization(const ReceivedRequest& request, std::string_view text, Presented& out) {
  DIL_CHECK_OK(check_single(request, "authorization"));
  if (text.size() > kMaxClaim) return malformed("Authorization is too long");
  if (!text.starts_with(kAlgorithm) || !text.substr(kAlgorithm.size()).starts_with(' ')) {
    return malformed("only AWS4-HMAC-SHA256 is served");
  }
  text.remove_prefix(kAlgorithm.size());
  bool has_credential = false, has_names = false, has_signature = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view piece = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    const auto take = [&](std::string_view name, bool& seen) {
      if (seen || !piece.starts_with(name)) return false;
      piece.remove_prefix(name.size());
      return seen = true;
    };
    if (take("Credential=", has_credential)) {
      DIL_CHECK_OK(read_credential(piece, out));
    } else if (take("SignedHeaders=", has_names)) {
      DIL_CHECK_OK(read_signed_headers(piece, out));
    } else if (take("Signature=", has_signature)) {
      out.signature = piece;
    } else {
      return malformed("Authorization has an unknown part");
    }
  }
  if (!has_credential || !has_names || !has_signature) return malformed("a part is missing");
  DIL_CHECK_OK(check_single(request, "x-amz-date"));
  DIL_CHECK_OK(check_single(request, "x-amz-content-sha256"));
  DIL_CHECK_OK(check_single(request, "x-amz-security-token"));
  DIL_TRY(out.time, parse_amz_date(header_of(request, "x-amz-date")));
  out.payload_hash = header_of(request, "x-amz-content-sha256");
  if (out.payload_hash.empty()) return malformed("x-amz-content-sha256 is missing");
  out.session_token = header_of(request, "x-amz-security-token");
  return {};
}

Status read_presigned(const ReceivedRequest& request, Presented& out) {
  std::optional<std::string> values[6];
  constexpr std::string_view kNames[] = {"X-Amz-Algorithm",     "X-Amz-Credential",
                                         "X-Amz-Date",          "X-Amz-Expires",
                                         "X-Amz-SignedHeaders", "X-Amz-Signature"};
  for (const Parameter& parameter : out.query) {
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      if (parameter.name != kNames[i]) continue;
      if (values[i]) return malformed("a parameter is given twice");
      values[i] = parameter.value;
    }
    if (parameter.name == "X-Amz-Security-Token") {
      if (!out.session_token.empty()) return malformed("a parameter is given twice");
      out.session_token = parameter.value;
    }
  }
  for (const auto& value : values) {
    if (!value) return malformed("a parameter is missing");
  }
  if (*values[0] != kAlgorithm) return malformed("only AWS4-HMAC-SHA256 is served");
  DIL_CHECK_OK(read_credential(*values[1], out));
  DIL_TRY(out.time, parse_amz_date(*values[2]));
  if (values[3]->empty() || values[3]->size() > 6 || !digits(*values[3])) {
    return malformed("X-Amz-Expires is no number of seconds");
  }
  out.expires = std::chrono::seconds(*digits(*values[3]));
  if (*out.expires < std::chrono::seconds(1) || *out.expires > kMaxExpires) {
    return malformed("X-Amz-Expires is not within 1 second and 7 days");
  }
  DIL_CHECK_OK(read_signed_headers(*values[4], out));
  out.signature = *values[5];
  std::erase_if(out.query, [](const Parameter& p) { return p.name == "X-Amz-Signature"; });
  // Presigned bodies are unsigned, but for those who sign the header along.
  DIL_CHECK_OK(check_single(request, "x-amz-content-sha256"));
  out.payload_hash = has_header(request, "x-amz-content-sha256")
                         ? std::string(header_of(request, "x-amz-content-sha256"))
                         : std::string(kUnsignedPayload);
  return {};
}

Status read_payload(Presented& out) {
  if (out.payload_hash == kUnsignedPayload) {
    out.payload = Payload::kUnsigned;
  } else if (is_hex64(out.payload_hash)) {
    out.payload = Payload::kHashed;
  } else if (out.payload_hash == kSignedChunks || out.payload_hash == kSignedChunksTrailer) {
    out.payload = Payload::kSignedChunks;
    out.has_trailer = out.payload_hash == kSignedChunksTrailer;
  } else if (out.payload_hash == kUnsignedTrailer) {
    out.payload = Payload::kUnsignedTrailer;
    out.has_trailer = true;
  } else {
    return malformed("x-amz-content-sha256 is of an unknown kind");
  }
  return {};
}

bool is_signed(const Presented& presented, std::string_view name) {
  return std::binary_search(presented.signed_headers.begin(), presented.signed_headers.end(), name,
                            std::less<>());
}

}  // namespace

Result<Time> parse_amz_date(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return malformed("no such time");
  const auto year = digits(text.substr(0, 4)), month = digits(text.substr(4, 2)),
             day = digits(text.substr(6, 2)), hour = digits(text.substr(9, 2)),
             minute = digits(text.substr(11, 2)), second = digits(text.substr(13, 2));
  if (!year || !month || !day || !hour || !minute || !second) return malformed("no such time");
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return malformed("no such time");
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

Result<Presented> parse_presented(const ReceivedRequest& request) {
  Presented out;
  if (!request.path.starts_with('/')) return malformed("the path does not begin with '/'");
  DIL_TRY(out.decoded_path, uri_decode(request.path));
  DIL_TRY(out.query, parse_query(request.query));
  const std::string_view authorization = header_of(request, "authorization");
  const bool is_presigned =
      std::any_of(out.query.begin(), out.query.end(), [](const Parameter& parameter) {
        return parameter.name == "X-Amz-Algorithm" || parameter.name == "X-Amz-Signature";
      });
  if (is_presigned && has_header(request, "authorization")) {
    return malformed("two ways of authentication at once");
  }
  if (is_presigned) {
    DIL_CHECK_OK(read_presigned(request, out));
  } else {
    if (authorization.empty()) {
      return Error(Code::kUnauthenticated, "the request is not signed");
    }
    DIL_CHECK_OK(read_authorization(request, authorization, out));
  }
  DIL_CHECK_OK(read_payload(out));
  if (!is_hex64(out.signature)) return malformed("Signature is no SHA-256 in lower-case hex");
  if (amz_date(out.time).compare(0, 8, out.scope.date) != 0) {
    return malformed("Credential is of another day than the request");
  }
  DIL_CHECK_OK(check_single(request, "host"));
  if (!is_signed(out, "host")) return malformed("the host is not signed");
  for (const std::string& name : out.signed_headers) {
    if (!has_header(request, name)) return malformed("a signed header is missing");
  }
  for (const Header& header : request.headers) {
    if (header.name.starts_with("x-amz-") && !is_signed(out, header.name)) {
      return malformed("an x-amz- header is not signed");
    }
  }
  return out;
}

Status check_fresh(const Presented& presented, Time now) {
  if (presented.time - now > kMaxSkew) return denied("the request is from the future");
  if (presented.expires) {
    if (now > presented.time + *presented.expires) return denied("the URL has expired");
    return {};
  }
  if (now - presented.time > kMaxSkew) return denied("the request is too old");
  return {};
}

Status verify_signature(const ReceivedRequest& request, const Presented& presented,
                        const Secret& secret_key) {
  Request canonical;
  canonical.method = request.method;
  canonical.path = presented.decoded_path;
  canonical.query = presented.query;
  canonical.payload_hash = presented.payload_hash;
  for (const Header& header : request.headers) {
    if (is_signed(presented, header.name)) canonical.headers.push_back(header);
  }
  DIL_TRY(const CanonicalRequest text, canonical_request(canonical));
  const SigningKey key = SigningKey::derive(secret_key, presented.scope);
  const Secret expected(
      key.sign(string_to_sign(amz_date(presented.time), presented.scope, text.text)));
  if (!expected.equals(presented.signature)) {
    return denied("the signature does not match the request");
  }
  return {};
}

ChunkedPayload::ChunkedPayload(const Presented& presented, const Secret& secret_key)
    : key_(SigningKey::derive(secret_key, presented.scope)),
      is_signed_(presented.payload == Payload::kSignedChunks),
      has_trailer_(presented.has_trailer),
      date_(amz_date(presented.time)),
      previous_(presented.signature) {}

Result<bool> ChunkedPayload::take_line(std::string_view& input) {
  const std::size_t end = input.find('\n');
  const std::size_t taken = end == std::string_view::npos ? input.size() : end + 1;
  if (line_.size() + taken > kMaxLine) return invalid_argument("a chunk's header is too long");
  line_.append(input.substr(0, taken));
  input.remove_prefix(taken);
  if (!line_.ends_with('\n')) return false;
  if (!line_.ends_with("\r\n")) return invalid_argument("a chunk's header does not end in CRLF");
  line_.resize(line_.size() - 2);
  return true;
}

Status ChunkedPayload::feed(std::string_view input, std::string& out) {
  while (!input.empty()) {
    switch (state_) {
      case State::kSize: {
        DIL_TRY(const bool is_whole, take_line(input));
        if (!is_whole) return {};
        const std::string line = std::exchange(line_, {});
        DIL_CHECK_OK(end_size_line(line));
        // The last chunk is empty; an empty line ends it, or the trailers do.
        if (left_ == 0) DIL_CHECK_OK(end_chunk(out));
        break;
      }
      case State::kData: {
        const std::size_t taken =
            static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
        const std::string_view bytes = input.substr(0, taken);
        input.remove_prefix(taken);
        left_ -= taken;
        decoded_ += taken;
        if (is_signed_) {
          hash_->update(bytes);
          if (kept_back_) out.push_back(*kept_back_);
          out.append(bytes.substr(0, bytes.size() - 1));
          kept_back_ = bytes.back();
        } else {
          out.append(bytes);
        }
        if (left_ == 0) {
          DIL_CHECK_OK(end_chunk(out));
          state_ = State::kDataEnd;
        }
        break;
      }
      case State::kDataEnd: {
        DIL_TRY(const bool is_whole, take_line(input));
        if (!is_whole) return {};
        if (!std::exchange(line_, {}).empty()) return invalid_argument("a chunk is too long");
        state_ = State::kSize;
        break;
      }
      case State::kTrailer: {
        DIL_TRY(const bool is_whole, take_line(input));
        if (!is_whole) return {};
        const std::string line = std::exchange(line_, {});
        DIL_CHECK_OK(end_trailer_line(line));
        break;
      }
      case State::kDone: return invalid_argument("bytes behind the last chunk");
    }
  }
  return {};
}

Status ChunkedPayload::end_size_line(std::string_view line) {
  constexpr std::string_view kName = "chunk-signature=";
  const std::size_t semicolon = line.find(';');
  const std::string_view size = line.substr(0, semicolon);
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), left_, 16);
  if (size.empty() || size.size() > 16 || error != std::errc() ||
      end != size.data() + size.size() || left_ > kMaxChunk) {
    return invalid_argument("a chunk's size is malformed");
  }
  if (is_signed_) {
    if (semicolon == std::string_view::npos) return invalid_argument("a chunk is not signed");
    const std::string_view extension = line.substr(semicolon + 1);
    if (!extension.starts_with(kName) || !is_hex64(extension.substr(kName.size()))) {
      return invalid_argument("a chunk's signature is malformed");
    }
    chunk_signature_ = extension.substr(kName.size());
  } else if (semicolon != std::string_view::npos) {
    return invalid_argument("a chunk has an extension");
  }
  hash_.emplace();
  is_last_ = left_ == 0;
  state_ = State::kData;
  return {};
}

Status ChunkedPayload::check(const std::string& text, std::string_view signature) {
  const Secret expected(key_.sign(text));
  if (!expected.equals(signature)) return denied("a chunk's signature does not match its bytes");
  previous_ = signature;
  return {};
}

Status ChunkedPayload::end_chunk(std::string& out) {
  if (is_signed_) {
    DIL_CHECK_OK(check(
        fmt::format("{}-PAYLOAD\n{}\n{}\n{}\n{}\n{}", kAlgorithm, date_, key_.scope().to_string(),
                    previous_, kEmptyPayloadHash, to_hex(hash_->finish())),
        chunk_signature_));
    if (kept_back_) out.push_back(*kept_back_);
    kept_back_.reset();
  }
  if (is_last_) state_ = State::kTrailer;
  return {};
}

Status ChunkedPayload::end_trailer_line(std::string_view line) {
  constexpr std::string_view kSignature = "x-amz-trailer-signature:";
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxLine) return invalid_argument("the trailers are too long");
  if (line.empty()) {
    if (is_signed_ && !trailers_.empty()) return denied("the trailers are not signed");
    state_ = State::kDone;
    return {};
  }
  if (!has_trailer_) return invalid_argument("trailers that were not announced");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return invalid_argument("a malformed trailer");
  if (line.starts_with(kSignature)) {
    if (!is_signed_) return invalid_argument("a signature where nothing is signed");
    DIL_CHECK_OK(check(fmt::format("{}-TRAILER\n{}\n{}\n{}\n{}", kAlgorithm, date_,
                                   key_.scope().to_string(), previous_, sha256_hex(trailers_)),
                       line.substr(kSignature.size())));
    trailers_.clear();
    return {};
  }
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  while (value.ends_with(' ')) value.remove_suffix(1);
  trailers_.append(line.substr(0, colon)).append(":").append(value).append("\n");
  return {};
}

}  // namespace duckicelake::sign
