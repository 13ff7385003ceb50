// SPDX-License-Identifier: Apache-2.0
#include "net/chunked.h"

#include <algorithm>

namespace duckicelake::net {
namespace {

constexpr Fault malformed(std::string_view message) {
  return Fault{FaultKind::kMalformed, 400, message};
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 ? byte != 0x7f : byte == '\t';
}

}  // namespace

std::optional<Fault> ChunkedDecoder::end_size_line() {
  total_ += chunk_left_;
  if (total_ > max_body_bytes_) {
    return Fault{FaultKind::kBodyTooLarge, 413, "the body is too large"};
  }
  state_ = chunk_left_ == 0 ? State::kTrailerStart : State::kData;
  size_digits_ = 0;
  return std::nullopt;
}

std::optional<Fault> ChunkedDecoder::feed_byte(char c) {
  switch (state_) {
    case State::kSize: {
      int digit = hex_value(c);
      if (digit >= 0) {
        if (++size_digits_ > 8) return malformed("chunk size with too many digits");
        chunk_left_ = chunk_left_ * 16 + static_cast<unsigned>(digit);
        return std::nullopt;
      }
      if (size_digits_ == 0) return malformed("chunk without a size");
      if (c == '\r') {
        state_ = State::kSizeLineFeed;
      } else if (c == ';') {
        state_ = State::kExtension;
      } else {
        return malformed("malformed chunk size");
      }
      return std::nullopt;
    }
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeLineFeed;
      } else if (!is_text(c) || ++extension_bytes_ > kMaxExtensionBytes) {
        return malformed("malformed or overlong chunk extension");
      }
      return std::nullopt;
    case State::kSizeLineFeed:
      if (c != '\n') return malformed("chunk size line that does not end in CRLF");
      return end_size_line();
    case State::kDataReturn:
      if (c != '\r') return malformed("chunk data longer than its size");
      state_ = State::kDataLineFeed;
      return std::nullopt;
    case State::kDataLineFeed:
      if (c != '\n') return malformed("chunk data that does not end in CRLF");
      state_ = State::kSize;
      return std::nullopt;
    case State::kTrailerStart:
    case State::kTrailer:
      if (c == '\r') {
        state_ = state_ == State::kTrailerStart ? State::kEndLineFeed : State::kTrailerLineFeed;
      } else if (!is_text(c)) {
        return malformed("control character in a trailer");
      } else if (++trailer_bytes_ > kMaxTrailerBytes) {
        return Fault{FaultKind::kHeadTooLarge, 431, "the trailers are too large"};
      } else {
        state_ = State::kTrailer;
      }
      return std::nullopt;
    case State::kTrailerLineFeed:
      if (c != '\n') return malformed("trailer that does not end in CRLF");
      state_ = State::kTrailerStart;
      return std::nullopt;
    case State::kEndLineFeed:
      if (c != '\n') return malformed("chunked body that does not end in CRLF");
      state_ = State::kDone;
      return std::nullopt;
    case State::kData:
    case State::kDone: return std::nullopt;
  }
  return std::nullopt;
}

std::size_t ChunkedDecoder::take_data(std::string_view input, std::string& body) {
  auto take = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, input.size()));
  body.append(input.substr(0, take));
  chunk_left_ -= take;
  if (chunk_left_ == 0) state_ = State::kDataReturn;
  return take;
}

ChunkedDecoder::Progress ChunkedDecoder::feed(std::string_view input, std::string& body) {
  Progress progress;
  while (progress.consumed < input.size() && state_ != State::kDone) {
    if (state_ == State::kData) {
      progress.consumed += take_data(input.substr(progress.consumed), body);
      continue;
    }
    progress.fault = feed_byte(input[progress.consumed]);
    if (progress.fault) return progress;
    ++progress.consumed;
  }
  progress.is_complete = state_ == State::kDone;
  return progress;
}

}  // namespace duckicelake::net
