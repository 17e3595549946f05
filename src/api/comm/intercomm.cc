// SPDX-License-Identifier: Apache-2.0
// Inter-communicators (MPI-5.0 section 7.6). The leaders exchange one message and broadcast to
// their groups; both groups compute the context id.
#include "api/comm/intercomm.hpp"

#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/meeting.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "base/digest.hpp"

namespace tern::api {

namespace {
constexpr size_t kNameWords = 2;  // of a member: world and rank
constexpr uint64_t kUnreached = UINT64_MAX - 1;
}  // namespace

using core::Communicator;
using core::ContextId;
using core::Derivation;
using core::Group;
using core::Ref;

Communicator& own_side(Communicator& inter) {
  if (!inter.side) {
    const auto id = core::derive_context(inter.id(), Derivation::kSide, 0, 0);
    Ref<Communicator> made = core::derive_communicator(inter, Ref<Group>(&inter.group()), id);
    join(*made);
    inter.side = std::move(made);
  }
  return *inter.side;
}

int trade(Communicator& inter, const Words& ours, Words* theirs, uint64_t number) {
  Communicator& side = own_side(inter);
  int code = MPI_SUCCESS;
  if (inter.rank() == 0) {
    constexpr int kTag = 0;  // a constant tag suffices, because both groups trade in the same order
    code = swap(inter, 0, ours, theirs, kTag, Needs::kAllMembers);
    if (code != MPI_SUCCESS) *theirs = {kUnreached, static_cast<uint64_t>(code)};
  }
  const int told = broadcast(side, 0, theirs, number);
  if (code != MPI_SUCCESS || told != MPI_SUCCESS) return code != MPI_SUCCESS ? code : told;
  if (theirs->size() != 2 || theirs->front() != kUnreached) return MPI_SUCCESS;
  return fail(static_cast<int>(theirs->back()),
              "rank 0 of the local group could not reach the remote group");
}

Words members_of(const Group& group) {
  Words members;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto name = the_process->worlds.name_of(group.peer_index(rank));
    members.insert(members.end(), {name.world, name.rank});
  }
  return members;
}

Ref<Group> group_of(const uint64_t* members, size_t count) {
  core::GroupBuilder builder;
  for (size_t i = 0; i + 1 < count; i += kNameWords) {
    const core::ProcessName name{members[i], static_cast<uint32_t>(members[i + 1])};
    const auto index = the_process->worlds.find(name);
    if (!index)
      throw Error(MPI_ERR_COMM,
                  strf("rank %u of another world is a member, but this process has never been "
                       "connected to that world; connect the worlds by a port first",
                       name.rank));
    builder.add(*index);
  }
  return builder.finish();
}

int publish_sides(Communicator& parent, Ref<Group> own, Ref<Group> remote, ContextId id,
                  const core::Info* info, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  const uint32_t self = parent.group().peer_index(parent.rank());
  if (remote->size() == 0 || own->rank_of(self) == MPI_UNDEFINED) return MPI_SUCCESS;
  auto made = core::derive_communicator(parent, std::move(own), id, std::move(remote));
  const int code = set_hints(*made, info);
  if (code == MPI_SUCCESS) publish(std::move(made), out);
  return code;
}

