// SPDX-License-Identifier: Apache-2.0
// The heap of a rank after MPI_Init does not grow with the job. Shared memory grows only with the
// ranks of the host.
#include <gtest/gtest.h>

#include <memory>

#include "api/job/runtime.hpp"
#include "boot/fake.hpp"
#include "btl/address_book.hpp"
#include "coll/engine/places.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "tests/unit/live_bytes.hpp"

namespace tern::api {
namespace {

constexpr int kEach = 4;

class Rank {
 public:
  Rank(const boot::FakeJob& job, int rank) : boot_(job.boot(rank)) {
    process.params.set("TERN_TRANSPORT", "sm");  // network libraries allocate more
    core::make_predefined_error_handlers(process);
    core::make_predefined_infos(process);
    core::make_predefined_types(process);
    core::make_predefined_ops(process);
    process.boot = boot_.get();
    process.world_rank = boot_->rank();
    process.world_size = boot_->size();
    process.node.ranks = static_cast<int>(boot_->local_ranks().size());
    process.node.oversubscribed = true;
    rooms_ = std::make_unique<Runtime>(process);
  }
  ~Rank() {
    core::end_predefined_communicators(process);
    rooms_.reset();
    boot_->finalize();
  }

  core::Process process;

 private:
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<Runtime> rooms_;
};

// kept() counts rank 0's heap after MPI_Init and one look-up of the last rank.
long long kept(int ranks, int each = kEach) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(strf("host%d", rank / each));
  const boot::FakeJob job(ranks, hosts);
  const Rank last(job, ranks - 1);
  const long long before = test::live_bytes;
  Rank first(job, 0);
  btl::AddressBook book(first.process);
  (void)book.of(first.process.peer(static_cast<uint32_t>(ranks - 1)));
  EXPECT_EQ(first.process.boot->node(ranks - 1), (ranks - 1) / each);
  return test::live_bytes - before;
}

TEST(Memory, ARankKeepsNoMoreInALargeJob) {
  (void)kept(8);  // The first call allocates process-wide state.
  const long long few = kept(8), many = kept(1024);
  RecordProperty("bytes_at_8", static_cast<int>(few));
  RecordProperty("bytes_at_1024", static_cast<int>(many));
  EXPECT_GT(few, 1024) << "nothing was counted";
  constexpr long long kMost = 2 << 10;  // half an int per rank
  EXPECT_LE(many - few, kMost) << few << " bytes at 8 ranks, " << many << " at 1024";
}

// 100,000 ranks, 128 on a host: the share of the host grows with the host alone.
TEST(Memory, ARankOfAHundredThousandKeepsFourMebibytes) {
  (void)kept(8);
  const long long alone = kept(128, 128), all = kept(100'000, 128);
  RecordProperty("bytes_at_128", static_cast<int>(alone));
  RecordProperty("bytes_at_100000", static_cast<int>(all));
  constexpr long long kMost = 4 << 20;
  EXPECT_LE(all, kMost);
  EXPECT_LE(all - alone, 2 << 10) << alone << " bytes at 128 ranks, " << all << " at 100,000";
}

// The levels of the world's communicator: 4 bytes a rank, shared by equal communicators.
TEST(Memory, LevelsOfAHundredThousandRanksTakeFourBytesEach) {
  constexpr int kRanks = 100'000;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < kRanks; ++rank) hosts.push_back(strf("host%d", rank / 128));
  const boot::FakeJob job(kRanks, hosts);
  Rank first(job, 0);
  coll::Places places;
  places.set_hosts([](core::Process& process, const core::Peer& peer) {
    return process.boot->node(static_cast<int>(peer.rank));
  });
  const long long before = test::live_bytes;
  const coll::Levels* const levels = places.of(*first.process.world);
  ASSERT_NE(levels, nullptr);
  EXPECT_EQ(levels->groups[0][200], 128);
  EXPECT_LE(test::live_bytes - before, 5 * kRanks);
  EXPECT_EQ(places.of(*first.process.world), levels);
}

}  // namespace
}  // namespace tern::api
