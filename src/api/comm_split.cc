// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split and MPI_Comm_split_type: MPI-5.0 section 7.4.2.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm.hpp"
#include "api/comm_exchange.hpp"
#include "api/hardware.hpp"
#include "api/intercomm.hpp"
#include "boot/boot.hpp"

namespace tern::api {

namespace {

using core::Communicator;
using core::Derivation;
using core::Group;
using core::Ref;

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

/// What a split by type has found for this process: its part, or why there is none.
struct Part {
  int color = MPI_UNDEFINED;
  const char* resource = nullptr;  // its name, for the hints of the new communicator
  int code = MPI_SUCCESS;
};

/// Parts of different hosts differ.
int color_on_host(int number) {
  constexpr int kPartsOfHost = 4096;
  return the_process->boot->node(the_process->world_rank) * kPartsOfHost + number % kPartsOfHost;
}

Part shared_memory() {
  // All ranks of a host know the same lowest rank of theirs.
  const std::vector<int>& local = the_process->boot->local_ranks();
  return {local.empty() ? the_process->world_rank : local.front(), "mpi_shared_memory"};
}

/// The resource that the hint names; no part where the hint or the resource is unknown.
Part named_resource(const core::Info* info) {
  const std::string* wanted = info == nullptr ? nullptr : info->get("mpi_hw_resource_type");
  if (wanted == nullptr) return {};
  if (*wanted == "mpi_shared_memory") return shared_memory();
  const int resource = find_resource(*wanted);
  if (resource < 0) return {};
  const auto at = static_cast<size_t>(resource);
  const int number = place_here(the_process->boot->job().local_index)[at];
  if (number < 0) return {};
  return {color_on_host(number), resource_name(at)};
}

/// Hardware, or the members of a process set.
Part guided_by_resource(const core::Info* info) {
  const std::string* set = info == nullptr ? nullptr : info->get("mpi_pset_name");
  if (set == nullptr) return named_resource(info);
  if (info->get("mpi_hw_resource_type") != nullptr)
    return {MPI_UNDEFINED, nullptr,
            fail(MPI_ERR_INFO,
                 "the info object has mpi_hw_resource_type and mpi_pset_name; it must have one")};
  const Ref<Group> members = group_of_set(set->c_str());
  const auto self = static_cast<uint32_t>(the_process->world_rank);
  if (!members || members->rank_of(self) == MPI_UNDEFINED) return {};
  return {number_of_set(set->c_str()), nullptr};
}

/// The largest resource that does not hold all members: collective.
Part next_finer(Communicator& comm, uint64_t number) {
  Communicator& asked = comm.inter() ? own_side(comm) : comm;
  std::vector<Place> places(static_cast<size_t>(comm.size()));
  Place& mine = places[static_cast<size_t>(comm.rank())];
  mine = place_here(the_process->boot->job().local_index);
  // Machines are told apart by their hosts, the parts of each by these.
  mine[0] = the_process->boot->node(the_process->world_rank);
  const int code = allgather(asked, places.data(), sizeof(Place), number);
  if (code != MPI_SUCCESS) return {MPI_UNDEFINED, nullptr, code};
  for (size_t i = 0; i < kResources.size(); ++i) {
    const auto differs = [&](const Place& other) {
      return other[i] != places[0][i] || other[0] != places[0][0];
    };
    const bool known = std::any_of(places.begin(), places.end(),
                                   [i](const Place& place) { return place[i] >= 0; });
    if (!known || std::none_of(places.begin(), places.end(), differs)) continue;
    if (mine[i] < 0) return {};
    return {color_on_host(i == 0 ? 0 : mine[i]), resource_name(i)};
  }
  return {};
}

Part part_of_type(Communicator& comm, int split_type, const core::Info* info) {
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      return shared_memory();
    case MPI_COMM_TYPE_HW_GUIDED:
      return named_resource(info);
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      return guided_by_resource(info);
    case MPI_COMM_TYPE_HW_UNGUIDED:
      return next_finer(comm, comm.next_derivation());
    case MPI_UNDEFINED:
      return {};
    default:
      return {MPI_UNDEFINED, nullptr,
              fail(MPI_ERR_ARG, "split_type is %d; it must be one of the MPI_COMM_TYPE_ constants",
                   split_type)};
  }
}

}  // namespace

int comm_split(Communicator& comm, int color, int key, MPI_Comm* newcomm) noexcept {
  if (color < 0 && color != MPI_UNDEFINED)
    return fail(MPI_ERR_ARG, "color is %d; it must be MPI_UNDEFINED or not negative", color);
  return attempt([&] { return split(comm, color, key, nullptr, newcomm); });
}

int comm_split_type(Communicator& comm, int split_type, int key, core::Info* info,
                    MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    const Part part = part_of_type(comm, split_type, info);
    if (part.code != MPI_SUCCESS) return part.code;
    const int code = split(comm, part.color, key, info, newcomm);
    if (code != MPI_SUCCESS || *newcomm == MPI_COMM_NULL || part.resource == nullptr) return code;
    Communicator& made = *the_process->handles.find<Communicator>(*newcomm);
    if (!made.info) made.info = Ref<core::Info>::adopt(new core::Info);
    made.info->set("mpi_hw_resource_type", part.resource);
    return code;
  });
}

}  // namespace tern::api
