// SPDX-License-Identifier: Apache-2.0
#include "catalog/views.h"

#include "catalog/view_base.h"
#include "catalog/view_document.h"
#include "catalog/write_run.h"
#include "ducklake/changes.h"
#include "iceberg/view_metadata.h"
#include "store/slot.h"

namespace duckicelake::catalog {
namespace {

constexpr const char* kComment = "comment";

template <Action A>
Result<FoundView> find(const Backends& backends, const Caller& caller, pg::Connection& connection,
                       const TableRef& view) {
  DIL_TRY(FoundView found, require_view(connection, backends.lake, view));
  DIL_CHECK_OK(backends.check<A>(caller, object_of(found)));
  return found;
}

Result<store::NamespaceRow> find_destination(const Backends& backends, const Caller& caller,
                                             pg::Connection& connection, const TableRef& from,
                                             const TableRef& to, ViewId view) {
  DIL_TRY(store::NamespaceRow space, require_namespace(connection, backends.lake, to.levels));
  ObjectRef object = object_of(space);
  object.name = display_name(to);
  DIL_CHECK_OK(backends.check<Action::kRenameView>(caller, std::move(object)));
  DIL_CHECK_OK(require_free_target(connection, backends.lake, space, from, to, view.value));
  return space;
}

// DuckDB may have set a comment on a view that was made over REST.
Result<std::string> with_comment(const std::string& document,
                                 const std::optional<std::string>& comment) {
  DIL_TRY(iceberg::ViewMetadata view, iceberg::view_metadata_from_json(document));
  const auto known = view.properties.find(kComment);
  const bool is_there = known != view.properties.end();
  if (comment ? is_there && known->second == *comment : !is_there) return document;
  if (comment) {
    view.properties[kComment] = *comment;
  } else {
    view.properties.erase(kComment);
  }
  return iceberg::view_metadata_to_json(view);
}

}  // namespace

bool Views::Base::is_same(const Base& other) const {
  const store::ViewRow& mine = found.view;
  const store::ViewRow& theirs = other.found.view;
  return mine.view_id == theirs.view_id && mine.begin == theirs.begin &&
         mine.comment == theirs.comment && state.has_value() == other.state.has_value() &&
         (!state || state->metadata_location == other.state->metadata_location);
}

Result<Views::Base> Views::read_base(pg::Connection& connection, const Caller& caller,
                                     const TableRef& view) const {
  Base out;
  DIL_TRY(out.found, find<Action::kLoadView>(backends_, caller, connection, view));
  DIL_TRY(out.state, store::load_view_state(connection, backends_.lake, out.found.view.view_id));
  return out;
}

// Without a connection in hand: DuckDB may take a while to bind the query.
Result<ViewAnswer> Views::answer_of(const Base& base) const {
  const store::ViewRow& row = base.found.view;
  if (base.state) {
    ViewAnswer out;
    out.metadata_location = base.state->metadata_location;
    DIL_TRY(out.metadata, with_comment(base.state->document, row.comment));
    return out;
  }
  std::vector<DataEngine::ViewColumn> columns;
  auto described = backends_.engine.describe_view(base.found.space.schema_name, row.name);
  if (described.has_value()) {
    columns = std::move(*described);
  } else if (described.error().code() != Code::kInvalidArgument) {
    return std::move(described).error();
  }
  const std::string location = base.found.space.folder + row.uuid;
  ViewAnswer out;
  out.metadata_location = fmt::format("{}/metadata/{}.metadata.json", location, row.begin.value);
  out.metadata = view_document(base.found.space, row, location, columns);
  return out;
}

Result<ViewAnswer> Views::load(const Caller& caller, const TableRef& view) const {
  Base base;
  {
    DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
    DIL_TRY(base, read_base(*lease, caller, view));
  }
  return answer_of(base);
}

Status Views::check(const Caller& caller, const TableRef& view) const {
  DIL_TRY(pg::Lease lease, backends_.pool.acquire(backends_.deadline()));
  DIL_CHECK_OK(find<Action::kLoadView>(backends_, caller, *lease, view));
  return {};
}

Status Views::drop(const WriteContext& context, const TableRef& view) const {
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_CHECK_OK(find<Action::kDropView>(backends_, context.caller, connection, view));
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const FoundView found,
            find<Action::kDropView>(backends_, context.caller, *connection, view));
    DIL_CHECK_OK(store::end_view(transaction, backends_.lake, slot, found.view.view_id));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kDroppedView;
    change.id = found.view.view_id.value;
    DIL_CHECK_OK(store::record_slot(transaction, backends_.lake, slot.snapshot,
                                    {ducklake::changes_text({&change, 1}),
                                     context.caller.principal.id,
                                     "drop view " + display_name(view),
                                     {}}));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

Status Views::rename(const WriteContext& context, const TableRef& from, const TableRef& to) const {
  DIL_CHECK_OK(check_new_name("view's new name", to.name));
  const bool is_same = from.levels == to.levels && from.name == to.name;
  Write write;
  write.check = [&](pg::Connection& connection) -> Status {
    DIL_TRY(const FoundView found,
            find<Action::kRenameView>(backends_, context.caller, connection, from));
    DIL_CHECK_OK(
        find_destination(backends_, context.caller, connection, from, to, found.view.view_id));
    return {};
  };
  write.apply = [&](pg::Transaction& transaction) -> Result<std::string> {
    if (is_same) return std::string();
    DIL_TRY(const store::Slot slot, store::take_slot(transaction, backends_.lake, {true, 0, 0}));
    DIL_TRY(pg::Connection * connection, transaction.begun());
    DIL_TRY(const FoundView found,
            find<Action::kRenameView>(backends_, context.caller, *connection, from));
    const ViewId id = found.view.view_id;
    DIL_TRY(const store::NamespaceRow space,
            find_destination(backends_, context.caller, *connection, from, to, id));
    DIL_CHECK_OK(store::rename_view(transaction, backends_.lake, slot, id,
                                    {space.schema_id, to.name, std::nullopt}));
    ducklake::Change change;
    change.kind = ducklake::ChangeKind::kCreatedView;
    change.schema_name = space.schema_name;
    change.name = to.name;
    DIL_CHECK_OK(store::record_slot(
        transaction, backends_.lake, slot.snapshot,
        {ducklake::changes_text({&change, 1}),
         context.caller.principal.id,
         fmt::format("rename view {} to {}", display_name(from), display_name(to)),
         {}}));
    return std::string();
  };
  DIL_CHECK_OK(run_write(backends_, context, backends_.deadline(), write));
  return {};
}

}  // namespace duckicelake::catalog
