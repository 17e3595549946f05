// SPDX-License-Identifier: Apache-2.0
// Communicators of all ranks of a test::World.
#pragma once

#include <cstdint>

#include "tests/unit/world.hpp"

namespace tern::coll {

inline core::Ref<core::Communicator> derived(core::Process& process, int number) {
  core::Communicator& world = *process.world;
  const core::ContextId id = core::derive_context(world.id(), core::Derivation::kDuplicate,
                                                  static_cast<uint64_t>(number), 0);
  core::Ref<core::Communicator> made =
      core::derive_communicator(world, core::Ref<core::Group>(&world.group()), id);
  made->ending = [](core::Communicator& gone) noexcept {
    gone.channel().pml->remove_context(gone);
  };
  made->channel().pml->add_context(*made);
  return made;
}

}  // namespace tern::coll
