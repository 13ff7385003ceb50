// SPDX-License-Identifier: Apache-2.0
// Request framing: a stream of bytes is cut into requests as the server cuts it. Boost.Beast,
// another parser, reads the same bytes; where both accept, they must see the same requests, or a
// proxy in front could see others than the server does.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/chunked.h"
#include "net/gzip.h"
#include "net/request_head.h"

namespace {

using namespace duckicelake::net;
namespace http = boost::beast::http;

constexpr std::size_t kMaxBody = 4096;

void check(bool condition) {
  if (!condition) __builtin_trap();
}

struct Body {
  bool is_complete = false;
  std::size_t consumed = 0;
  std::string bytes;
  std::optional<Fault> fault;
};

Body read_body(std::string_view input, const HeadInfo& info, std::size_t piece) {
  Body body;
  if (!info.is_chunked) {
    body.is_complete = info.content_length <= input.size();
    if (body.is_complete) body.consumed = static_cast<std::size_t>(info.content_length);
    body.bytes = input.substr(0, body.consumed);
    return body;
  }
  ChunkedDecoder decoder(kMaxBody);
  while (body.consumed < input.size() && !body.is_complete) {
    auto progress = decoder.feed(input.substr(body.consumed, piece), body.bytes);
    body.fault = progress.fault;
    if (body.fault) break;
    check(progress.consumed > 0);
    body.consumed += progress.consumed;
    body.is_complete = progress.is_complete;
  }
  check(body.bytes.size() <= kMaxBody);
  return body;
}

// Beast's reading of one request; consumed is 0 when it refuses or needs more.
struct Oracle {
  std::size_t consumed = 0;
  http::request<http::string_body> message;
};

Oracle ask_beast(std::string_view input) {
  Oracle oracle;
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.header_limit(1 << 20);
  parser.body_limit(std::uint64_t{1} << 40);
  std::size_t at = 0;
  while (!parser.is_done()) {
    boost::beast::error_code ec;
    std::size_t taken = parser.put(boost::asio::buffer(input.data() + at, input.size() - at), ec);
    at += taken;
    if (ec || taken == 0) return oracle;
  }
  oracle.consumed = at;
  oracle.message = parser.release();
  return oracle;
}

void compare(std::string_view input, std::size_t head_size, const Request& request,
             const Body& body) {
  Oracle oracle = ask_beast(input);
  if (oracle.consumed == 0) return;
  check(oracle.consumed == head_size + body.consumed);
  check(oracle.message.body() == body.bytes);
  check(std::string_view(oracle.message.method_string()) == request.method_text);
  std::string_view target = oracle.message.target();
  if (target.front() == '/') check(target == request.target);
}

// One request off the front; the number of bytes it takes, 0 to stop.
std::size_t fuzz_request(std::string_view input) {
  HeadScanner scanner;
  auto found = scanner.scan(input);
  HeadScanner bytewise;
  for (std::size_t size = 0; size <= input.size() && size < 2048; ++size) {
    auto step = bytewise.scan(input.substr(0, size));
    if (step.end > 0 || step.fault) {
      check(step.end == found.end && step.fault.has_value() == found.fault.has_value());
      break;
    }
  }
  if (found.fault || found.end == 0) return 0;
  check(found.end <= input.size());
  Request request;
  HeadInfo info;
  if (parse_request_head(input.substr(0, found.end), HeadLimits(), request, info)) return 0;
  check(!request.target.empty() && (request.target.front() == '/' || request.target == "*"));
  check(!(info.is_chunked && info.content_length > 0));
  for (const auto& [name, value] : request.headers) {
    check(!name.empty() && value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  }
  std::string_view rest = input.substr(found.end);
  Body body = read_body(rest, info, rest.size());
  Body pieces = read_body(rest, info, 1);
  check(body.is_complete == pieces.is_complete && body.bytes == pieces.bytes);
  check(body.fault.has_value() == pieces.fault.has_value());
  if (!body.is_complete) return 0;
  compare(input, found.end, request, body);
  return found.end + body.consumed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("\x1f\x8b")) {
    auto plain = gunzip(input, kMaxBody);
    check(!plain.has_value() || plain->size() <= kMaxBody);
    return 0;
  }
  for (int i = 0; i < 16 && !input.empty(); ++i) {
    std::size_t taken = fuzz_request(input);
    if (taken == 0) break;
    input.remove_prefix(taken);
  }
  return 0;
}
