// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "avro/binary.h"
#include "avro/codec.h"
#include "avro/schema.h"

namespace duckicelake::avro {

// Avro object container files (Avro spec "Object Container Files").

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Writes one container file into memory: append a record's bytes to `record()`, then call
// `end_record`. Blocks are cut at 64 KiB of plain bytes, so memory is the compressed file and one
// block. The sync marker is a hash of the content: equal input gives equal bytes, and nothing
// random is needed.
class ContainerWriter {
 public:
  // `metadata` must not hold the keys avro.schema and avro.codec, which are added.
  ContainerWriter(const Schema& schema, const Metadata& metadata, Codec codec);

  std::string& record() { return block_; }
  void end_record();
  // The file; the writer is used up.
  std::string finish() &&;

 private:
  void flush();
  void append_sync_marker();

  Codec codec_;
  std::string out_;
  std::string block_;
  std::size_t block_records_ = 0;
  std::vector<std::size_t> marker_positions_;
};

struct ReadLimits {
  std::size_t max_records = 10'000'000;
  std::size_t max_block_bytes = std::size_t{64} << 20;  // of one block, decompressed
  // Of all blocks, decompressed: this much, and at most 64 times the file plus 16 MiB.
  std::size_t max_total_bytes = std::size_t{256} << 20;
};

// A container file over bytes that must outlive it. Everything is untrusted: kInvalidArgument on
// anything malformed and on anything beyond the limits.
class ContainerReader {
 public:
  static Result<ContainerReader> open(std::string_view bytes, const ReadLimits& limits);

  const Schema& schema() const { return schema_; }
  // The value of a key of the header, or nullptr.
  const std::string* find_metadata(std::string_view key) const;
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

  // Calls `on_record` once for each record, in order; it must take exactly one record from the
  // decoder. Stops at its first error. May be called again: it starts over.
  Status for_each(const std::function<Status(Decoder&)>& on_record) const;

 private:
  ContainerReader() = default;

  ReadLimits limits_;
  Schema schema_;
  std::map<std::string, std::string, std::less<>> metadata_;
  Codec codec_ = Codec::kNull;
  std::string_view marker_;
  std::string_view blocks_;
};

}  // namespace duckicelake::avro
