// SPDX-License-Identifier: Apache-2.0
#include "net/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "net/server.h"

namespace duckicelake::net {
namespace {

// Both look at all characters whatever they find, so that the compiler makes vector code of it.
bool is_safe_value(std::string_view value) {
  bool is_safe = true;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    is_safe &= (byte >= 0x20) | (byte == '\t');
    is_safe &= byte != 0x7f;
  }
  return is_safe;
}

bool is_safe_name(std::string_view name) {
  bool is_safe = !name.empty();
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    is_safe &= (byte > 0x20) & (byte < 0x7f);
    is_safe &= byte != ':';
  }
  return is_safe;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_server_header(std::string_view name) {
  switch (name.size()) {
    case 4: return equals_ignoring_case(name, "date");
    case 10:
      return equals_ignoring_case(name, "connection") || equals_ignoring_case(name, "keep-alive");
    case 12: return equals_ignoring_case(name, "x-request-id");
    case 14: return equals_ignoring_case(name, "content-length");
    case 17: return equals_ignoring_case(name, "transfer-encoding");
    default: return false;
  }
}

void append_number(std::string& out, std::size_t number) {
  std::array<char, 20> digits;
  auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append(fmt::format("\\u{:04x}", static_cast<int>(c)));
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace

bool status_allows_body(int status) { return status >= 200 && status != 204 && status != 304; }

bool compose_response_head(const Response& response, const ResponseFraming& framing,
                           std::string& out) {
  if (response.status < 200 || response.status > 599) return false;
  out.assign("HTTP/1.1 ");
  append_number(out, static_cast<std::size_t>(response.status));
  out.append(" ").append(reason_phrase(response.status));
  out.append("\r\ndate: ").append(framing.date);
  if (status_allows_body(response.status)) {
    out.append("\r\ncontent-length: ");
    append_number(out, response.body_size());
  }
  if (!framing.request_id.empty()) out.append("\r\nx-request-id: ").append(framing.request_id);
  if (framing.connection == ConnectionOption::kClose) out.append("\r\nconnection: close");
  if (framing.connection == ConnectionOption::kKeepAlive) out.append("\r\nconnection: keep-alive");
  for (const auto& [name, value] : response.headers) {
    if (!is_safe_name(name) || !is_safe_value(value)) return false;
    if (is_server_header(name)) continue;
    out.append("\r\n").append(name).append(": ").append(value);
  }
  out.append("\r\n\r\n");
  return true;
}

std::string format_http_date(std::time_t seconds_since_epoch) {
  static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  gmtime_r(&seconds_since_epoch, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string_view error_type_name(int status) {
  switch (status) {
    case 400: return "BadRequestException";
    case 405: return "MethodNotAllowedException";
    case 408: return "RequestTimeoutException";
    case 413: return "PayloadTooLargeException";
    case 414: return "UriTooLongException";
    case 415: return "UnsupportedMediaTypeException";
    case 417: return "ExpectationFailedException";
    case 431: return "HeadersTooLargeException";
    case 501: return "UnsupportedOperationException";
    case 503: return "ServiceUnavailableException";
    case 504: return "GatewayTimeoutException";
    case 505: return "HttpVersionNotSupportedException";
    default: return "InternalServerError";
  }
}

std::string default_error_body(int status, std::string_view type, std::string_view message) {
  std::string body = "{\"error\":{\"message\":\"";
  append_json_escaped(body, message);
  body.append("\",\"type\":\"");
  append_json_escaped(body, type);
  body.append(fmt::format("\",\"code\":{}}}}}", status));
  return body;
}

}  // namespace duckicelake::net
