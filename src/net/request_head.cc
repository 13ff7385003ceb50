// SPDX-License-Identifier: Apache-2.0
#include "net/request_head.h"

#include <algorithm>

#include "net/byte_words.h"

namespace duckicelake::net {
namespace {

constexpr Fault malformed(std::string_view message) {
  return Fault{FaultKind::kMalformed, 400, message};
}
constexpr Fault bad_framing(std::string_view message) {
  return Fault{FaultKind::kFraming, 400, message};
}
constexpr Fault bad_host(std::string_view message) { return Fault{FaultKind::kHost, 400, message}; }

// tchar of RFC 9110 §5.6.2, lower-cased; 0 for every other byte.
constexpr std::array<char, 256> make_token_table() {
  std::array<char, 256> table{};
  for (char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")) {
    table[static_cast<unsigned char>(c)] = c;
  }
  for (char c = 'A'; c <= 'Z'; ++c) {
    table[static_cast<unsigned char>(c)] = static_cast<char>(c - 'A' + 'a');
  }
  return table;
}
constexpr std::array<char, 256> kTokenLower = make_token_table();

char token_lower(char c) { return kTokenLower[static_cast<unsigned char>(c)]; }

bool is_token(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return token_lower(c); });
}

// Which bytes may stand where.
struct Kinds {
  bool is_field_value : 1;  // visible ASCII, obs-text, SP and HTAB (RFC 9110 §5.5)
  // Raw bytes above 0x7f are let through: net/url.h decides whether they are UTF-8.
  bool is_target : 1;
  bool is_authority : 1;  // what a URI's host and port may hold; no userinfo, path or blanks
};
constexpr std::array<Kinds, 256> make_kinds() {
  std::array<Kinds, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    table[byte].is_field_value = byte >= 0x20 ? byte != 0x7f : byte == '\t';
    table[byte].is_target = byte > 0x20 && byte != 0x7f && byte != '#';
  }
  for (char c : std::string_view("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "-._~%!$&'()*+,;=:[]")) {
    table[static_cast<unsigned char>(c)].is_authority = true;
  }
  return table;
}
constexpr std::array<Kinds, 256> kKinds = make_kinds();

Kinds kinds(char c) { return kKinds[static_cast<unsigned char>(c)]; }

bool is_field_value(std::string_view text) {
  return all_good(
      text, [](std::uint64_t word) { return below(word, 0x20) | equal_to(word, 0x7f); },
      [](char c) { return kinds(c).is_field_value; });
}

bool is_target(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return kinds(c).is_target; });
}

