// SPDX-License-Identifier: Apache-2.0
#include "catalog/namespaces.h"

#include <algorithm>

#include "catalog/random_name.h"
#include "catalog/write_run.h"
#include "ducklake/changes.h"
#include "json/value.h"
#include "json/writer.h"
#include "store/commit_rows.h"
#include "store/definitions.h"
#include "store/slot.h"

namespace duckicelake::catalog {
namespace {

constexpr int kMaxSuffix = 1000;

Error already_exists(const Levels& levels) {
  return make_error(Code::kAlreadyExists, "Namespace already exists: {}", display_name(levels));
}

bool is_folder_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// A schema name for the levels. One level is the name itself; when a namespace of several levels
// has that name, or for several levels, a suffix makes it one that is free, and the sidecar holds
// the levels.
Result<store::NewSchema> plan_schema(pg::Connection& connection, const store::Lake& lake,
                                     const Levels& levels) {
  store::NewSchema out;
  const std::string wanted = display_name(levels);
  for (int suffix = 0; suffix < kMaxSuffix; ++suffix) {
    out.name = suffix == 0 ? wanted : fmt::format("{}_{}", wanted, suffix);
    DIL_TRY(std::optional<store::SchemaName> taken, store::find_schema(connection, lake, out.name));
    if (taken) {
      if (suffix == 0 && levels.size() == 1 && taken->is_plain) return already_exists(levels);
      continue;
    }
    if (levels.size() > 1 || suffix > 0) out.levels = levels;
    out.uuid = random_uuid();
    out.path = out.name + "/";
    DIL_TRY(bool is_used, store::is_schema_path_used(connection, lake, out.path));
    // A table that is there, or holds it, would have keys for what comes.
    if (!is_used) {
      DIL_TRY(is_used, store::overlaps_tables(connection, lake, lake.data_path + out.path));
    }
    if (!is_folder_name(out.name) || is_used) out.path = out.uuid + "/";
    return out;
  }
  return make_error(Code::kAlreadyExists, "Too many schemas are named like {}", wanted);
}

Status check_not_there(pg::Connection& connection, const store::Lake& lake, const Levels& levels) {
  DIL_TRY(std::optional<store::NamespaceRow> row, store::find_namespace(connection, lake, levels));
  if (row) return already_exists(levels);
  return {};
}

Result<store::NamespaceRow> require_empty(pg::Connection& connection, const store::Lake& lake,
                                          const Levels& levels) {
  DIL_TRY(std::optional<store::NamespaceRow> row, store::find_namespace(connection, lake, levels));
  DIL_TRY(const bool is_parent, store::has_namespaces_below(connection, lake, levels));
  bool is_full = is_parent;
  if (row) {
    DIL_TRY(const bool has_entries, store::has_entries(connection, lake, row->schema_id));
    is_full = is_full || has_entries;
  }
  if (is_full) {
    return make_error(Code::kNamespaceNotEmpty, "Namespace is not empty: {}", display_name(levels));
  }
  if (!row) {
    return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}", display_name(levels));
  }
  return std::move(*row);
}

store::SlotRecord slot_record(const Caller& caller, const ducklake::Change& change,
                              std::string message) {
  return {ducklake::changes_text({&change, 1}), caller.principal.id, std::move(message), {}};
}

// The missing keys are what the request itself does not tell: a JSON array.
std::string outcome_text(const std::vector<std::string>& missing) {
  std::string out;
  json::Writer json(out);
  json.begin_array();
  for (const std::string& key : missing) json.value(key);
  json.end_array();
  return out;
}

Result<PropertiesChange> change_of(const PropertiesUpdate& update, const std::string& outcome) {
  DIL_TRY(const json::Document document, json::Document::parse(outcome));
  DIL_TRY(const json::Array missing, document.root().as_array());
  PropertiesChange out;
  for (const json::Value key : missing) {
    DIL_TRY(const std::string_view text, key.as_string());
    out.missing.emplace_back(text);
  }
  for (const auto& [key, value] : update.updates) out.updated.push_back(key);
  for (const std::string& key : update.removals) {
    if (std::find(out.missing.begin(), out.missing.end(), key) == out.missing.end()) {
      out.removed.push_back(key);
    }
  }
  return out;
}

Status check_update(const PropertiesUpdate& update) {
  DIL_CHECK_OK(check_properties(update.updates));
  for (const std::string& key : update.removals) {
    DIL_CHECK_OK(check_property_key(key));
    if (update.updates.contains(key)) {
      return make_error(Code::kUnprocessable, "the property \"{}\" is both updated and removed",
                        key);
    }
  }
  return {};
}

}  // namespace

