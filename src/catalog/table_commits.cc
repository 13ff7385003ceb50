// SPDX-License-Identifier: Apache-2.0
#include "catalog/table_commits.h"

#include <chrono>
#include <set>

#include "catalog/commit_run.h"
#include "catalog/random_name.h"
#include "store/storage_scope.h"

namespace duckicelake::catalog {
namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A table's definition as the updates that make it.
std::vector<iceberg::TableUpdate> as_updates(iceberg::TableMetadata metadata, bool has_location) {
  std::vector<iceberg::TableUpdate> out;
  out.emplace_back(iceberg::AssignUuid{metadata.table_uuid});
  out.emplace_back(iceberg::UpgradeFormatVersion{metadata.format_version});
  out.emplace_back(iceberg::AddSchema{std::move(metadata.schemas.front()), std::nullopt});
  out.emplace_back(iceberg::SetCurrentSchema{iceberg::kLastAdded});
  out.emplace_back(iceberg::AddPartitionSpec{std::move(metadata.partition_specs.front())});
  out.emplace_back(iceberg::SetDefaultSpec{iceberg::kLastAdded});
  out.emplace_back(iceberg::AddSortOrder{std::move(metadata.sort_orders.front())});
  out.emplace_back(iceberg::SetDefaultSortOrder{iceberg::kLastAdded});
  if (has_location) out.emplace_back(iceberg::SetLocation{metadata.location});
  out.emplace_back(iceberg::SetProperties{std::move(metadata.properties)});
  return out;
}

}  // namespace

void TableCommits::count(const Error& error) {
  switch (error.code()) {
    case Code::kCommitFailed:
    case Code::kAlreadyExists: ++counters_.conflicts; break;
    case Code::kCommitStateUnknown: ++counters_.unknown; break;
    case Code::kInternal:
    case Code::kCorruptData:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded: ++counters_.failed; break;
    default: ++counters_.refused; break;
  }
}

Result<std::vector<std::shared_ptr<const TableView>>> TableCommits::run(
    const WriteContext& context, std::vector<TableCommit> commits, bool creates) {
  CommitRun commit(*this, context, std::move(commits), creates, backends_.deadline());
  auto views = commit.run();
  if (!views.has_value()) count(views.error());
  return views;
}

Result<std::shared_ptr<const TableView>> TableCommits::commit(const WriteContext& context,
                                                              const TableCommit& commit) {
  DIL_TRY(auto views, run(context, {commit}, false));
  return std::move(views.front());
}

Status TableCommits::commit_all(const WriteContext& context, std::vector<TableCommit> commits) {
  std::set<std::pair<Levels, std::string>> seen;
  for (const TableCommit& commit : commits) {
    if (!seen.emplace(commit.table.levels, commit.table.name).second) {
      return invalid_argument("table {} is named twice in one transaction",
                              display_name(commit.table));
    }
  }
  if (commits.empty()) return {};
  DIL_TRY(auto views, run(context, std::move(commits), false));
  (void)views;
  return {};
}

Result<iceberg::TableMetadata> TableCommits::define(pg::Connection& connection,
                                                    CreateTableRequest& request,
                                                    const store::NamespaceRow& space) {
  DIL_CHECK_OK(check_new_name("table", request.table.name));
  DIL_CHECK_OK(check_properties(request.definition.properties));
  iceberg::NewTable definition = std::move(request.definition);
  definition.uuid = random_uuid();
  definition.now_ms = now_ms();
  definition.format_version = config_.default_format_version;
  NewTablePlace place;
  place.schema = space.schema_id;
  place.schema_name = space.schema_name;
  place.name = request.table.name;
  DIL_TRY(place.schema_path,
          store::load_schema_folder(connection, backends_.lake, space.schema_id));
  DIL_TRY(place.is_name_used, store::is_folder_used(connection, backends_.lake, place.schema_path,
                                                    place.schema_path + place.name + "/"));
  if (definition.location.empty()) {
    definition.location = new_table_location(place, definition.uuid);
  } else {
    const PathRules inside{{backends_.lake.data_path}, false};
    while (definition.location.ends_with('/')) definition.location.pop_back();
    if (!check_path(inside, definition.location).has_value()) {
      return invalid_argument("location {} does not lie inside the catalog", definition.location);
    }
    if (definition.location != new_table_location(place, definition.uuid)) {
      DIL_TRY(bool is_taken,
              store::overlaps_tables(connection, backends_.lake, definition.location + "/"));
      if (!is_taken) {
        DIL_TRY(is_taken, store::is_place_taken(connection, backends_.lake, store::kNewTable,
                                                space.schema_id, definition.location + "/"));
      }
      if (is_taken) {
        return invalid_argument("location {} overlaps that of something else", definition.location);
      }
    }
  }
  return iceberg::new_table_metadata(std::move(definition));
}