namespace {

/// A leader's message holds its derived id, then the members.
constexpr size_t kIdWords = 2;
Words introduction_of(ContextId id, const Group& group) {
  Words introduction{id.creator, id.counter};
  for (const uint64_t member : members_of(group)) introduction.push_back(member);
  return introduction;
}
ContextId id_on(const Words& introduction) {
  return {introduction[0], static_cast<uint32_t>(introduction[1])};
}
Ref<Group> group_on(const Words& introduction) {
  return group_of(introduction.data() + kIdWords, introduction.size() - kIdWords);
}

int check_disjoint(const Group& own, const Group& remote, int error_class) {
  for (int rank = 0; rank < remote.size(); ++rank) {
    const int both = own.rank_of(remote.peer_index(rank));
    if (both != MPI_UNDEFINED)
      return fail(error_class,
                  "rank %d of the local group is also rank %d of the remote group, but the groups "
                  "of an inter-communicator must be disjoint",
                  both, rank);
  }
  return MPI_SUCCESS;
}

int check_tag(int tag) {
  return tag >= 0 ? MPI_SUCCESS : fail(MPI_ERR_TAG, "tag is %d, but must be 0 or greater", tag);
}

int meet(const Communicator& own, MPI_Comm bridge, int remote_leader, int tag,
         const Words& introduction, Words* theirs) {
  if (const int wrong = check_tag(tag); wrong != MPI_SUCCESS) return wrong;
  auto* peer = the_process->handles.find<Communicator>(bridge);
  if (peer == nullptr)
    return fail(MPI_ERR_COMM, "peer_comm is not a communicator on the local leader (rank %d)",
                own.rank());
  if (remote_leader < 0 || remote_leader >= peer->peer_count())
    return fail(MPI_ERR_RANK, "remote_leader is %d, but peer_comm has ranks 0..%d", remote_leader,
                peer->peer_count() - 1);
  if (!peer->inter() && remote_leader == peer->rank())
    return fail(MPI_ERR_RANK, "remote_leader is %d, the local leader itself", remote_leader);
  return swap(*peer, remote_leader, introduction, theirs, tag, Needs::kPartner);
}

/// Equal on both sides.
bool has_several_worlds(const Group& own, const Words& introduction) {
  const uint64_t first = introduction[kIdWords];
  const Words members = members_of(own);
  for (size_t i = 0; i < members.size(); i += kNameWords)
    if (members[i] != first) return true;
  for (size_t i = kIdWords; i < introduction.size(); i += kNameWords)
    if (introduction[i] != first) return true;
  return false;
}

/// The leaders pass on the connection infos over the bridge.
int introduce(Communicator& own, int leader, MPI_Comm bridge, int remote_leader, int tag,
              Met* met) {
  const Swap over_bridge = [&](const std::string& text) {
    Words in;
    auto* const peer = the_process->handles.find<Communicator>(bridge);
    const int code = swap(*peer, remote_leader, pack_text(text), &in, tag, Needs::kPartner);
    if (code != MPI_SUCCESS) throw Error(code, take_last_error().text);
    return unpack_text(in);
  };
  return meet_group(own, leader, over_bridge, met);
}

int check_leader(int leader, const char* name, int size) {
  if (leader >= 0 && leader < size) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "%s is %d, but its group has ranks 0..%d", name, leader, size - 1);
}

// Whether this group comes first in MPI_Intercomm_merge; with equal `high`, the peer index of rank
// 0 decides.
bool comes_first(const Communicator& inter, bool high, bool theirs) {
  if (high != theirs) return !high;
  const auto first = [](const Group& group) {
    return the_process->worlds.name_of(group.peer_index(0));
  };
  return first(inter.group()) < first(*inter.remote_group());
}

}  // namespace

int intercomm_create(Communicator& local_comm, int local_leader, MPI_Comm peer_comm,
                     int remote_leader, int tag, MPI_Comm* newintercomm) noexcept {
  return attempt([&] {
    int code = require_intra(local_comm, "local_comm of MPI_Intercomm_create");
    if (code == MPI_SUCCESS) code = check_leader(local_leader, "local_leader", local_comm.size());
    if (code != MPI_SUCCESS) return code;
    const uint64_t number = local_comm.next_derivation();
    const auto own = core::derive_context(local_comm.id(), Derivation::kMeet, number, 0);
    Words theirs;
    int met = MPI_SUCCESS;
    if (local_comm.rank() == local_leader) {
      const Words introduction = introduction_of(own, local_comm.group());
      met = meet(local_comm, peer_comm, remote_leader, tag, introduction, &theirs);
      if (met != MPI_SUCCESS) theirs.clear();  // an empty message means failure
    }
    code = broadcast(local_comm, local_leader, &theirs, number);
    if (met != MPI_SUCCESS) return met;
    if (code == MPI_SUCCESS) code = check_tag(tag);  // after the exchange: no rank waits
    if (code != MPI_SUCCESS) return code;
    if (theirs.size() <= kIdWords)
      return fail(MPI_ERR_COMM, "the local leader (rank %d) could not reach the remote leader",
                  local_leader);
    Met met_now;
    met_now.id = core::meet_contexts(own, id_on(theirs));
    if (has_several_worlds(local_comm.group(), theirs)) {
      code = introduce(local_comm, local_leader, peer_comm, remote_leader, tag, &met_now);
      if (code != MPI_SUCCESS) return code;
    }
    Ref<Group> remote = group_on(theirs);
    code = check_disjoint(local_comm.group(), *remote, MPI_ERR_COMM);
    if (code != MPI_SUCCESS) return code;
    code = publish_sides(local_comm, Ref<Group>(&local_comm.group()), std::move(remote), met_now.id,
                         nullptr, newintercomm);
    if (code == MPI_SUCCESS)
      the_process->handles.find<Communicator>(*newintercomm)->apart = met_now.apart;
    if (met_now.remote) release(*met_now.remote);
    return code;
  });
}

