// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "catalog/views.h"
#include "iceberg/view_metadata.h"

namespace duckicelake::catalog {

// A view as it was found.
struct Views::Base {
  FoundView found;
  std::optional<store::ViewState> state;  // of a view made over REST

  bool is_same(const Base& other) const;
};

// Where a view's metadata is written: an object that nothing else has the name of.
std::string view_metadata_location(const iceberg::ViewMetadata& view);

// kInvalidArgument unless the URI lies below the lake's DATA_PATH.
Status check_view_place(const store::Lake& lake, std::string_view what, std::string_view uri);

// The catalog's row of the view: its query in DuckDB's dialect, or else its first.
store::NewView view_row(const iceberg::ViewMetadata& view);

}  // namespace duckicelake::catalog
