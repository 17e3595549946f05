// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split and MPI_Comm_split_type: MPI-5.0 section 7.4.2.
#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/comm_exchange.hpp"
#include "api/comm/intercomm.hpp"
#include "api/job/hardware.hpp"
#include "api/job/runtime.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"
#include "boot/boot.hpp"
#include "core/slabs.hpp"

namespace tern::api {

namespace {

using core::Communicator;
using core::Derivation;
using core::Group;
using core::Ref;

/// A member's vote. A refusing member votes kRefused with its error class.
struct Ballot {
  int color, key;
};
constexpr int kRefused = INT_MIN;
static_assert(kRefused != MPI_UNDEFINED);

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

int check_refusals(const std::vector<Ballot>& ballots, const char* whose) {
  for (size_t rank = 0; rank < ballots.size(); ++rank)
    if (ballots[rank].color == kRefused)
      return fail(ballots[rank].key, "rank %zu%s takes no part; see the error of that rank", rank,
                  whose);
  return MPI_SUCCESS;
}

static_assert(sizeof(Ballot) == sizeof(Words::value_type));

int chosen_there(Communicator& parent, const std::vector<Ballot>& ours, int color, uint64_t number,
                 Ref<Group>* out) {
  Words mine(ours.size()), theirs;
  std::memcpy(mine.data(), ours.data(), ours.size() * sizeof ours[0]);
  const int code = trade(parent, mine, &theirs, number);
  if (code != MPI_SUCCESS) return code;
  std::vector<Ballot> ballots(theirs.size());
  std::memcpy(ballots.data(), theirs.data(), theirs.size() * sizeof theirs[0]);
  *out = chosen(*parent.remote_group(), ballots.data(), color);
  return check_refusals(ballots, " of the other group");
}

Communicator& asked_in(Communicator& parent) { return parent.inter() ? own_side(parent) : parent; }

int make_part(Communicator& parent, const std::vector<Ballot>& ballots, uint64_t number,
              const core::Info* info, MPI_Comm* out) {
  const int color = ballots[static_cast<size_t>(parent.rank())].color;
  Ref<Group> remote;
  int code = check_refusals(ballots, "");
  if (parent.inter()) {
    const int there = chosen_there(parent, ballots, color, number, &remote);
    if (code == MPI_SUCCESS) code = there;
  }
  *out = MPI_COMM_NULL;
  if (code != MPI_SUCCESS || color == MPI_UNDEFINED) return code;
  const auto id =
      core::derive_context(parent.id(), Derivation::kSplit, number, static_cast<uint64_t>(color));
  Ref<Group> own = chosen(parent.group(), ballots.data(), color);
  if (parent.inter())
    return publish_sides(parent, std::move(own), std::move(remote), id, info, out);
  Ref<Communicator> made = core::derive_communicator(parent, std::move(own), id);
  core::pass_on_learnt(parent, *made);
  code = set_hints(*made, info);
  if (code == MPI_SUCCESS) publish(std::move(made), out);
  return code;
}

int own_first(const Failure& own, int common) { return own ? fail(own) : common; }

/// Every member takes part, even after an error.
int split(Communicator& parent, int color, int key, const Failure& refused, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  std::vector<Ballot> ballots(static_cast<size_t>(parent.size()));
  ballots[static_cast<size_t>(parent.rank())] =
      refused ? Ballot{kRefused, refused.code} : Ballot{color, key};
  int code = allgather(asked_in(parent), ballots.data(), sizeof(Ballot), number);
  if (code == MPI_SUCCESS) code = make_part(parent, ballots, number, nullptr, out);
  return own_first(refused, code);
}

struct SplitResult {
  int color = MPI_UNDEFINED;
  const char* resource = nullptr;
  Failure refused;
};

int color_on_host(int host, int number) {
  constexpr int kPartsOfHost = 4096;
  return host * kPartsOfHost + number % kPartsOfHost;
}

/// With strangers: the lowest rank in `parent` with memory shared.
int lowest_sharing(const Communicator& parent) {
  for (int rank = 0; rank < parent.rank(); ++rank)
    if (parent.shares_memory_with(rank)) return rank;
  return parent.rank();
}

/// Ranks of a host and world have the same number. With strangers: the lowest rank in `parent`.
int host_in(const Communicator& parent) {
  const int own = the_process->boot->node(the_process->world_rank);
  if (parent.strangers.empty()) return own;
  for (int rank = 0; rank < parent.rank(); ++rank)
    if (node_of(*the_process, parent.peer(rank)) == own) return rank;
  return parent.rank();
}

/// The color is the host's lowest rank with memory shared by MPI_Win_allocate_shared.
SplitResult shared_memory(const Communicator& parent) {
  if (!parent.strangers.empty()) return {lowest_sharing(parent), "mpi_shared_memory", {}};
  const core::Slabs* const slabs = parent.channel().slabs;
  for (const int rank : the_process->boot->local_ranks())
    if (rank != the_process->world_rank && slabs != nullptr &&
        slabs->reaches(the_process->peer(static_cast<uint32_t>(rank))))
      return {std::min(rank, the_process->world_rank), "mpi_shared_memory", {}};
  return {the_process->world_rank, "mpi_shared_memory", {}};
}

/// Returns an empty result if the hint or resource is unknown.
SplitResult named_resource(const Communicator& parent, const core::Info* info) {
  const auto wanted = info == nullptr ? std::nullopt : info->get("mpi_hw_resource_type");
  if (!wanted) return {};
  if (*wanted == "mpi_shared_memory") return shared_memory(parent);
  const int resource = find_resource(*wanted);
  if (resource < 0) return {};
  const auto at = static_cast<size_t>(resource);
  const int number = place_here(the_process->boot->job().local_index)[at];
  if (number < 0) return {};
  return {color_on_host(host_in(parent), number), resource_name(at), {}};
}

SplitResult guided_by_resource(const Communicator& parent, const core::Info* info) {
  const auto set = info == nullptr ? std::nullopt : info->get("mpi_pset_name");
  if (!set) return named_resource(parent, info);
  if (info->get("mpi_hw_resource_type"))
    return {
        MPI_UNDEFINED, nullptr,
        failure(MPI_ERR_INFO,
                "the info object has both mpi_hw_resource_type and mpi_pset_name; set only one")};
  const Ref<Group> members = group_of_set(set->c_str());
  const auto self = static_cast<uint32_t>(the_process->world_rank);
  if (!members || members->rank_of(self) == MPI_UNDEFINED) return {};
  return {number_of_set(set->c_str()), nullptr, {}};
}

/// A vote in a split by type. Even a vote for MPI_UNDEFINED carries data, because types of other
/// ranks are unknown.
struct TypeBallot {
  Ballot ballot;
  int type, reserved;
  CpuLocation place;
};

bool splits_unguided(const TypeBallot& one) { return one.type == MPI_COMM_TYPE_HW_UNGUIDED; }

/// Returns the largest resource that divides the members splitting unguided, or kResources.size().
size_t next_finer(const std::vector<TypeBallot>& all) {
  const auto first = std::find_if(all.begin(), all.end(), splits_unguided);
  if (first == all.end()) return kResources.size();
  for (size_t i = 0; i < kResources.size(); ++i) {
    const auto differs = [&](const TypeBallot& other) {
      return splits_unguided(other) &&
             (other.place[i] != first->place[i] || other.place[0] != first->place[0]);
    };
    const bool known = std::any_of(all.begin(), all.end(), [i](const TypeBallot& one) {
      return splits_unguided(one) && one.place[i] >= 0;
    });
    if (known && std::any_of(all.begin(), all.end(), differs)) return i;
  }
  return kResources.size();
}

int color_in(const CpuLocation& place, size_t resource) {
  if (resource == kResources.size() || place[resource] < 0) return MPI_UNDEFINED;
  return color_on_host(place[0], resource == 0 ? 0 : place[resource]);
}

Failure check_types(const std::vector<TypeBallot>& all) {
  const auto votes = [](const TypeBallot& one) { return one.type != MPI_UNDEFINED; };
  const auto first = std::find_if(all.begin(), all.end(), votes);
  for (auto at = first; at != all.end(); ++at)
    if (votes(*at) && at->type != first->type && at->ballot.color != kRefused &&
        first->ballot.color != kRefused)
      return failure(
          MPI_ERR_ARG,
          "split_type is %d on rank %d, but %d on rank %d; pass the same value or MPI_UNDEFINED",
          first->type, static_cast<int>(first - all.begin()), at->type,
          static_cast<int>(at - all.begin()));
  return {};
}

SplitResult part_of_type(const Communicator& parent, int split_type, const core::Info* info) {
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      return shared_memory(parent);
    case MPI_COMM_TYPE_HW_GUIDED:
      return named_resource(parent, info);
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      return guided_by_resource(parent, info);
    case MPI_COMM_TYPE_HW_UNGUIDED:
    case MPI_UNDEFINED:
      return {};
    default:
      return {MPI_UNDEFINED, nullptr,
              failure(MPI_ERR_ARG, "split_type is %d, but must be an MPI_COMM_TYPE_ constant",
                      split_type)};
  }
}

TypeBallot ballot_of(const Communicator& parent, int split_type, int key, const SplitResult& part) {
  TypeBallot mine{};
  mine.ballot = part.refused ? Ballot{kRefused, part.refused.code} : Ballot{part.color, key};
  mine.type = split_type;
  if (!splits_unguided(mine)) return mine;
  mine.place = place_here(the_process->boot->job().local_index);
  mine.place[0] = host_in(parent);
  return mine;
}

int split_by_type(Communicator& parent, int split_type, int key, const core::Info* info,
                  SplitResult* part, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  std::vector<TypeBallot> all(static_cast<size_t>(parent.size()));
  all[static_cast<size_t>(parent.rank())] = ballot_of(parent, split_type, key, *part);
  if (const int code = allgather(asked_in(parent), all.data(), sizeof(TypeBallot), number);
      code != MPI_SUCCESS)
    return code;
  const size_t resource = next_finer(all);
  const Failure wrong = check_types(all);
  std::vector<Ballot> ballots;
  for (const TypeBallot& one : all) {
    ballots.push_back(one.ballot);
    if (splits_unguided(one) && one.ballot.color != kRefused)
      ballots.back().color = color_in(one.place, resource);
    if (wrong) ballots.back() = {kRefused, wrong.code};
  }
  if (split_type == MPI_COMM_TYPE_HW_UNGUIDED && resource < kResources.size())
    part->resource = resource_name(resource);
  return own_first(wrong, make_part(parent, ballots, number, info, out));
}

}  // namespace

