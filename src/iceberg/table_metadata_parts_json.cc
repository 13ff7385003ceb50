// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"
#include "iceberg/schema_json.h"
#include "iceberg/snapshot_json.h"
#include "iceberg/table_metadata_json.h"

namespace duckicelake::iceberg {
namespace {

// What a document of the greatest depth may hold in one of its members.
constexpr json::ParseLimits kLimits{.max_depth = kSchemaJsonDepth};

Status check_blob(const json::Value& value) {
  DIL_TRY(json::Object blob, value.as_object());
  DIL_CHECK_OK(blob.require_string("type"));
  DIL_CHECK_OK(blob.require_int64("snapshot-id"));
  DIL_CHECK_OK(blob.require_int64("sequence-number"));
  DIL_TRY(json::Array fields, blob.require_array("fields"));
  for (json::Value field : fields) DIL_CHECK_OK(field.as_int32());
  DIL_TRY(auto properties, blob.optional_object("properties"));
  if (properties.has_value()) DIL_CHECK_OK(read_string_map(*properties));
  return {};
}

Status check_file(const json::Object& object) {
  DIL_CHECK_OK(object.require_int64("snapshot-id"));
  DIL_TRY(std::string_view path, object.require_string("statistics-path"));
  if (path.empty()) return object.value().error("the statistics-path is empty");
  DIL_TRY(std::int64_t size, object.require_int64("file-size-in-bytes"));
  if (size < 0) return object.value().error("the file-size-in-bytes is negative");
  return {};
}

}  // namespace

Result<std::string> read_statistics_file(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_CHECK_OK(object.require_int64("snapshot-id"));
  DIL_CHECK_OK(object.require_string("statistics-path"));
  return value.to_text();
}

Result<std::string> read_complete_statistics_file(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_CHECK_OK(check_file(object));
  DIL_TRY(std::int64_t footer, object.require_int64("file-footer-size-in-bytes"));
  if (footer < 0) return value.error("the file-footer-size-in-bytes is negative");
  DIL_TRY(json::Array blobs, object.require_array("blob-metadata"));
  for (json::Value blob : blobs) DIL_CHECK_OK(check_blob(blob));
  return value.to_text();
}

Result<std::string> read_complete_partition_statistics_file(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_CHECK_OK(check_file(object));
  return value.to_text();
}

Result<std::string> read_encryption_key(const json::Value& value) {
  DIL_TRY(json::Object object, value.as_object());
  DIL_TRY(std::string_view id, object.require_string("key-id"));
  if (id.empty()) return value.error("the key-id is empty");
  DIL_TRY(std::string_view metadata, object.require_string("encrypted-key-metadata"));
  if (!from_base64(metadata).has_value()) {
    return value.error("the encrypted-key-metadata is not base64");
  }
  DIL_CHECK_OK(object.optional_string("encrypted-by-id"));
  DIL_TRY(auto properties, object.optional_object("properties"));
  if (properties.has_value()) DIL_CHECK_OK(read_string_map(*properties));
  return value.to_text();
}

Result<std::int64_t> statistics_snapshot_id(const std::string& json) {
  auto document = json::Document::parse(json, kLimits);
  if (document.has_value()) {
    if (auto object = document->root_object(); object.has_value()) {
      if (auto id = object->require_int64("snapshot-id"); id.has_value()) return id;
    }
  }
  return make_error(Code::kCorruptData, "a statistics file of the table has no snapshot id");
}

Result<std::string> encryption_key_id(const std::string& json) {
  auto document = json::Document::parse(json, kLimits);
  if (document.has_value()) {
    if (auto object = document->root_object(); object.has_value()) {
      if (auto id = object->require_string("key-id"); id.has_value()) return std::string(*id);
    }
  }
  return make_error(Code::kCorruptData, "an encryption key of the table has no id");
}

}  // namespace duckicelake::iceberg
