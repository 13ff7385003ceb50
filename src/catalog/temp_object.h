// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "objstore/object_store.h"

namespace duckicelake::catalog {

// Copies an object within the store through a local file: no more than a part of it is in memory.
Status copy_object(objstore::ObjectStore& objects, const std::string& from, const std::string& to);

}  // namespace duckicelake::catalog
