// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "avro/container.h"

namespace duckicelake::avro {
namespace {

constexpr std::string_view kMagic("Obj\1", 4);
constexpr std::size_t kMarkerSize = 16;
constexpr std::size_t kMaxMetadataEntries = 1000;
constexpr std::size_t kMaxExpansion = 64;
constexpr std::size_t kFreeBytes = std::size_t{16} << 20;

}  // namespace

Result<ContainerReader> ContainerReader::open(std::string_view bytes, const ReadLimits& limits) {
  if (!bytes.starts_with(kMagic)) return invalid_argument("not an Avro container file");
  ContainerReader reader;
  reader.limits_ = limits;
  reader.limits_.max_total_bytes =
      std::min(limits.max_total_bytes, kFreeBytes + kMaxExpansion * bytes.size());
  Decoder decoder(bytes.substr(kMagic.size()));
  while (const std::size_t count = decoder.read_block_count(2)) {
    if (reader.metadata_.size() + count > kMaxMetadataEntries) {
      return invalid_argument("an Avro header with too many entries");
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::string key(decoder.read_bytes());
      reader.metadata_.insert_or_assign(std::move(key), std::string(decoder.read_bytes()));
    }
  }
  reader.marker_ = decoder.read_fixed(kMarkerSize);
  DIL_CHECK_OK(decoder.status());
  reader.blocks_ = bytes.substr(bytes.size() - decoder.remaining());
  const std::string* schema = reader.find_metadata("avro.schema");
  if (schema == nullptr) return invalid_argument("an Avro file without its schema");
  DIL_TRY(reader.schema_, Schema::parse(*schema));
  if (const std::string* codec = reader.find_metadata("avro.codec"); codec != nullptr) {
    DIL_TRY(reader.codec_, parse_codec(*codec));
  }
  return reader;
}

const std::string* ContainerReader::find_metadata(std::string_view key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

Status ContainerReader::for_each(const std::function<Status(Decoder&)>& on_record) const {
  std::size_t records = 0;
  std::size_t total_bytes = 0;
  Decoder file(blocks_);
  while (file.remaining() > 0) {
    const std::int64_t count = file.read_long();
    const std::string_view compressed = file.read_bytes();
    const std::string_view marker = file.read_fixed(kMarkerSize);
    DIL_CHECK_OK(file.status());
    if (marker != marker_) return invalid_argument("an Avro block without its sync marker");
    if (count < 0 || static_cast<std::uint64_t>(count) > limits_.max_records - records) {
      return invalid_argument("an Avro file of more than {} records", limits_.max_records);
    }
    records += static_cast<std::size_t>(count);
    const std::size_t allowed =
        std::min(limits_.max_block_bytes, limits_.max_total_bytes - total_bytes);
    std::string buffer;
    std::string_view plain = compressed;
    if (codec_ != Codec::kNull) {
      DIL_TRY(buffer, decompress(codec_, compressed, allowed));
      plain = buffer;
      total_bytes += plain.size();
    }
    Decoder block(plain);
    for (std::int64_t i = 0; i < count; ++i) {
      DIL_CHECK_OK(on_record(block));
      DIL_CHECK_OK(block.status());
    }
    if (block.remaining() > 0)
      return invalid_argument("an Avro block with bytes after its records");
  }
  return {};
}

}  // namespace duckicelake::avro
