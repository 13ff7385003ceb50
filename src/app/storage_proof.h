// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/settings.h"
#include "base/result.h"

namespace duckicelake::app {

// What was tried with keys, in words, and whether the store did what it must.
struct ProofLine {
  std::string tried;  // "keys for reading one folder read a folder beside it (in-2/)"
  int expected = 0;   // HTTP status
  int found = 0;      // 0: no answer
  bool is_right = false;
};

struct StorageProof {
  std::string way;  // by what the keys were made
  std::vector<ProofLine> lines;
  bool is_right() const;
};

// Makes keys as tables' readers and writers get them, for a folder of its own outside of the lake's
// data, tries what they must and must not open, and removes what it wrote. kUnsupported: the
// settings know no STS, or there is none at its endpoint; errors of the store and the STS as
// theirs.
Result<StorageProof> prove_storage(const Settings& settings);

// {"way":…,"ok":…,"checks":[{"tried":…,"expected":…,"found":…,"ok":…},…]}
std::string proof_json(const StorageProof& proof);

}  // namespace duckicelake::app
