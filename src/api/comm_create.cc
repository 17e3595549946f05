// SPDX-License-Identifier: Apache-2.0
// How communicators are made: MPI-5.0 section 7.4.2.
// Only split needs to hear from the others; the ids of the rest follow from the parent
// (core/communicator.hpp), so dup, idup, create and create_group send no message and never wait.
#include <algorithm>
#include <cstring>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm.hpp"
#include "api/comm_exchange.hpp"
#include "api/intercomm.hpp"
#include "boot/boot.hpp"
#include "core/attribute.hpp"
#include "core/request.hpp"

namespace tern::api {

namespace {

using core::Communicator;
using core::Derivation;
using core::Group;
using core::Ref;

int duplicate(Communicator& parent, const core::Info* info, MPI_Comm* out) {
  const auto id =
      core::derive_context(parent.id(), Derivation::kDuplicate, parent.next_derivation(), 0);
  Ref<Communicator> made = core::derive_communicator(parent, Ref<Group>(&parent.group()), id,
                                                     Ref<Group>(parent.remote_group()));
  made->topology = parent.topology;
  int code = set_hints(*made, info);
  if (code != MPI_SUCCESS) return code;
  code = core::Attributes::copy_all(parent.attributes, parent.handle(), &made->attributes);
  if (code == MPI_SUCCESS) {
    publish(std::move(made), out);
    return code;
  }
  // What was copied is deleted again; the copy callback's error is the one that the user hears of.
  (void)core::Attributes::delete_all(&made->attributes, parent.handle());
  return code;
}

/// A request that is complete from birth: a duplicate needs nobody's answer.
class DoneRequest final : public core::Request {
 public:
  DoneRequest() {
    complete();
    the_process->handles.insert(*this);
  }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    delete this;
  }
};

/// MPI_ERR_GROUP where a member of `group` is none of `parent`.
int check_subset(const Communicator& parent, const Group& group) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (parent.group().rank_of(group.peer_index(rank)) == MPI_UNDEFINED)
      return fail(MPI_ERR_GROUP, "rank %d of the group (of %d) is no member of comm (of %d)", rank,
                  group.size(), parent.size());
  return MPI_SUCCESS;
}

bool has_caller(const Communicator& parent, const Group& group) {
  return group.rank_of(parent.group().peer_index(parent.rank())) != MPI_UNDEFINED;
}

Ref<Group> copy_of(const Group& group) { return Ref<Group>::adopt(new Group(group)); }

struct Ballot {
  int color, key;
};

/// The members of `color`, ordered by key, those with equal keys by rank.
Ref<Group> chosen(const Group& members, const Ballot* ballots, int color) {
  std::vector<int> ranks;
  for (int rank = 0; rank < members.size(); ++rank)
    if (ballots[rank].color == color) ranks.push_back(rank);
  std::stable_sort(ranks.begin(), ranks.end(),
                   [ballots](int a, int b) { return ballots[a].key < ballots[b].key; });
  core::GroupBuilder builder;
  for (const int rank : ranks) builder.add(members.peer_index(rank));
  return builder.finish();
}

/// Ballots travel between the sides of an inter-communicator as words.
static_assert(sizeof(Ballot) == sizeof(Words::value_type));

/// The other side's members of `color`; empty for an intra-communicator.
int chosen_there(Communicator& parent, const std::vector<Ballot>& ours, int color, uint64_t number,
                 Ref<Group>* out) {
  Words mine(ours.size()), theirs;
  std::memcpy(mine.data(), ours.data(), ours.size() * sizeof ours[0]);
  const int code = trade(parent, mine, &theirs, number);
  if (code != MPI_SUCCESS) return code;
  std::vector<Ballot> ballots(theirs.size());
  std::memcpy(ballots.data(), theirs.data(), theirs.size() * sizeof theirs[0]);
  *out = chosen(*parent.remote_group(), ballots.data(), color);
  return MPI_SUCCESS;
}

/// Every member takes part; `color` may be MPI_UNDEFINED. `info`: hints for the new one, or null.
int split(Communicator& parent, int color, int key, const core::Info* info, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  std::vector<Ballot> ballots(static_cast<size_t>(parent.size()));
  ballots[static_cast<size_t>(parent.rank())] = {color, key};
  Communicator& asked = parent.inter() ? own_side(parent) : parent;
  Ref<Group> remote;
  int code = allgather(asked, ballots.data(), sizeof(Ballot), number);
  if (code == MPI_SUCCESS && parent.inter())
    code = chosen_there(parent, ballots, color, number, &remote);
  *out = MPI_COMM_NULL;
  if (code != MPI_SUCCESS || color == MPI_UNDEFINED) return code;
  const auto id =
      core::derive_context(parent.id(), Derivation::kSplit, number, static_cast<uint64_t>(color));
  Ref<Group> own = chosen(parent.group(), ballots.data(), color);
  if (parent.inter())
    return publish_sides(parent, std::move(own), std::move(remote), id, info, out);
  Ref<Communicator> made = core::derive_communicator(parent, std::move(own), id);
  code = set_hints(*made, info);
  if (code == MPI_SUCCESS) publish(std::move(made), out);
  return code;
}

