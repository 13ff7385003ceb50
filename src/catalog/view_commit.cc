// SPDX-License-Identifier: Apache-2.0
// Creating, replacing and registering views: what writes their metadata.
#include <algorithm>
#include <chrono>

#include "base/uuid.h"
#include "catalog/random_name.h"
#include "catalog/view_base.h"
#include "catalog/views.h"
#include "catalog/write_run.h"
#include "ducklake/changes.h"
#include "store/slot.h"

namespace duckicelake::catalog {
namespace {

constexpr std::size_t kMaxDocumentBytes = std::size_t{16} << 20;
constexpr int kMaxCommitTries = 10;
constexpr const char* kMetadataPath = "write.metadata.path";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_duckdb(std::string_view dialect) {
  constexpr std::string_view kDuckdb = "duckdb";
  return std::equal(dialect.begin(), dialect.end(), kDuckdb.begin(), kDuckdb.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

std::string without_slashes(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text;
}

Status check_texts(const iceberg::ViewMetadata& view) {
  for (const iceberg::ViewVersion& version : view.versions) {
    for (const iceberg::SqlRepresentation& query : version.representations) {
      if (query.sql.find('\0') != std::string::npos ||
          query.dialect.find('\0') != std::string::npos) {
        return Error(Code::kInvalidArgument, "a view's query holds a NUL");
      }
    }
  }
  return {};
}

Status check_metadata(const store::Lake& lake, const iceberg::ViewMetadata& view) {
  if (!Uuid::parse(view.view_uuid).has_value()) {
    return Error(Code::kInvalidArgument, "the view's view-uuid is no UUID");
  }
  DIL_CHECK_OK(check_properties(view.properties));
  DIL_CHECK_OK(check_texts(view));
  DIL_CHECK_OK(check_view_place(lake, "location", view.location));
  const auto path = view.properties.find(kMetadataPath);
  if (path == view.properties.end()) return {};
  return check_view_place(lake, kMetadataPath, path->second);
}

// The outcome of a write of a view.
std::string outcome_text(const ViewAnswer& answer) {
  return answer.metadata_location + "\n" + answer.metadata;
}

Result<ViewAnswer> answer_from(const std::string& outcome) {
  const std::size_t end = outcome.find('\n');
  if (end == std::string::npos) {
    return Error(Code::kCorruptData, "the kept answer of the request does not parse");
  }
  return ViewAnswer{outcome.substr(0, end), outcome.substr(end + 1)};
}

store::SlotRecord slot_record(const Caller& caller, const ducklake::Change& change,
                              std::string message) {
  return {ducklake::changes_text({&change, 1}), caller.principal.id, std::move(message), {}};
}

}  // namespace

std::string view_metadata_location(const iceberg::ViewMetadata& view) {
  const auto path = view.properties.find(kMetadataPath);
  const std::string folder = path == view.properties.end()
                                 ? without_slashes(view.location) + "/metadata"
                                 : without_slashes(path->second);
  return fmt::format("{}/{:05}-{}.metadata.json", folder, view.current_version_id, random_uuid());
}

Status check_view_place(const store::Lake& lake, std::string_view what, std::string_view uri) {
  const bool is_below = uri.size() > lake.data_path.size() && uri.starts_with(lake.data_path);
  if (is_below && uri.find('\0') == std::string_view::npos) return {};
  return invalid_argument("the view's {} \"{}\" does not lie below the lake's {}", what, uri,
                          lake.data_path);
}

store::NewView view_row(const iceberg::ViewMetadata& view) {
  store::NewView out;
  out.uuid = view.view_uuid;
  if (const iceberg::ViewVersion* version = view.find_version(view.current_version_id);
      version != nullptr && !version->representations.empty()) {
    const auto& queries = version->representations;
    auto chosen = std::find_if(queries.begin(), queries.end(),
                               [](const auto& query) { return is_duckdb(query.dialect); });
    if (chosen == queries.end()) chosen = queries.begin();
    out.dialect = is_duckdb(chosen->dialect) ? "duckdb" : chosen->dialect;
    out.sql = chosen->sql;
  }
  if (const auto comment = view.properties.find("comment"); comment != view.properties.end()) {
    out.comment = comment->second;
  }
  return out;
}

Status Views::store_object(const ViewAnswer& next) const {
  DIL_TRY(const std::string key, backends_.objects.key_of(next.metadata_location));
  return backends_.objects.put(key, next.metadata, {"application/json", true});
}

void Views::remove_object(const ViewAnswer& next, const Error& error) const {
  if (error.code() == Code::kCommitStateUnknown) return;
  const Result<std::string> key = backends_.objects.key_of(next.metadata_location);
  if (key.has_value()) (void)backends_.objects.remove(*key);
}

Result<ViewAnswer> Views::insert(const WriteContext& context, const TableRef& view,
                                 const iceberg::ViewMetadata& metadata, const ViewAnswer& answer,
                                 bool writes_object) const {
  const auto find = [&](pg::Connection& connection) -> Result<store::NamespaceRow> {
    DIL_TRY(store::NamespaceRow space, require_namespace(connection, backends_.lake, view.levels));
    ObjectRef object = object_of(space);
    object.name = display_name(view);
    DIL_CHECK_OK(backends_.check<Action::kCreateView>(context.caller, std::move(object)));
    DIL_CHECK_OK(require_free_name(connection, backends_.lake, space, view.name, EntryKind::kView));
    return space;
  };
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_CHECK_OK(find(connection));
    return {};
  };
  bool is_stored = !writes_object;
  write.prepare = [&]() -> Status {
    if (!is_stored) DIL_CHECK_OK(store_object(answer));
    is_stored = true;
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 1, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const store::NamespaceRow space, find(*connection));
    store::NewView row = view_row(metadata);
    row.view_id = ViewId(slot.first_catalog_id);
    row.schema_id = space.schema_id;
    row.name = view.name;
    DIL_CHECK_OK(store::insert_view(transaction, backends_.lake, slot, row));
    DIL_CHECK_OK(store::save_view_state(transaction, backends_.lake, row.view_id,
                                        {answer.metadata_location, answer.metadata}));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kCreatedView;
    change.schema_name = space.schema_name;
    change.name = view.name;
    DIL_CHECK_OK(store::record_slot(
        transaction, backends_.lake, slot.snapshot,
        slot_record(context.caller, change, "create view " + display_name(view))));
    return outcome_text(answer);
  };
  Result<std::string> outcome = run_write(backends_, context, backends_.deadline(), write);
  if (!outcome.has_value()) {
    if (writes_object && is_stored) remove_object(answer, outcome.error());
    return std::move(outcome).error();
  }
  return answer_from(*outcome);
}

Result<ViewAnswer> Views::create(const WriteContext& context,
                                 const CreateViewRequest& request) const {
  DIL_CHECK_OK(check_new_name("view's name", request.view.name));
  iceberg::NewView wanted;
  wanted.uuid = random_uuid();
  if (request.location) {
    wanted.location = *request.location;
  } else {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(const store::NamespaceRow space,
            require_namespace(*lease, backends_.lake, request.view.levels));
    wanted.location = space.folder + wanted.uuid;
  }
  wanted.schema = request.schema;
  wanted.version = request.version;
  wanted.properties = request.properties;
  wanted.now_ms = now_ms();
  DIL_TRY(const iceberg::ViewMetadata metadata, iceberg::new_view_metadata(std::move(wanted)));
  DIL_CHECK_OK(check_metadata(backends_.lake, metadata));
  const ViewAnswer answer{view_metadata_location(metadata),
                          iceberg::view_metadata_to_json(metadata)};
  return insert(context, request.view, metadata, answer, true);
}

Result<ViewAnswer> Views::register_view(const WriteContext& context,
                                        const RegisterViewRequest& request) const {
  DIL_CHECK_OK(check_new_name("view's name", request.view.name));
  DIL_CHECK_OK(check_view_place(backends_.lake, "metadata-location", request.metadata_location));
  DIL_TRY(const std::string key, backends_.objects.key_of(request.metadata_location));
  Result<std::string> text = backends_.objects.get(key, kMaxDocumentBytes);
  if (!text.has_value() && text.error().code() == Code::kNotFound) {
    return invalid_argument("the view's metadata file \"{}\" does not exist",
                            request.metadata_location);
  }
  if (!text.has_value()) return std::move(text).error();
  DIL_TRY(const iceberg::ViewMetadata metadata, iceberg::view_metadata_from_json(*text));
  DIL_CHECK_OK(check_metadata(backends_.lake, metadata));
  const ViewAnswer answer{request.metadata_location, iceberg::view_metadata_to_json(metadata)};
  return insert(context, request.view, metadata, answer, false);
}

struct Views::Next {
  iceberg::ViewMetadata metadata;
  ViewAnswer answer;
};

Result<ViewAnswer> Views::commit(const WriteContext& context,
                                 const CommitViewRequest& request) const {
  const pg::Deadline until = backends_.deadline();
  for (int attempt = 1;; ++attempt) {
    Base base;
    std::optional<Next> next;
    bool has_changed = false;
    const auto gate = [&](const FoundView& found) {
      return backends_.check<Action::kCommitView>(context.caller, object_of(found));
    };
    Write write;
    write.check = [&](pg::Connection& connection) -> Status {
      DIL_TRY(base, read_base(connection, context.caller, request.view));
      return gate(base.found);
    };
    write.prepare = [&]() -> Status {
      DIL_TRY(const ViewAnswer before, answer_of(base));
      DIL_TRY(iceberg::ViewMetadata view, iceberg::view_metadata_from_json(before.metadata));
      for (const iceberg::ViewRequirement& requirement : request.requirements) {
        DIL_CHECK_OK(iceberg::check_view_requirement(requirement, &view));
      }
      Next made;
      DIL_TRY(made.metadata,
              iceberg::apply_view_updates(std::move(view), request.updates, now_ms()));
      DIL_CHECK_OK(check_metadata(backends_.lake, made.metadata));
      made.answer = {view_metadata_location(made.metadata),
                     iceberg::view_metadata_to_json(made.metadata)};
      DIL_CHECK_OK(store_object(made.answer));
      next = std::move(made);
      return {};
    };
    write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
      DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
      DIL_TRY(pg::Connection * connection, transaction.begun());
      DIL_TRY(const Base now, read_base(*connection, context.caller, request.view));
      DIL_CHECK_OK(gate(now.found));
      has_changed = !now.is_same(base);
      if (has_changed) {
        return Error(Code::kCommitFailed, "Cannot commit: the view is changed all the time");
      }
      store::NewView row = view_row(next->metadata);
      row.view_id = now.found.view.view_id;
      DIL_CHECK_OK(store::replace_view(transaction, backends_.lake, slot, row));
      DIL_CHECK_OK(store::save_view_state(transaction, backends_.lake, row.view_id,
                                          {next->answer.metadata_location, next->answer.metadata}));
      ducklake::Change change;
      change.kind = ducklake::ChangeKind::kAlteredView;
      change.id = row.view_id.value;
      DIL_CHECK_OK(store::record_slot(
          transaction, backends_.lake, slot.snapshot,
          slot_record(context.caller, change, "replace view " + display_name(request.view))));
      return outcome_text(next->answer);
    };
    Result<std::string> outcome = run_write(backends_, context, until, write);
    if (!outcome.has_value() && next) remove_object(next->answer, outcome.error());
    if (!outcome.has_value() && has_changed && attempt < kMaxCommitTries) continue;
    if (!outcome.has_value()) return std::move(outcome).error();
    return answer_from(*outcome);
  }
}

}  // namespace duckicelake::catalog
