// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/settings.h"
#include "app/storage_proof.h"
#include "base/result.h"
#include "catalog/key_policy.h"
#include "catalog/sign_request.h"
#include "sign/sigv4.h"

namespace duckicelake::app {

struct KeyToProve {
  sign::Credentials keys;
  sign::SessionScope opens;
  // Folders that others may see: key prefixes ending in '/', not below those that it opens.
  std::vector<std::string> closed;
  // Where catalogs have their data that another run of the command is for.
  std::vector<std::string> other_buckets;
};

// Tries with the key itself, on objects of its own making beside those that are there, that it
// opens what it is to open and nothing else; removes them. A store may take some seconds until a
// policy counts: what is not right is tried again for ten. kUnavailable: the server's own
// keys cannot write there.
Result<StorageProof> prove_static_key(const Settings& settings, const catalog::ObjectPlace& place,
                                      const KeyToProve& key);

}  // namespace duckicelake::app