/// MPI_Comm_create on an inter-communicator: each side's rank 0 tells the other side its group.
int create_sides(Communicator& parent, const Group& group, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  Words theirs;
  const int code = trade(parent, members_of(group), &theirs, number);
  if (code != MPI_SUCCESS) return code;
  const auto id = core::derive_context(parent.id(), Derivation::kCreate, number, 0);
  return publish_sides(parent, copy_of(group), group_of(theirs.data(), theirs.size()), id, nullptr,
                       out);
}

/// Whether the kinds of split_type that ask for a resource ask for memory that all can share.
bool asks_for_shared_memory(const core::Info* info) {
  const std::string* wanted = info == nullptr ? nullptr : info->get("mpi_hw_resource_type");
  return wanted != nullptr && *wanted == "mpi_shared_memory";
}

/// The color of split_type for this process; false where the type is none of the standard's.
bool color_of_type(int split_type, const core::Info* info, int* color) {
  // All ranks of a host know the same lowest rank of theirs.
  const std::vector<int>& local = the_process->boot->local_ranks();
  const int host = local.empty() ? the_process->world_rank : local.front();
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      *color = host;
      return true;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      *color = asks_for_shared_memory(info) ? host : MPI_UNDEFINED;
      return true;
    case MPI_COMM_TYPE_HW_UNGUIDED:  // nothing finer is known: MPI_COMM_NULL
    case MPI_UNDEFINED:
      *color = MPI_UNDEFINED;
      return true;
    default:
      return false;
  }
}

}  // namespace

int comm_dup(Communicator& comm, MPI_Comm* newcomm) noexcept {
  return attempt([&] { return duplicate(comm, nullptr, newcomm); });
}

int comm_dup_with_info(Communicator& comm, core::Info* info, MPI_Comm* newcomm) noexcept {
  return attempt([&] { return duplicate(comm, info, newcomm); });
}

int comm_idup_with_info(Communicator& comm, core::Info* info, MPI_Comm* newcomm,
                        MPI_Request* request) noexcept {
  return attempt([&] {
    const int code = duplicate(comm, info, newcomm);
    if (code == MPI_SUCCESS) *request = reinterpret_cast<MPI_Request>((new DoneRequest)->handle());
    return code;
  });
}

int comm_idup(Communicator& comm, MPI_Comm* newcomm, MPI_Request* request) noexcept {
  return comm_idup_with_info(comm, nullptr, newcomm, request);
}

int comm_create(Communicator& comm, Group& group, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    const int code = check_subset(comm, group);
    if (code != MPI_SUCCESS) return code;
    if (comm.inter()) return create_sides(comm, group, newcomm);
    const uint64_t number = comm.next_derivation();
    *newcomm = MPI_COMM_NULL;
    if (!has_caller(comm, group)) return code;
    const int leader = comm.group().rank_of(group.peer_index(0));
    const auto id =
        core::derive_context(comm.id(), Derivation::kCreate, number, static_cast<uint64_t>(leader));
    publish(core::derive_communicator(comm, copy_of(group), id), newcomm);
    return code;
  });
}

int comm_create_group(Communicator& comm, Group& group, int tag, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    int code = require_intra(comm, "comm");
    if (code == MPI_SUCCESS) code = check_subset(comm, group);
    if (code != MPI_SUCCESS) return code;
    *newcomm = MPI_COMM_NULL;
    if (!has_caller(comm, group)) return code;
    const uint64_t digest = core::digest_members(comm, group, tag);
    const auto id = core::derive_context(comm.id(), Derivation::kCreateGroup,
                                         comm.next_creation(digest), digest);
    publish(core::derive_communicator(comm, copy_of(group), id), newcomm);
    return code;
  });
}

int comm_split(Communicator& comm, int color, int key, MPI_Comm* newcomm) noexcept {
  if (color < 0 && color != MPI_UNDEFINED)
    return fail(MPI_ERR_ARG, "color is %d; it must be MPI_UNDEFINED or not negative", color);
  return attempt([&] { return split(comm, color, key, nullptr, newcomm); });
}

int comm_split_type(Communicator& comm, int split_type, int key, core::Info* info,
                    MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    int color = MPI_UNDEFINED;
    if (!color_of_type(split_type, info, &color))
      return fail(MPI_ERR_ARG, "split_type is %d; it must be one of the MPI_COMM_TYPE_ constants",
                  split_type);
    return split(comm, color, key, info, newcomm);
  });
}

}  // namespace tern::api
