// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"

namespace duckicelake::net {

// Why the server answers a request itself instead of handing it to the handler.
enum class FaultKind : std::uint8_t {
  kMalformed,       // 400 request line, header syntax, control characters, chunk syntax
  kFraming,         // 400 Content-Length / Transfer-Encoding that do not agree (RFC 9112 §6)
  kHost,            // 400 missing, repeated or malformed Host (RFC 9112 §3.2)
  kTimeout,         // 408 head or body too slow
  kBodyTooLarge,    // 413
  kTargetTooLong,   // 414
  kContentCoding,   // 400 or 415: a body coding other than gzip, or broken gzip
  kExpectation,     // 417
  kHeadTooLarge,    // 431
  kNotImplemented,  // 501 unknown transfer codings
  kOverload,        // 503 connections or body memory exhausted
  kVersion,         // 505
  kTunnel,          // 405 CONNECT: its target names no resource that a handler could look at
};
inline constexpr std::size_t kFaultKinds = 13;
std::string_view fault_name(FaultKind kind);  // "malformed", …; metric label

struct Fault {
  FaultKind kind;
  int status;
  std::string_view message;  // static text
};

struct HeadLimits {
  std::size_t max_target_bytes = 16 * 1024;
  std::size_t max_headers = 200;
};

// What the connection loop needs to know besides the Request itself.
struct HeadInfo {
  bool keep_alive = false;  // what the client wants
  bool is_http_1_0 = false;
  bool is_chunked = false;
  std::uint64_t content_length = 0;
  bool expects_continue = false;

  bool has_body() const { return is_chunked || content_length > 0; }
};

// Finds the end of a head in bytes that arrive piece by piece.
class HeadScanner {
 public:
  // `buffered` starts at the request line and has grown since the last call. The offset behind the
  // blank line, 0 when more bytes are needed, or a fault for a line that does not end in CRLF.
  struct Found {
    std::size_t end = 0;
    std::optional<Fault> fault;
  };
  Found scan(std::string_view buffered);
  bool has_request_line() const { return line_start_ > 0; }
  void reset() { *this = HeadScanner(); }

 private:
  std::size_t line_start_ = 0;
  std::size_t searched_ = 0;
};

// Parses a complete head (request line to blank line, as HeadScanner found it) into method, target
// and headers of `request`. Strict where leniency allows request smuggling (RFC 9112 §2.2, §5.1,
// §5.2, §6): one SP between the parts of the request line, no blank before a colon, no obs-fold, no
// bare CR, no control characters, one Content-Length of digits only, Transfer-Encoding "chunked"
// only and never with Content-Length or HTTP/1.0, exactly one Host for HTTP/1.1, one Authorization
// and Content-Type at most. An absolute-form target is reduced to origin form and its authority
// replaces Host (RFC 9112 §3.2.2). Pure: no I/O, no clock. On a fault `request` is unspecified,
// except that the method is set when the request line named one.
std::optional<Fault> parse_request_head(std::string_view head, const HeadLimits& limits,
                                        Request& request, HeadInfo& info);

// Whether an X-Request-Id may be taken over: 1..128 of [A-Za-z0-9._-].
bool is_valid_request_id(std::string_view id);

}  // namespace duckicelake::net