Result<Properties> Namespaces::load(const Caller& caller, const Levels& levels) const {
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_TRY(std::optional<store::NamespaceRow> row,
          store::find_namespace(*lease, backends_.lake, levels));
  ObjectRef object;
  object.name = display_name(levels);
  object.levels = levels;
  if (row) object.schema = row->schema_id;
  DIL_CHECK_OK(backends_.check<Action::kReadNamespace>(caller, std::move(object)));
  if (row) return store::load_namespace_properties(*lease, backends_.lake, row->schema_id);
  DIL_TRY(const bool is_parent, store::has_namespaces_below(*lease, backends_.lake, levels));
  if (is_parent) return Properties();
  return make_error(Code::kNoSuchNamespace, "Namespace does not exist: {}", display_name(levels));
}

Status Namespaces::create(const WriteContext& context, const Levels& levels,
                          const Properties& properties) const {
  // A right on all namespaces is asked for: a scope that names this one speaks of what is in it.
  ObjectRef object;
  object.name = display_name(levels);
  DIL_CHECK_OK(backends_.check<Action::kCreateNamespace>(context.caller, std::move(object)));
  DIL_CHECK_OK(check_new_levels(levels));
  DIL_CHECK_OK(check_properties(properties));
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    return check_not_there(connection, backends_.lake, levels);
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 1, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_CHECK_OK(check_not_there(*connection, backends_.lake, levels));
    DIL_TRY(store::NewSchema schema, plan_schema(*connection, backends_.lake, levels));
    schema.schema_id = SchemaId(slot.first_catalog_id);
    DIL_CHECK_OK(store::insert_schema(transaction, backends_.lake, slot, schema));
    DIL_CHECK_OK(
        store::set_namespace_properties(transaction, backends_.lake, schema.schema_id, properties));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kCreatedSchema;
    change.schema_name = schema.name;
    DIL_CHECK_OK(store::record_slot(
        transaction, backends_.lake, slot.snapshot,
        slot_record(context.caller, change, "create namespace " + display_name(levels))));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

Status Namespaces::drop(const WriteContext& context, const Levels& levels) const {
  const auto find = [&](pg::Connection& connection) -> Result<store::NamespaceRow> {
    DIL_TRY(const std::optional<store::NamespaceRow> known,
            store::find_namespace(connection, backends_.lake, levels));
    ObjectRef object;
    object.name = display_name(levels);
    object.levels = levels;
    if (known) object.schema = known->schema_id;
    DIL_CHECK_OK(backends_.check<Action::kDropNamespace>(context.caller, std::move(object)));
    return require_empty(connection, backends_.lake, levels);
  };
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_CHECK_OK(find(connection));
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const store::NamespaceRow row, find(*connection));
    DIL_CHECK_OK(store::end_schema(transaction, backends_.lake, slot, row.schema_id));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kDroppedSchema;
    change.id = row.schema_id.value;
    DIL_CHECK_OK(store::record_slot(
        transaction, backends_.lake, slot.snapshot,
        slot_record(context.caller, change, "drop namespace " + display_name(levels))));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

Result<PropertiesChange> Namespaces::update(const WriteContext& context, const Levels& levels,
                                            const PropertiesUpdate& update) const {
  DIL_CHECK_OK(check_update(update));
  const auto find = [&](pg::Connection& connection) -> Result<store::NamespaceRow> {
    DIL_TRY(store::NamespaceRow row, require_namespace(connection, backends_.lake, levels));
    DIL_CHECK_OK(backends_.check<Action::kUpdateNamespace>(context.caller, object_of(row)));
    return row;
  };
  Write write;
  // No slot: DuckLake knows nothing of these properties. Writers of one key meet at its row.
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const store::NamespaceRow row, find(*connection));
    DIL_TRY(const std::vector<std::string> removed,
            store::remove_namespace_properties(transaction, backends_.lake, row.schema_id,
                                               update.removals));
    DIL_CHECK_OK(store::set_namespace_properties(transaction, backends_.lake, row.schema_id,
                                                 update.updates));
    std::vector<std::string> missing;
    for (const std::string& key : update.removals) {
      if (std::find(removed.begin(), removed.end(), key) == removed.end()) missing.push_back(key);
    }
    return outcome_text(missing);
  };
  DIL_TRY(const std::string outcome, run_write(backends_, context, backends_.deadline(), write));
  return change_of(update, outcome);
}

}  // namespace duckicelake::catalog
