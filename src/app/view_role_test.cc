// SPDX-License-Identifier: Apache-2.0
#include "app/view_role.h"

#include <gtest/gtest.h>

namespace duckicelake::app {
namespace {

Settings settings_of(std::string database, std::string schema, std::string password) {
  Settings out;
  out.postgres.database = std::move(database);
  out.postgres.schema = std::move(schema);
  out.postgres.password = Secret(std::move(password));
  return out;
}

TEST(ViewRole, IsTheSameForAllProcessesAndAnotherForEachLake) {
  const auto role = derived_view_role(settings_of("d", "s", "p"));
  ASSERT_TRUE(role.has_value());
  EXPECT_EQ(role->user, derived_view_role(settings_of("d", "s", "other"))->user);
  EXPECT_TRUE(
      role->password.equals(derived_view_role(settings_of("d", "s", "p"))->password.reveal()));
  EXPECT_FALSE(
      role->password.equals(derived_view_role(settings_of("d", "s", "other"))->password.reveal()));
  EXPECT_NE(role->user, derived_view_role(settings_of("d", "t", "p"))->user);
  EXPECT_NE(derived_view_role(settings_of("da", "s", "p"))->user,
            derived_view_role(settings_of("d", "as", "p"))->user);
  EXPECT_LE(role->user.size(), 63U);
}

TEST(ViewRole, NeedsAPasswordToDeriveFromUnlessOneIsNamed) {
  Settings settings = settings_of("d", "s", "");
  EXPECT_FALSE(derived_view_role(settings).has_value());
  settings.postgres.view_user = "reader";
  settings.postgres.view_password = Secret("x");
  EXPECT_EQ(derived_view_role(settings)->user, "reader");
  EXPECT_TRUE(derived_view_role(settings)->password.equals("x"));
}

}  // namespace
}  // namespace duckicelake::app
