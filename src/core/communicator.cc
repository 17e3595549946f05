// SPDX-License-Identifier: Apache-2.0
// Communicator: birth, context ids, end.
#include "core/communicator.hpp"

#include <utility>

#include "base/error.hpp"
#include "core/attribute.hpp"
#include "mpi.h"

namespace tern::core {

namespace {

/// A bijection of 64 bits in which each bit of the input changes half of the output (splitmix64's
/// finish).
constexpr uint64_t mix(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t kWorldCreator =
    0;  // ids of world and self are no hashes; selves are told apart by rank
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

}  // namespace

ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                         uint64_t sibling) noexcept {
  const uint64_t cause = (static_cast<uint64_t>(why) << 32) | parent.counter;
  uint64_t state = mix(parent.creator + 0x9e3779b97f4a7c15ULL);
  state = mix(state ^ mix(cause + 0xd1342543de82ef95ULL));
  uint64_t second = mix(parent.creator ^ mix(cause));
  state = mix(state ^ mix(number + 0xaf251af3b0f025b5ULL));
  second = mix(second + mix(number ^ 0x2545f4914f6cdd1dULL));
  state = mix(state ^ mix(sibling + 0x9fb21c651e98df25ULL));
  second = mix(second + mix(sibling ^ 0xda942042e4dd58b5ULL));
  constexpr uint32_t kChannelHints = ContextId::kChannelHints;
  const uint32_t hint = parent.channel_hint() + static_cast<uint32_t>(number);
  return {state, (static_cast<uint32_t>(second) & ~kChannelHints) | (hint & kChannelHints)};
}

ContextId meet_contexts(ContextId one, ContextId other) noexcept {
  const bool ordered =
      one.creator != other.creator ? one.creator < other.creator : one.counter < other.counter;
  if (!ordered) std::swap(one, other);
  return derive_context(one, Derivation::kMeet, other.creator, other.counter);
}

Communicator::Communicator(Process& process, Ref<Group> group, int rank, ContextId id,
                           uint32_t index, Ref<Group> remote) noexcept
    : Object(Kind::kCommunicator),
      process_(process),
      channel_(process.channel(id.channel_hint())),
      group_(std::move(group)),
      remote_(std::move(remote)),
      rank_(rank),
      size_(group_->size()),
      id_(id),
      index_(index),
      identity_(target().identity()) {}

Communicator::~Communicator() = default;

void Communicator::end() noexcept {
  leave_rooms();
  release();
}

void Communicator::leave_rooms() noexcept {
  if (const Ending forget = std::exchange(ending, nullptr); forget != nullptr) forget(*this);
  coll.reset();
  stream.reset();
  if (!side) return;
  Communicator* const own = side.leak();
  own->freed = true;
  if (own->pending == 0) own->end();  // else its last message does
}

// One that was never published, or already ended.
void Communicator::destroy() noexcept {
  leave_rooms();
  delete this;
}

void Communicator::set_remote_index(int rank, uint32_t index) {
  if (remote_index_.empty()) remote_index_.resize(static_cast<size_t>(peer_count()), 0);
  remote_index_[static_cast<size_t>(rank)] = index;
}

uint64_t Communicator::next_creation(uint64_t digest) {
  const ChannelLock lock(channel_.progress);
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
  return made;
}

uint64_t digest_members(const Communicator& parent, const Group& group, int tag) noexcept {
  uint64_t digest = mix(static_cast<uint64_t>(tag) + 0x9e3779b97f4a7c15ULL);
  for (int rank = 0; rank < group.size(); ++rank) {
    const int member = parent.group().rank_of(group.peer_index(rank));
    digest = mix(digest + 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(member));
  }
  return digest;
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
  process.world->uniform_ = process.self->uniform_ = true;
}

void end_predefined_communicators(Process& process) noexcept {
  leave(process, process.self);
  leave(process, process.world);
  end_predefined_groups(process);
}

}  // namespace tern::core
