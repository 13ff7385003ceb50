// SPDX-License-Identifier: Apache-2.0
#include "parquet/footer.h"

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "parquet/leaf_bounds.h"
#include "parquet/thrift_reader.h"

namespace duckicelake::parquet {
namespace {

constexpr std::size_t kMaxNodes = 20'000;  // each costs some 500 bytes when all are deep
constexpr std::size_t kMaxDepth = 64;

Error corrupt(std::string_view what) {
  return make_error(Code::kCorruptData, "Parquet footer: {}", what);
}

// SchemaElement.
struct Node {
  std::optional<std::int32_t> physical;
  std::int32_t type_length = 0;
  std::int32_t repetition = 0;
  std::int32_t child_count = 0;
  std::optional<std::int32_t> converted;
  std::int32_t scale = 0;
  std::int32_t precision = 0;
  std::optional<std::int32_t> field_id;
  std::optional<LogicalType> logical;
};
constexpr std::int32_t kRepeated = 2;

LogicalType read_decimal(ThriftReader& in) {
  LogicalType out{.kind = LogicalType::Kind::kDecimal};
  in.read_struct([&](std::int16_t id, WireType type) {
    switch (id) {
      case 1: out.scale = in.read_int32(type); break;
      case 2: out.precision = in.read_int32(type); break;
      default: in.skip(type);
    }
  });
  return out;
}

LogicalType read_integer_type(ThriftReader& in) {
  LogicalType out{.kind = LogicalType::Kind::kInteger};
  in.read_struct([&](std::int16_t id, WireType type) {
    if (id == 2) {
      out.is_signed = in.read_bool(type);
    } else {
      in.skip(type);
    }
  });
  return out;
}

// Of a time or a timestamp.
LogicalType read_temporal(ThriftReader& in, LogicalType::Kind kind) {
  LogicalType out{.kind = kind, .is_utc = false};
  bool has_unit = false;
  in.read_struct([&](std::int16_t id, WireType type) {
    if (id == 1) {
      out.is_utc = in.read_bool(type);
      return;
    }
    if (id != 2 || type != WireType::kStruct) return in.skip(type);
    in.read_struct([&](std::int16_t unit, WireType inner) {
      has_unit = unit >= 1 && unit <= 3;
      if (has_unit) out.unit = static_cast<LogicalType::Unit>(unit - 1);
      in.skip(inner);
    });
  });
  if (!has_unit) out.kind = LogicalType::Kind::kOther;
  return out;
}

// The union LogicalType.
LogicalType read_logical(ThriftReader& in, WireType type) {
  using Kind = LogicalType::Kind;
  LogicalType out{.kind = Kind::kOther};
  if (type != WireType::kStruct) {
    in.skip(type);
    return out;
  }
  in.read_struct([&](std::int16_t id, WireType inner) {
    if (inner != WireType::kStruct) return in.skip(inner);
    switch (id) {
      case 5: out = read_decimal(in); return;
      case 7: out = read_temporal(in, Kind::kTime); return;
      case 8: out = read_temporal(in, Kind::kTimestamp); return;
      case 10: out = read_integer_type(in); return;
      case 1:
      case 4:
      case 12: out.kind = Kind::kText; break;
      case 6: out.kind = Kind::kDate; break;
      case 14: out.kind = Kind::kUuid; break;
      default: out.kind = Kind::kOther;
    }
    in.skip(inner);
  });
  return out;
}

// ConvertedType, of writers that know no LogicalType. They do not say what a timestamp's zone is.
LogicalType from_converted(const Node& node) {
  using Kind = LogicalType::Kind;
  LogicalType out;
  if (!node.converted) return out;
  switch (*node.converted) {
    case 0:
    case 4:
    case 19: out.kind = Kind::kText; break;
    case 5:
      out.kind = Kind::kDecimal;
      out.scale = node.scale;
      out.precision = node.precision;
      break;
    case 6: out.kind = Kind::kDate; break;
    case 7:
    case 8:
      out.kind = Kind::kTime;
      out.unit = *node.converted == 7 ? LogicalType::Unit::kMillis : LogicalType::Unit::kMicros;
      break;
    case 9:
    case 10:
      out.kind = Kind::kTimestamp;
      out.unit = *node.converted == 9 ? LogicalType::Unit::kMillis : LogicalType::Unit::kMicros;
      break;
    case 11:
    case 12:
    case 13:
    case 14:
      out.kind = Kind::kInteger;
      out.is_signed = false;
      break;
    case 15:
    case 16:
    case 17:
    case 18: out.kind = Kind::kInteger; break;
    default: out.kind = Kind::kOther;
  }
  return out;
}

// A group on the way from the root to the node at hand.
struct OpenGroup {
  std::int32_t missing_children = 0;
  std::int32_t id = kNoId;
  bool is_repeated = false;
};

class FooterParser {
 public:
  explicit FooterParser(std::string_view bytes) : in_(bytes) {}

