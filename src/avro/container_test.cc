// SPDX-License-Identifier: Apache-2.0
#include "avro/container.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/bytes.h"

namespace duckicelake::avro {
namespace {

constexpr Codec kCodecs[] = {Codec::kNull, Codec::kDeflate, Codec::kZstandard, Codec::kSnappy};

Schema pair_schema() {
  return Schema::parse(R"({"type":"record","name":"r","fields":[
      {"name":"id","type":"long","field-id":1},{"name":"name","type":"string","field-id":2}]})")
      .value();
}

std::string name_of(int i) { return "row number " + std::to_string(i); }

std::string pair_file(int rows, Codec codec) {
  ContainerWriter writer(pair_schema(), {{"k", "v"}, {"empty", ""}}, codec);
  for (int i = 0; i < rows; ++i) {
    append_long(writer.record(), i);
    append_bytes(writer.record(), name_of(i));
    writer.end_record();
  }
  return std::move(writer).finish();
}

// The number of rows, or the error.
Result<int> read_pairs(std::string_view bytes, const ReadLimits& limits = {}) {
  DIL_TRY(const ContainerReader reader, ContainerReader::open(bytes, limits));
  int rows = 0;
  const Status status = reader.for_each([&](Decoder& decoder) -> Status {
    const std::int64_t id = decoder.read_long();
    const std::string_view name = decoder.read_bytes();
    DIL_CHECK_OK(decoder.status());
    if (id != rows || name != name_of(rows)) return invalid_argument("another row");
    ++rows;
    return {};
  });
  DIL_CHECK_OK(status);
  return rows;
}

TEST(Container, FilesOfEveryCodecComeBack) {
  for (const Codec codec : kCodecs) {
    for (const int rows : {0, 1, 20'000}) {
      const std::string file = pair_file(rows, codec);
      const Result<int> read = read_pairs(file);
      ASSERT_TRUE(read.has_value()) << codec_name(codec) << ' ' << read.error().to_string();
      EXPECT_EQ(*read, rows);
    }
  }
}

TEST(Container, KeepsMetadata) {
  const std::string file = pair_file(1, Codec::kDeflate);
  const Result<ContainerReader> reader = ContainerReader::open(file, {});
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(*reader->find_metadata("k"), "v");
  EXPECT_EQ(*reader->find_metadata("empty"), "");
  EXPECT_EQ(*reader->find_metadata("avro.codec"), "deflate");
  EXPECT_EQ(*reader->find_metadata("avro.schema"), pair_schema().to_json());
  EXPECT_EQ(reader->find_metadata("other"), nullptr);
}

TEST(Container, EqualInputGivesEqualBytes) {
  EXPECT_EQ(pair_file(5000, Codec::kDeflate), pair_file(5000, Codec::kDeflate));
  const std::string a = pair_file(1, Codec::kNull);
  const std::string b = pair_file(2, Codec::kNull);
  EXPECT_NE(a.substr(a.size() - 16), b.substr(b.size() - 16));
}

TEST(Container, CutsBlocksAt64KiB) {
  const std::string file = pair_file(20'000, Codec::kNull);
  const std::string marker = file.substr(file.size() - 16);
  std::size_t markers = 0;
  for (std::size_t at = file.find(marker); at != std::string::npos;
       at = file.find(marker, at + 16)) {
    ++markers;
  }
  EXPECT_GE(markers, 1 + file.size() / (65 << 10));
}

TEST(Container, RefusesEveryTruncation) {
  for (const Codec codec : kCodecs) {
    const std::string file = pair_file(3, codec);
    const std::size_t header = pair_file(0, codec).size();
    for (std::size_t n = 0; n < file.size(); ++n) {
      const Result<int> read = read_pairs(std::string_view(file).substr(0, n));
      if (n == header) {
        EXPECT_EQ(read.value(), 0);  // a file without blocks is a good one
      } else {
        ASSERT_FALSE(read.has_value()) << codec_name(codec) << ' ' << n;
        EXPECT_EQ(read.error().code(), Code::kInvalidArgument);
      }
    }
  }
}

TEST(Container, SurvivesEveryFlippedByte) {
  for (const Codec codec : kCodecs) {
    const std::string file = pair_file(3, codec);
    for (std::size_t n = 0; n < file.size(); ++n) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string bad = file;
        bad[n] = static_cast<char>(bad[n] ^ flip);
        const Result<int> read = read_pairs(bad);
        if (!read.has_value()) {
          EXPECT_EQ(read.error().code(), Code::kInvalidArgument);
        }
      }
    }
  }
}

// A file of one block whose parts the test chooses.
std::string forged(std::int64_t count, std::int64_t length, std::string_view data, Codec codec) {
  std::string file = pair_file(0, codec);
  const std::string marker = file.substr(file.size() - 16);
  append_long(file, count);
  append_long(file, length);
  file += data;
  return file + marker;
}

