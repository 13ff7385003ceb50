// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

// For tests: writes footers as other software does, and such as none does.
namespace duckicelake::parquet::testing {

// Thrift's compact protocol.
class ThriftWriter {
 public:
  std::string bytes;

  void integer(std::int16_t id, std::int64_t value, bool is_wide = false) {
    head(id, is_wide ? 6 : 5);
    zigzag(value);
  }
  void boolean(std::int16_t id, bool value) { head(id, value ? 1 : 2); }
  void binary(std::int16_t id, std::string_view value) {
    head(id, 8);
    varint(value.size());
    bytes += value;
  }
  void structure(std::int16_t id, const std::function<void()>& fill) {
    head(id, 12);
    body(fill);
  }
  // Of structs.
  void list(std::int16_t id, std::size_t count, const std::function<void(std::size_t)>& fill) {
    head(id, 9);
    if (count < 15) {
      bytes.push_back(static_cast<char>(count << 4U | 12U));
    } else {
      bytes.push_back(static_cast<char>(0xFC));
      varint(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      body([&] { fill(i); });
    }
  }
  void body(const std::function<void()>& fill) {
    const std::int16_t outer = last_;
    last_ = 0;
    fill();
    bytes.push_back('\0');
    last_ = outer;
  }
  void head(std::int16_t id, unsigned type) {
    const int delta = id - last_;
    if (delta > 0 && delta < 16) {
      bytes.push_back(static_cast<char>(static_cast<unsigned>(delta) << 4U | type));
    } else {
      bytes.push_back(static_cast<char>(type));
      zigzag(id);
    }
    last_ = id;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes.push_back(static_cast<char>(value | 0x80U));
    bytes.push_back(static_cast<char>(value));
  }
  void zigzag(std::int64_t value) {
    varint(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63U));
  }

 private:
  std::int16_t last_ = 0;
};

struct TestStatistics {
  std::optional<std::int64_t> nulls = 0;
  std::optional<std::string> low = {};
  std::optional<std::string> high = {};
  std::optional<bool> is_low_exact = {};
  std::optional<bool> is_high_exact = {};
  std::optional<std::string> old_low = {};  // the fields of old writers
  std::optional<std::string> old_high = {};
};

// A node of the schema; one with children is a group.
struct TestColumn {
  std::string name = "c";
  std::optional<std::int32_t> field_id = 1;
  std::int32_t physical = 6;
  std::int32_t type_length = 0;
  std::int32_t repetition = 1;
  std::optional<std::int32_t> converted = {};
  std::function<void(ThriftWriter&)> logical = {};  // writes the union's member
  std::vector<TestColumn> children = {};
  std::vector<TestStatistics> groups = {};  // by row group
  bool has_own_order = true;
};

// A member of the union LogicalType without content: 1 string, 6 date, 14 UUID.
inline std::function<void(ThriftWriter&)> plain_logical(std::int16_t id) {
  return [id](ThriftWriter& out) { out.structure(id, [] {}); };
}
// 8: a timestamp, 7: a time; units are 1 millis, 2 micros, 3 nanos.
inline std::function<void(ThriftWriter&)> temporal_logical(std::int16_t id, bool is_utc,
                                                           std::int16_t unit) {
  return [=](ThriftWriter& out) {
    out.structure(id, [&] {
      out.boolean(1, is_utc);
      out.structure(2, [&] { out.structure(unit, [] {}); });
    });
  };
}
inline std::function<void(ThriftWriter&)> decimal_logical(std::int32_t scale,
                                                          std::int32_t precision) {
  return [=](ThriftWriter& out) {
    out.structure(5, [&] {
      out.integer(1, scale);
      out.integer(2, precision);
    });
  };
}
inline std::function<void(ThriftWriter&)> integer_logical(bool is_signed) {
  return [=](ThriftWriter& out) {
    out.structure(10, [&] {
      out.head(1, 3);
      out.bytes.push_back(32);
      out.boolean(2, is_signed);
    });
  };
}

struct TestFooter {
  std::vector<TestColumn> columns;
  std::vector<std::int64_t> rows = {10};      // by row group
  std::optional<std::int64_t> all_rows = {};  // else their sum
  bool has_orders = true;

