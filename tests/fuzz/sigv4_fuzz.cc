// SPDX-License-Identifier: Apache-2.0
// Feeds client-made requests (method, path, query, headers, split at NUL) through SigV4
// canonicalisation.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sign/sigv4.h"

namespace sign = duckicelake::sign;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  auto next = [&] {
    std::size_t end = input.find('\0');
    std::string_view piece = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    return piece;
  };
  sign::Request request;
  request.method = next();
  request.path = next();
  std::string_view query = next();
  if (auto parsed = sign::parse_query(query)) {
    request.query = *parsed;
    // The canonical form is a fixed point: parsing it gives parameters of the same canonical form.
    std::string canonical = sign::canonical_query(*parsed);
    auto again = sign::parse_query(canonical, parsed->size());
    DIL_ASSERT(again.has_value() && sign::canonical_query(*again) == canonical);
  }
  if (auto decoded = sign::uri_decode(request.path)) {
    std::string encoded = sign::uri_encode(*decoded, sign::Slash::kKeep);
    DIL_ASSERT(sign::uri_decode(encoded).value() == *decoded);
  }
  while (!input.empty()) {
    std::string_view name = next();
    request.headers.push_back({std::string(name), std::string(next())});
  }
  request.payload_hash = sign::kUnsignedPayload;

  static const sign::Credentials credentials{"AKID", duckicelake::Secret("secret"),
                                             duckicelake::Secret("token")};
  static const sign::Time now{std::chrono::seconds(1'700'000'000)};
  static const sign::SigningKey key =
      sign::SigningKey::derive(credentials.secret_key, sign::Scope::at(now, "us-east-1", "s3"));
  auto canonical = sign::canonical_request(request);
  auto headers = sign::sign_request(request, credentials, key, now);
  DIL_ASSERT(!canonical.has_value() || headers.has_value());
  auto url = sign::presign_query(request, credentials, key, now, std::chrono::seconds(60));
  DIL_ASSERT(!url.has_value() || canonical.has_value());
  return 0;
}
