// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duckicelake::sign {

// What happens to '/' in uri_encode: kept in paths, encoded in query names and values.
enum class Slash { kKeep, kEncode };

// Percent-encodes every byte outside A-Z a-z 0-9 - . _ ~ with upper-case hex ("UriEncode()" of the
// SigV4 documentation). Any bytes are accepted.
std::string uri_encode(std::string_view bytes, Slash slash);

// Reverses percent-encoding; '+' stays '+'. kInvalidArgument on a '%' without two hex digits.
Result<std::string> uri_decode(std::string_view text);

// A query parameter, decoded.
struct Parameter {
  std::string name;
  std::string value;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// Parameters of a raw query string (without '?'), in order; "a" counts as "a=". Empty pieces are
// skipped. kInvalidArgument on bad percent-encoding or more than `max_parameters` of them.
Result<std::vector<Parameter>> parse_query(std::string_view query,
                                           std::size_t max_parameters = 256);

// "CanonicalQueryString": encoded, then sorted by encoded name and value. Also a fine query to
// send.
std::string canonical_query(const std::vector<Parameter>& parameters);

}  // namespace duckicelake::sign
