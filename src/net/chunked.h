// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/request_head.h"

namespace duckicelake::net {

// Decodes a chunked body (RFC 9112 §7.1) fed in pieces of any size. Lines end in CRLF only; a size
// is 1 to 8 hex digits; extensions and trailers are checked for control characters, bounded and
// dropped. Memory: appends to the caller's string what has arrived, never what a size promises.
class ChunkedDecoder {
 public:
  explicit ChunkedDecoder(std::size_t max_body_bytes) : max_body_bytes_(max_body_bytes) {}

  // Consumes from `input` and appends the decoded bytes to `body`. Stops at the end of the body:
  // what stays unconsumed then belongs to the next request.
  struct Progress {
    std::size_t consumed = 0;
    bool is_complete = false;
    std::optional<Fault> fault;
  };
  Progress feed(std::string_view input, std::string& body);

 private:
  enum class State {
    kSize,
    kExtension,
    kSizeLineFeed,
    kData,
    kDataReturn,
    kDataLineFeed,
    kTrailerStart,
    kTrailer,
    kTrailerLineFeed,
    kEndLineFeed,
    kDone
  };

  std::optional<Fault> feed_byte(char c);
  std::optional<Fault> end_size_line();
  // Copies as much chunk data as `input` holds; the number of bytes taken.
  std::size_t take_data(std::string_view input, std::string& body);

  // Bounds over the whole body of what a client may send besides data: it costs work and buys
  // nothing.
  static constexpr std::size_t kMaxExtensionBytes = 16 * 1024;
  static constexpr std::size_t kMaxTrailerBytes = 8 * 1024;

  State state_ = State::kSize;
  std::size_t max_body_bytes_;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t total_ = 0;
  int size_digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace duckicelake::net
