// SPDX-License-Identifier: Apache-2.0
// Creation of communicators (MPI-5.0 section 7.4.2). Ids derive from the parent
// (core/communicator.hpp), so dup, idup, create and create_group send no message.
#include <string>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/comm_exchange.hpp"
#include "api/comm/intercomm.hpp"
#include "api/comm/streams.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"
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
  const bool with_twin = takes_twin(parent);  // taken before any local failure
  if (const int revoked = require_unrevoked(parent); revoked != MPI_SUCCESS) return revoked;
  Ref<Communicator> made = core::derive_communicator(parent, Ref<Group>(&parent.group()), id,
                                                     Ref<Group>(parent.remote_group()));
  made->topology = parent.topology;
  core::pass_on_learnt(parent, *made);
  int code = set_hints(*made, info);
  if (code != MPI_SUCCESS) return code;
  code = parent.attributes.copy_all(parent.handle(), made->attributes);
  if (code == MPI_SUCCESS) code = copy_stream(parent, *made, with_twin);
  if (code == MPI_SUCCESS) {
    publish(std::move(made), out);
    return code;
  }
  // The user gets the copy callback's error.
  (void)made->attributes.delete_all(parent.handle());
  return code;
}

/// A duplicate needs no message, so the request starts complete.
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

Failure check_subset(const Communicator& parent, const Group& group) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (parent.group().rank_of(group.peer_index(rank)) == MPI_UNDEFINED)
      return failure(MPI_ERR_GROUP, "rank %d of the group (of %d) is not a member of comm (of %d)",
                     rank, group.size(), parent.size());
  return {};
}

bool has_caller(const Communicator& parent, const Group& group) {
  return group.rank_of(parent.group().peer_index(parent.rank())) != MPI_UNDEFINED;
}

constexpr uint64_t kNoMembers = UINT64_MAX;  // replaces the members in a refusal

Ref<Group> copy_of(const Group& group) { return Ref<Group>::adopt(new Group(group)); }

/// On an inter-communicator, each rank 0 sends the group. A rank refusing the group still takes
/// part.
int create_sides(Communicator& parent, const Group& group, const Failure& refused, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  Words theirs;
  const int code = trade(parent, refused ? Words{kNoMembers} : members_of(group), &theirs, number);
  if (refused) return fail(refused);
  if (code != MPI_SUCCESS) return code;
  if (theirs == Words{kNoMembers})
    return fail(MPI_ERR_OTHER,
                "rank 0 of the other group takes no part; see the error of that rank");
  const auto id = core::derive_context(parent.id(), Derivation::kCreate, number, 0);
  return publish_sides(parent, copy_of(group), group_of(theirs.data(), theirs.size()), id, nullptr,
                       out);
}

}  // namespace

void refuse_create(Communicator& comm, int code) {
  if (!comm.inter()) {
    (void)comm.next_derivation();
    return;
  }
  MPI_Comm none = MPI_COMM_NULL;
  const Group empty(0, 1, 0);
  (void)create_sides(comm, empty, {code, {}}, &none);
}

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
    const Failure refused = check_subset(comm, group);
    if (comm.inter()) return create_sides(comm, group, refused, newcomm);
    const uint64_t number = comm.next_derivation();  // counted despite an error, as on other ranks
    if (refused) return fail(refused);
    *newcomm = MPI_COMM_NULL;
    if (const int revoked = require_unrevoked(comm); revoked != MPI_SUCCESS) return revoked;
    if (!has_caller(comm, group)) return MPI_SUCCESS;
    const int leader = comm.group().rank_of(group.peer_index(0));
    const auto id =
        core::derive_context(comm.id(), Derivation::kCreate, number, static_cast<uint64_t>(leader));
    Ref<Communicator> made = core::derive_communicator(comm, copy_of(group), id);
    core::pass_on_learnt(comm, *made);
    publish(std::move(made), newcomm);
    return MPI_SUCCESS;
  });
}

int comm_create_group(Communicator& comm, Group& group, int tag, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    if (const int code = require_intra(comm, "comm"); code != MPI_SUCCESS) return code;
    if (const Failure refused = check_subset(comm, group)) return fail(refused);
    *newcomm = MPI_COMM_NULL;
    if (!has_caller(comm, group)) return MPI_SUCCESS;
    const uint64_t digest = core::digest_members(comm, group, tag);
    const auto id = core::derive_context(comm.id(), Derivation::kCreateGroup,
                                         comm.next_creation(digest), digest);
    publish(core::derive_communicator(comm, copy_of(group), id), newcomm);
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api
