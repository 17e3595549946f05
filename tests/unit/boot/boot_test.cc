// SPDX-License-Identifier: Apache-2.0
// A behaviour suite over the fake boot, mpirun's shared memory and a boot by the program's
// functions.
#include "boot/boot.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "boot/fake.hpp"
#include "boot/provided.hpp"
#include "boot/shared_job.hpp"
#include "boot/ways.hpp"
#include "tests/unit/boot/store.hpp"

namespace tern::boot {
namespace {

struct Address {
  int rank;
  char text[100];
};

class Maker {
 public:
  virtual ~Maker() = default;
  virtual std::unique_ptr<Boot> make(int rank) = 0;
};

class FakeMaker final : public Maker {
 public:
  explicit FakeMaker(int size) : job_(size) {}
  std::unique_ptr<Boot> make(int rank) override { return job_.boot(rank); }

 private:
  FakeJob job_;
};

class MpirunMaker final : public Maker {
 public:
  explicit MpirunMaker(int size)
      : fd_(make_memfd("test", SharedJob::bytes_for(size))),
        event_(::eventfd(0, EFD_CLOEXEC)),
        job_(SharedJob::create(fd_.get(), {size, size, 1, event_.get(), "job-1"})) {}
  ~MpirunMaker() override {
    for (const char* name : {"TERN_BOOT_FD", "PMIX_RANK", "PMIX_NAMESPACE"}) ::unsetenv(name);
  }
  std::unique_ptr<Boot> make(int rank) override {
    ::setenv("TERN_BOOT_FD", std::to_string(fd_.get()).c_str(), 1);
    ::setenv("PMIX_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("PMIX_NAMESPACE", "job-1", 1);
    return make_mpirun_boot();
  }

 private:
  Fd fd_, event_;
  SharedJob job_;
};

// The first call makes all Boots, because each rank waits for the others.
class ProvidedMaker final : public Maker {
 public:
  explicit ProvidedMaker(int size) : store_(size), boots_(static_cast<std::size_t>(size)) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([this, rank, boot = store_.boot(rank)] {
        boots_[static_cast<std::size_t>(rank)] = make_provided_boot(boot);
      });
    for (auto& thread : threads) thread.join();
  }
  std::unique_ptr<Boot> make(int rank) override {
    return std::move(boots_[static_cast<std::size_t>(rank)]);
  }

 private:
  Store store_;
  std::vector<std::unique_ptr<Boot>> boots_;
};

class BootTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Maker> maker(int size) const {
    if (std::string(GetParam()) == "fake") return std::make_unique<FakeMaker>(size);
    if (std::string(GetParam()) == "provided") return std::make_unique<ProvidedMaker>(size);
    return std::make_unique<MpirunMaker>(size);
  }

