// SPDX-License-Identifier: Apache-2.0
// Contexts: indices of early messages, removal, and reuse of numbers.
#include "pml/p2p/contexts.hpp"

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
  const auto of = [&](const core::ContextId& id) {
    core::Communicator* found = nullptr;
    contexts.with(id, [&](core::Communicator& communicator) { found = &communicator; });
    return found;
  };
  const auto first = contexts.hear_of(made->id(), 3, rank.process);
  const uint32_t early = first.index;
  EXPECT_TRUE(first.tell);
  EXPECT_FALSE(contexts.hear_of(made->id(), 3, rank.process).tell);
  EXPECT_EQ(of(made->id()), nullptr);
  contexts.add(*other);
  contexts.add(*made);
  EXPECT_EQ(made->index(), early);
  EXPECT_NE(other->index(), early);
  EXPECT_EQ(of(made->id()), made.get());
  EXPECT_EQ(contexts.hear_of(made->id(), 4, rank.process).index, early);
  contexts.remove(*made);
  EXPECT_EQ(of(made->id()), nullptr);
}

TEST(Contexts, AnIdThatIsInUseIsRefused) {
  Rank rank;
  Contexts contexts;
  const auto alive = rank.make(1), second = rank.make(1);
  alive->name.set("particles");
  second->name.set("fields");
  contexts.add(*alive);
  try {
    contexts.add(*second);
    FAIL() << "two communicators share an id";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("particles"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("fields"), std::string::npos) << error.what();
  }
  contexts.remove(*second);
  core::Communicator* found = nullptr;
  contexts.with(alive->id(), [&](core::Communicator& communicator) { found = &communicator; });
  EXPECT_EQ(found, alive.get());
  contexts.remove(*alive);
  contexts.add(*second);
}

TEST(Contexts, NumbersNeverRunOut) {
  Rank rank;
  Contexts contexts;
  const auto first = rank.make(1), second = rank.make(2), third = rank.make(3);
  contexts.add(*first);
  contexts.add(*second);
  contexts.remove(*first);
  constexpr uint64_t kAll = core::Process::kContextIndices - core::Process::kFirstContextIndex;
  EXPECT_FALSE(rank.process.context_indices_repeat());
  rank.process.skip_context_indices(kAll - 2);
  EXPECT_TRUE(rank.process.context_indices_repeat());
  contexts.add(*third);
  EXPECT_EQ(third->index(), core::Process::kFirstContextIndex);
  const auto fourth = rank.make(4);
  contexts.add(*fourth);
  EXPECT_NE(fourth->index(), second->index());
  EXPECT_EQ(fourth->index(), second->index() + 1);
}

}  // namespace
}  // namespace tern::pml
