// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace duckicelake::puffin {

// Positions in a data file, ascending and unique.
using Positions = std::vector<std::int64_t>;

// A deletion-vector-v1 blob (puffin-spec "deletion-vector-v1 blob type"): big-endian length, magic
// D1D33964, portable 64-bit roaring bitmap (run-optimised), big-endian CRC-32. Input that is not
// ascending and unique is put in order; positions that no file can have (negative, key above
// 2^31-2) are left out.
std::string encode_deletion_vector(std::span<const std::int64_t> positions);
// kInvalidArgument on bad length, magic, CRC, bitmap, a key above 2^31-2, or more than
// `max_positions`.
Result<Positions> decode_deletion_vector(std::string_view blob, std::size_t max_positions);

struct DeletionVectorInput {
  std::string referenced_data_file;
  Positions positions;
};

// Where a blob stands in its Puffin file; both in bytes.
struct BlobPlace {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::int64_t cardinality = 0;
};

struct PuffinFile {
  std::string bytes;
  std::vector<BlobPlace> places;  // in the order of the input
};

// A Puffin container with one deletion vector for each input; blobs have snapshot-id and
// sequence-number -1, properties referenced-data-file and cardinality; footer uncompressed;
// created-by "duckicelake".
PuffinFile encode_deletion_vectors(std::span<const DeletionVectorInput> inputs);

struct BlobMetadata {
  std::string type;
  std::vector<std::int32_t> fields;
  std::int64_t snapshot_id = 0;
  std::int64_t sequence_number = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  std::string compression_codec;  // empty = none
  std::vector<std::pair<std::string, std::string>> properties;
};
// The footer of a Puffin file (spec "Footer structure"), footer LZ4 not supported
// (kInvalidArgument).
Result<std::vector<BlobMetadata>> decode_puffin_footer(std::string_view file_bytes);

}  // namespace duckicelake::puffin
