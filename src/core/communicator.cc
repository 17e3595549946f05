// SPDX-License-Identifier: Apache-2.0
// Communicator: creation and end.
#include "core/communicator.hpp"

#include <utility>

#include "base/error.hpp"
#include "core/attribute.hpp"
#include "core/peer.hpp"
#include "core/slabs.hpp"
#include "mpi.h"

namespace tern::core {

namespace {

constexpr uint64_t kWorldCreator = 0;  // no hash; the rank distinguishes the selves
constexpr uint32_t kWorldHint = 0, kSelfHint = 1;

Communicator* enter(Process& process, MPI_Comm constant, Communicator* communicator,
                    const char* name) {
  communicator->name.set(name);
  communicator->error_handler = Ref<ErrorHandler>(initial_error_handler(process));
  process.handles.set_predefined(reinterpret_cast<uintptr_t>(constant), *communicator);
  return communicator;
}

void leave(Process& process, Communicator*& communicator) noexcept {
  if (communicator == nullptr) return;
  process.handles.erase(*communicator);
  communicator->end();
  communicator = nullptr;
}

void hold_strangers(Communicator& communicator) {
  const Worlds& worlds = communicator.process().worlds;
  for (const Group* group : {&communicator.group(), communicator.remote_group()})
    for (int rank = 0; group != nullptr && rank < group->size(); ++rank)
      if (const uint32_t index = group->peer_index(rank); worlds.is_stranger(index))
        communicator.strangers.push_back(index);
  communicator.process().worlds.hold(communicator.strangers);
}

}  // namespace

Communicator::Communicator(Process& process, Ref<Group> group, int rank, ContextId id,
                           uint32_t index, Ref<Group> remote) noexcept
    : Object(Kind::kCommunicator),
      Membership(process, std::move(group), rank, std::move(remote)),
      ContextNames(process, id, index) {}

Communicator::~Communicator() = default;

void Communicator::end() noexcept {
  leave_rooms();
  release();
}

void Communicator::leave_rooms() noexcept {
  if (const Ending forget = std::exchange(ending, nullptr); forget != nullptr) forget(*this);
  coll.reset();
  stream.reset();
  if (side) side.leak()->free();
  if (!strangers.empty()) process().worlds.let_go(std::exchange(strangers, {}));
}

void Communicator::destroy() noexcept {
  leave_rooms();
  delete this;
}

bool Communicator::shares_memory_with(int rank) const noexcept {
  const Peer& other = peer(rank);
  return channel().slabs != nullptr && channel().slabs->reaches(other) &&
         (!apart || other.nspace == 0);
}

uint64_t Communicator::next_creation(uint64_t digest) {
  const ChannelLock lock(channel().progress);
  return ++creations_[digest];
}

Ref<Communicator> derive_communicator(Communicator& parent, Ref<Group> group, ContextId id,
                                      Ref<Group> remote) {
  Process& process = parent.process();
  const int rank = group->rank_of(parent.group().peer_index(parent.rank()));
  TERN_ASSERT(rank != MPI_UNDEFINED);
  auto made = Ref<Communicator>::adopt(
      new Communicator(process, std::move(group), rank, id, 0, std::move(remote)));
  made->error_handler = parent.error_handler;
  made->session = parent.session;
  made->apart = parent.apart;
  if (process.worlds.any()) hold_strangers(*made);
  return made;
}

void pass_on_learnt(Communicator& parent, Communicator& made) {
  if (parent.coll == nullptr) {
    made.inherited = parent.inherited;
    return;
  }
  const ChannelLock lock(parent.channel().progress);
  made.inherited = parent.coll->learnt();
}

void make_predefined_communicators(Process& process) {
  make_predefined_groups(process);
  const auto rank = static_cast<uint32_t>(process.world_rank);
  auto everybody = Ref<Group>::adopt(new Group(0, 1, process.world_size));
  auto myself = Ref<Group>::adopt(new Group(rank, 1, 1));
  process.world = enter(process, MPI_COMM_WORLD,
                        new Communicator(process, std::move(everybody), process.world_rank,
                                         {kWorldCreator, kWorldHint}, Communicator::kWorldIndex),
                        "MPI_COMM_WORLD");
  process.self =
      enter(process, MPI_COMM_SELF,
            new Communicator(process, std::move(myself), 0, {kWorldCreator + 1 + rank, kSelfHint},
                             Communicator::kSelfIndex),
            "MPI_COMM_SELF");
}

void end_predefined_communicators(Process& process) noexcept {
  leave(process, process.self);
  leave(process, process.world);
  end_predefined_groups(process);
}

}  // namespace tern::core
