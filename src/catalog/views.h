// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/backends.h"
#include "catalog/name_lookup.h"
#include "catalog/write_context.h"
#include "iceberg/view_update.h"
#include "store/definitions.h"

namespace duckicelake::catalog {

struct ViewAnswer {
  std::string metadata_location;
  std::string metadata;  // view metadata JSON
};

struct CreateViewRequest {
  TableRef view;
  std::optional<std::string> location;
  iceberg::Schema schema;
  iceberg::ViewVersion version;
  std::map<std::string, std::string> properties;
};

struct CommitViewRequest {
  TableRef view;
  std::vector<iceberg::ViewRequirement> requirements;
  std::vector<iceberg::ViewUpdate> updates;
};

struct RegisterViewRequest {
  TableRef view;
  std::string metadata_location;
};

// Views. One that DuckDB made is shown with the one query that it has. One made over REST is an
// Iceberg view whose metadata the sidecar keeps and an object holds; the catalog's row of it has
// its query in DuckDB's dialect, so that DuckDB can ask it, or else its first query, which DuckDB
// lists and cannot parse. Views and tables share one space of names. Thread-safe; calls block and
// pass `authorize` first. Errors beside the named ones: kNoSuchView, and those of run_write.
class Views {
 public:
  explicit Views(const Backends& backends) : backends_(backends) {}

  Result<ViewAnswer> load(const Caller& caller, const TableRef& view) const;
  Status check(const Caller& caller, const TableRef& view) const;

  // kNoSuchNamespace; kAlreadyExists; kInvalidArgument for a location outside of DATA_PATH.
  Result<ViewAnswer> create(const WriteContext& context, const CreateViewRequest& request) const;
  // Applies updates to the view as it is now, when the requirements hold (else kCommitFailed). Id
  // and uuid stay.
  Result<ViewAnswer> commit(const WriteContext& context, const CommitViewRequest& request) const;
  // A view whose metadata is in an object below DATA_PATH. As create.
  Result<ViewAnswer> register_view(const WriteContext& context,
                                   const RegisterViewRequest& request) const;

  Status drop(const WriteContext& context, const TableRef& view) const;
  // As TableNames::rename.
  Status rename(const WriteContext& context, const TableRef& from, const TableRef& to) const;

 private:
  struct Base;  // a view as a commit finds it
  struct Next;  // and as it leaves it

  Result<Base> read_base(pg::Connection& connection, const Caller& caller,
                         const TableRef& view) const;
  Result<ViewAnswer> answer_of(const Base& base) const;
  Status store_object(const ViewAnswer& next) const;
  // What a write that failed left behind; as well as can be.
  void remove_object(const ViewAnswer& next, const Error& error) const;
  Result<ViewAnswer> insert(const WriteContext& context, const TableRef& view,
                            const iceberg::ViewMetadata& metadata, const ViewAnswer& answer,
                            bool writes_object) const;

  const Backends& backends_;
};

}  // namespace duckicelake::catalog
