// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/uuid.h"

namespace duckicelake {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return invalid_argument("{} is odd", x);
  return x / 2;
}

Result<int> quarter(int x) {
  DIL_TRY(int h, half(x));
  DIL_TRY(int q, half(h));
  return q;
}

TEST(Result, PropagatesTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  auto failed = quarter(6);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.error().message(), "3 is odd");
}

TEST(Bytes, HexRoundTripsAndRefusesBadText) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(static_cast<unsigned char>(i)));
  EXPECT_EQ(*from_hex(to_hex(all)), all);
  EXPECT_EQ(*from_hex(to_hex_upper(all)), all);
  EXPECT_FALSE(from_hex("abc").has_value());
  EXPECT_FALSE(from_hex("zz").has_value());
}

TEST(Bytes, Base64MatchesRfc4648Vectors) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(*from_base64("Zm8="), "fo");
  EXPECT_FALSE(from_base64("Zm8").has_value());
  EXPECT_FALSE(from_base64("Zm9=").has_value()) << "stray bits must be refused";
  EXPECT_FALSE(from_base64("====").has_value());
  EXPECT_EQ(*from_base64url(to_base64url("\xfb\xff")), "\xfb\xff");
  EXPECT_FALSE(from_base64url("Zm8=").has_value());
}

TEST(Bytes, EndianHelpersRoundTripNegativeNumbers) {
  std::string out;
  append_little_endian<std::int64_t>(out, -2);
  EXPECT_EQ(read_little_endian<std::int64_t>(out), -2);
  out.clear();
  append_big_endian<std::int32_t>(out, -559038737);
  EXPECT_EQ(to_hex(out), "deadbeef");
  EXPECT_EQ(read_big_endian<std::int32_t>(out), -559038737);
}

TEST(Bytes, Utf8CheckRefusesSurrogatesOverlongAndCutSequences) {
  EXPECT_TRUE(is_valid_utf8("a\xc3\xa4\xf0\x9f\x98\x80"));
  EXPECT_FALSE(is_valid_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xc0\x80"));
  EXPECT_FALSE(is_valid_utf8("\xe2\x82"));
  EXPECT_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));
}

TEST(Uuid, ParsesAndPrintsTheCanonicalForm) {
  auto uuid = Uuid::parse("F79C3E09-677c-4bbd-A479-3f349cb785e7");
  ASSERT_TRUE(uuid.has_value());
  EXPECT_EQ(uuid->to_string(), "f79c3e09-677c-4bbd-a479-3f349cb785e7");
  EXPECT_FALSE(Uuid::parse("f79c3e09677c4bbda4793f349cb785e7").has_value());
  EXPECT_FALSE(Uuid::parse("g79c3e09-677c-4bbd-a479-3f349cb785e7").has_value());
}

TEST(Secret, ComparesWholeValues) {
  Secret secret("open sesame");
  EXPECT_TRUE(secret.equals("open sesame"));
  EXPECT_FALSE(secret.equals("open sesamE"));
  EXPECT_FALSE(secret.equals("open"));
}

}  // namespace
}  // namespace duckicelake
