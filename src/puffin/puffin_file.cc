// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "base/bytes.h"
#include "json/value.h"
#include "json/writer.h"
#include "puffin/counted_blob.h"
#include "puffin/deletion_vector.h"

namespace duckicelake::puffin {
namespace {

constexpr std::string_view kMagic = "PFA1";
constexpr std::size_t kTailSize = 12;  // payload size, flags, magic
constexpr unsigned kCompressedFooter = 1;
constexpr std::size_t kMaxFooterBytes = std::size_t{16} << 20;

void append_blob_metadata(json::Writer& writer, const DeletionVectorInput& input,
                          const BlobPlace& place) {
  writer.begin_object();
  writer.member("type", "deletion-vector-v1");
  writer.key("fields");
  writer.begin_array();
  writer.end_array();
  writer.member("snapshot-id", -1);
  writer.member("sequence-number", -1);
  writer.member("offset", place.offset);
  writer.member("length", place.length);
  writer.key("properties");
  writer.begin_object();
  writer.member("referenced-data-file", input.referenced_data_file);
  writer.member("cardinality", std::to_string(place.cardinality));
  writer.end_object();
  writer.end_object();
}

std::string footer_payload(std::span<const DeletionVectorInput> inputs,
                           const std::vector<BlobPlace>& places) {
  std::string payload;
  json::Writer writer(payload);
  writer.begin_object();
  writer.key("blobs");
  writer.begin_array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    append_blob_metadata(writer, inputs[i], places[i]);
  }
  writer.end_array();
  writer.key("properties");
  writer.begin_object();
  writer.member("created-by", "duckicelake");
  writer.end_object();
  writer.end_object();
  return payload;
}

Result<BlobMetadata> read_blob(const json::Object& object, std::int64_t blobs_end) {
  BlobMetadata blob;
  DIL_TRY(blob.type, object.require_string("type"));
  DIL_TRY(const json::Array fields, object.require_array("fields"));
  for (const json::Value field : fields) {
    DIL_TRY(const std::int32_t id, field.as_int32());
    blob.fields.push_back(id);
  }
  DIL_TRY(blob.snapshot_id, object.require_int64("snapshot-id"));
  DIL_TRY(blob.sequence_number, object.require_int64("sequence-number"));
  DIL_TRY(blob.offset, object.require_int64("offset"));
  DIL_TRY(blob.length, object.require_int64("length"));
  if (blob.offset < static_cast<std::int64_t>(kMagic.size()) || blob.offset > blobs_end ||
      blob.length < 0 || blob.length > blobs_end - blob.offset) {
    return object.value().error("a blob outside its Puffin file");
  }
  DIL_TRY(const auto codec, object.optional_string("compression-codec"));
  if (codec) blob.compression_codec = *codec;
  DIL_TRY(const auto properties, object.optional_object("properties"));
  if (!properties) return blob;
  for (const json::Member& property : *properties) {
    DIL_TRY(const std::string_view text, property.value.as_string());
    blob.properties.emplace_back(property.name, text);
  }
  return blob;
}

struct Footer {
  std::string_view payload;
  std::int64_t start = 0;  // where the blobs end
};

Result<Footer> find_footer(std::string_view file) {
  if (file.size() < 2 * kMagic.size() + kTailSize || !file.starts_with(kMagic) ||
      !file.ends_with(kMagic)) {
    return invalid_argument("not a Puffin file");
  }
  const std::string_view tail = file.substr(file.size() - kTailSize);
  const auto size = read_little_endian<std::int32_t>(tail);
  const auto flags = read_little_endian<std::uint32_t>(tail.substr(4));
  if ((flags & kCompressedFooter) != 0) {
    return invalid_argument("a Puffin file with a compressed footer is not supported");
  }
  if (flags != 0) return invalid_argument("a Puffin file with unknown flags");
  const std::size_t available = file.size() - 2 * kMagic.size() - kTailSize;
  if (size < 0 || static_cast<std::size_t>(size) > available) {
    return invalid_argument("a Puffin footer larger than its file");
  }
  const std::size_t start =
      file.size() - kTailSize - static_cast<std::size_t>(size) - kMagic.size();
  if (file.substr(start, kMagic.size()) != kMagic) {
    return invalid_argument("a Puffin footer without its magic");
  }
  Footer footer;
  footer.payload = file.substr(start + kMagic.size(), static_cast<std::size_t>(size));
  footer.start = static_cast<std::int64_t>(start);
  return footer;
}

}  // namespace

PuffinFile encode_deletion_vectors(std::span<const DeletionVectorInput> inputs) {
  PuffinFile file;
  file.bytes = kMagic;
  file.places.reserve(inputs.size());
  for (const DeletionVectorInput& input : inputs) {
    const CountedBlob vector = encode_counted(input.positions);
    file.places.push_back({.offset = static_cast<std::int64_t>(file.bytes.size()),
                           .length = static_cast<std::int64_t>(vector.blob.size()),
                           .cardinality = vector.cardinality});
    file.bytes += vector.blob;
  }
  const std::string payload = footer_payload(inputs, file.places);
  DIL_ASSERT(payload.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  file.bytes += kMagic;
  file.bytes += payload;
  append_little_endian(file.bytes, static_cast<std::int32_t>(payload.size()));
  append_little_endian(file.bytes, std::uint32_t{0});
  file.bytes += kMagic;
  return file;
}

Result<std::vector<BlobMetadata>> decode_puffin_footer(std::string_view file_bytes) {
  DIL_TRY(const Footer footer, find_footer(file_bytes));
  DIL_TRY(const json::Document document,
          json::Document::parse(footer.payload, {.max_bytes = kMaxFooterBytes, .max_depth = 16}));
  DIL_TRY(const json::Object root, document.root_object());
  DIL_TRY(const json::Array blobs, root.require_array("blobs"));
  std::vector<BlobMetadata> result;
  for (const json::Value blob : blobs) {
    DIL_TRY(const json::Object object, blob.as_object());
    DIL_TRY(BlobMetadata metadata, read_blob(object, footer.start));
    result.push_back(std::move(metadata));
  }
  return result;
}

}  // namespace duckicelake::puffin
