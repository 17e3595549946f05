// SPDX-License-Identifier: Apache-2.0
// Communicators: predefined ones, ids derived without messages, lifetime.
#include "core/communicator.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "mpi.h"

namespace tern::core {
namespace {

struct Rank {
  Process process;
  Rank(int rank, int size) {
    process.world_rank = rank;
    process.world_size = size;
    make_predefined_error_handlers(process);
    make_predefined_communicators(process);
  }
  ~Rank() { end_predefined_communicators(process); }
  [[nodiscard]] Communicator& world() const { return *process.world; }
};

std::pair<uint64_t, uint32_t> key(ContextId id) { return {id.creator, id.counter}; }

TEST(Communicator, WorldAndSelf) {
  Rank rank(2, 5);
  EXPECT_EQ(rank.world().rank(), 2);
  EXPECT_EQ(rank.world().size(), 5);
  EXPECT_EQ(rank.world().index(), Communicator::kWorldIndex);
  EXPECT_EQ(rank.world().remote_index(4), Communicator::kWorldIndex);
  EXPECT_EQ(rank.world().peer(3).index, 3U);
  EXPECT_EQ(rank.process.self->rank(), 0);
  EXPECT_EQ(rank.process.self->peer(0).index, 2U);
  EXPECT_EQ(rank.process.handles.find<Communicator>(MPI_COMM_WORLD), rank.process.world);
  EXPECT_FALSE(rank.world().id() == rank.process.self->id());
}

TEST(Communicator, EqualStepsGiveEqualIdsOnAllMembers) {
  Rank a(0, 4), b(3, 4);
  for (int step = 0; step < 100; ++step) {
    const auto id =
        derive_context(a.world().id(), Derivation::kDuplicate, a.world().next_derivation(), 0);
    EXPECT_EQ(
        id, derive_context(b.world().id(), Derivation::kDuplicate, b.world().next_derivation(), 0));
  }
}

// A weak hash would give equal ids or repeated halves.
TEST(Communicator, IdsNeverMeet) {
  std::set<std::pair<uint64_t, uint32_t>> ids;
  std::set<uint64_t> halves;
  std::vector<ContextId> level = {{0, 1}, {1, 2}, {2, 2}};
  for (int depth = 0; depth < 4; ++depth) {
    std::vector<ContextId> next;
    for (const ContextId parent : level)
      for (uint32_t why = 1; why <= 4; ++why)
        for (uint32_t number = 1; number <= 4; ++number)
          for (uint64_t sibling = 0; sibling < (depth == 0 ? 50U : 2U); ++sibling)
            next.push_back(derive_context(parent, static_cast<Derivation>(why), number, sibling));
    for (const ContextId id : next) {
      EXPECT_TRUE(ids.insert(key(id)).second);
      EXPECT_TRUE(halves.insert(id.creator).second);
    }
    level.assign(next.begin(), next.begin() + std::min<long>(800, static_cast<long>(next.size())));
  }
  EXPECT_GT(ids.size(), 50000U);
}

TEST(Communicator, CreationsAreCountedByMembersAndTag) {
  Rank rank(0, 8);
  const Group pair(0, 1, 2), turned(1, -1, 2), other(0, 2, 2);
  const uint64_t digest = digest_members(rank.world(), pair, 5);
  EXPECT_EQ(digest, digest_members(rank.world(), Group(std::vector<uint32_t>{0, 1}), 5));
  EXPECT_NE(digest, digest_members(rank.world(), pair, 6));
  EXPECT_NE(digest, digest_members(rank.world(), turned, 5));
  EXPECT_NE(digest, digest_members(rank.world(), other, 5));
  EXPECT_EQ(rank.world().next_creation(digest), 1U);
  EXPECT_EQ(rank.world().next_creation(digest), 2U);
  EXPECT_EQ(rank.world().next_creation(digest + 1), 1U);
}

TEST(Communicator, DerivedOneLearnsIndicesAndEndsOnce) {
  Rank rank(1, 4);
  static int endings = 0;
  {
    auto made = derive_communicator(rank.world(), Ref<Group>::adopt(new Group(3, -2, 2)),
                                    derive_context(rank.world().id(), Derivation::kCreate, 1, 3));
    EXPECT_EQ(made->rank(), 1);
    EXPECT_EQ(made->peer(0).index, 3U);
    EXPECT_EQ(made->index(), 0U);  // the pml assigns the index
    EXPECT_EQ(made->remote_index(0), 0U);
    made->set_remote_index(0, 2, 77);
    EXPECT_EQ(made->remote_index(0), 77U);
    EXPECT_EQ(made->remote_index(1), 0U);
    made->ending = [](Communicator&) noexcept { ++endings; };
  }
  EXPECT_EQ(endings, 1);
}

}  // namespace
}  // namespace tern::core
