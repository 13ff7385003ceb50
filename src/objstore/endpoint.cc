// SPDX-License-Identifier: Apache-2.0
#include "objstore/endpoint.h"

#include <algorithm>

namespace duckicelake::objstore {
namespace {

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

// host, host:port or [v6]:port; the port without ':' goes to `port`.
bool split_authority(std::string_view authority, std::string_view& host, std::string_view& port) {
  std::size_t host_end = 0;
  if (authority.starts_with('[')) {
    std::size_t close = authority.find(']');
    if (close == std::string_view::npos || close == 1) return false;
    std::string_view inside = authority.substr(1, close - 1);
    if (inside.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos)
      return false;
    host_end = close + 1;
  } else {
    host_end = std::min(authority.find(':'), authority.size());
    std::string_view name = authority.substr(0, host_end);
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_host_character)) return false;
  }
  host = authority.substr(0, host_end);
  std::string_view rest = authority.substr(host_end);
  if (rest.empty()) return true;
  port = rest.substr(1);
  return rest.front() == ':' && !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<Endpoint> Endpoint::parse(std::string_view url) {
  Endpoint out;
  for (std::string_view scheme : {"http", "https"}) {
    if (url.starts_with(scheme) && url.substr(scheme.size()).starts_with("://")) {
      out.scheme = scheme;
    }
  }
  if (out.scheme.empty()) return invalid_argument("an endpoint begins with http:// or https://");
  std::string_view rest = url.substr(out.scheme.size() + 3);
  std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host;
  std::string_view port;
  if (!split_authority(rest.substr(0, slash), host, port)) {
    return invalid_argument("an endpoint needs a host and, maybe, a port");
  }
  out.authority = host;
  if (!port.empty() && port != (out.scheme == "http" ? "80" : "443")) {
    out.authority.append(":").append(port);
  }
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  bool is_plain = std::all_of(path.begin(), path.end(),
                              [](char c) { return is_host_character(c) || c == '/' || c == '~'; });
  if (!is_plain) return invalid_argument("the path of an endpoint has unexpected characters");
  out.path = path;
  return out;
}

}  // namespace duckicelake::objstore
