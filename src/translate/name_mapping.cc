// SPDX-License-Identifier: Apache-2.0
#include "translate/name_mapping.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "json/value.h"
#include "translate/value_text.h"

namespace duckicelake::translate {
namespace {

using ducklake::NameMappingRow;
using iceberg::Field;
using iceberg::TypeKind;

constexpr std::size_t kMaxDepth = 64;
constexpr std::string_view kNullFolder = "__HIVE_DEFAULT_PARTITION__";

// One level of the property: the names of fields, and the levels below them.
struct Level {
  std::unordered_map<std::string, std::int32_t> ids;
  std::unordered_map<std::int32_t, Level> below;
};

Result<Level> parse_level(const json::Array& entries) {
  Level out;
  for (const json::Value item : entries) {
    DIL_TRY(const json::Object entry, item.as_object());
    DIL_TRY(const std::optional<std::int32_t> id, entry.optional_int32("field-id"));
    if (!id) continue;
    DIL_TRY(const json::Array names, entry.require_array("names"));
    for (const json::Value name : names) {
      DIL_TRY(const std::string_view text, name.as_string());
      out.ids.emplace(text, *id);
    }
    DIL_TRY(const std::optional<json::Array> fields, entry.optional_array("fields"));
    if (!fields) continue;
    DIL_TRY(Level below, parse_level(*fields));
    out.below.emplace(*id, std::move(below));
  }
  return out;
}

struct Node {
  std::string_view name;
  std::vector<Node> children;
};

// `at` is the next node to read.
Result<std::vector<Node>> build_tree(std::span<const ParquetNode> nodes, std::size_t& at,
                                     std::int64_t count, std::size_t depth) {
  std::vector<Node> out;
  if (depth > kMaxDepth)
    return invalid_argument("a Parquet schema nested more than {} deep", depth);
  for (std::int64_t i = 0; i < count; ++i) {
    if (at >= nodes.size()) return invalid_argument("a Parquet schema that ends too early");
    const ParquetNode& node = nodes[at++];
    DIL_TRY(std::vector<Node> children, build_tree(nodes, at, node.children, depth + 1));
    out.push_back({node.name, std::move(children)});
  }
  return out;
}

class Mapper {
 public:
  void map_struct(const Level* level, const std::vector<Field>& fields,
                  const std::vector<Node>& nodes, std::optional<std::int64_t> parent) {
    if (level == nullptr) return;
    for (const Node& node : nodes) {
      const auto id = level->ids.find(std::string(node.name));
      if (id == level->ids.end()) continue;
      const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& each) {
        return each.id.value == id->second;
      });
      if (field != fields.end() && !is_taken(field->id))
        map(level, *field, node, node.name, parent);
    }
  }

  bool is_taken(FieldId id) const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [&](const NameMappingRow& row) { return row.target_field_id == id; });
  }

  void add_path_column(std::string name, FieldId id) {
    NameMappingRow& row = rows_.emplace_back();
    row.column_id = kFirstPathColumn + id.value;
    row.source_name = std::move(name);
    row.target_field_id = id;
    row.is_partition = true;
  }

  std::vector<NameMappingRow> take() { return std::move(rows_); }

 private:
  void map(const Level* level, const Field& field, const Node& node, std::string_view source_name,
           std::optional<std::int64_t> parent) {
    NameMappingRow& row = rows_.emplace_back();
    row.column_id = next_++;
    row.source_name = source_name;
    row.target_field_id = field.id;
    row.parent_column = parent;
    const std::int64_t own = row.column_id;
    const auto found = level == nullptr ? nullptr : below(*level, field.id);
    if (field.type.kind == TypeKind::kStruct) {
      map_struct(found, field.type.fields, node.children, own);
    } else if (field.type.kind == TypeKind::kList && node.children.size() == 1) {
      // DuckLake's names for the element of the three-level and of the old two-level form.
      const Node& repeated = node.children[0];
      const bool is_old = repeated.children.size() != 1 || repeated.name == "array";
      map(found, field.type.fields[0], is_old ? repeated : repeated.children[0],
          is_old ? "array" : "list", own);
    } else if (field.type.kind == TypeKind::kMap && node.children.size() == 1 &&
               node.children[0].children.size() == 2) {
      for (std::size_t i = 0; i < 2; ++i) {
        const Node& child = node.children[0].children[i];
        map(found, field.type.fields[i], child, child.name, own);
      }
    }
  }

  static const Level* below(const Level& level, FieldId id) {
    const auto it = level.below.find(id.value);
    return it == level.below.end() ? nullptr : &it->second;
  }

  std::vector<NameMappingRow> rows_;
  std::int64_t next_ = 0;
};

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 3 > text.size()) return std::nullopt;
    unsigned byte = 0;
    const char* end = text.data() + i + 3;
    const auto parsed = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

