// SPDX-License-Identifier: Apache-2.0
#include "puffin/deletion_vector.h"

#include <roaring.h>
#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>

#include "base/bytes.h"
#include "puffin/counted_blob.h"

namespace duckicelake::puffin {
namespace {

constexpr std::string_view kMagic("\xD1\xD3\x39\x64", 4);
constexpr std::size_t kLengthSize = 4;
constexpr std::size_t kCrcSize = 4;
// The Java implementation counts bitmaps in an int, so the last key it can hold is this.
constexpr std::uint32_t kMaxKey = 0x7FFFFFFE;

struct FreeBitmap {
  void operator()(roaring_bitmap_t* bitmap) const { roaring_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<roaring_bitmap_t, FreeBitmap>;

std::uint32_t key_of(std::int64_t position) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(position) >> 32);
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

constexpr std::int64_t kMaxPosition = (std::int64_t{kMaxKey} << 32) | 0xFFFFFFFF;

// Positions come from delete files that others wrote. Those that no data file can have delete
// nothing and are left out; order is restored and repeats are dropped, which costs a copy only
// where it is needed.
class NormalPositions {
 public:
  explicit NormalPositions(std::span<const std::int64_t> positions) : view_(positions) {
    const auto not_ascending = [](std::int64_t a, std::int64_t b) { return a >= b; };
    const bool is_normal =
        positions.empty() ||
        (positions.front() >= 0 && positions.back() <= kMaxPosition &&
         std::adjacent_find(positions.begin(), positions.end(), not_ascending) == positions.end());
    if (is_normal) return;
    std::copy_if(positions.begin(), positions.end(), std::back_inserter(copy_),
                 [](std::int64_t p) { return p >= 0 && p <= kMaxPosition; });
    std::sort(copy_.begin(), copy_.end());
    copy_.erase(std::unique(copy_.begin(), copy_.end()), copy_.end());
    view_ = copy_;
  }
  NormalPositions(const NormalPositions&) = delete;
  NormalPositions& operator=(const NormalPositions&) = delete;

  std::span<const std::int64_t> view() const { return view_; }

