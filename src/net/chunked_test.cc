// SPDX-License-Identifier: Apache-2.0
#include "net/chunked.h"

#include <gtest/gtest.h>

namespace duckicelake::net {
namespace {

// Feeds the bytes in pieces; "!<status>" for a fault, "?" when incomplete.
std::string decode(std::string_view input, std::size_t piece = 1000, std::size_t limit = 1000,
                   std::string* rest = nullptr) {
  ChunkedDecoder decoder(limit);
  std::string body;
  while (!input.empty()) {
    auto progress = decoder.feed(input.substr(0, piece), body);
    if (progress.fault) return "!" + std::to_string(progress.fault->status);
    input.remove_prefix(progress.consumed);
    if (progress.is_complete) {
      if (rest != nullptr) *rest = input;
      return body;
    }
  }
  return "?";
}

TEST(Chunked, DecodesInPiecesOfAnySize) {
  const std::string input =
      "3\r\nabc\r\n0A;name=\"v\"\r\n0123456789\r\n00\r\nTrailer: x\r\nOther: y\r\n\r\nGET /";
  for (std::size_t piece = 1; piece <= input.size(); ++piece) {
    std::string rest;
    EXPECT_EQ(decode(input, piece, 13, &rest), "abc0123456789");
    EXPECT_EQ(rest, "GET /");
  }
  EXPECT_EQ(decode("0\r\n\r\n"), "");
}

TEST(Chunked, RefusesMalformedInput) {
  for (std::string input : {"\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\na\r\n",
                            "1\na\r\n0\r\n\r\n", "1\r\nab\r\n", "1\r\na0\r\n\r\n",
                            "1\r\na\n0\r\n\r\n", "1\rXa", "000000001\r\na\r\n", "1;a\nb\r\na\r\n",
                            "0\r\nT: x\n\r\n", "0\r\n\rX", "0\r\n\x01: y\r\n\r\n", "1\r\na\rX"}) {
    EXPECT_EQ(decode(input), "!400") << input;
    EXPECT_EQ(decode(input, 1), "!400") << input;
  }
}

TEST(Chunked, NeedsTheLastChunk) {
  for (std::string input : {"3\r\nabc\r\n", "3\r\nab", "0\r\n", "0\r\n\r", "0\r\nT: x\r\n", "3"}) {
    EXPECT_EQ(decode(input), "?") << input;
  }
}

TEST(Chunked, BoundsEverything) {
  EXPECT_EQ(decode("B\r\n0123456789a\r\n0\r\n\r\n", 1000, 10), "!413");
  EXPECT_EQ(decode("A\r\n0123456789\r\n1\r\na\r\n0\r\n\r\n", 1000, 10), "!413");
  EXPECT_EQ(decode("FFFFFFFF\r\n"), "!413");
  EXPECT_EQ(decode("FFFFFFFFFFFFFFFF1\r\n"), "!400");
  EXPECT_EQ(decode("0\r\nT: " + std::string(9000, 'x') + "\r\n\r\n", 1 << 20), "!431");
  EXPECT_EQ(decode("1;" + std::string(17000, 'x') + "\r\na\r\n0\r\n\r\n", 1 << 20), "!400");
  std::string extensions;
  for (int i = 0; i < 200; ++i) extensions += "1;" + std::string(100, 'x') + "\r\na\r\n";
  EXPECT_EQ(decode(extensions + "0\r\n\r\n", 1 << 20), "!400");
}

}  // namespace
}  // namespace duckicelake::net