  template <class Body>
  void run(int size, Body body) {
    const auto made = maker(size);
    std::vector<std::unique_ptr<Boot>> boots;
    for (int rank = 0; rank < size; ++rank) boots.push_back(made->make(rank));
    std::vector<std::thread> threads;
    for (auto& boot : boots) threads.emplace_back([&body, &boot] { body(*boot); });
    for (auto& thread : threads) thread.join();
  }
};

TEST_P(BootTest, KnowsTheJob) {
  run(4, [&](Boot& boot) {
    EXPECT_EQ(boot.size(), 4);
    EXPECT_STREQ(boot.name(), GetParam());
    EXPECT_EQ(boot.local_ranks(), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(boot.job().local_index, boot.rank());
    EXPECT_TRUE(boot.is_local(3));
    EXPECT_FALSE(boot.is_local(4));
    EXPECT_EQ(boot.node(3), 0);
    EXPECT_FALSE(boot.job().id.empty());
  });
}

TEST_P(BootTest, ConnectionInfosAreThereAfterTheFence) {
  run(8, [](Boot& boot) {
    Address mine{boot.rank(), {}};
    std::snprintf(mine.text, sizeof mine.text, "address of %d", boot.rank());
    boot.put_connection_info(boot::connection_info_of(mine));
    boot.fence();
    for (int rank = 0; rank < boot.size(); ++rank) {
      const auto other = boot::connection_info_as<Address>(boot, rank);
      EXPECT_EQ(other.rank, rank);
      EXPECT_EQ(std::string(other.text), strf("address of %d", rank));
    }
    boot.fence();
  });
}

TEST_P(BootTest, AConnectionInfoCanBeAwaitedWithoutAFence) {
  run(3, [](Boot& boot) {
    if (boot.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    boot.put_connection_info(boot::connection_info_of(boot.rank()));
    boot.publish();
    for (int rank = 0; rank < boot.size(); ++rank) {
      for (;;) {
        const FutexWord word = boot.connection_info_word();
        if (boot.has_connection_info(rank)) break;
        if (word.word != nullptr) futex_sleep(word, 10000000);
      }
      EXPECT_EQ(boot::connection_info_as<int>(boot, rank), rank);
    }
  });
}

TEST_P(BootTest, KeysOfAnyLength) {
  run(3, [](Boot& boot) {
    const std::string zeros(3000, '\0');
    boot.put("empty", "");
    boot.put("zeros", zeros);
    boot.put("who", strf("%d", boot.rank()));
    boot.put("who", strf("again %d", boot.rank()));
    boot.fence();
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(boot.get(rank, "empty"), "");
      EXPECT_EQ(boot.get(rank, "zeros"), zeros);
      EXPECT_EQ(boot.get(rank, "who"), strf("again %d", rank));
      EXPECT_THROW((void)boot.get(rank, "wh"), Error);
    }
    boot.fence();
  });
}

TEST_P(BootTest, NobodyLeavesAFenceBeforeAllHaveCome) {
  constexpr int kRounds = 200;
  std::atomic<int> arrived{0};
  run(5, [&](Boot& boot) {
    for (int round = 1; round <= kRounds; ++round) {
      ++arrived;
      boot.fence();
      EXPECT_GE(arrived.load(), 5 * round);
      boot.fence();
    }
  });
  EXPECT_EQ(arrived.load(), 5 * kRounds);
}

TEST_P(BootTest, AFenceGoesOnWhileItsCallerDoesOtherThings) {
  std::atomic<int> started{0};
  run(3, [&](Boot& boot) {
    for (int round = 1; round <= 50; ++round) {
      if (boot.rank() == 2)
        while (started < 2 * round) std::this_thread::yield();
      boot.start_fence();
      if (boot.rank() != 2) {
        EXPECT_FALSE(boot.fence_over());
        ++started;
      }
      const FutexWord word = boot.fence_word();
      while (!boot.fence_over()) futex_sleep(word, 10000000);
      boot.end_fence();
      boot.fence();
    }
  });
}

TEST_P(BootTest, WrongRanksAreRefusedByName) {
  run(2, [](Boot& boot) {
    for (const int rank : {-1, 2}) {
      EXPECT_THROW((void)boot.connection_info(rank), Error);
      EXPECT_THROW((void)boot.get(rank, "key"), Error);
      EXPECT_THROW((void)boot.node(rank), Error);
    }
    try {
      (void)boot.connection_info(7);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rank 7"), std::string::npos) << error.what();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, BootTest, ::testing::Values("fake", "mpirun", "provided"),
                         [](const auto& way) { return std::string(way.param); });

TEST(FakeJob, DeclaredHosts) {
  const FakeJob job(5, {"b", "a", "b", "a", "c"});
  const auto boot = job.boot(3);
  EXPECT_EQ(boot->local_ranks(), (std::vector<int>{1, 3}));
  EXPECT_EQ(boot->job().local_index, 1);
  EXPECT_FALSE(boot->is_local(0));
  const int nodes[] = {0, 1, 0, 1, 2};
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(boot->node(rank), nodes[rank]);
  EXPECT_EQ(boot->host(4), "c");
  EXPECT_THROW(FakeJob(3, {"a", "b"}), Error);
}

TEST(FakeJob, AnAbortFreesThoseWhoWait) {
  const FakeJob job(2);
  const auto one = job.boot(0), other = job.boot(1);
  std::thread waiting([&] { EXPECT_THROW(one->fence(), Error); });
  other->abort(42, "enough");
  waiting.join();
  EXPECT_EQ(job.abort_code(), 42);
}

TEST(ProvidedBoot, RanksAskTheStoreSeldom) {
  constexpr int kRanks = 16;
  Store store(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([boot = store.boot(rank)] {
      const auto made = make_provided_boot(boot);
      made->put_connection_info(boot::connection_info_of(boot.rank));
      made->publish();
      for (int other = 0; other < kRanks; ++other)
        EXPECT_EQ(boot::connection_info_as<int>(*made, other), other);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store.gets.load(), 4 * kRanks);  // 2 per rank, 2 * kRanks for rank 0
  EXPECT_EQ(store.ended.load(), kRanks);
}

// A text beyond the buffer costs each rank a second request.
TEST(ProvidedBoot, RankZeroHandsOutWhatWasLearnt) {
  constexpr int kRanks = 4;
  for (const auto& [bytes, requests] : {std::pair{0, 1}, {2000, 1}, {66000, 2}}) {
    Store store(kRanks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([boot = store.boot(rank), bytes = bytes] {
        const std::string text(static_cast<size_t>(bytes), 'x');
        const auto made = make_provided_boot(boot);
        if (boot.rank == 0) made->hand_out(text);
        made->put_connection_info(boot::connection_info_of(boot.rank));
        made->publish();
        EXPECT_EQ(made->learnt(), text);
        for (int other = 0; other < kRanks; ++other)
          EXPECT_EQ(boot::connection_info_as<int>(*made, other), other);
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(store.gets.load(), (3 + requests) * kRanks) << bytes;
  }
}

TEST(ProvidedBoot, NamesOfHostsTellMachinesApart) {
  Store store(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([boot = store.boot(rank)]() mutable {
      boot.host = boot.rank == 1 ? "other" : "one";
      const auto made = make_provided_boot(boot);
      EXPECT_EQ(made->local_ranks(), boot.rank == 1 ? std::vector{1} : (std::vector{0, 2}));
      EXPECT_EQ(made->job().local_index, boot.rank == 2 ? 1 : 0);
      EXPECT_EQ(made->node(1), 1);
      EXPECT_EQ(made->node(2), 0);
      EXPECT_EQ(made->host(1), "other");
    });
  for (auto& thread : threads) thread.join();
}

TEST(ProvidedBoot, IsTakenOnceAndBeforeAllOthers) {
  Store store(1);
  EXPECT_THROW((void)way_here("provided"), Error);
  provide(store.boot(0));
  provide(store.boot(0));
  EXPECT_EQ(store.ended.load(), 1);
  EXPECT_STREQ(way_here(), "provided");
  EXPECT_STREQ(way_here("singleton"), "provided");
  EXPECT_STREQ(make_boot()->name(), "provided");
  EXPECT_EQ(store.ended.load(), 2);
  EXPECT_STRNE(way_here(), "provided");
}

TEST(MakeBoot, AloneIsAWorldOfOne) {
  const auto boot = make_boot("singleton");
  EXPECT_EQ(boot->size(), 1);
  boot->put("k", "v");
  boot->put_connection_info(boot::connection_info_of(17));
  boot->fence();
  EXPECT_EQ(boot->get(0, "k"), "v");
  EXPECT_EQ(boot::connection_info_as<int>(*boot, 0), 17);
}

TEST(MakeBoot, TheWayHereIsTheOneThatIsTaken) {
  {
    MpirunMaker mpirun(1);
    const auto boot = mpirun.make(0);
    EXPECT_STREQ(way_here(), boot->name());
    EXPECT_STREQ(way_here("pmix"), "pmix");
    EXPECT_STREQ(way_here("singleton"), "singleton");
  }
  EXPECT_STREQ(way_here(), make_boot()->name());
  EXPECT_THROW((void)way_here("mpirun"), Error);
  EXPECT_THROW((void)way_here("carrier-pigeon"), Error);
}

TEST(MakeBoot, AWrongWayIsRefused) {
  EXPECT_THROW((void)make_boot("carrier-pigeon"), Error);
  ::unsetenv("PMIX_NAMESPACE");
  EXPECT_THROW((void)make_boot("pmix"), Error);
  EXPECT_THROW((void)make_boot("mpirun"), Error);
}

struct Foreign {
  std::vector<std::pair<const char*, const char*>> environment;
  const char* cure;
};

TEST(MakeBoot, LaunchersWithoutPmixAreRefusedWithTheCure) {
  const Foreign foreign[] = {
      {{{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}}, "srun --mpi=pmix"},
      {{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "start them with Tern's mpirun"}};
  for (const Foreign& launcher : foreign) {
    for (const auto& [name, value] : launcher.environment) ::setenv(name, value, 1);
    try {
      (void)make_boot();
      ADD_FAILURE() << "no error; expected: " << launcher.cure;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(launcher.cure), std::string::npos) << error.what();
    }
    EXPECT_EQ(make_boot("singleton")->size(), 1);
    for (const auto& [name, value] : launcher.environment) ::unsetenv(name);
  }
}

}  // namespace
}  // namespace tern::boot
