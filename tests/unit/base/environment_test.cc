// SPDX-License-Identifier: Apache-2.0
// Presets end with their scope, and never replace the user's values.
#include "base/environment.hpp"

#include <gtest/gtest.h>

namespace tern {
namespace {

TEST(EnvironmentPresets, EndWithTheScope) {
  {
    EnvironmentPresets presets;
    presets.set("TERN_UNIT_PRESET", "1");
    presets.set("TERN_UNIT_PRESET", "2");
    EXPECT_STREQ(std::getenv("TERN_UNIT_PRESET"), "1");
  }
  EXPECT_EQ(std::getenv("TERN_UNIT_PRESET"), nullptr);
}

TEST(EnvironmentPresets, KeepTheUsersValue) {
  ::setenv("TERN_UNIT_GIVEN", "", 1);
  {
    EnvironmentPresets presets;
    presets.set("TERN_UNIT_GIVEN", "1");
    EXPECT_STREQ(std::getenv("TERN_UNIT_GIVEN"), "");
  }
  EXPECT_STREQ(std::getenv("TERN_UNIT_GIVEN"), "");
  ::unsetenv("TERN_UNIT_GIVEN");
}

TEST(EnvironmentPresets, AreNotTheUsersValues) {
  ::setenv("TERN_UNIT_GIVEN", "3", 1);
  {
    EnvironmentPresets outer;
    outer.set("TERN_UNIT_PRESET", "1");
    {
      EnvironmentPresets inner;
      inner.set("TERN_UNIT_OTHER", "1");
      EXPECT_EQ(EnvironmentPresets::of_user("TERN_UNIT_PRESET"), std::nullopt);
      EXPECT_EQ(EnvironmentPresets::of_user("TERN_UNIT_OTHER"), std::nullopt);
      EXPECT_EQ(EnvironmentPresets::of_user("TERN_UNIT_GIVEN"), "3");
    }
    EXPECT_EQ(EnvironmentPresets::of_user("TERN_UNIT_PRESET"), std::nullopt);
  }
  ::setenv("TERN_UNIT_PRESET", "2", 1);
  EXPECT_EQ(EnvironmentPresets::of_user("TERN_UNIT_PRESET"), "2");
  ::unsetenv("TERN_UNIT_PRESET");
  ::unsetenv("TERN_UNIT_GIVEN");
}

}  // namespace
}  // namespace tern
