// SPDX-License-Identifier: Apache-2.0
// Contexts: early messages choose the index, ends forget it, and numbers that come again are free.
#include "pml/contexts.hpp"

#include <gtest/gtest.h>

namespace tern::pml {
namespace {

struct Rank {
  core::Process process;
  Rank() {
    process.world_size = 4;
    core::make_predefined_error_handlers(process);
    core::make_predefined_communicators(process);
  }
  ~Rank() { core::end_predefined_communicators(process); }
  core::Ref<core::Communicator> make(uint64_t number) {
    core::Communicator& world = *process.world;
    const auto id = core::derive_context(world.id(), core::Derivation::kDuplicate, number, 0);
    return core::derive_communicator(world, core::Ref<core::Group>(&world.group()), id);
  }
};

TEST(Contexts, MessagesMayComeFirst) {
  Rank rank;
  Contexts contexts;
  const auto made = rank.make(1), other = rank.make(2);
  const uint32_t early = contexts.hear_of(made->id(), rank.process).index;
  EXPECT_EQ(contexts.find(made->id()), nullptr);
  contexts.add(*other);
  contexts.add(*made);
  EXPECT_EQ(made->index(), early);
  EXPECT_NE(other->index(), early);
  EXPECT_EQ(contexts.find(made->id()), made.get());
  EXPECT_EQ(contexts.hear_of(made->id(), rank.process).index, early);
  contexts.remove(*made);
  EXPECT_EQ(contexts.find(made->id()), nullptr);
}

TEST(Contexts, NumbersNeverRunOut) {
  Rank rank;
  Contexts contexts;
  const auto first = rank.make(1), second = rank.make(2), third = rank.make(3);
  contexts.add(*first);
  contexts.add(*second);
  contexts.remove(*first);
  // A billion communicators later.
  while (!rank.process.context_indices_repeat()) (void)rank.process.next_context_index();
  EXPECT_LT(rank.process.next_context_index(), second->index() + 2);
  while (rank.process.next_context_index() + 1 != core::Process::kContextIndices) {
  }
  contexts.add(*third);
  EXPECT_EQ(third->index(), core::Process::kFirstContextIndex);
  const auto fourth = rank.make(4);
  contexts.add(*fourth);
  EXPECT_NE(fourth->index(), second->index());  // still in use
  EXPECT_EQ(fourth->index(), second->index() + 1);
}

}  // namespace
}  // namespace tern::pml
