// SPDX-License-Identifier: Apache-2.0
#include "app/doctor_catalogs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "pg/error.h"
#include "store/lake_setup.h"
#include "store/registry.h"

namespace duckicelake::app {
namespace {

constexpr std::string_view kNoTable = "42P01";
constexpr std::string_view kNoColumn = "42703";

// What is wrong with the lake of one; empty: nothing.
Result<std::string> fault_of(pg::Connection& connection, const store::CatalogRow& row) {
  DIL_TRY(const pg::SqlIdent schema, pg::SqlIdent::make(row.metadata_schema));
  const Result<store::Lake> lake = store::open_lake(connection, row.id, schema);
  if (!lake && lake.error().code() == Code::kNotFound) {
    return fmt::format("its schema {} holds no DuckLake any more", schema.name());
  }
  if (!lake && lake.error().code() == Code::kUnsupported) return lake.error().message();
  if (!lake) return lake.error();
  if (lake->data_path != row.data_path) {
    return fmt::format("its data is in {}, but {} is registered", lake->data_path, row.data_path);
  }
  if (!row.is_shared) return std::string();
  DIL_TRY(const std::vector<store::SetupItem> items, store::inspect_setup(connection, schema));
  for (const store::SetupItem& item : items) {
    if (item.is_present) continue;
    return fmt::format("{} is missing in schema {} ({}); close the catalog and make it again",
                       item.name, schema.name(), item.purpose);
  }
  return std::string();
}

struct Place {
  std::string folder;
  const store::CatalogRow* owner;
};

// In the order of their bytes what lies in a folder follows it.
std::size_t check_apart(Report& report, const std::vector<store::CatalogRow>& rows) {
  std::vector<Place> places;
  for (const store::CatalogRow& row : rows) {
    if (row.data_path.empty()) continue;
    for (std::string& folder : store::places_of(row.data_path)) {
      places.push_back({std::move(folder), &row});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.folder < b.folder; });
  std::size_t faults = 0;
  std::vector<const Place*> around;
  for (const Place& place : places) {
    while (!around.empty() && !place.folder.starts_with(around.back()->folder)) around.pop_back();
    if (!around.empty()) {
      ++faults;
      report.fail("catalogs",
                  fmt::format("{} of catalog {} lies in {} of catalog {}", place.folder,
                              place.owner->id, around.back()->folder, around.back()->owner->id));
    }
    around.push_back(&place);
  }
  return faults;
}

}  // namespace

void check_catalogs(Report& report, pg::Connection& connection, const Settings& settings) {
  const auto rows = store::load_catalogs(connection);
  const std::string_view state = rows ? std::string_view() : pg::sqlstate(rows.error());
  if (state == kNoTable || state == kNoColumn) {
    return report.warn("catalogs", "the sidecar is of an earlier version, or not there");
  }
  if (!rows) return report.fail("catalogs", rows.error());
  std::size_t faults = check_apart(report, *rows);
  std::size_t open = 0;
  for (const store::CatalogRow& row : *rows) {
    if (row.id == settings.catalog_id || row.state == store::CatalogState::kClosed) continue;
    if (row.state == store::CatalogState::kMaking) {
      report.warn("catalogs", fmt::format("catalog {} was not made to the end; the same request "
                                          "completes it, or close it",
                                          row.id));
      continue;
    }
    ++open;
    const Result<std::string> fault = fault_of(connection, row);
    if (fault && fault->empty()) continue;
    ++faults;
    report.fail("catalogs",
                fmt::format("catalog {}: {}", row.id, fault ? *fault : fault.error().message()));
  }
  if (faults == 0) report.ok("catalogs", fmt::format("{} beside this one, all sound", open));
}

}  // namespace duckicelake::app
