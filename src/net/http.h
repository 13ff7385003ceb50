// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace duckicelake::net {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kPatch, kOptions, kTrace, kOther };

// Case sensitive, as methods are (RFC 9110 §9.1): "get" is kOther.
Method parse_method(std::string_view text);

using Headers = std::vector<std::pair<std::string, std::string>>;

// What a chunked body that is still to come counts as.
inline constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};

// One request whose framing has been checked (net/request_head.h). Its body is not here yet when it
// is handed over: Responder::receive_body.
struct Request {
  Method method = Method::kGet;
  std::string method_text;
  // Origin form, still percent-encoded: path and query. An absolute-form target was reduced to it.
  std::string target;
  // Names in lower case, values without surrounding blanks, in the order received.
  Headers headers;
  // Framing is removed, and so is a gzip content-encoding (together with its header).
  std::string body;
  // Bytes of a body that the client announced and nobody has asked for; 0: there is none.
  std::uint64_t body_to_come = 0;
  std::string peer_address;  // without the port
  // The caller's X-Request-Id when it has a safe form, else one made here; echoed in the response.
  std::string request_id;
  bool tls = false;

  // The first value of the header, or an empty view.
  std::string_view header(std::string_view lower_name) const;
  bool has_header(std::string_view lower_name) const;
};

// A piece of a response body: bytes of its own, or bytes shared with a cache (written without a
// copy).
class Chunk {
 public:
  Chunk(std::string owned) : owned_(std::move(owned)) {}  // NOLINT: a string is a chunk
  Chunk(std::shared_ptr<const std::string> shared)        // NOLINT: a cached string is a chunk
      : shared_(std::move(shared)), view_(*shared_) {}
  // Pre-condition: view lies within *shared.
  Chunk(std::shared_ptr<const std::string> shared, std::string_view view)
      : shared_(std::move(shared)), view_(view) {}

  std::string_view bytes() const { return shared_ ? view_ : std::string_view(owned_); }

 private:
  std::string owned_;
  std::shared_ptr<const std::string> shared_;
  std::string_view view_;
};

// What a handler answers. content-length, date, connection, transfer-encoding and x-request-id are
// the server's: handlers' values for them are ignored. A header value with a control character
// turns the response into a 500. A 204, 304 or HEAD response is sent without its body.
struct Response {
  int status = 200;
  Headers headers;
  std::vector<Chunk> body;
  bool close_connection = false;

  void add_header(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
  }
  std::size_t body_size() const;
  // The body in one string; for tests and small bodies.
  std::string body_text() const;
};

Response make_response(int status, std::string content_type, std::string body);
Response make_json_response(int status, std::string body);

// "OK" for 200; "Unknown" for a status without a name.
std::string_view reason_phrase(int status);

}  // namespace duckicelake::net
