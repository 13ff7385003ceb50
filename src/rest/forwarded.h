// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace duckicelake::rest {

// A range of IP addresses. IPv4-mapped IPv6 addresses count as IPv4.
class AddressRange {
 public:
  // "10.0.0.0/8", "fd00::/8", or one address. kInvalidArgument otherwise (host bits may be set).
  static Result<AddressRange> parse(std::string_view text);
  // False for what is no IP address.
  bool contains(std::string_view address) const;

 private:
  std::array<std::uint8_t, 16> bytes_{};  // IPv4 in its mapped form
  unsigned prefix_bits_ = 128;
};

// How clients reach the server.
struct UrlPolicy {
  std::string public_url;  // with or without a trailing slash; empty: worked out per request
  std::vector<AddressRange> trusted_proxies;  // whose X-Forwarded-* headers count
};

// A public URL must be http(s) with a host, without query, fragment and user.
Status check_public_url(std::string_view url);

// The root under which the client sees this server, without a trailing slash: what every URL that
// we hand out begins with. The public URL when there is one; else scheme and Host of the request,
// in which X-Forwarded-Proto, -Host, -Port and -Prefix of a trusted peer take the place of its own.
// Of a list (several proxies) the first entry counts; a value that is no scheme, host, port or path
// is left out.
std::string base_url(const net::Request& request, const UrlPolicy& policy);

}  // namespace duckicelake::rest
