// SPDX-License-Identifier: Apache-2.0
// Windows by RDMA, over a network with late puts and gets. Ranks are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "core/datatype_build.hpp"
#include "core/op.hpp"
#include "rma/create.hpp"
#include "rma/request.hpp"
#include "tests/unit/world.hpp"

namespace tern::rma {
namespace {

using core::Process;

constexpr int kWords = 300000;  // several pieces of RDMA

struct Room {
  Process& process;
  Window& window;
  int64_t* mine;
  core::Datatype& word = core::predefined_type(process, MPI_INT64_T);
  int next = (process.world_rank + 1) % process.world_size;

  [[nodiscard]] int put(const int64_t* from, int to, MPI_Aint at, MPI_Count count,
                        OpRequest* request = nullptr) {
    return window.put({const_cast<int64_t*>(from), count, &word}, {to, at, count, &word}, request);
  }
  [[nodiscard]] int get(int64_t* into, int from, MPI_Aint at, MPI_Count count,
                        OpRequest* request = nullptr) {
    return window.get({into, count, &word}, {from, at, count, &word}, request);
  }
  [[nodiscard]] int add(int64_t value, int to, MPI_Aint at) {
    const core::Op& sum = *process.handles.find<core::Op>(MPI_SUM);
    return window.accumulate({&value, 1, &word}, {to, at, 1, &word}, sum, nullptr);
  }
  [[nodiscard]] core::Ref<OpRequest> request() {
    return core::Ref<OpRequest>::adopt(
        new OpRequest(process, window.targets.communicator().channel()));
  }
  int end_of(OpRequest& request) {
    request.end_part(MPI_SUCCESS);
    const core::ChannelLock lock(window.targets.progress());
    window.targets.progress().wait([&] { return request.done(); }, [](WaitReport*) {});
    return request.outcome.error;
  }
  [[nodiscard]] uint64_t by_network() const { return process.window_operations.network; }
  [[nodiscard]] uint64_t by_messages() const { return process.window_operations.by_messages; }
};

using InRoom = std::function<void(Room&)>;

struct Opened {
  int flavor = MPI_WIN_FLAVOR_CREATE;
  const char* asked = "auto";
  core::ThreadLevel level = core::ThreadLevel::kSingle;
  std::vector<uint32_t> refusing{};
  uint32_t refuses_starts = 0;  // one in so many
  bool leaves = true;
};

void in_rooms(test::World& world, uint32_t seed, const Opened& how, const InRoom& body) {
  world.use(seed);
  for (const uint32_t rank : how.refusing) world.between().refuse_memory_of(rank);
  world.between().refuses_starts = how.refuses_starts;
  world.run([&](Process& process) {
    std::vector<int64_t> memory(kWords, -1);
    Wanted wanted;
    wanted.flavor = how.flavor;
    wanted.bytes = kWords * 8;
    wanted.unit = 8;
    wanted.base = memory.data();
    core::Ref<Window> window;
    ASSERT_EQ(create(*process.world, wanted, &window), MPI_SUCCESS) << take_last_error().text;
    Room room{process, *window, static_cast<int64_t*>(window->base)};
    body(room);
    if (!how.leaves) return;
    EXPECT_EQ(window->leave(), MPI_SUCCESS) << take_last_error().text;
  });
}

void in_rooms(int ranks, const Opened& how, const InRoom& body) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    test::World world(ranks, {{"TERN_TEST.rma", how.asked}}, how.level);
    in_rooms(world, seed, how, body);
  }
}

std::vector<int64_t> counted(int64_t from, size_t count = kWords) {
  std::vector<int64_t> all(count);
  std::iota(all.begin(), all.end(), from);
  return all;
}

class NetworkWindows : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Flavors, NetworkWindows,
                         testing::Values(MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE));

