// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/name_lookup.h"
#include "catalog/write_context.h"

namespace duckicelake::catalog {

struct TableAnswer;

enum class Purge : bool { kNo, kYes };

// What happens to tables as wholes: they are dropped, renamed, taken out of the catalog, and spoken
// of in metrics reports. Thread-safe; calls block and pass `authorize` first. Errors beside the
// named ones: kNoSuchTable, and those of run_write.
class TableNames {
 public:
  struct Hooks {
    // The table as it is now; as Service::load_table.
    std::function<Result<std::shared_ptr<const TableAnswer>>(const Caller&, const TableRef&)> load;
    // The table is no more: caches let go of it.
    std::function<void(TableId)> forget;
  };
  TableNames(const Backends& backends, Hooks hooks)
      : backends_(backends), hooks_(std::move(hooks)) {}

  // With kYes its objects are removed as well, after the drop is durable; a failure of that leaves
  // objects behind that nothing names, and is none of the caller's.
  Status drop(const WriteContext& context, const TableRef& table, Purge purge) const;

  // Also into another namespace. Id, uuid, history and files stay. kNoSuchNamespace for the
  // destination's; kAlreadyExists when a table or view has its name.
  Status rename(const WriteContext& context, const TableRef& from, const TableRef& to) const;

  // Drops the table without its files and answers its last metadata, which holds all that was
  // committed before.
  struct LastMetadata {
    std::string metadata_location;
    std::string metadata;  // JSON
  };
  Result<LastMetadata> unregister(const WriteContext& context, const TableRef& table) const;

  // Keeps a report (JSON, checked by the caller) with the table.
  Status report_metrics(const Caller& caller, const TableRef& table,
                        const std::string& report) const;

 private:
  const Backends& backends_;
  const Hooks hooks_;
};

}  // namespace duckicelake::catalog
