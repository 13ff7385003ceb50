// SPDX-License-Identifier: Apache-2.0
#include "rest/forwarded.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace duckicelake::rest {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Address {
  Bytes bytes;
  bool is_v4;
};

std::optional<Address> parse_address(std::string_view text) {
  if (text.empty() || text.size() > 45) return std::nullopt;  // INET6_ADDRSTRLEN - 1
  const std::string copy(text);
  Bytes bytes{};
  if (inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return Address{bytes, false};
  bytes[10] = bytes[11] = 0xFF;
  if (inet_pton(AF_INET, copy.c_str(), bytes.data() + 12) == 1) return Address{bytes, true};
  return std::nullopt;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "443" -> 443
std::optional<unsigned> parse_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 5 || port == 0 || port > 65535) return std::nullopt;
  return port;
}

struct Authority {
  std::string host;  // IPv6 addresses in their brackets
  std::optional<unsigned> port;
};

std::optional<Authority> parse_authority(std::string_view text) {
  Authority out;
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::optional<Address> address = parse_address(text.substr(1, end - 1));
    if (!address || address->is_v4) return std::nullopt;
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    const auto is_host_character = [](char c) {
      return is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
    };
    if (end == 0 || end > 255 ||
        !std::all_of(text.begin(), text.begin() + end, is_host_character)) {
      return std::nullopt;
    }
  }
  out.host = text.substr(0, end);
  if (end == text.size()) return out;
  if (text[end] != ':') return std::nullopt;
  out.port = parse_port(text.substr(end + 1));
  if (!out.port) return std::nullopt;
  return out;
}

// "/lake/" -> "/lake"; "/" -> ""
std::optional<std::string> parse_prefix(std::string_view text) {
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty()) return std::string();
  const auto is_path_character = [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("-._~/%!$&'()*+,;=:@").find(c) != std::string_view::npos;
  };
  if (text.front() != '/' || text.size() > 1024 || text.find("//") != std::string_view::npos ||
      !std::all_of(text.begin(), text.end(), is_path_character)) {
    return std::nullopt;
  }
  return std::string(text);
}

// The first of a comma-separated list: what the proxy nearest to the client saw.
std::string_view first_value(std::string_view list) {
  std::string_view value = list.substr(0, list.find(','));
  while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
  while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
  return value;
}

bool equals_ignoring_case(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
  });
}

}  // namespace

Result<AddressRange> AddressRange::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> address = parse_address(text.substr(0, slash));
  if (!address) return invalid_argument("{} is no IP address or CIDR range", text);
  AddressRange range;
  range.bytes_ = address->bytes;
  if (slash == std::string_view::npos) return range;
  const std::string_view bits = text.substr(slash + 1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), value);
  const unsigned limit = address->is_v4 ? 32 : 128;
  if (error != std::errc() || end != bits.data() + bits.size() || value > limit) {
    return invalid_argument("{} is no CIDR range: the prefix length is a number up to {}", text,
                            limit);
  }
  range.prefix_bits_ = value + (address->is_v4 ? 96 : 0);
  return range;
}

bool AddressRange::contains(std::string_view address) const {
  const std::optional<Address> parsed = parse_address(address);
  if (!parsed) return false;
  for (unsigned bit = 0; bit < prefix_bits_; bit += 8) {
    const unsigned kept = std::min(8U, prefix_bits_ - bit);
    const unsigned mask = (0xFFU << (8 - kept)) & 0xFFU;
    if (((parsed->bytes[bit / 8] ^ bytes_[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Status check_public_url(std::string_view url) {
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return invalid_argument("the public URL must begin with http:// or https://");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (!parse_authority(rest.substr(0, slash))) {
    return invalid_argument("the public URL must name a host, with or without a port, and no user");
  }
  if (!parse_prefix(rest.substr(slash))) {
    return invalid_argument("the public URL must end in a plain path, without query or fragment");
  }
  return {};
}

std::string base_url(const net::Request& request, const UrlPolicy& policy) {
  if (!policy.public_url.empty()) {
    std::string_view url = policy.public_url;
    while (url.ends_with('/')) url.remove_suffix(1);
    return std::string(url);
  }
  std::string_view scheme = request.tls ? "https" : "http";
  Authority authority =
      parse_authority(request.header("host")).value_or(Authority{"localhost", {}});
  std::string prefix;
  const bool is_trusted =
      std::any_of(policy.trusted_proxies.begin(), policy.trusted_proxies.end(),
                  [&](const AddressRange& range) { return range.contains(request.peer_address); });
  if (is_trusted) {
    const std::string_view proto = first_value(request.header("x-forwarded-proto"));
    if (equals_ignoring_case(proto, "https")) scheme = "https";
    if (equals_ignoring_case(proto, "http")) scheme = "http";
    const std::optional<unsigned> port =
        parse_port(first_value(request.header("x-forwarded-port")));
    if (auto outer = parse_authority(first_value(request.header("x-forwarded-host")))) {
      // A port in it is the one that the client typed; some proxies name their inner one beside it.
      authority = std::move(*outer);
      if (!authority.port) authority.port = port;
    } else if (port) {
      authority.port = port;
    }
    if (auto path = parse_prefix(first_value(request.header("x-forwarded-prefix")))) prefix = *path;
  }
  std::string url(scheme);
  url.append("://").append(authority.host);
  if (authority.port && *authority.port != (scheme == "https" ? 443U : 80U)) {
    url.append(":").append(std::to_string(*authority.port));
  }
  return url.append(prefix);
}

}  // namespace duckicelake::rest
