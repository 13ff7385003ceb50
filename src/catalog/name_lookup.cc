// SPDX-License-Identifier: Apache-2.0
#include "catalog/name_lookup.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxJoinedBytes = 1024;  // of a namespace in a path
constexpr std::size_t kMaxPropertyKeyBytes = 1024;
constexpr std::size_t kMaxProperties = 10'000;

bool is_hidden(std::string_view name) { return name.starts_with("__mask_"); }

Error no_such_table(const TableRef& table) {
  return make_error(Code::kNoSuchTable, "Table does not exist: {}", display_name(table));
}

Error no_such_view(const TableRef& view) {
  return make_error(Code::kNoSuchView, "View does not exist: {}", display_name(view));
}

std::string_view kind_name(const store::EntryName& entry) {
  return entry.is_view ? "View" : "Table";
}

std::string case_hint(const store::EntryName& taken, const std::string& wanted) {
  if (taken.name == wanted) return {};
  return fmt::format(" as \"{}\": DuckDB does not tell names apart by case", taken.name);
}

}  // namespace

std::string display_name(const Levels& levels) {
  std::string out;
  for (const std::string& level : levels) {
    if (!out.empty()) out.push_back('.');
    out.append(level);
  }
  return out;
}

std::string display_name(const TableRef& table) {
  return display_name(table.levels) + "." + table.name;
}

Status check_new_name(std::string_view what, std::string_view name) {
  if (name.empty()) return invalid_argument("the {} is empty", what);
  if (name.size() > kMaxNewNameBytes) {
    return invalid_argument("the {} is longer than {} bytes", what, kMaxNewNameBytes);
  }
  if (name.find('\0') != std::string_view::npos || name.find('\x1F') != std::string_view::npos) {
    return invalid_argument("the {} holds a NUL or the separator 0x1F", what);
  }
  if (name == "." || name == "..") {
    return invalid_argument("the {} \"{}\" cannot be part of a URL", what, name);
  }
  if (name.starts_with("__mask_") || name.starts_with("__masked_")) {
    return invalid_argument("names that begin with __mask_ or __masked_ are reserved: \"{}\"",
                            name);
  }
  return {};
}

Status check_new_levels(const Levels& levels) {
  if (levels.empty()) return Error(Code::kInvalidArgument, "the namespace has no levels");
  std::size_t joined = levels.size() - 1;
  for (const std::string& level : levels) {
    DIL_CHECK_OK(check_new_name("namespace's name", level));
    joined += level.size();
  }
  if (joined > kMaxJoinedBytes) {
    return invalid_argument("the namespace's levels have more than {} bytes", kMaxJoinedBytes);
  }
  return {};
}

Status check_property_key(std::string_view key) {
  if (key.starts_with("duckicelake.")) {
    return make_error(Code::kPermissionDenied, "the property \"{}\" is the server's own",
                      key.substr(0, kMaxPropertyKeyBytes));
  }
  if (key.size() > kMaxPropertyKeyBytes || key.find('\0') != std::string_view::npos) {
    return invalid_argument("a property's key is longer than {} bytes or holds a NUL",
                            kMaxPropertyKeyBytes);
  }
  return {};
}

Status check_properties(const std::map<std::string, std::string>& properties) {
  if (properties.size() > kMaxProperties) {
    return invalid_argument("there are more than {} properties", kMaxProperties);
  }
  for (const auto& [key, value] : properties) {
    DIL_CHECK_OK(check_property_key(key));
    if (value.find('\0') != std::string::npos) {
      return invalid_argument("the value of the property \"{}\" holds a NUL", key);
    }
  }
  return {};
}

Result<store::NamespaceRow> require_namespace(pg::Connection& connection, const store::Lake& lake,
                                              const Levels& levels) {
  DIL_TRY(std::optional<store::NamespaceRow> row, store::find_namespace(connection, lake, levels));
  if (!row) {
    return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}", display_name(levels));
  }
  return std::move(*row);
}

Result<FoundTable> require_table(pg::Connection& connection, const store::Lake& lake,
                                 const TableRef& table) {
  DIL_TRY(std::optional<store::NamespaceRow> space,
          store::find_namespace(connection, lake, table.levels));
  if (!space || is_hidden(table.name)) return no_such_table(table);
  DIL_TRY(std::optional<store::TableName> found,
          store::find_table(connection, lake, space->schema_id, table.name));
  if (!found) return no_such_table(table);
  return FoundTable{std::move(*space), std::move(*found)};
}

Result<FoundView> require_view(pg::Connection& connection, const store::Lake& lake,
                               const TableRef& view) {
  DIL_TRY(std::optional<store::NamespaceRow> space,
          store::find_namespace(connection, lake, view.levels));
  if (!space || is_hidden(view.name)) return no_such_view(view);
  DIL_TRY(std::optional<store::ViewRow> found,
          store::find_view(connection, lake, space->schema_id, view.name));
  if (!found) return no_such_view(view);
  return FoundView{std::move(*space), std::move(*found)};
}

// The words are those that Iceberg's Java clients and their tests look for.
Status require_free_name(pg::Connection& connection, const store::Lake& lake,
                         const store::NamespaceRow& space, const std::string& name,
                         EntryKind wanted) {
  DIL_TRY(std::optional<store::EntryName> taken,
          store::find_entry(connection, lake, space.schema_id, name));
  if (!taken) return {};
  const bool is_same_kind = taken->is_view == (wanted == EntryKind::kView);
  return make_error(Code::kAlreadyExists, "{}{} already exists: {}{}", kind_name(*taken),
                    is_same_kind ? "" : " with same name",
                    display_name(TableRef{space.levels, taken->name}), case_hint(*taken, name));
}

Status require_free_target(pg::Connection& connection, const store::Lake& lake,
                           const store::NamespaceRow& space, const TableRef& from,
                           const TableRef& to, std::int64_t id) {
  DIL_TRY(std::optional<store::EntryName> taken,
          store::find_entry(connection, lake, space.schema_id, to.name));
  if (!taken || taken->id == id) return {};
  return make_error(Code::kAlreadyExists, "Cannot rename {} to {}. {} already exists{}",
                    display_name(from), display_name(to), kind_name(*taken),
                    case_hint(*taken, to.name));
}

ObjectRef object_of(const store::NamespaceRow& space) {
  ObjectRef out;
  out.schema = space.schema_id;
  out.name = display_name(space.levels);
  out.levels = space.levels;
  return out;
}

ObjectRef object_of(const FoundTable& found) {
  ObjectRef out = object_of(found.space);
  out.table = found.table.table_id;
  return out;
}

ObjectRef object_of(const FoundView& found) {
  ObjectRef out = object_of(found.space);
  out.view = found.view.view_id;
  out.name = display_name(TableRef{found.space.levels, found.view.name});
  return out;
}

}  // namespace duckicelake::catalog
