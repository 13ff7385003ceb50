// SPDX-License-Identifier: Apache-2.0
#include "net/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "net/byte_words.h"
#include "net/server.h"

namespace duckicelake::net {
namespace {

bool is_value_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 ? byte != 0x7f : byte == '\t';
}

bool is_name_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f && byte != ':';
}

bool is_safe_value(std::string_view value) {
  return all_good(
      value, [](std::uint64_t word) { return below(word, 0x20) | equal_to(word, 0x7f); },
      is_value_byte);
}

bool is_safe_name(std::string_view name) {
  return !name.empty() && all_good(
                              name,
                              [](std::uint64_t word) {
                                return below(word, 0x21) | equal_to(word, 0x7f) |
                                       equal_to(word, ':') | (word & kHighs);
                              },
                              is_name_byte);
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

using Digits = std::array<char, 20>;
std::string_view decimal(std::size_t number, Digits& digits) {
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

// Appends to a string whose final size is known.
class Writer {
 public:
  Writer(std::string& out, std::size_t size) : out_(out) { out_.resize(size); }
  Writer& operator<<(std::string_view text) {
    if (text.empty()) return *this;  // may have no address
    std::memcpy(out_.data() + end_, text.data(), text.size());
    end_ += text.size();
    return *this;
  }

 private:
  std::string& out_;
  std::size_t end_ = 0;
};

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
  Digits status_digits;
  Digits length_digits;
  const std::string_view status = decimal(static_cast<std::size_t>(response.status), status_digits);
  const std::string_view reason = reason_phrase(response.status);
  std::string_view length_name;
  std::string_view length;
  if (status_allows_body(response.status)) {
    length_name = "\r\ncontent-length: ";
    length = decimal(response.body_size(), length_digits);
  }
  const std::string_view id_name =
      framing.request_id.empty() ? std::string_view() : "\r\nx-request-id: ";
  std::string_view connection;
  if (framing.connection == ConnectionOption::kClose) connection = "\r\nconnection: close";
  if (framing.connection == ConnectionOption::kKeepAlive) {
    connection = "\r\nconnection: keep-alive";
  }
  constexpr std::string_view kProtocol = "HTTP/1.1 ";
  constexpr std::string_view kDate = "\r\ndate: ";
  constexpr std::string_view kEnd = "\r\n\r\n";
  std::size_t size = kProtocol.size() + status.size() + 1 + reason.size() + kDate.size() +
                     framing.date.size() + length_name.size() + length.size() + id_name.size() +
                     framing.request_id.size() + connection.size() + kEnd.size();
  for (const auto& [name, value] : response.headers) {
    if (!is_safe_name(name) || !is_safe_value(value)) return false;
    if (!is_server_header(name)) size += name.size() + value.size() + 4;
  }
  Writer writer(out, size);
  writer << kProtocol << status << " " << reason << kDate << framing.date << length_name << length
         << id_name << framing.request_id << connection;
  for (const auto& [name, value] : response.headers) {
    if (!is_server_header(name)) writer << "\r\n" << name << ": " << value;
  }
  writer << kEnd;
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
