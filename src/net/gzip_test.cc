// SPDX-License-Identifier: Apache-2.0
#include "net/gzip.h"

#include <gtest/gtest.h>

namespace duckicelake::net {
namespace {

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  unsigned state = 1;
  for (char& c : bytes) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return bytes;
}

TEST(Gzip, RoundTrips) {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string(1 << 20, 'x'), noise(300'000)}) {
    for (int level : {0, 1, 6, 9, 99}) {
      auto packed = gzip_compress(bytes, level);
      ASSERT_TRUE(packed.has_value());
      EXPECT_EQ(packed->substr(0, 2), "\x1f\x8b");
      auto unpacked = gunzip(*packed, bytes.size());
      ASSERT_TRUE(unpacked.has_value()) << unpacked.error().to_string();
      EXPECT_TRUE(*unpacked == bytes);
    }
  }
}

TEST(Gzip, IsDeterministic) {
  EXPECT_EQ(*gzip_compress(noise(1000), 6), *gzip_compress(noise(1000), 6));
}

TEST(Gzip, ReadsConcatenatedMembers) {
  std::string packed = *gzip_compress("abc", 6) + *gzip_compress("", 6) + *gzip_compress("def", 1);
  EXPECT_EQ(*gunzip(packed, 6), "abcdef");
  EXPECT_EQ(gunzip(packed, 5).error().code(), Code::kPayloadTooLarge);
}

TEST(Gzip, StopsABombAtTheLimit) {
  std::string bomb = *gzip_compress(std::string(50'000'000, '\0'), 9);
  ASSERT_LT(bomb.size(), 100'000U);
  EXPECT_EQ(gunzip(bomb, 1'000'000).error().code(), Code::kPayloadTooLarge);
  Gunzip inflater(bomb, 1'000'000);
  for (int steps = 0;; ++steps) {
    ASSERT_LT(steps, 12);
    auto complete = inflater.step(100'000);
    if (!complete.has_value()) break;
    ASSERT_FALSE(*complete);
  }
}

TEST(Gzip, RefusesDamage) {
  const std::string packed = *gzip_compress(noise(5000), 6);
  for (std::size_t size = 0; size < packed.size(); size += 7) {
    EXPECT_FALSE(gunzip(packed.substr(0, size), 100'000).has_value()) << size;
  }
  EXPECT_FALSE(gunzip(packed.substr(0, packed.size() - 1), 100'000).has_value());
  EXPECT_FALSE(gunzip(packed + "x", 100'000).has_value());
  EXPECT_FALSE(gunzip(packed + std::string(4, '\0'), 100'000).has_value());
  EXPECT_FALSE(gunzip("not gzip", 100'000).has_value());
  std::string bad_crc = packed;
  bad_crc[packed.size() - 8] ^= 1;
  EXPECT_EQ(gunzip(bad_crc, 100'000).error().code(), Code::kInvalidArgument);
}

TEST(Gzip, NegotiatesByWeight) {
  struct Case {
    std::string header;
    bool accepts;
  };
  for (const Case& c : {Case{"", false},
                        Case{"gzip", true},
                        Case{"GZip", true},
                        Case{"x-gzip", true},
                        Case{"deflate, br", false},
                        Case{"deflate, gzip;q=1.0, *;q=0.5", true},
                        Case{"gzip;q=0", false},
                        Case{"gzip;q=0.000, *", false},
                        Case{"*", true},
                        Case{"*;q=0", false},
                        Case{"identity", false},
                        Case{"identity, gzip", true},
                        Case{"identity;q=1, gzip;q=0.5", false},
                        Case{"identity;q=0.5, gzip;q=0.8", true},
                        Case{"gzip ; q=0.3", true},
                        Case{"br,gzip;Q=0.2", true},
                        Case{"gzip;q=2", false},
                        Case{"gzip;q=abc", false},
                        Case{"gzip;q=", false},
                        Case{"gzip;q=1.001", false},
                        Case{"gzipx", false},
                        Case{",,gzip,", true},
                        Case{"gzip;level=1;q=0", false}}) {
    EXPECT_EQ(accepts_gzip(c.header), c.accepts) << c.header;
  }
  Request request;
  EXPECT_FALSE(accepts_gzip(request));
  request.headers.emplace_back("accept-encoding", "gzip, deflate");
  EXPECT_TRUE(accepts_gzip(request));
}

}  // namespace
}  // namespace duckicelake::net
