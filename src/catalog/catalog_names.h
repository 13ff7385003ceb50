// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

// What names a catalog may have that is made over REST: in URLs, in PostgreSQL and in the bucket.
// Each is narrow enough to need no quoting anywhere, and is quoted nevertheless. All are pure;
// kInvalidArgument says what is wrong.
namespace duckicelake::catalog {

// A letter or digit, then letters, digits, '_', '-' and '.', at most 63 in all; no word that routes
// begin with.
Status check_catalog_id(std::string_view id);

// Lower-case letters, digits and '_', no digit first, at most 63; neither PostgreSQL's own, nor
// public, nor the sidecar's.
Status check_metadata_schema(std::string_view schema);

// A folder inside of the bucket, as it is kept: "a/b/". Segments are of letters, digits, '_', '-',
// '.' and '=' and begin with a letter or digit; at most 512 bytes. With or without the last '/'.
Result<std::string> normal_data_prefix(std::string_view prefix);

// As tokens claim it: 1 to 128 bytes of UTF-8 without control characters.
Status check_account(std::string_view account);

}  // namespace duckicelake::catalog