bool is_authority(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return kinds(c).is_authority; });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the line up to CRLF off the front of `rest`. Pre-condition: `rest` holds a CRLF.
std::string_view take_line(std::string_view& rest) {
  std::size_t end = rest.find("\r\n");
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

std::optional<Fault> parse_version(std::string_view text, HeadInfo& info) {
  if (text == "HTTP/1.1") {
    info.keep_alive = true;
    return std::nullopt;
  }
  if (text == "HTTP/1.0") {
    info.is_http_1_0 = true;
    return std::nullopt;
  }
  if (text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' &&
      is_digit(text[7])) {
    return Fault{FaultKind::kVersion, 505, "this server speaks HTTP/1.1 and HTTP/1.0"};
  }
  return malformed("malformed HTTP version");
}

// Reduces absolute form to origin form; the authority goes to `authority`.
std::optional<Fault> parse_target(std::string_view raw, const HeadLimits& limits, Request& request,
                                  std::string_view& authority) {
  if (raw.empty()) return malformed("empty request target");
  if (raw.size() > limits.max_target_bytes) {
    return Fault{FaultKind::kTargetTooLong, 414, "the request target is too long"};
  }
  if (!is_target(raw)) return malformed("forbidden character in the request target");
  if (raw.front() == '/') {
    request.target = raw;
    return std::nullopt;
  }
  if (raw == "*") {
    if (request.method != Method::kOptions) return malformed("the target '*' is for OPTIONS only");
    request.target = raw;
    return std::nullopt;
  }
  std::size_t scheme_end = raw.find("://");
  if (scheme_end == std::string_view::npos ||
      !(equals_ignoring_case(raw.substr(0, scheme_end), "http") ||
        equals_ignoring_case(raw.substr(0, scheme_end), "https"))) {
    return malformed("the request target is neither a path nor an http URL");
  }
  std::string_view rest = raw.substr(scheme_end + 3);
  std::size_t authority_end = rest.find_first_of("/?");
  authority = rest.substr(0, authority_end);
  if (authority.empty() || !is_authority(authority)) {
    return malformed("malformed authority in the request target");
  }
  rest.remove_prefix(authority.size());
  request.target = rest.empty() || rest.front() == '?' ? "/" : "";
  request.target.append(rest);
  return std::nullopt;
}

std::optional<Fault> parse_request_line(std::string_view line, const HeadLimits& limits,
                                        Request& request, HeadInfo& info,
                                        std::string_view& authority) {
  std::size_t first = line.find(' ');
  std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return malformed("malformed request line");
  std::string_view method = line.substr(0, first);
  if (!is_token(method) || method.size() > 32) return malformed("malformed method");
  request.method = parse_method(method);
  request.method_text = method;
  // The version is judged before the target: an HTTP/2 preface is a 505, whatever its target.
  if (auto fault = parse_version(line.substr(last + 1), info)) return fault;
  if (method == "CONNECT") {
    return Fault{FaultKind::kTunnel, 405, "this server opens no tunnels"};
  }
  return parse_target(line.substr(first + 1, last - first - 1), limits, request, authority);
}

std::optional<Fault> parse_header_line(std::string_view line, Request& request) {
  if (line.front() == ' ' || line.front() == '\t') return malformed("folded header line");
  std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return malformed("header line without a colon");
  std::string name(line.substr(0, colon));
  if (name.empty()) return malformed("empty header name");
  for (char& c : name) {
    c = token_lower(c);
    if (c == 0) return malformed("forbidden character in a header name");
  }
  std::string_view value = trim(line.substr(colon + 1));
  if (!is_field_value(value)) return malformed("control character in a header value");
  request.headers.emplace_back(std::move(name), value);
  return std::nullopt;
}

std::optional<Fault> parse_content_length(std::string_view value, HeadInfo& info) {
  // 18 digits fit an int64 with room to add; a larger number is too large for every limit anyway.
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit)) {
    return bad_framing("malformed Content-Length");
  }
  if (value.size() > 18) return Fault{FaultKind::kBodyTooLarge, 413, "the body is too large"};
  for (char c : value)
    info.content_length = info.content_length * 10 + static_cast<unsigned>(c - '0');
  return std::nullopt;
}

void apply_connection_options(std::string_view value, bool& close, bool& keep_alive) {
  while (!value.empty()) {
    std::size_t comma = value.find(',');
    std::string_view option = trim(value.substr(0, comma));
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 1);
    if (equals_ignoring_case(option, "close")) close = true;
    if (equals_ignoring_case(option, "keep-alive")) keep_alive = true;
  }
}

// How often the headers occur that may occur once.
struct Seen {
  int host = 0;
  int content_length = 0;
  int transfer_encoding = 0;
  int expect = 0;
  int authorization = 0;
  int content_type = 0;
  bool close = false;
  bool keep_alive = false;
};

std::optional<Fault> interpret_header(const std::string& name, const std::string& value, Seen& seen,
                                      HeadInfo& info) {
  switch (name.size()) {  // most names of a request are told apart by their length alone
    case 4:
      if (name == "host") {
        if (++seen.host > 1) return bad_host("more than one Host header");
        if (!is_authority(value)) return bad_host("malformed Host header");
      }
      break;
    case 6:
      if (name == "expect") {
        if (++seen.expect > 1 || !equals_ignoring_case(value, "100-continue")) {
          return Fault{FaultKind::kExpectation, 417, "only 100-continue can be expected"};
        }
      }
      break;
    case 10:
      if (name == "connection") apply_connection_options(value, seen.close, seen.keep_alive);
      break;
    case 12:
      if (name == "content-type" && ++seen.content_type > 1) {
        return malformed("more than one Content-Type header");
      }
      break;
    case 13:
      if (name == "authorization" && ++seen.authorization > 1) {
        return malformed("more than one Authorization header");
      }
      break;
    case 14:
      if (name == "content-length") {
        if (++seen.content_length > 1) return bad_framing("more than one Content-Length header");
        return parse_content_length(value, info);
      }
      break;
    case 17:
      if (name == "transfer-encoding") {
        if (++seen.transfer_encoding > 1)
          return bad_framing("more than one Transfer-Encoding header");
        if (!equals_ignoring_case(value, "chunked")) {
          return Fault{FaultKind::kNotImplemented, 501,
                       "only the transfer coding chunked is supported"};
        }
        info.is_chunked = true;
      }
      break;
    default: break;
  }
  return std::nullopt;
}