 private:
  Positions copy_;
  std::span<const std::int64_t> view_;
};

// The bitmap of one key; `positions` all have it.
void append_bitmap(std::string& out, std::span<const std::int64_t> positions) {
  const Bitmap bitmap(roaring_bitmap_create());
  DIL_ASSERT(bitmap != nullptr);
  roaring_bulk_context_t context{};
  for (const std::int64_t position : positions) {
    roaring_bitmap_add_bulk(bitmap.get(), &context, static_cast<std::uint32_t>(position));
  }
  roaring_bitmap_run_optimize(bitmap.get());
  const std::size_t start = out.size();
  out.resize(start + roaring_bitmap_portable_size_in_bytes(bitmap.get()));
  roaring_bitmap_portable_serialize(bitmap.get(), out.data() + start);
}

// Portable 64-bit form: the number of bitmaps, then each with its key in ascending order.
void append_vector(std::string& out, std::span<const std::int64_t> positions) {
  const std::size_t count_at = out.size();
  out.append(sizeof(std::uint64_t), '\0');
  std::uint64_t bitmaps = 0;
  std::size_t start = 0;
  while (start < positions.size()) {
    const std::uint32_t key = key_of(positions[start]);
    std::size_t end = start + 1;
    while (end < positions.size() && key_of(positions[end]) == key) ++end;
    append_little_endian(out, key);
    append_bitmap(out, positions.subspan(start, end - start));
    ++bitmaps;
    start = end;
  }
  std::string count;
  append_little_endian(count, bitmaps);
  out.replace(count_at, count.size(), count);
}

Error bad_bitmap() { return invalid_argument("a deletion vector with a malformed bitmap"); }

// Reads one 32-bit bitmap from the start of `bytes`, checks it, and removes its bytes.
Result<Bitmap> read_bitmap(std::string_view& bytes) {
  const std::size_t size = roaring_bitmap_portable_deserialize_size(bytes.data(), bytes.size());
  if (size == 0 || size > bytes.size()) return bad_bitmap();
  Bitmap bitmap(roaring_bitmap_portable_deserialize_safe(bytes.data(), size));
  if (bitmap == nullptr) return bad_bitmap();
  // The safe reader only stays inside the bytes; order and counts inside containers are checked
  // here.
  const char* reason = nullptr;
  if (!roaring_bitmap_internal_validate(bitmap.get(), &reason)) return bad_bitmap();
  bytes.remove_prefix(size);
  return bitmap;
}

Status append_positions(Positions& positions, const roaring_bitmap_t* bitmap, std::uint32_t key,
                        std::size_t max_positions) {
  const std::uint64_t count = roaring_bitmap_get_cardinality(bitmap);
  if (count > max_positions - positions.size()) {
    return invalid_argument("a deletion vector of more than {} positions", max_positions);
  }
  positions.reserve(positions.size() + static_cast<std::size_t>(count));
  const std::int64_t base = static_cast<std::int64_t>(key) << 32;
  roaring_uint32_iterator_t iterator;
  for (roaring_iterator_init(bitmap, &iterator); iterator.has_value;
       roaring_uint32_iterator_advance(&iterator)) {
    positions.push_back(base | static_cast<std::int64_t>(iterator.current_value));
  }
  return {};
}

Result<Positions> read_vector(std::string_view bytes, std::size_t max_positions) {
  if (bytes.size() < sizeof(std::uint64_t)) return bad_bitmap();
  const auto bitmaps = read_little_endian<std::uint64_t>(bytes);
  bytes.remove_prefix(sizeof(std::uint64_t));
  Positions positions;
  std::int64_t last_key = -1;
  for (std::uint64_t i = 0; i < bitmaps; ++i) {
    if (bytes.size() < sizeof(std::uint32_t)) return bad_bitmap();
    const auto key = read_little_endian<std::uint32_t>(bytes);
    bytes.remove_prefix(sizeof(std::uint32_t));
    if (key > kMaxKey) return invalid_argument("a deletion vector with the key {}", key);
    if (key <= last_key) return invalid_argument("a deletion vector with unordered keys");
    last_key = key;
    DIL_TRY(const Bitmap bitmap, read_bitmap(bytes));
    DIL_CHECK_OK(append_positions(positions, bitmap.get(), key, max_positions));
  }
  if (!bytes.empty()) return invalid_argument("a deletion vector with bytes after its bitmaps");
  return positions;
}

}  // namespace

std::string encode_deletion_vector(std::span<const std::int64_t> positions) {
  return encode_counted(positions).blob;
}

CountedBlob encode_counted(std::span<const std::int64_t> positions) {
  const NormalPositions normal(positions);
  std::string body(kMagic);
  append_vector(body, normal.view());
  DIL_ASSERT(body.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  std::string blob;
  blob.reserve(kLengthSize + body.size() + kCrcSize);
  append_big_endian(blob, static_cast<std::uint32_t>(body.size()));
  blob += body;
  append_big_endian(blob, crc_of(body));
  return {std::move(blob), static_cast<std::int64_t>(normal.view().size())};
}

Result<Positions> decode_deletion_vector(std::string_view blob, std::size_t max_positions) {
  if (blob.size() < kLengthSize + kMagic.size() + kCrcSize) {
    return invalid_argument("a deletion vector of only {} bytes", blob.size());
  }
  const std::string_view body = blob.substr(kLengthSize, blob.size() - kLengthSize - kCrcSize);
  if (read_big_endian<std::uint32_t>(blob) != body.size()) {
    return invalid_argument("a deletion vector with a wrong length");
  }
  if (!body.starts_with(kMagic)) return invalid_argument("a deletion vector with a wrong magic");
  if (read_big_endian<std::uint32_t>(blob.substr(blob.size() - kCrcSize)) != crc_of(body)) {
    return invalid_argument("a deletion vector with a wrong checksum");
  }
  return read_vector(body.substr(kMagic.size()), max_positions);
}

}  // namespace duckicelake::puffin
