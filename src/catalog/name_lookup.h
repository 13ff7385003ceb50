// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "catalog/authorize.h"
#include "store/names.h"

// Names of namespaces, tables and views: which may be taken, and what is found under them.
namespace duckicelake::catalog {

using store::Levels;

// A table or a view by name.
struct TableRef {
  Levels levels;
  std::string name;
  friend bool operator==(const TableRef&, const TableRef&) = default;
};

// For messages: levels joined by dots.
std::string display_name(const Levels& levels);
std::string display_name(const TableRef& table);

// A new name must be one that every route can address and DuckDB can hold: 1 to 256 bytes, no NUL
// and no 0x1F (which joins levels in paths), neither "." nor "..", and none of those that are kept
// for masking ("__mask_…", "__masked_…"). kInvalidArgument.
inline constexpr std::size_t kMaxNewNameBytes = 256;
Status check_new_name(std::string_view what, std::string_view name);
// Each level as above; all of them joined no longer than a path parameter may be.
Status check_new_levels(const Levels& levels);
// kInvalidArgument for keys and values that cannot be stored; kPermissionDenied for keys that begin
// "duckicelake.", which are the server's own.
Status check_properties(const std::map<std::string, std::string>& properties);
Status check_property_key(std::string_view key);

// kNoSuchNamespace.
Result<store::NamespaceRow> require_namespace(pg::Connection& connection, const store::Lake& lake,
                                              const Levels& levels);

// kNoSuchTable also when the namespace does not exist, or the table is one that is not shown.
struct FoundTable {
  store::NamespaceRow space;
  store::TableName table;
};
Result<FoundTable> require_table(pg::Connection& connection, const store::Lake& lake,
                                 const TableRef& table);
// kNoSuchView likewise.
struct FoundView {
  store::NamespaceRow space;
  store::ViewRow view;
};
Result<FoundView> require_view(pg::Connection& connection, const store::Lake& lake,
                               const TableRef& view);

// kAlreadyExists when a table or view of the name is in the schema already.
enum class EntryKind : bool { kTable, kView };
Status require_free_name(pg::Connection& connection, const store::Lake& lake,
                         const store::NamespaceRow& space, const std::string& name,
                         EntryKind wanted);
// The same for a rename, where the entry itself (`id`, of a table or view) is not in its own way.
Status require_free_target(pg::Connection& connection, const store::Lake& lake,
                           const store::NamespaceRow& space, const TableRef& from,
                           const TableRef& to, std::int64_t id);

ObjectRef object_of(const store::NamespaceRow& space);
ObjectRef object_of(const FoundTable& found);
ObjectRef object_of(const FoundView& found);

}  // namespace duckicelake::catalog
