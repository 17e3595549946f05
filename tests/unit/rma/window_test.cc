// SPDX-License-Identifier: Apache-2.0
// Windows by shared memory, kernel copies and messages. Ranks are threads.
#include "rma/window.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.hpp"
#include "core/op.hpp"
#include "rma/create.hpp"
#include "tests/unit/world.hpp"

namespace tern::rma {
namespace {

using core::Data;
using core::Process;

struct Way {
  const char* name;
  int flavor;
  const char* asked;
};

core::Datatype& type(Process& process, MPI_Datatype constant) {
  return core::predefined_type(process, constant);
}

class Windows : public testing::TestWithParam<Way> {
 protected:
  using Body = std::function<void(Process&, Window&, int64_t*)>;
  static constexpr int kCount = 50000;

  static void run(int ranks, const Body& body) {
    const Way way = GetParam();
    test::World(ranks, {{"TERN_TEST.rma", way.asked}}).run([&](Process& process) {
      std::vector<int64_t> memory(kCount);
      Wanted wanted;
      wanted.flavor = way.flavor;
      wanted.bytes = kCount * 8;
      wanted.unit = 8;
      wanted.base = memory.data();
      core::Ref<Window> window;
      ASSERT_EQ(create(*process.world, wanted, &window), MPI_SUCCESS);
      body(process, *window, static_cast<int64_t*>(window->base));
      EXPECT_EQ(window->leave(), MPI_SUCCESS) << take_last_error().text;
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Windows,
                         testing::Values(Way{"allocated", MPI_WIN_FLAVOR_ALLOCATE, "auto"},
                                         Way{"shared", MPI_WIN_FLAVOR_SHARED, "auto"},
                                         Way{"created", MPI_WIN_FLAVOR_CREATE, "auto"},
                                         Way{"copied", MPI_WIN_FLAVOR_ALLOCATE, "copied"},
                                         Way{"apart", MPI_WIN_FLAVOR_ALLOCATE, "messages"}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(Windows, LocksExclude) {
  run(3, [](Process& process, Window& window, int64_t* mine) {
    constexpr int kRounds = 30;
    core::Datatype& word = type(process, MPI_INT64_T);
    for (int i = 0; i < kRounds; ++i) {
      int64_t value = -1;
      ASSERT_EQ(window.locks.lock(MPI_LOCK_EXCLUSIVE, 0, 0), MPI_SUCCESS);
      ASSERT_EQ(window.get({&value, 1, &word}, {0, 5, 1, &word}, nullptr), MPI_SUCCESS);
      ASSERT_EQ(window.flush(0, false), MPI_SUCCESS);
      ++value;
      ASSERT_EQ(window.put({&value, 1, &word}, {0, 5, 1, &word}, nullptr), MPI_SUCCESS);
      ASSERT_EQ(window.locks.unlock(0), MPI_SUCCESS);
    }
    ASSERT_EQ(window.fence(0), MPI_SUCCESS);
    if (window.targets.rank() == 0) {
      EXPECT_EQ(mine[5], 3 * kRounds);
    }
    ASSERT_EQ(window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
  });
}

TEST_P(Windows, CountersCount) {
  run(4, [](Process& process, Window& window, int64_t* mine) {
    constexpr int kRounds = 50;
    core::Datatype& word = type(process, MPI_INT64_T);
    const core::Op& sum = *process.handles.find<core::Op>(MPI_SUM);
    ASSERT_EQ(window.locks.lock_all(0), MPI_SUCCESS);
    int64_t one = 1, old = -1, before = -1;
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_EQ(
          window.get_accumulate({&one, 1, &word}, {&old, 1, &word}, {1, 7, 1, &word}, sum, nullptr),
          MPI_SUCCESS);
      ASSERT_EQ(window.flush(1, false), MPI_SUCCESS);
      ASSERT_GT(old, before);
      before = old;
    }
    ASSERT_EQ(window.locks.unlock_all(), MPI_SUCCESS);
    ASSERT_EQ(window.fence(0), MPI_SUCCESS);
    if (window.targets.rank() == 1) {
      EXPECT_EQ(mine[7], 4 * kRounds);
    }
    ASSERT_EQ(window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
  });
}

TEST_P(Windows, LargePutsAndGetsArrive) {
  run(2, [](Process& process, Window& window, int64_t* mine) {
    core::Datatype& word = type(process, MPI_INT64_T);
    const int other = 1 - window.targets.rank();
    std::vector<int64_t> out(kCount), in(kCount, -1);
    for (int i = 0; i < kCount; ++i) out[static_cast<size_t>(i)] = other * kCount + i;
    ASSERT_EQ(window.posts.post(process.world->group(), 0), MPI_SUCCESS);
    ASSERT_EQ(window.posts.start(process.world->group(), 0), MPI_SUCCESS);
    ASSERT_EQ(window.put({out.data(), kCount, &word}, {other, 0, kCount, &word}, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(window.posts.complete(), MPI_SUCCESS);
    ASSERT_EQ(window.posts.wait(), MPI_SUCCESS);
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(mine[i], window.targets.rank() * kCount + i);
    ASSERT_EQ(window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(window.get({in.data(), kCount, &word}, {other, 0, kCount, &word}, nullptr),
              MPI_SUCCESS);
    ASSERT_EQ(window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    EXPECT_EQ(in, out);
  });
}

TEST_P(Windows, NothingOutsideIsReached) {
  run(2, [](Process& process, Window& window, int64_t*) {
    core::Datatype& word = type(process, MPI_INT64_T);
    int64_t value = 1;
    ASSERT_EQ(window.fence(0), MPI_SUCCESS);
    const MPI_Aint wrong[] = {-1, kCount, INT64_MAX / 8, INT64_MIN / 8, INT64_MAX, INT64_MIN};
    for (const MPI_Aint disp : wrong)
      EXPECT_EQ(window.put({&value, 1, &word}, {1, disp, 1, &word}, nullptr), MPI_ERR_RMA_RANGE);
    EXPECT_EQ(window.put({&value, 1, &word}, {2, 0, 1, &word}, nullptr), MPI_ERR_RANK);
    EXPECT_EQ(window.put({&value, 1, &word}, {0, 0, 2, &word}, nullptr), MPI_ERR_TYPE);
    ASSERT_EQ(window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace tern::rma