TEST_P(NetworkWindows, FencesEndPutsAndGets) {
  in_rooms(3, {.flavor = GetParam()}, [](Room& room) {
    const auto out = counted(room.next * int64_t{kWords});
    std::vector<int64_t> in(kWords, -1);
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(room.put(out.data(), room.next, 0, kWords), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    const auto expected = counted(room.process.world_rank * int64_t{kWords});
    ASSERT_EQ(std::vector<int64_t>(room.mine, room.mine + kWords), expected);
    ASSERT_EQ(room.get(in.data(), room.next, 0, kWords), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    EXPECT_EQ(in, out);
    EXPECT_EQ(room.by_network(), 2);
    EXPECT_EQ(room.by_messages(), 0);
  });
}

TEST_P(NetworkWindows, CompletesFollowPuts) {
  in_rooms(3, {.flavor = GetParam()}, [](Room& room) {
    const core::Group& all = room.process.world->group();
    for (int64_t round = 0; round < 5; ++round) {
      const auto out = counted(round * 1000 + room.process.world_rank, 3000);
      ASSERT_EQ(room.window.posts.post(all, 0), MPI_SUCCESS);
      ASSERT_EQ(room.window.posts.start(all, 0), MPI_SUCCESS);
      for (int to = 0; to < room.process.world_size; ++to)
        ASSERT_EQ(room.put(out.data(), to, room.process.world_rank * 3000, 3000), MPI_SUCCESS);
      ASSERT_EQ(room.window.posts.complete(), MPI_SUCCESS);
      ASSERT_EQ(room.window.posts.wait(), MPI_SUCCESS);
      for (int64_t from = 0; from < room.process.world_size; ++from) {
        ASSERT_EQ(room.mine[from * 3000], round * 1000 + from);
        ASSERT_EQ(room.mine[from * 3000 + 2999], round * 1000 + from + 2999);
      }
    }
    EXPECT_EQ(room.by_network(), 10);
  });
}

TEST_P(NetworkWindows, ExclusiveLocksOrderPuts) {
  in_rooms(3, {.flavor = GetParam()}, [](Room& room) {
    constexpr int kRounds = 20;
    room.mine[5] = 0;
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    for (int i = 0; i < kRounds; ++i) {
      int64_t value = -1;
      ASSERT_EQ(room.window.locks.lock(MPI_LOCK_EXCLUSIVE, 0, 0), MPI_SUCCESS);
      ASSERT_EQ(room.get(&value, 0, 5, 1), MPI_SUCCESS);
      ASSERT_EQ(room.window.flush(0, true), MPI_SUCCESS);
      ++value;
      ASSERT_EQ(room.put(&value, 0, 5, 1), MPI_SUCCESS);
      ASSERT_EQ(room.window.locks.unlock(0), MPI_SUCCESS);
    }
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    if (room.process.world_rank == 0) {
      EXPECT_EQ(room.mine[5], 3 * kRounds);
    }
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
  });
}

TEST(NetworkPath, FlushesOrderPutsAccumulatesAndGets) {
  in_rooms(3, {}, [](Room& room) {
    const int64_t base = room.process.world_rank * 10;
    ASSERT_EQ(room.window.locks.lock_all(0), MPI_SUCCESS);
    for (int64_t round = 0; round < 20; ++round) {
      int64_t seen = -1;
      ASSERT_EQ(room.put(&round, room.next, base, 1), MPI_SUCCESS);
      ASSERT_EQ(room.window.flush(room.next, false), MPI_SUCCESS);
      ASSERT_EQ(room.add(1000, room.next, base), MPI_SUCCESS);
      ASSERT_EQ(room.window.flush_all(false), MPI_SUCCESS);
      ASSERT_EQ(room.get(&seen, room.next, base, 1), MPI_SUCCESS);
      ASSERT_EQ(room.window.flush_all(true), MPI_SUCCESS);
      ASSERT_EQ(seen, round + 1000);
    }
    ASSERT_EQ(room.window.locks.unlock_all(), MPI_SUCCESS);
    EXPECT_EQ(room.by_network(), 40);
    EXPECT_EQ(room.by_messages(), 20);
  });
}

TEST(NetworkPath, RequestsEndWithTheirData) {
  in_rooms(2, {}, [](Room& room) {
    const auto out = counted(room.process.world_rank);
    std::vector<int64_t> in(kWords, -1);
    ASSERT_EQ(room.window.locks.lock_all(0), MPI_SUCCESS);
    const auto put = room.request(), get = room.request(), late = room.request();
    ASSERT_EQ(room.put(out.data(), room.next, 0, kWords, &*put), MPI_SUCCESS);
    ASSERT_EQ(room.end_of(*put), MPI_SUCCESS);
    ASSERT_EQ(room.window.flush(room.next, false), MPI_SUCCESS);
    ASSERT_EQ(room.get(in.data(), room.next, 0, kWords, &*get), MPI_SUCCESS);
    ASSERT_EQ(room.end_of(*get), MPI_SUCCESS);
    ASSERT_EQ(in, out);
    std::fill(in.begin(), in.end(), -1);
    ASSERT_EQ(room.get(in.data(), room.next, 0, kWords, &*late), MPI_SUCCESS);
    ASSERT_EQ(room.window.locks.unlock_all(), MPI_SUCCESS);
    EXPECT_EQ(in, out) << "an unlock ends requests";
    EXPECT_EQ(room.end_of(*late), MPI_SUCCESS);
    EXPECT_EQ(room.by_network(), 3);
  });
}

TEST(NetworkPath, LargePiecesGoByRdmaAndSmallOnesByMessages) {
  in_rooms(2, {}, [](Room& room) {
    const auto out = counted(1);
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    for (const int block : {1000, 3}) {
      const auto type = core::TypeBuilder().vector(5, block, 2 * block, room.word);
      ASSERT_EQ(room.window.put({const_cast<int64_t*>(out.data()), 5 * block, &room.word},
                                {room.next, block == 3 ? 100000 : 0, 1, &*type}, nullptr),
                MPI_SUCCESS);
    }
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(room.mine[i / 1000 * 2000 + i % 1000], i + 1);
    for (int i = 0; i < 15; ++i) ASSERT_EQ(room.mine[100000 + i / 3 * 6 + i % 3], i + 1);
    EXPECT_EQ(room.mine[1000], room.mine[100003]) << "bytes between the pieces stay";
    EXPECT_EQ(room.by_network(), 1);
    EXPECT_EQ(room.by_messages(), 1);
  });
}

TEST(NetworkPath, ARankWithoutRegisteredMemoryIsReachedByMessages) {
  in_rooms(3, {.refusing = {1}}, [](Room& room) {
    const auto out = counted(room.process.world_rank, 1000);
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(room.put(out.data(), room.next, 0, 1000), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    const int from = (room.process.world_rank + 2) % 3;
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(room.mine[i], from + i);
    EXPECT_EQ(room.by_messages(), room.next == 1 ? 1 : 0);
    EXPECT_EQ(room.by_network(), room.next == 1 ? 0 : 1);
  });
}

TEST(NetworkPath, ARankThatReachesNoneByRdmaKeepsItsMemoryRegistered) {
  in_rooms(2, {.refusing = {1}}, [](Room& room) {
    const auto out = counted(room.process.world_rank, 1000);
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(room.put(out.data(), room.next, 0, 1000), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(room.mine[i], room.next + i);
    EXPECT_EQ(room.by_network(), room.process.world_rank);
  });
}

TEST(NetworkPath, PiecesThatTheAdapterRefusesAreMessages) {
  in_rooms(2, {.refuses_starts = 2}, [](Room& room) {
    const auto out = counted(room.process.world_rank);
    std::vector<int64_t> in(kWords, -1), late(kWords, -1);
    const auto put = room.request(), get = room.request();
    ASSERT_EQ(room.window.locks.lock_all(0), MPI_SUCCESS);
    ASSERT_EQ(room.put(out.data(), room.next, 0, kWords / 2), MPI_SUCCESS);
    ASSERT_EQ(room.put(out.data() + kWords / 2, room.next, kWords / 2, kWords / 2, &*put),
              MPI_SUCCESS);
    ASSERT_EQ(room.end_of(*put), MPI_SUCCESS);
    ASSERT_EQ(room.window.flush_all(false), MPI_SUCCESS);
    ASSERT_EQ(room.get(in.data(), room.next, 0, kWords), MPI_SUCCESS);
    ASSERT_EQ(room.window.flush_all(true), MPI_SUCCESS);
    EXPECT_EQ(in, out);
    ASSERT_EQ(room.get(late.data(), room.next, 0, kWords, &*get), MPI_SUCCESS);
    ASSERT_EQ(room.end_of(*get), MPI_SUCCESS);
    EXPECT_EQ(late, out);
    ASSERT_EQ(room.window.locks.unlock_all(), MPI_SUCCESS);
  });
}

TEST(NetworkPath, MessagesOnRequest) {
  in_rooms(2, {.asked = "messages"}, [](Room& room) {
    const int64_t value = 7;
    ASSERT_EQ(room.window.fence(0), MPI_SUCCESS);
    ASSERT_EQ(room.put(&value, room.next, 0, 1), MPI_SUCCESS);
    ASSERT_EQ(room.window.fence(MPI_MODE_NOSUCCEED), MPI_SUCCESS);
    EXPECT_EQ(room.mine[0], 7);
    EXPECT_EQ(room.by_network(), 0);
  });
}

TEST(NetworkPath, ThreadsFlushEachOthersPuts) {
  in_rooms(2, {.level = core::ThreadLevel::kMultiple}, [](Room& room) {
    constexpr int kThreads = 3, kRounds = 30;
    ASSERT_EQ(room.window.locks.lock_all(0), MPI_SUCCESS);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&room, thread] {
        std::vector<int64_t> in(200);
        for (int round = 0; round < kRounds; ++round) {
          const auto out = counted(thread * 10000 + round, in.size());
          EXPECT_EQ(room.put(out.data(), room.next, thread * 1000, 200), MPI_SUCCESS);
          EXPECT_EQ(room.window.flush(room.next, false), MPI_SUCCESS);
          EXPECT_EQ(room.get(in.data(), room.next, thread * 1000, 200), MPI_SUCCESS);
          EXPECT_EQ(room.window.flush(room.next, round % 2 == 0), MPI_SUCCESS);
          EXPECT_EQ(in, out);
        }
      });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(room.window.locks.unlock_all(), MPI_SUCCESS);
  });
}

TEST(NetworkPath, ACutLinkEndsEveryAccess) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    test::World world(3);
    std::atomic<int> ready{0}, over{0};
    in_rooms(world, seed, {.leaves = false}, [&](Room& room) {
      const auto poll = [&] {
        const core::ChannelLock lock(room.window.targets.progress());
        (void)room.window.targets.progress().poll_for_caller();
      };
      const auto await = [&](std::atomic<int>& count) {
        for (++count; count < 3; std::this_thread::yield()) poll();
      };
      const auto out = counted(0);
      std::vector<int64_t> in(kWords);
      ASSERT_EQ(room.window.locks.lock_all(0), MPI_SUCCESS);
      await(ready);
      if (room.process.world_rank == 0) {
        const auto put = room.request(), get = room.request();
        ASSERT_EQ(room.put(out.data(), 1, 0, kWords), MPI_SUCCESS);
        ASSERT_EQ(room.put(out.data(), 1, 0, kWords, &*put), MPI_SUCCESS);
        ASSERT_EQ(room.get(in.data(), 1, 0, kWords, &*get), MPI_SUCCESS);
        ASSERT_EQ(room.put(out.data(), 2, 0, 10), MPI_SUCCESS);
        for (uint32_t round = 0; round < seed % 7; ++round) poll();
        world.between().cut(0, 1);
        EXPECT_EQ(room.window.flush(2, false), MPI_SUCCESS);
        EXPECT_EQ(room.window.flush(1, false), MPI_ERR_PROC_ABORTED);
        EXPECT_EQ(take_last_error().text,
                  "an access to rank 1's memory of the window failed at the target "
                  "(MPI_ERR_PROC_ABORTED)");
        for (const auto& request : {put, get}) {
          const int error = room.end_of(*request);
          EXPECT_TRUE(error == MPI_SUCCESS || error == MPI_ERR_PROC_ABORTED) << error;
        }
        const auto later = room.request();
        ASSERT_EQ(room.get(in.data(), 1, 0, 1, &*later), MPI_SUCCESS);
        EXPECT_EQ(room.end_of(*later), MPI_ERR_PROC_ABORTED);
        EXPECT_EQ(room.window.flush_all(false), MPI_ERR_PROC_ABORTED);
        EXPECT_EQ(room.window.flush_all(false), MPI_SUCCESS) << "one error per loss";
        EXPECT_EQ(room.put(out.data(), 2, 0, 10), MPI_SUCCESS);
        EXPECT_EQ(room.window.flush(2, false), MPI_SUCCESS);
      }
      await(over);
    });
  }
}

}  // namespace
}  // namespace tern::rma