TEST(Container, RefusesCountsAndLengthsThatLie) {
  std::string row;
  append_long(row, 0);
  append_bytes(row, name_of(0));
  const auto size = static_cast<std::int64_t>(row.size());
  EXPECT_EQ(read_pairs(forged(1, size, row, Codec::kNull)).value(), 1);
  EXPECT_FALSE(read_pairs(forged(0, size, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(2, size, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(-1, size, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(std::int64_t{1} << 62, size, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(1, size - 1, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(1, std::int64_t{1} << 30, row, Codec::kNull)).has_value());
  EXPECT_FALSE(read_pairs(forged(1, -1, row, Codec::kNull)).has_value());
}

TEST(Container, RefusesMoreRecordsThanAllowed) {
  const std::string file = pair_file(10, Codec::kDeflate);
  EXPECT_TRUE(read_pairs(file, {.max_records = 10}).has_value());
  EXPECT_FALSE(read_pairs(file, {.max_records = 9}).has_value());
}

TEST(Container, RefusesCompressionBombs) {
  const std::string zeros(std::size_t{80} << 20, '\0');
  for (const Codec codec : {Codec::kDeflate, Codec::kZstandard, Codec::kSnappy}) {
    const std::string small = compress(codec, zeros);
    EXPECT_LT(small.size(), zeros.size() / 15);
    EXPECT_FALSE(decompress(codec, small, zeros.size() - 1).has_value()) << codec_name(codec);
    EXPECT_EQ(decompress(codec, small, zeros.size()).value().size(), zeros.size());
    // The container allows a block at most 64 MiB, and a small file less.
    const Result<int> read =
        read_pairs(forged(1, static_cast<std::int64_t>(small.size()), small, codec));
    EXPECT_FALSE(read.has_value());
  }
}

TEST(Codec, RefusesMalformedData) {
  const std::string plain = "some text, some text, some text, some text";
  for (const Codec codec : {Codec::kDeflate, Codec::kZstandard, Codec::kSnappy}) {
    const std::string good = compress(codec, plain);
    EXPECT_EQ(decompress(codec, good, 1000).value(), plain);
    EXPECT_EQ(decompress(codec, good, plain.size()).value(), plain);
    EXPECT_FALSE(decompress(codec, good, plain.size() - 1).has_value());
    EXPECT_FALSE(decompress(codec, good + "xxxxx", 1000).has_value()) << codec_name(codec);
    for (std::size_t n = 0; n < good.size(); ++n) {
      EXPECT_FALSE(decompress(codec, std::string_view(good).substr(0, n), 1000).has_value())
          << codec_name(codec) << ' ' << n;
    }
    EXPECT_EQ(decompress(codec, compress(codec, ""), 10).value(), "");
  }
}

TEST(Codec, DeflateHasNoZlibHeader) {
  // 03 00 is the empty raw stream; with a header it would begin with 78.
  EXPECT_EQ(compress(Codec::kDeflate, ""), std::string("\x03\x00", 2));
}

TEST(Codec, AcceptsDeflateWithTheRestOfAZlibChecksum) {
  EXPECT_EQ(decompress(Codec::kDeflate, compress(Codec::kDeflate, "text") + "abc", 10).value(),
            "text");
}

TEST(Codec, SnappyBlocksEndWithTheChecksumOfThePlainBytes) {
  const std::string plain = "123456789";
  const std::string block = compress(Codec::kSnappy, plain);
  EXPECT_EQ(to_hex(block.substr(block.size() - 4)), "cbf43926");  // CRC-32 of "123456789"
  std::string bad = block;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  EXPECT_FALSE(decompress(Codec::kSnappy, bad, 100).has_value());
}

TEST(Codec, RefusesASnappyLengthThatNoDataCanFill) {
  // Claims 1 GiB in a block of a few bytes.
  const std::string claim("\x80\x80\x80\x80\x04\x00\x00\x00\x00\x00", 10);
  EXPECT_FALSE(decompress(Codec::kSnappy, claim, std::size_t{2} << 30).has_value());
}

TEST(Codec, RefusesAZstandardWindowOfGigabytes) {
  // Magic, frame header with window descriptor 2^41, one empty last block.
  const std::string frame("\x28\xB5\x2F\xFD\x00\xF8\x01\x00\x00", 9);
  EXPECT_FALSE(decompress(Codec::kZstandard, frame, std::size_t{1} << 30).has_value());
}

TEST(Codec, KnowsItsNames) {
  for (const Codec codec : kCodecs) {
    EXPECT_EQ(parse_codec(codec_name(codec)).value(), codec);
  }
  EXPECT_FALSE(parse_codec("bzip2").has_value());
  EXPECT_FALSE(parse_codec("xz").has_value());
  EXPECT_FALSE(parse_codec("").has_value());
}

}  // namespace
}  // namespace duckicelake::avro