Result<std::shared_ptr<const TableView>> TableCommits::create(const WriteContext& context,
                                                              CreateTableRequest request) {
  TableCommit commit;
  commit.table = request.table;
  const bool has_location = !request.definition.location.empty();
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(store::NamespaceRow space,
            require_namespace(*lease, backends_.lake, request.table.levels));
    ObjectRef object = object_of(space);
    object.name = display_name(request.table);
    DIL_CHECK_OK(backends_.check<Action::kCreateTable>(context.caller, std::move(object)));
    DIL_TRY(iceberg::TableMetadata metadata, define(*lease, request, space));
    commit.updates = as_updates(std::move(metadata), has_location);
  }
  commit.requirements.emplace_back(iceberg::AssertCreate{});
  DIL_TRY(auto views, run(context, {std::move(commit)}, true));
  return std::move(views.front());
}

Result<iceberg::TableMetadata> TableCommits::stage(const WriteContext& context,
                                                   CreateTableRequest request) {
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_TRY(store::NamespaceRow space,
          require_namespace(*lease, backends_.lake, request.table.levels));
  ObjectRef object = object_of(space);
  object.name = display_name(request.table);
  DIL_CHECK_OK(backends_.check<Action::kCreateTable>(context.caller, std::move(object)));
  DIL_CHECK_OK(
      require_free_name(*lease, backends_.lake, space, request.table.name, EntryKind::kTable));
  return define(*lease, request, space);
}

Result<std::shared_ptr<const TableView>> TableCommits::register_table(
    const WriteContext& context, const RegisterTableRequest& request) {
  constexpr std::size_t kMaxMetadataBytes = std::size_t{256} << 20;
  DIL_CHECK_OK(check_new_name("table", request.table.name));
  const PathRules inside{{backends_.lake.data_path}, false};
  DIL_CHECK_OK(check_path(inside, request.metadata_location));
  TableCommit commit;
  commit.table = request.table;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(store::NamespaceRow space,
            require_namespace(*lease, backends_.lake, request.table.levels));
    ObjectRef object = object_of(space);
    object.name = display_name(request.table);
    DIL_CHECK_OK(backends_.check<Action::kCreateTable>(context.caller, std::move(object)));
    DIL_TRY(std::optional<store::TableName> taken,
            store::find_table(*lease, backends_.lake, space.schema_id, request.table.name));
    if (taken && request.overwrites) {
      return make_error(Code::kUnsupported,
                        "registering over an existing table is not supported: drop it first");
    }
  }
  DIL_TRY(std::string key, backends_.objects.key_of(request.metadata_location));
  auto bytes = backends_.objects.get(key, kMaxMetadataBytes);
  if (!bytes.has_value() && bytes.error().code() == Code::kNotFound) {
    return invalid_argument("{} does not exist", request.metadata_location);
  }
  if (!bytes.has_value()) return std::move(bytes).error();
  DIL_TRY(iceberg::TableMetadata metadata, iceberg::metadata_from_json(*bytes));
  if (!check_path(inside, metadata.location).has_value()) {
    return invalid_argument("location {} of {} does not lie inside the catalog", metadata.location,
                            request.metadata_location);
  }
  DIL_TRY(commit.registered, read_registered_files(deps_, metadata));
  std::vector<iceberg::TableUpdate>& updates = commit.updates;
  updates.emplace_back(iceberg::AssignUuid{metadata.table_uuid});
  updates.emplace_back(iceberg::UpgradeFormatVersion{metadata.format_version});
  for (iceberg::Schema& schema : metadata.schemas) {
    updates.emplace_back(iceberg::AddSchema{std::move(schema), std::nullopt});
  }
  updates.emplace_back(iceberg::SetCurrentSchema{metadata.current_schema_id});
  for (iceberg::PartitionSpec& spec : metadata.partition_specs) {
    updates.emplace_back(iceberg::AddPartitionSpec{std::move(spec)});
  }
  updates.emplace_back(iceberg::SetDefaultSpec{metadata.default_spec_id});
  for (iceberg::SortOrder& order : metadata.sort_orders) {
    updates.emplace_back(iceberg::AddSortOrder{std::move(order)});
  }
  updates.emplace_back(iceberg::SetDefaultSortOrder{metadata.default_sort_order_id});
  for (const char* own : {"gc.enabled", "duckicelake.hidden-columns"}) {
    metadata.properties.erase(own);
  }
  updates.emplace_back(iceberg::SetProperties{std::move(metadata.properties)});
  commit.requirements.emplace_back(iceberg::AssertCreate{});
  DIL_TRY(auto views, run(context, {std::move(commit)}, true));
  return std::move(views.front());
}

}  // namespace duckicelake::catalog
