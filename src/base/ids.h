// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace duckicelake {

// An integer id that does not mix with ids of another kind.
template <class Tag, class Rep = std::int64_t>
struct Id {
  Rep value{};

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

// DuckLake snapshot id; of a main snapshot it is the Iceberg snapshot id and sequence number as
// well.
using SnapshotId = Id<struct SnapshotIdTag>;
using TableId = Id<struct TableIdTag>;        // ducklake_table.table_id
using SchemaId = Id<struct SchemaIdTag>;      // ducklake_schema.schema_id (an Iceberg namespace)
using ViewId = Id<struct ViewIdTag>;          // ducklake_view.view_id
using DataFileId = Id<struct DataFileIdTag>;  // ducklake_data_file.data_file_id
using DeleteFileId = Id<struct DeleteFileIdTag>;
using FieldId = Id<struct FieldIdTag, std::int32_t>;  // Iceberg field id = DuckLake column_id

}  // namespace duckicelake

template <class Tag, class Rep>
struct std::hash<duckicelake::Id<Tag, Rep>> {
  std::size_t operator()(const duckicelake::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
