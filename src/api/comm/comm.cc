// SPDX-License-Identifier: Apache-2.0
// Queries of communicators: MPI-5.0 sections 7.4.1 and 7.8.
#include "api/comm/comm.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/group.hpp"
#include "mpix.h"
#include "pml/pml.hpp"

namespace tern::api {

namespace {

using core::Communicator;

void give_group(const Communicator& comm, const core::Group& members, MPI_Group* group) {
  auto copy = core::Ref<core::Group>::adopt(new core::Group(members));
  copy->session = comm.session;
  publish(std::move(copy), group);
}

void forget_context(Communicator& communicator) noexcept {
  if (core::FaultWatch* const faults = communicator.process().deaths.watch; faults != nullptr)
    faults->forget(communicator);
  communicator.channel().pml->remove_context(communicator);
}

}  // namespace

void join(Communicator& communicator) {
  communicator.channel().pml->add_context(communicator);
  communicator.ending = forget_context;
}

void publish(core::Ref<Communicator> communicator, MPI_Comm* handle, core::Channel* held) {
  core::Process& process = communicator->process();
  join(*communicator);
  *handle = reinterpret_cast<MPI_Comm>(process.handles.insert(*communicator));
  Communicator& made = *communicator.leak();
  if (process.deaths.watch != nullptr) process.deaths.watch->admit(made, held);
}

int require_intra(const Communicator& communicator, const char* what) noexcept {
  if (!communicator.inter()) return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "%s must be an intra-communicator, but is an inter-communicator", what);
}

int require_unrevoked(const Communicator& communicator) noexcept {
  core::Progress& progress = communicator.channel().progress;
  const core::ChannelLock lock(progress);
  if (communicator.process().deaths.tolerated()) progress.poll_for_caller();
  if (!communicator.fate.dead_locked() || communicator.fate.code() != MPIX_ERR_REVOKED)
    return MPI_SUCCESS;
  return communicator.fate.fail();
}

int comm_size(Communicator& comm, int* size) noexcept {
  *size = comm.size();
  return MPI_SUCCESS;
}

int comm_rank(Communicator& comm, int* rank) noexcept {
  *rank = comm.rank();
  return MPI_SUCCESS;
}

int comm_test_inter(Communicator& comm, int* flag) noexcept {
  *flag = comm.inter() ? 1 : 0;
  return MPI_SUCCESS;
}

int comm_remote_size(Communicator& comm, int* size) noexcept {
  if (!comm.inter())
    return fail(MPI_ERR_COMM, "comm is an intra-communicator without a remote group");
  *size = comm.remote_group()->size();
  return MPI_SUCCESS;
}

int comm_group(Communicator& comm, MPI_Group* group) noexcept {
  return attempt([&] {
    give_group(comm, comm.group(), group);
    return MPI_SUCCESS;
  });
}

int comm_remote_group(Communicator& comm, MPI_Group* group) noexcept {
  if (!comm.inter())
    return fail(MPI_ERR_COMM, "comm is an intra-communicator without a remote group");
  return attempt([&] {
    give_group(comm, *comm.remote_group(), group);
    return MPI_SUCCESS;
  });
}

int comm_compare(Communicator& comm1, Communicator& comm2, int* result) noexcept {
  if (&comm1 == &comm2) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  *result = MPI_UNEQUAL;
  if (comm1.inter() != comm2.inter()) return MPI_SUCCESS;
  int kind = core::group_compare(comm1.group(), comm2.group());
  if (kind != MPI_UNEQUAL && comm1.inter()) {
    const int remote = core::group_compare(*comm1.remote_group(), *comm2.remote_group());
    kind = remote == MPI_UNEQUAL ? MPI_UNEQUAL : remote == MPI_SIMILAR ? MPI_SIMILAR : kind;
  }
  *result = kind == MPI_IDENT ? MPI_CONGRUENT : kind;
  return MPI_SUCCESS;
}

int comm_set_name(Communicator& comm, const char* comm_name) noexcept {
  return attempt([&] {
    comm.name.set({comm_name, strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1)});
    return MPI_SUCCESS;
  });
}

int comm_get_name(Communicator* comm, char* comm_name, int* resultlen) noexcept {
  *resultlen =
      comm == nullptr ? core::copy_name("MPI_COMM_NULL", comm_name) : comm->name.copy(comm_name);
  return MPI_SUCCESS;
}

}  // namespace tern::api