void refuse_split(Communicator& comm, bool by_type, int code) {
  MPI_Comm none = MPI_COMM_NULL;
  SplitResult part{MPI_UNDEFINED, nullptr, {code, {}}};
  (void)(by_type ? split_by_type(comm, MPI_UNDEFINED, 0, nullptr, &part, &none)
                 : split(comm, MPI_UNDEFINED, 0, {code, {}}, &none));
}

int comm_split(Communicator& comm, int color, int key, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    const bool good = color >= 0 || color == MPI_UNDEFINED;
    Failure refused;
    if (!good)
      refused =
          failure(MPI_ERR_ARG, "color is %d, but must be MPI_UNDEFINED or not negative", color);
    return split(comm, color, key, refused, newcomm);
  });
}

int comm_split_type(Communicator& comm, int split_type, int key, core::Info* info,
                    MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    SplitResult part = part_of_type(comm, split_type, info);
    if (!part.refused) part.refused = check_hints(info);
    const int code =
        own_first(part.refused, split_by_type(comm, split_type, key, info, &part, newcomm));
    if (code != MPI_SUCCESS || *newcomm == MPI_COMM_NULL || part.resource == nullptr) return code;
    Communicator& made = *the_process->handles.find<Communicator>(*newcomm);
    if (!made.info) made.info = Ref<core::Info>::adopt(new core::Info);
    made.info->set("mpi_hw_resource_type", part.resource);
    // The standard sets the caller's info object too, except MPI_INFO_ENV.
    if (split_type == MPI_COMM_TYPE_HW_UNGUIDED && info != nullptr && !info->predefined())
      info->set("mpi_hw_resource_type", part.resource);
    return code;
  });
}

}  // namespace tern::api