  std::string bytes() const {
    std::vector<const TestColumn*> nodes, leaves;
    for (const TestColumn& column : columns) collect(column, nodes, leaves);
    ThriftWriter out;
    out.body([&] {
      out.integer(1, 2);
      out.list(2, nodes.size() + 1, [&](std::size_t i) {
        if (i == 0) {
          out.binary(4, "schema");
          out.integer(5, static_cast<std::int64_t>(columns.size()));
        } else {
          write_node(out, *nodes[i - 1]);
        }
      });
      std::uint64_t sum = 0;  // may pass what a footer can say
      for (const std::int64_t count : rows) sum += static_cast<std::uint64_t>(count);
      out.integer(3, all_rows.value_or(static_cast<std::int64_t>(sum)), true);
      out.list(4, rows.size(), [&](std::size_t group) {
        out.list(1, leaves.size(), [&](std::size_t leaf) {
          out.integer(2, 4, true);
          out.structure(3, [&] { write_chunk(out, *leaves[leaf], group); });
        });
        out.integer(2, 1000, true);
        out.integer(3, rows[group], true);
      });
      out.binary(6, "a test");
      if (has_orders) {
        out.list(7, leaves.size(), [&](std::size_t leaf) {
          out.structure(leaves[leaf]->has_own_order ? 1 : 2, [] {});
        });
      }
    });
    return out.bytes;
  }

  // A file whose column bytes are anything.
  std::string file(std::size_t padding = 100) const {
    const std::string footer = bytes();
    std::string out = "PAR1" + std::string(padding, 'x') + footer;
    append_little_endian(out, static_cast<std::uint32_t>(footer.size()));
    return out + "PAR1";
  }

 private:
  static void collect(const TestColumn& column, std::vector<const TestColumn*>& nodes,
                      std::vector<const TestColumn*>& leaves) {
    nodes.push_back(&column);
    if (column.children.empty()) leaves.push_back(&column);
    for (const TestColumn& child : column.children) collect(child, nodes, leaves);
  }
  static void write_node(ThriftWriter& out, const TestColumn& node) {
    if (node.children.empty()) {
      out.integer(1, node.physical);
      if (node.type_length > 0) out.integer(2, node.type_length);
    }
    out.integer(3, node.repetition);
    out.binary(4, node.name);
    if (!node.children.empty()) out.integer(5, static_cast<std::int64_t>(node.children.size()));
    if (node.converted) out.integer(6, *node.converted);
    if (node.field_id) out.integer(9, *node.field_id);
    if (node.logical) out.structure(10, [&] { node.logical(out); });
  }
  void write_chunk(ThriftWriter& out, const TestColumn& leaf, std::size_t group) const {
    out.integer(1, leaf.physical);
    out.integer(5, rows[group], true);
    out.integer(6, 70, true);
    out.integer(7, 50, true);
    if (group >= leaf.groups.size()) return;
    const TestStatistics& stats = leaf.groups[group];
    out.structure(12, [&] {
      if (stats.old_high) out.binary(1, *stats.old_high);
      if (stats.old_low) out.binary(2, *stats.old_low);
      if (stats.nulls) out.integer(3, *stats.nulls, true);
      if (stats.high) out.binary(5, *stats.high);
      if (stats.low) out.binary(6, *stats.low);
      if (stats.is_high_exact) out.boolean(7, *stats.is_high_exact);
      if (stats.is_low_exact) out.boolean(8, *stats.is_low_exact);
    });
  }
};

template <class T>
std::string plain(T value) {
  std::string out;
  append_little_endian(out, value);
  return out;
}

}  // namespace duckicelake::parquet::testing