bool is_null_word(std::string_view text) {
  constexpr std::string_view kNull = "null";
  return std::equal(text.begin(), text.end(), kNull.begin(), kNull.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

// Whether DuckDB reads `value` (nullopt: NULL) for `name` out of the folders of the path.
bool is_in_path(std::string_view path, const std::string& name,
                const std::optional<std::string>& value) {
  bool found = false;
  for (std::size_t begin = 0, slash = path.find('/'); slash != std::string_view::npos;
       begin = slash + 1, slash = path.find('/', begin)) {
    const std::string_view folder = path.substr(begin, slash - begin);
    if (!folder.starts_with(name + "=")) continue;
    const std::string_view text = folder.substr(name.size() + 1);
    // DuckDB takes an empty value and the word NULL for NULL.
    const bool is_right = value ? decoded(text) == value && !value->empty() && !is_null_word(*value)
                                : text == kNullFolder;
    if (found || !is_right) return false;
    found = true;
  }
  return found;
}

}  // namespace

Result<std::vector<NameMappingRow>> map_by_name(std::string_view mapping_json,
                                                const iceberg::Schema& schema,
                                                const iceberg::PartitionSpec& spec,
                                                const manifest::DataFile& file,
                                                std::span<const ParquetNode> nodes) {
  const auto read = [&]() -> Result<Level> {
    DIL_TRY(const json::Document document, json::Document::parse(mapping_json));
    DIL_TRY(const json::Array entries, document.root().as_array());
    return parse_level(entries);
  };
  Result<Level> level = read();
  if (!level.has_value()) {
    return std::move(level)
        .error()
        .with_context("property schema.name-mapping.default")
        .with_code(Code::kInvalidArgument);
  }
  std::vector<Node> tree;
  for (std::size_t at = 0; at < nodes.size();) {
    DIL_TRY(std::vector<Node> one, build_tree(nodes, at, 1, 0));
    tree.push_back(std::move(one.front()));
  }
  Mapper mapper;
  mapper.map_struct(&*level, schema.fields, tree, std::nullopt);
  for (std::size_t i = 0; i < spec.fields.size() && i < file.partition.size(); ++i) {
    if (spec.fields[i].transform.kind != iceberg::TransformKind::kIdentity) continue;
    const Field* source = schema.find(spec.fields[i].source_id);
    if (source == nullptr || mapper.is_taken(source->id)) continue;
    std::optional<std::string> value;
    if (file.partition[i]) value = partition_text_from_value(source->type, *file.partition[i]);
    if ((file.partition[i] && !value) || schema.find_top_level(source->name) != source ||
        !is_in_path(file.file_path, source->name, value)) {
      return invalid_argument(
          "{} lacks column {}, whose value is in its partition only: DuckLake can take it from a "
          "folder of the path of the form {}=<value>, and there is none that says the same",
          file.file_path, source->name, source->name);
    }
    mapper.add_path_column(source->name, source->id);
  }
  std::vector<NameMappingRow> rows = mapper.take();
  if (rows.empty()) {
    return invalid_argument(
        "{} has no field ids, and the table's property schema.name-mapping.default names none of "
        "its columns",
        file.file_path);
  }
  return rows;
}

}  // namespace duckicelake::translate
