// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace duckicelake::rest {

enum class Listing : std::uint8_t { kNamespaces = 1, kTables = 2, kViews = 3, kCatalogs = 4 };

// Makes and reads page tokens: base64url of {version, listing, tag, the name to continue after},
// where the tag is the first 16 bytes of an HMAC-SHA256 over all of it and the namespace that is
// listed. So a token is good for the listing that it was made for, in every process that has the
// key, and any other or altered one is refused. Tokens do not expire: they name a place in the
// order of names and no state. Thread-safe.
class PageTokens {
 public:
  explicit PageTokens(Secret key) : key_(std::move(key)) {}

  // `levels`: the listed namespace; the parent of namespaces; empty for the top level.
  std::string make(Listing listing, const std::vector<std::string>& levels,
                   std::string_view after) const;
  // The name to continue after. kInvalidArgument for whatever `make` did not make for this listing.
  Result<std::string> read(Listing listing, const std::vector<std::string>& levels,
                           std::string_view token) const;

 private:
  std::string tag(Listing listing, const std::vector<std::string>& levels,
                  std::string_view after) const;
  Secret key_;
};

}  // namespace duckicelake::rest