int intercomm_merge(Communicator& intercomm, int high, MPI_Comm* newintracomm) noexcept {
  if (!intercomm.inter())
    return fail(MPI_ERR_COMM, "intercomm is an intra-communicator; there is nothing to merge");
  return attempt([&] {
    const uint64_t number = intercomm.next_derivation();
    Words theirs;
    const int code = trade(intercomm, {high != 0 ? 1U : 0U}, &theirs, number);
    if (code != MPI_SUCCESS) return code;
    const bool first = comes_first(intercomm, high != 0, theirs[0] != 0);
    const Group& low = first ? intercomm.group() : *intercomm.remote_group();
    const Group& rest = first ? *intercomm.remote_group() : intercomm.group();
    const auto id = core::derive_context(intercomm.id(), Derivation::kMerge, number, 0);
    publish(core::derive_communicator(intercomm, core::group_union(low, rest), id), newintracomm);
    return MPI_SUCCESS;
  });
}

namespace {

uint64_t digest_sides(const Communicator& world, const Group& own, int own_leader,
                      const Group& remote, int remote_leader, uint64_t tag) {
  const auto side = [&](const Group& group, int leader) {
    return core::digest_members(world, group, leader);
  };
  return (side(own, own_leader) + side(remote, remote_leader)) ^ tag;
}

int check_own_side(const Communicator& world, const Group& own, int leader) {
  if (own.rank_of(world.group().peer_index(world.rank())) == MPI_UNDEFINED)
    return fail(MPI_ERR_GROUP, "the calling process is not a member of local_group (of %d)",
                own.size());
  return check_leader(leader, "local_leader", own.size());
}

/// The leader's part of MPI_Intercomm_create_from_groups waits until all remote members have
/// entered the job. The leader needs no message, because both leaders know both groups.
int meet_groups(Communicator& world, const Group& own, int own_leader, MPI_Group remote_group,
                int remote_leader, uint64_t tag, Words* introduction) {
  const auto* remote = the_process->handles.find<Group>(remote_group);
  if (remote == nullptr || remote->size() == 0)
    return fail(MPI_ERR_GROUP, "remote_group is %s on the local leader",
                remote == nullptr ? "no group" : "empty");
  int code = check_leader(remote_leader, "remote_leader", remote->size());
  if (code == MPI_SUCCESS) code = check_disjoint(own, *remote, MPI_ERR_GROUP);
  if (code != MPI_SUCCESS) return code;
  membership().await(*remote);
  const uint64_t digest = digest_sides(world, own, own_leader, *remote, remote_leader, tag);
  const auto id =
      core::derive_context(world.id(), Derivation::kMeet, world.next_creation(digest), digest);
  *introduction = introduction_of(id, *remote);
  return MPI_SUCCESS;
}

int learn_remote(const Group& own, int leader, MPI_Group remote, int remote_leader,
                 const char* stringtag, Words* introduction) {
  Communicator& world = *the_process->world;
  Ref<Communicator> side = from_group(own, stringtag, Derivation::kSide);
  join(*side);
  int met = MPI_SUCCESS;
  if (side->rank() == leader)
    met = meet_groups(world, own, leader, remote, remote_leader, digest_text(stringtag),
                      introduction);
  const int code = broadcast(*side, leader, introduction, side->next_derivation());
  {
    core::Progress& progress = side->channel().progress;
    const core::ChannelLock lock(progress);
    side.leak()->end();
  }
  if (met != MPI_SUCCESS || code != MPI_SUCCESS) return met != MPI_SUCCESS ? met : code;
  if (!introduction->empty()) return MPI_SUCCESS;
  return fail(MPI_ERR_GROUP, "the local leader (rank %d) has an invalid remote group", leader);
}

}  // namespace

int intercomm_create_from_groups(Group& local_group, int local_leader, MPI_Group remote_group,
                                 int remote_leader, const char* stringtag, core::Info* info,
                                 core::ErrorHandler& errhandler, MPI_Comm* newintercomm) noexcept {
  Communicator& world = *the_process->world;
  *newintercomm = MPI_COMM_NULL;
  if (!errhandler.fits(core::Kind::kCommunicator))
    return fail(MPI_ERR_ERRHANDLER, "errhandler was not made for a communicator");
  if (const int code = check_stringtag(stringtag); code != MPI_SUCCESS) return code;
  return attempt([&] {
    int code = check_own_side(world, local_group, local_leader);
    if (code != MPI_SUCCESS) return code;
    Words introduction;
    code = learn_remote(local_group, local_leader, remote_group, remote_leader, stringtag,
                        &introduction);
    if (code != MPI_SUCCESS) return code;
    auto made = core::derive_communicator(world, Ref<Group>::adopt(new Group(local_group)),
                                          id_on(introduction), group_on(introduction));
    made->error_handler = Ref<core::ErrorHandler>(&errhandler);
    made->session = local_group.session;
    code = set_hints(*made, info);
    if (code == MPI_SUCCESS) publish(std::move(made), newintercomm);
    return code;
  });
}

}  // namespace tern::api
