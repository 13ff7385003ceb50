// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "objstore/object_store.h"
#include "pg/deadline.h"
#include "store/lake.h"
#include "store/owned_objects.h"

namespace duckicelake::catalog {

// Removes the objects of a table that was dropped: its files by their list, its metadata folder and
// the files that only its Iceberg metadata named. What another table names or could name stays: its
// folder is then left as it is, but for the listed files. Objects that are gone already are no
// fault. Stops with kDeadlineExceeded at the deadline, or at the first failure; what was removed
// until then stays so.
Status purge_objects(objstore::ObjectStore& objects, const store::Lake& lake,
                     const store::OwnedObjects& owned, pg::Deadline until);

}  // namespace duckicelake::catalog