  Result<Footer> run() {
    in_.read_struct([this](std::int16_t id, WireType type) {
      switch (id) {
        case 2: read_schema(type); break;
        case 3: out_.row_count = in_.read_integer(type); break;
        case 4: read_row_groups(type); break;
        case 7: read_orders(type); break;
        default: in_.skip(type);
      }
    });
    if (in_.has_failed()) return corrupt("malformed");
    if (!has_schema_ || !open_.empty()) return corrupt("its schema is not a tree");
    if (out_.row_count < 0 || group_rows_ != out_.row_count) {
      return corrupt("the rows of its row groups are not those of the file");
    }
    for (std::size_t i = 0; i < out_.leaves.size(); ++i) {
      Leaf& leaf = out_.leaves[i];
      if (!leaf.is_repeated && leaf.value_count != out_.row_count) {
        return corrupt("a column has another number of values than the file has rows");
      }
      // Without an order of the type's own the bounds are anything.
      const bool is_ordered = i < orders_.size() && orders_[i];
      bounds_[i].finish(leaf, is_ordered);
    }
    std::sort(out_.field_ids.begin(), out_.field_ids.end());
    return std::move(out_);
  }

 private:
  Node read_node() {
    Node node;
    in_.read_struct([&](std::int16_t id, WireType type) {
      switch (id) {
        case 1: node.physical = in_.read_int32(type); break;
        case 2: node.type_length = in_.read_int32(type); break;
        case 3: node.repetition = in_.read_int32(type); break;
        case 5: node.child_count = in_.read_int32(type); break;
        case 6: node.converted = in_.read_int32(type); break;
        case 7: node.scale = in_.read_int32(type); break;
        case 8: node.precision = in_.read_int32(type); break;
        case 9: node.field_id = in_.read_int32(type); break;
        case 10: node.logical = read_logical(in_, type); break;
        default: in_.skip(type);
      }
    });
    return node;
  }

  void read_schema(WireType type) {
    if (has_schema_) return in_.fail();
    has_schema_ = true;
    bool is_root = true;
    std::size_t count = 0;
    in_.read_list(type, [&](WireType element) {
      if (element != WireType::kStruct || ++count > kMaxNodes) return in_.fail();
      const Node node = read_node();
      if (is_root) {
        is_root = false;
        open_.push_back({node.child_count, kNoId, false});
        close_full_groups();
      } else {
        add_node(node);
      }
    });
  }

  void add_node(const Node& node) {
    if (open_.empty() || open_.size() > kMaxDepth || node.child_count < 0) return in_.fail();
    --open_.back().missing_children;
    const std::int32_t id = node.field_id.value_or(kNoId);
    if (node.field_id) out_.field_ids.push_back(id);
    const bool is_repeated = open_.back().is_repeated || node.repetition == kRepeated;
    if (node.child_count > 0 || !node.physical) {
      open_.push_back({node.child_count, id, is_repeated});
    } else {
      if (*node.physical < 0 || *node.physical > 7) return in_.fail();
      Leaf leaf;
      for (std::size_t i = 1; i < open_.size(); ++i) leaf.id_path.push_back(open_[i].id);
      leaf.id_path.push_back(id);
      leaf.is_repeated = is_repeated;
      leaf.physical = static_cast<PhysicalType>(*node.physical);
      leaf.type_length = node.type_length;
      leaf.logical = node.logical ? *node.logical : from_converted(node);
      bounds_.emplace_back(leaf);
      out_.leaves.push_back(std::move(leaf));
    }
    close_full_groups();
  }

  void close_full_groups() {
    while (!open_.empty() && open_.back().missing_children <= 0) open_.pop_back();
  }