void replace_host(Request& request, std::string_view authority) {
  for (auto& [name, value] : request.headers) {
    if (name == "host") {
      value = authority;
      return;
    }
  }
  request.headers.emplace_back("host", authority);
}

}  // namespace

std::string_view fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kMalformed: return "malformed";
    case FaultKind::kFraming: return "framing";
    case FaultKind::kHost: return "host";
    case FaultKind::kTimeout: return "timeout";
    case FaultKind::kBodyTooLarge: return "body-too-large";
    case FaultKind::kTargetTooLong: return "target-too-long";
    case FaultKind::kContentCoding: return "content-coding";
    case FaultKind::kExpectation: return "expectation";
    case FaultKind::kHeadTooLarge: return "head-too-large";
    case FaultKind::kNotImplemented: return "not-implemented";
    case FaultKind::kOverload: return "overload";
    case FaultKind::kVersion: return "version";
    case FaultKind::kTunnel: return "tunnel";
  }
  return "malformed";
}

HeadScanner::Found HeadScanner::scan(std::string_view buffered) {
  for (;;) {
    std::size_t line_feed = buffered.find('\n', searched_);
    if (line_feed == std::string_view::npos) {
      searched_ = buffered.size();
      return {};
    }
    if (line_feed == line_start_ || buffered[line_feed - 1] != '\r') {
      return Found{0, malformed("line that does not end in CRLF")};
    }
    bool is_blank = line_feed == line_start_ + 1;
    line_start_ = searched_ = line_feed + 1;
    if (is_blank) return Found{line_start_, std::nullopt};
  }
}

std::optional<Fault> parse_request_head(std::string_view head, const HeadLimits& limits,
                                        Request& request, HeadInfo& info) {
  info = HeadInfo();
  request.headers.clear();
  if (!head.ends_with("\r\n\r\n")) return malformed("incomplete head");
  std::string_view authority;
  std::string_view rest = head;
  if (auto fault = parse_request_line(take_line(rest), limits, request, info, authority))
    return fault;

  request.headers.reserve(12);
  Seen seen;
  for (;;) {
    std::string_view line = take_line(rest);
    if (line.empty()) break;
    if (request.headers.size() == limits.max_headers) {
      return Fault{FaultKind::kHeadTooLarge, 431, "too many header lines"};
    }
    if (auto fault = parse_header_line(line, request)) return fault;
    const auto& [name, value] = request.headers.back();
    if (auto fault = interpret_header(name, value, seen, info)) return fault;
  }
  if (!rest.empty()) return malformed("bytes behind the head");

  if (info.is_chunked && seen.content_length > 0) {
    return bad_framing("Content-Length together with Transfer-Encoding");
  }
  if (info.is_chunked && info.is_http_1_0) return bad_framing("Transfer-Encoding in HTTP/1.0");
  if (seen.host == 0 && !info.is_http_1_0) return bad_host("the Host header is missing");
  if (!authority.empty()) replace_host(request, authority);
  if (info.is_http_1_0) info.keep_alive = seen.keep_alive;
  if (seen.close) info.keep_alive = false;
  // An HTTP/1.0 client cannot wait for the interim answer (RFC 9110 §10.1.1).
  info.expects_continue = seen.expect > 0 && !info.is_http_1_0;
  return std::nullopt;
}

bool is_valid_request_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
}

}  // namespace duckicelake::net
