// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstring>

#include "avro/container.h"
#include "base/bytes.h"

namespace duckicelake::avro {
namespace {

constexpr std::string_view kMagic("Obj\1", 4);
constexpr std::size_t kMarkerSize = 16;
constexpr std::size_t kBlockSize = std::size_t{64} << 10;

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ULL;
  h ^= h >> 32;
  return h;
}

// 128 bits that depend on all bytes. Not cryptographic, and need not be: a marker only has to be
// unlikely to occur in the file by chance.
std::array<std::uint64_t, 2> hash_of(std::string_view bytes) {
  std::uint64_t a = 0x9E3779B97F4A7C15ULL ^ bytes.size();
  std::uint64_t b = 0xC2B2AE3D27D4EB4FULL;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const auto word = read_little_endian<std::uint64_t>(bytes.substr(i, 8));
    a = (std::rotl(a, 29) ^ word) * 0x9FB21C651E98DF25ULL;
    b = (std::rotl(b, 31) + word) * 0xA24BAED4963EE407ULL;
  }
  for (; i < bytes.size(); ++i) {
    a = (std::rotl(a, 29) ^ static_cast<unsigned char>(bytes[i])) * 0x9FB21C651E98DF25ULL;
  }
  return {mix(a ^ std::rotl(b, 17)), mix(b + mix(a))};
}

}  // namespace

ContainerWriter::ContainerWriter(const Schema& schema, const Metadata& metadata, Codec codec)
    : codec_(codec) {
  out_ = kMagic;
  append_long(out_, static_cast<std::int64_t>(metadata.size() + 2));
  append_bytes(out_, "avro.schema");
  append_bytes(out_, schema.to_json());
  append_bytes(out_, "avro.codec");
  append_bytes(out_, codec_name(codec));
  for (const auto& [key, value] : metadata) {
    append_bytes(out_, key);
    append_bytes(out_, value);
  }
  append_long(out_, 0);
  append_sync_marker();
}

void ContainerWriter::append_sync_marker() {
  marker_positions_.push_back(out_.size());
  out_.append(kMarkerSize, '\0');
}

void ContainerWriter::end_record() {
  ++block_records_;
  if (block_.size() >= kBlockSize) flush();
}

void ContainerWriter::flush() {
  if (block_records_ == 0) return;
  append_long(out_, static_cast<std::int64_t>(block_records_));
  append_bytes(out_, compress(codec_, block_));
  append_sync_marker();
  block_.clear();
  block_records_ = 0;
}

std::string ContainerWriter::finish() && {
  flush();
  std::string marker;
  for (const std::uint64_t half : hash_of(out_)) append_little_endian(marker, half);
  for (const std::size_t position : marker_positions_) {
    std::memcpy(out_.data() + position, marker.data(), kMarkerSize);
  }
  return std::move(out_);
}

}  // namespace duckicelake::avro
