// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The session policy of vended keys: IAM policy text that names exactly what they open. A key is
// opened because a statement names it, never because none forbids it.
namespace duckicelake::sign {

// What keys may do in one bucket. Prefixes are keys that end in '/': what lies beside them under a
// longer name ("orders2/" beside "orders/") is never meant.
struct SessionScope {
  std::string bucket;
  std::vector<std::string> read_prefixes;    // read objects, list
  std::vector<std::string> read_keys;        // read exactly these objects
  std::vector<std::string> write_prefixes;   // put objects, also in parts; never delete
  std::vector<std::string> denied_prefixes;  // nothing at all, whatever the others say
  // What may stand for read_keys where those do not fit; empty: nothing may.
  std::vector<std::string> wider_prefixes;
};

// What becomes of '*', '?' and '$' in a key, which IAM reads as wildcards and variables.
enum class Wildcards {
  kRefuse,  // for stores that do not know IAM's escapes, and would match other keys
  kEscape,  // "${*}", as AWS has it
};

struct PolicyOptions {
  Wildcards wildcards = Wildcards::kRefuse;
  std::string partition = "aws";  // of the ARNs
  std::size_t max_bytes = 2048;   // what AssumeRole takes
  bool prefers_wider = false;     // use wider_prefixes at once: the service found it too large
};

struct SessionPolicy {
  std::string text;         // JSON, ASCII only
  bool is_widened = false;  // wider_prefixes stand for read_keys
};

// Deterministic: equal scopes give equal texts. kInvalidArgument for a bucket, prefix or key that
// cannot be named safely (empty, not UTF-8, control characters, '\', empty, "." and ".." segments,
// wildcards under kRefuse, a prefix without '/' at its end), and when nothing would be allowed.
// kPayloadTooLarge when the text does not fit; no part is ever left out to make it fit.
Result<SessionPolicy> session_policy(const SessionScope& scope, const PolicyOptions& options);

// Whether a key can be meant by its own text alone: the rules above but for wildcards.
Status check_plain_key(std::string_view key);

}  // namespace duckicelake::sign
