// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace duckicelake::net {

// One gzip member (RFC 1952). level: 1 (fast) to 9. The same input gives the same bytes.
Result<std::string> gzip_compress(std::string_view bytes, int level);

// Inflates gzip bytes step by step, so that a caller on an I/O thread can yield in between. Members
// may be concatenated; anything else after a member, or a cut-off stream, is kInvalidArgument.
// Output beyond max_output is kPayloadTooLarge, found after at most one further step: memory stays
// bounded by it.
class Gunzip {
 public:
  // Pre-condition: input outlives the object.
  Gunzip(std::string_view input, std::size_t max_output);
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // Appends at most max_step bytes to the output. True when the stream is complete.
  Result<bool> step(std::size_t max_step);
  // Pre-condition: step() returned true.
  std::string take_output();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Result<std::string> gunzip(std::string_view bytes, std::size_t max_output);

// Whether an Accept-Encoding value asks for gzip at least as much as for identity (RFC 9110
// §12.5.3: q-values, "*", "x-gzip"). An absent or empty header asks for nothing: false.
bool accepts_gzip(std::string_view accept_encoding);
bool accepts_gzip(const Request& request);

}  // namespace duckicelake::net
