// SPDX-License-Identifier: Apache-2.0
#include "catalog/name_lookup.h"

#include <gtest/gtest.h>

namespace duckicelake::catalog {
namespace {

TEST(NewNames, MayHoldWhatPathsCanCarry) {
  for (const char* name :
       {"t", "a b", "a/b", "a.b", "ü", "100%", "a%2Fb", "\"", "__x", "_mask_x"}) {
    EXPECT_TRUE(check_new_name("table's name", name).has_value()) << name;
  }
  EXPECT_TRUE(check_new_name("table's name", std::string(kMaxNewNameBytes, 'x')).has_value());
}

TEST(NewNames, AreRefusedWhereNoRouteCouldAddressThem) {
  const std::vector<std::string> names = {"",      ".",        "..",         std::string("a\0b", 3),
                                          "a\x1f", "__mask_x", "__masked_x", std::string(257, 'x')};
  for (const std::string& name : names) {
    const Status status = check_new_name("table's name", name);
    ASSERT_FALSE(status.has_value()) << name;
    EXPECT_EQ(status.error().code(), Code::kInvalidArgument);
    EXPECT_FALSE(check_new_levels({"fine", name}).has_value());
  }
  EXPECT_FALSE(check_new_levels({}).has_value());
  EXPECT_TRUE(check_new_levels(Levels(4, std::string(250, 'x'))).has_value());
  EXPECT_FALSE(check_new_levels(Levels(5, std::string(250, 'x'))).has_value());
}

TEST(Properties, OfTheServerAreForbidden) {
  EXPECT_TRUE(check_properties({{"a", "b"}, {"", ""}, {"duckicelake", "x"}}).has_value());
  EXPECT_EQ(check_properties({{"duckicelake.x", "b"}}).error().code(), Code::kPermissionDenied);
  EXPECT_EQ(check_properties({{"a", std::string("\0", 1)}}).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(check_properties({{std::string(2000, 'k'), "x"}}).error().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace duckicelake::catalog
