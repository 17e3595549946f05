// SPDX-License-Identifier: Apache-2.0
// Requests to start ranks: every field arrives, and anything else is refused.
#include "boot/spawn_request.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

SpawnRequest example() {
  return {"job",
          "port",
          "/a folder",
          9,
          {{"program", {"one", ":", "", "--"}, 3, {"-x", "A=1"}}, {"other", {}, 1, {}}},
          {"PATH=/bin", "EMPTY="}};
}

bool is_refused(std::string_view blob) {
  try {
    (void)spawn_request_in(blob);
  } catch (const Error& error) {
    EXPECT_EQ(error.mpi_class(), MPI_ERR_SPAWN);
    return true;
  }
  return false;
}

TEST(SpawnRequest, EveryFieldArrives) {
  const SpawnRequest sent = example(), got = spawn_request_in(pack(sent));
  EXPECT_EQ(got.job, sent.job);
  EXPECT_EQ(got.port, sent.port);
  EXPECT_EQ(got.folder, sent.folder);
  EXPECT_EQ(got.universe, 9);
  ASSERT_EQ(got.commands.size(), 2U);
  EXPECT_EQ(got.commands[0].program, "program");
  EXPECT_EQ(got.commands[0].arguments, sent.commands[0].arguments);
  EXPECT_EQ(got.commands[0].ranks, 3);
  EXPECT_EQ(got.commands[0].options, sent.commands[0].options);
  EXPECT_EQ(got.commands[1].program, "other");
  EXPECT_EQ(got.environment, sent.environment);
}

TEST(SpawnRequest, ShorterAndLongerOnesAreRefused) {
  const std::string blob = pack(example());
  for (size_t length = 0; length < blob.size(); ++length)
    EXPECT_TRUE(is_refused(std::string_view(blob).substr(0, length))) << length;
  EXPECT_TRUE(is_refused(blob + "x"));
}

TEST(SpawnRequest, InvalidFieldsAreRefused) {
  SpawnRequest none = example();
  none.commands.clear();
  EXPECT_TRUE(is_refused(pack(none)));
  for (const int ranks : {0, -1, 1 << 21}) {
    SpawnRequest wrong = example();
    wrong.commands[1].ranks = ranks;
    EXPECT_TRUE(is_refused(pack(wrong))) << ranks;
  }
  SpawnRequest zero = example();
  zero.commands[0].arguments[0].push_back('\0');
  EXPECT_TRUE(is_refused(pack(zero)));
}

TEST(SpawnRequest, ChangedBytesDoNoHarm) {
  std::mt19937 random(1);
  const std::string good = pack(example());
  for (int round = 0; round < 20000; ++round) {
    std::string blob = good;
    for (int changes = 1 + round % 4; changes > 0; --changes)
      blob[random() % blob.size()] = static_cast<char>(random());
    try {
      const SpawnRequest got = spawn_request_in(blob);
      EXPECT_FALSE(got.commands.empty());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tern::boot
