// SPDX-License-Identifier: Apache-2.0
#include "sign/sigv4.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "sign/hash.h"

namespace duckicelake::sign {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kTerminator = "aws4_request";
constexpr std::chrono::seconds kMaxPresign = std::chrono::hours(24 * 7);

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

// RFC 9110 "token".
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

// "Trimall": no blanks at the ends, runs of blanks inside become one space.
std::string trim_all(std::string_view value) {
  std::string out;
  bool pending = false;
  for (char c : value) {
    if (c == ' ' || c == '\t') {
      pending = !out.empty();
      continue;
    }
    if (pending) out.push_back(' ');
    pending = false;
    out.push_back(c);
  }
  return out;
}

void replace_header(std::vector<Header>& headers, std::string_view name, std::string value) {
  std::erase_if(headers, [&](const Header& h) { return to_lower(h.name) == name; });
  headers.push_back({std::string(name), std::move(value)});
}

void remove_header(std::vector<Header>& headers, std::string_view name) {
  std::erase_if(headers, [&](const Header& h) { return to_lower(h.name) == name; });
}

Status check_key_day(const SigningKey& key, const std::string& date_time) {
  if (date_time.compare(0, 8, key.scope().date) != 0 || key.scope().date.size() != 8) {
    return invalid_argument("the signing key is of another day");
  }
  return {};
}

}  // namespace

std::string amz_date(Time time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day ymd(day);
  std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z",
                     std::clamp(static_cast<int>(ymd.year()), 0, 9999),
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

Scope Scope::at(Time time, std::string region, std::string service) {
  return Scope{amz_date(time).substr(0, 8), std::move(region), std::move(service)};
}

std::string Scope::to_string() const {
  return fmt::format("{}/{}/{}/{}", date, region, service, kTerminator);
}

SigningKey SigningKey::derive(const Secret& secret_key, Scope scope) {
  Secret seed("AWS4" + secret_key.reveal());
  Secret day(hmac_sha256(seed.reveal(), scope.date));
  Secret region(hmac_sha256(day.reveal(), scope.region));
  Secret service(hmac_sha256(region.reveal(), scope.service));
  return SigningKey(std::move(scope), Secret(hmac_sha256(service.reveal(), kTerminator)));
}

std::string SigningKey::sign(std::string_view string_to_sign) const {
  return to_hex(hmac_sha256(key_.reveal(), string_to_sign));
}

Result<CanonicalRequest> canonical_request(const Request& request) {
  if (!is_token(request.method)) return invalid_argument("malformed request method");
  if (request.path.empty() || request.path.front() != '/') {
    return invalid_argument("a request path begins with '/'");
  }
  // Values of a repeated header are joined in the order in which they came.
  std::map<std::string, std::string> headers;
  for (const Header& header : request.headers) {
    if (!is_token(header.name)) return invalid_argument("malformed header name");
    if (header.value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return invalid_argument("malformed value of header {}", header.name);
    }
    auto [at, is_new] = headers.try_emplace(to_lower(header.name), trim_all(header.value));
    if (!is_new) at->second.append(",").append(trim_all(header.value));
  }
  if (!headers.contains("host")) return invalid_argument("the host header is missing");

  CanonicalRequest out;
  out.text.append(request.method).append("\n");
  out.text.append(uri_encode(request.path, Slash::kKeep)).append("\n");
  out.text.append(canonical_query(request.query)).append("\n");
  for (const auto& [name, value] : headers) {
    out.text.append(name).append(":").append(value).append("\n");
    if (!out.signed_headers.empty()) out.signed_headers.push_back(';');
    out.signed_headers.append(name);
  }
  out.text.append("\n").append(out.signed_headers).append("\n").append(request.payload_hash);
  return out;
}

std::string string_to_sign(std::string_view amz_date, const Scope& scope,
                           std::string_view canonical_request) {
  return fmt::format("{}\n{}\n{}\n{}", kAlgorithm, amz_date, scope.to_string(),
                     sha256_hex(canonical_request));
}

Result<std::vector<Header>> sign_request(Request request, const Credentials& credentials,
                                         const SigningKey& key, Time time) {
  std::string date = amz_date(time);
  DIL_CHECK_OK(check_key_day(key, date));
  remove_header(request.headers, "authorization");
  remove_header(request.headers, "x-amz-security-token");
  replace_header(request.headers, "x-amz-date", date);
  if (key.scope().service == "s3") {
    replace_header(request.headers, "x-amz-content-sha256", request.payload_hash);
  }
  if (!credentials.session_token.empty()) {
    replace_header(request.headers, "x-amz-security-token", credentials.session_token.reveal());
  }
  DIL_TRY(CanonicalRequest canonical, canonical_request(request));
  std::string signature = key.sign(string_to_sign(date, key.scope(), canonical.text));
  request.headers.push_back(
      {"authorization", fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}",
                                    kAlgorithm, credentials.access_key, key.scope().to_string(),
                                    canonical.signed_headers, signature)});
  return std::move(request.headers);
}

Result<std::string> presign_query(Request request, const Credentials& credentials,
                                  const SigningKey& key, Time time, std::chrono::seconds expires) {
  if (expires < std::chrono::seconds(1) || expires > kMaxPresign) {
    return invalid_argument("a presigned URL lives between 1 second and 7 days");
  }
  std::string date = amz_date(time);
  DIL_CHECK_OK(check_key_day(key, date));
  // The canonical request names the signed headers inside its own query, so they are needed first.
  DIL_TRY(CanonicalRequest names, canonical_request(request));
  auto is_signing_parameter = [](const Parameter& p) {
    return p.name.size() >= 6 && to_lower(p.name).compare(0, 6, "x-amz-") == 0;
  };
  if (std::any_of(request.query.begin(), request.query.end(), is_signing_parameter)) {
    return invalid_argument("the request already carries x-amz- query parameters");
  }
  request.query.push_back({"X-Amz-Algorithm", std::string(kAlgorithm)});
  request.query.push_back(
      {"X-Amz-Credential", credentials.access_key + "/" + key.scope().to_string()});
  request.query.push_back({"X-Amz-Date", date});
  request.query.push_back({"X-Amz-Expires", std::to_string(expires.count())});
  request.query.push_back({"X-Amz-SignedHeaders", names.signed_headers});
  if (!credentials.session_token.empty()) {
    request.query.push_back({"X-Amz-Security-Token", credentials.session_token.reveal()});
  }
  request.payload_hash = kUnsignedPayload;
  DIL_TRY(CanonicalRequest canonical, canonical_request(request));
  std::string signature = key.sign(string_to_sign(date, key.scope(), canonical.text));
  return canonical_query(request.query) + "&X-Amz-Signature=" + signature;
}

}  // namespace duckicelake::sign