  // Every known writer puts the schema first.
  void read_row_groups(WireType type) {
    if (!has_schema_ || has_groups_) return in_.fail();
    has_groups_ = true;
    in_.read_list(type, [this](WireType element) {
      if (element != WireType::kStruct) return in_.fail();
      std::size_t columns = 0;
      std::int64_t rows = -1;
      in_.read_struct([&](std::int16_t id, WireType inner) {
        if (id == 3) {
          rows = in_.read_integer(inner);
        } else if (id == 1) {
          in_.read_list(inner, [&](WireType chunk) {
            if (chunk != WireType::kStruct || columns >= out_.leaves.size()) return in_.fail();
            read_chunk(columns++);
          });
        } else {
          in_.skip(inner);
        }
      });
      if (rows < 0 || columns != out_.leaves.size()) return in_.fail();
      add(group_rows_, rows);
    });
  }

  // ColumnChunk. One without metadata is encrypted with a key of its own: its counts are unknown,
  // and then the file's do not add up.
  void read_chunk(std::size_t index) {
    in_.read_struct([&](std::int16_t id, WireType type) {
      if (id == 3 && type == WireType::kStruct) return read_chunk_metadata(index);
      if (id == 1 || id == 9) in_.fail();  // its bytes lie in another file, or are encrypted
      in_.skip(type);
    });
  }

  void read_chunk_metadata(std::size_t index) {
    Leaf& leaf = out_.leaves[index];
    ChunkStatistics chunk;
    in_.read_struct([&](std::int16_t id, WireType type) {
      switch (id) {
        case 1:
          if (in_.read_int32(type) != static_cast<std::int32_t>(leaf.physical)) in_.fail();
          break;
        case 5: chunk.value_count = in_.read_integer(type); break;
        case 7: add(leaf.compressed_bytes, in_.read_integer(type)); break;
        case 12: read_statistics(type, chunk); break;
        default: in_.skip(type);
      }
    });
    const std::int64_t nulls = chunk.null_count.value_or(0);
    if (chunk.value_count < 0 || nulls < 0 || nulls > chunk.value_count) return in_.fail();
    add(leaf.value_count, chunk.value_count);
    if (!in_.has_failed()) bounds_[index].add(chunk);
  }

  void read_statistics(WireType type, ChunkStatistics& chunk) {
    if (type != WireType::kStruct) return in_.fail();
    in_.read_struct([&](std::int16_t id, WireType inner) {
      switch (id) {
        case 3: chunk.null_count = in_.read_integer(inner); break;
        case 5: chunk.high = in_.read_binary(inner); break;
        case 6: chunk.low = in_.read_binary(inner); break;
        case 7: chunk.is_high_exact = in_.read_bool(inner); break;
        case 8: chunk.is_low_exact = in_.read_bool(inner); break;
        default: in_.skip(inner);
      }
    });
  }

  // ColumnOrder, a union for each leaf: 1 is the order of its type.
  void read_orders(WireType type) {
    in_.read_list(type, [this](WireType element) {
      if (element != WireType::kStruct) return in_.fail();
      bool is_own = false;
      in_.read_struct([&](std::int16_t id, WireType inner) {
        is_own = id == 1;
        in_.skip(inner);
      });
      orders_.push_back(is_own);
    });
  }

  void add(std::int64_t& sum, std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<std::int64_t>::max() - sum) return in_.fail();
    sum += value;
  }

  ThriftReader in_;
  Footer out_;
  std::vector<LeafBounds> bounds_;  // by leaf
  std::vector<bool> orders_;        // by leaf
  std::vector<OpenGroup> open_;
  bool has_schema_ = false;
  bool has_groups_ = false;
  std::int64_t group_rows_ = 0;
};

}  // namespace

Result<std::size_t> footer_length(std::string_view trailer) {
  if (trailer.size() != kTrailerBytes) return corrupt("the file is too short");
  if (trailer.substr(4) == "PARE") return corrupt("it is encrypted");
  if (trailer.substr(4) != "PAR1") return corrupt("the file is none of Parquet");
  return std::size_t{read_little_endian<std::uint32_t>(trailer)};
}

Result<Footer> parse_footer(std::string_view bytes) { return FooterParser(bytes).run(); }

}  // namespace duckicelake::parquet
