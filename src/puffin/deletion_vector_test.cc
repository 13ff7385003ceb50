// SPDX-License-Identifier: Apache-2.0
#include "puffin/deletion_vector.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "base/bytes.h"

namespace duckicelake::puffin {
namespace {

constexpr std::int64_t kMaxPosition = (std::int64_t{0x7FFFFFFE} << 32) | 0xFFFFFFFF;

// A blob around a chosen vector, with the right length and checksum.
std::string blob_of(std::string_view vector_hex) {
  const std::string body = from_hex("d1d33964" + std::string(vector_hex)).value();
  std::string blob;
  append_big_endian(blob, static_cast<std::uint32_t>(body.size()));
  blob += body;
  append_big_endian(blob, static_cast<std::uint32_t>(crc32_z(
                              0, reinterpret_cast<const Bytef*>(body.data()), body.size())));
  return blob;
}

std::string vector_hex(std::span<const std::int64_t> positions) {
  const std::string blob = encode_deletion_vector(positions);
  return to_hex(blob.substr(8, blob.size() - 12));
}

TEST(DeletionVector, HasTheBytesOfThePortableFormat) {
  EXPECT_EQ(vector_hex({}), "0000000000000000");
  // One array container: cookie 12346, one container, key 0, five values, at offset 16.
  EXPECT_EQ(vector_hex(Positions{1, 3, 5, 7, 9}),
            "010000000000000000000000"
            "3a300000010000000000040010000000"
            "01000300050007000900");
  // One run container: cookie 12347, run flag set, 100 values as one run from 10.
  Positions run;
  for (std::int64_t i = 10; i < 110; ++i) run.push_back(i);
  EXPECT_EQ(vector_hex(run),
            "010000000000000000000000"
            "3b30000001000063000100"
            "0a006300");
}

TEST(DeletionVector, IsFramedByLengthMagicAndChecksum) {
  const std::string blob = encode_deletion_vector(Positions{1});
  EXPECT_EQ(read_big_endian<std::uint32_t>(blob), blob.size() - 8);
  EXPECT_EQ(to_hex(blob.substr(4, 4)), "d1d33964");
  EXPECT_EQ(blob, blob_of(vector_hex(Positions{1})));
}

TEST(DeletionVector, PositionsComeBack) {
  Positions mixed = {0, 1, 65'535, 65'536, 0xFFFFFFFF, 0x100000000, 0x500000007};
  Positions dense;
  for (std::int64_t i = 0; i < 200'000; i += 2) dense.push_back(i);
  Positions run;
  for (std::int64_t i = 1000; i < 300'000; ++i) run.push_back(i);
  for (const Positions& positions :
       {Positions{}, Positions{0}, Positions{kMaxPosition}, mixed, dense, run}) {
    const auto decoded =
        decode_deletion_vector(encode_deletion_vector(positions), positions.size());
    ASSERT_TRUE(decoded.has_value()) << decoded.error().to_string();
    EXPECT_EQ(*decoded, positions);
  }
}

TEST(DeletionVector, InputOutOfOrderIsPutInOrder) {
  EXPECT_EQ(vector_hex(Positions{9, 3, 3, -1, 1, 7, 5, kMaxPosition + 1}),
            vector_hex(Positions{1, 3, 5, 7, 9}));
  EXPECT_EQ(vector_hex(Positions{-5}), vector_hex({}));
  const PuffinFile file =
      encode_deletion_vectors(std::vector<DeletionVectorInput>{{"a", {2, 1, 1, -3}}});
  EXPECT_EQ(file.places[0].cardinality, 2);
}

TEST(DeletionVector, RefusesMorePositionsThanAllowed) {
  Positions run;
  for (std::int64_t i = 0; i < 1000; ++i) run.push_back(i);
  const std::string blob = encode_deletion_vector(run);
  EXPECT_TRUE(decode_deletion_vector(blob, 1000).has_value());
  EXPECT_FALSE(decode_deletion_vector(blob, 999).has_value());
}

TEST(DeletionVector, RefusesEveryTruncation) {
  const std::string blob = encode_deletion_vector(Positions{1, 3, 5, 7, 0x100000000});
  for (std::size_t n = 0; n < blob.size(); ++n) {
    EXPECT_FALSE(decode_deletion_vector(std::string_view(blob).substr(0, n), 100).has_value());
    // The same with a length and a checksum that agree.
    if (n >= 8 && n < blob.size() - 4) {
      EXPECT_FALSE(decode_deletion_vector(blob_of(to_hex(blob.substr(8, n - 8))), 100).has_value())
          << n;
    }
  }
}

TEST(DeletionVector, RefusesEveryFlippedByte) {
  const std::string blob = encode_deletion_vector(Positions{1, 3, 5, 7, 0x100000000});
  for (std::size_t n = 0; n < blob.size(); ++n) {
    std::string bad = blob;
    bad[n] = static_cast<char>(bad[n] ^ 0x10);
    EXPECT_FALSE(decode_deletion_vector(bad, 100).has_value()) << n;
  }
}

TEST(DeletionVector, SurvivesEveryFlippedByteUnderAGoodChecksum) {
  Positions positions = {1, 3, 5, 7, 0x100000000};
  for (std::int64_t i = 100'000; i < 120'000; i += (i % 3) + 1) positions.push_back(i);
  std::sort(positions.begin(), positions.end());
  const std::string vector = from_hex(vector_hex(positions)).value();
  for (std::size_t n = 0; n < std::min<std::size_t>(vector.size(), 400); ++n) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bad = vector;
      bad[n] = static_cast<char>(bad[n] ^ flip);
      const auto decoded = decode_deletion_vector(blob_of(to_hex(bad)), 1'000'000);
      if (decoded.has_value()) {
        EXPECT_TRUE(std::is_sorted(decoded->begin(), decoded->end()));
      } else {
        EXPECT_EQ(decoded.error().code(), Code::kInvalidArgument);
      }
    }
  }
}

TEST(DeletionVector, RefusesMalformedVectors) {
  const std::string bitmap =
      "3a300000010000000000000010000000"
      "0500";  // {5}
  EXPECT_EQ(decode_deletion_vector(blob_of("0100000000000000"
                                           "00000000" +
                                           bitmap),
                                   10)
                .value(),
            Positions{5});
  const std::vector<std::string> bad = {
      "",
      "00",
      "ffffffffffffffff",  // 2^64-1 bitmaps
      "0000000000000000"
      "00",  // bytes after the end
      "0100000000000000"
      "ffffff7f" +
          bitmap,  // key 2^31-1
      "0100000000000000"
      "ffffffff" +
          bitmap,  // key 2^32-1
      "0200000000000000"
      "00000000" +
          bitmap + "00000000" + bitmap,  // the same key twice
      "0200000000000000"
      "01000000" +
          bitmap + "00000000" + bitmap,  // keys that descend
      "0100000000000000"
      "00000000"
      "3a300000ffffff7f",  // 2^31 containers
      "0100000000000000"
      "00000000"
      "3a3000000100000000000100100000000500"
      "0500",  // a value twice
      "0100000000000000"
      "00000000"
      "3a3000000100000000000100100000000500"
      "0400",  // values that descend
      "0100000000000000"
      "00000000"
      "3b3000000100000a000200"
      "0000ffff0500ffff",  // runs that overlap
      "0100000000000000"
      "00000000"
      "deadbeef",
  };
  for (const std::string& hex : bad) {
    const auto decoded = decode_deletion_vector(blob_of(hex), 1 << 20);
    ASSERT_FALSE(decoded.has_value()) << hex;
    EXPECT_EQ(decoded.error().code(), Code::kInvalidArgument);
  }
}

TEST(DeletionVector, RefusesAFewBytesThatStandForBillions) {
  // Run containers of 65,536 values each take 8 bytes.
  Positions all;
  const std::string blob = [] {
    std::string bitmap = "3b30ffff";  // 65,536 containers, all runs
    for (int i = 0; i < 8192; ++i) bitmap += "ff";
    std::string keys;
    for (int key = 0; key < 65'536; ++key) {
      std::string bytes;
      append_little_endian(bytes, static_cast<std::uint16_t>(key));
      keys += to_hex(bytes) + "ffff";
    }
    std::string offsets;
    std::string runs;
    for (int i = 0; i < 65'536; ++i) {
      std::string bytes;
      append_little_endian(bytes, static_cast<std::uint32_t>(4 + 8192 + 65'536 * 8 + i * 6));
      offsets += to_hex(bytes);
      runs += "01000000ffff";
    }
    return blob_of("010000000000000000000000" + bitmap + keys + offsets + runs);
  }();
  const auto decoded = decode_deletion_vector(blob, 10'000'000);
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().message(), "a deletion vector of more than 10000000 positions");
}

PuffinFile two_vectors() {
  return encode_deletion_vectors(std::vector<DeletionVectorInput>{
      {"s3://bucket/a \"1\".parquet", {1, 3, 5}}, {"s3://bucket/é.parquet", {0x100000000}}});
}

TEST(Puffin, TheFooterDescribesTheBlobs) {
  const PuffinFile file = two_vectors();
  const auto blobs = decode_puffin_footer(file.bytes);
  ASSERT_TRUE(blobs.has_value()) << blobs.error().to_string();
  ASSERT_EQ(blobs->size(), 2U);
  EXPECT_EQ((*blobs)[0].type, "deletion-vector-v1");
  EXPECT_TRUE((*blobs)[0].fields.empty());
  EXPECT_EQ((*blobs)[0].snapshot_id, -1);
  EXPECT_EQ((*blobs)[0].sequence_number, -1);
  EXPECT_EQ((*blobs)[0].compression_codec, "");
  EXPECT_EQ((*blobs)[0].properties,
            (std::vector<std::pair<std::string, std::string>>{
                {"referenced-data-file", "s3://bucket/a \"1\".parquet"}, {"cardinality", "3"}}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*blobs)[i].offset, file.places[i].offset);
    EXPECT_EQ((*blobs)[i].length, file.places[i].length);
  }
  EXPECT_EQ(file.places[0].offset, 4);
  EXPECT_EQ(file.places[1].cardinality, 1);
  const auto offset = static_cast<std::size_t>(file.places[1].offset);
  const auto length = static_cast<std::size_t>(file.places[1].length);
  EXPECT_EQ(decode_deletion_vector(std::string_view(file.bytes).substr(offset, length), 10).value(),
            Positions{0x100000000});
  EXPECT_TRUE(file.bytes.find("\"created-by\":\"duckicelake\"") != std::string::npos);
}

TEST(Puffin, AFileWithoutBlobsIsValid) {
  EXPECT_TRUE(decode_puffin_footer(encode_deletion_vectors({}).bytes).value().empty());
}

// A file with a chosen footer and 8 bytes of blobs.
std::string with_footer(std::string_view payload, std::uint32_t flags = 0) {
  std::string file = "PFA1blobblobPFA1";
  file += payload;
  append_little_endian(file, static_cast<std::int32_t>(payload.size()));
  append_little_endian(file, flags);
  return file + "PFA1";
}

std::string blob_json(std::string_view place) {
  return R"({"blobs":[{"type":"t","fields":[1,2],"snapshot-id":5,"sequence-number":6,)" +
         std::string(place) + "}]}";
}

TEST(Puffin, ReadsOtherBlobs) {
  const auto blobs = decode_puffin_footer(
      with_footer(blob_json(R"("offset":4,"length":8,"compression-codec":"zstd","extra":1)")));
  ASSERT_TRUE(blobs.has_value()) << blobs.error().to_string();
  EXPECT_EQ((*blobs)[0].fields, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ((*blobs)[0].compression_codec, "zstd");
}

TEST(Puffin, RefusesMalformedFooters) {
  for (const std::string& file :
       {std::string(),
        std::string("PFA1"),
        std::string("PFA1PFA1"),
        with_footer("{"),
        with_footer(""),
        with_footer("[]"),
        with_footer("{}"),
        with_footer(R"({"blobs":{}})"),
        with_footer(R"({"blobs":[1]})"),
        with_footer(blob_json(R"("offset":4)")),
        with_footer(blob_json(R"("offset":3,"length":1)")),
        with_footer(blob_json(R"("offset":4,"length":9)")),
        with_footer(blob_json(R"("offset":13,"length":0)")),
        with_footer(blob_json(R"("offset":4,"length":-1)")),
        with_footer(blob_json(R"("offset":4,"length":9223372036854775807)")),
        with_footer(blob_json(R"("offset":9223372036854775807,"length":1)")),
        with_footer(blob_json(R"("offset":4,"length":8,"properties":{"a":1})")),
        with_footer(R"({"blobs":[]})", 1),
        with_footer(R"({"blobs":[]})", 2),
        with_footer(R"({"blobs":[]})", 0x100)}) {
    const auto blobs = decode_puffin_footer(file);
    ASSERT_FALSE(blobs.has_value()) << file;
    EXPECT_EQ(blobs.error().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(decode_puffin_footer(with_footer(R"({"blobs":[]})")).has_value());
}

TEST(Puffin, SurvivesTruncationAndFlippedBytes) {
  const std::string good = two_vectors().bytes;
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(decode_puffin_footer(std::string_view(good).substr(0, n)).has_value());
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[n] = static_cast<char>(bad[n] ^ flip);
      const auto blobs = decode_puffin_footer(bad);
      if (!blobs.has_value()) {
        EXPECT_EQ(blobs.error().code(), Code::kInvalidArgument);
      }
    }
  }
}

TEST(Puffin, RefusesDeepJson) {
  EXPECT_FALSE(decode_puffin_footer(with_footer(std::string(100'000, '['))).has_value());
}

}  // namespace
}  // namespace duckicelake::puffin
