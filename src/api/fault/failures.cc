// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "fault tolerance" of mpix.h.
#include <sched.h>

#include <algorithm>
#include <new>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/group.hpp"
#include "api/fault/faults.hpp"
#include "api/form.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "base/relax.hpp"
#include "core/op.hpp"
#include "mpix.h"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using core::Group;
using core::Ref;

Faults& faults() noexcept { return static_cast<Faults&>(membership().runtime().faults()); }

bool is_member(const Communicator& comm, uint32_t peer) noexcept {
  return comm.group().rank_of(peer) != MPI_UNDEFINED ||
         (comm.inter() && comm.remote_group()->rank_of(peer) != MPI_UNDEFINED);
}

/// Of the first `most` deaths.
Ref<Group> failed_members(const Communicator& comm, uint32_t most) {
  const core::Deaths& deaths = comm.process().deaths;
  core::GroupBuilder builder;
  for (uint32_t i = 0; i < most; ++i)
    if (is_member(comm, deaths.at(i))) builder.add(deaths.at(i));
  return builder.finish();
}

int give_failed(Communicator& comm, uint32_t most, MPI_Group* group) {
  auto failed = failed_members(comm, most);
  failed->session = comm.session;
  publish(std::move(failed), group);
  return MPI_SUCCESS;
}

void acknowledge(Communicator& comm, uint32_t deaths) noexcept {
  const core::ChannelLock lock(comm.channel().progress);
  comm.ack(std::max(deaths, comm.acked()));
  if (!comm.lacks_ack()) comm.channel().pml->resume_pending(comm);
}

void poll(Communicator& comm) noexcept {
  core::Progress& progress = comm.channel().progress;
  const core::ChannelLock lock(progress);
  progress.poll_for_caller();
}

AgreeRequest* start(Communicator& comm, int* flag, MPI_Comm* newcomm) {
  const core::ChannelLock lock(comm.channel().progress);
  return faults().agreements().start(comm, flag, newcomm);
}

/// With more ranks than cores a yield is shorter than a round over all transports.
void look_briefly(const AgreeRequest& request) noexcept {
  constexpr int kSpins = 1000, kYields = 50;
  const bool yields = the_process->node.oversubscribed;
  for (int i = 0; i < (yields ? kYields : kSpins); ++i) {
    (void)faults().agreements().poll(*request.channel);
    if (request.done()) return;
    if (yields)
      ::sched_yield();
    else
      relax();
  }
}

int wait_for(AgreeRequest& request) noexcept {
  core::Progress& progress = request.channel->progress;
  {
    const core::ChannelLock lock(progress);
    look_briefly(request);
    progress.wait([&] { return request.done(); },
                  [&](WaitReport* report) { request.describe(report); });
  }
  const int code = request.outcome.error;
  if (code != MPI_SUCCESS) (void)fail(code, "%s", request.error_text->c_str());
  request.release();
  return code;
}

void give(AgreeRequest& request, MPI_Request* handle) {
  *handle = reinterpret_cast<MPI_Request>(the_process->handles.insert(request));
}

int agree_without_faults(Communicator& comm, int* flag, Form form) {
  core::Datatype& type = core::predefined_type(*the_process, MPI_INT);
  const core::Op& op = core::predefined_op(*the_process, Reduction::kBand);
  return allreduce(MPI_IN_PLACE, flag, 1, type, const_cast<core::Op&>(op),
                   faults().agreements().plain(comm), form);
}

int shrink_without_faults(Communicator& comm, MPI_Comm* newcomm) {
  const auto id = core::derive_context(comm.id(), core::Derivation::kShrink,
                                       faults().agreements().next_plain(comm), 0);
  publish(core::derive_communicator(comm, Ref<Group>(&comm.group()), id,
                                    Ref<Group>(comm.remote_group())),
          newcomm);
  return MPI_SUCCESS;
}

class DoneShrink final : public core::Request {
 public:
  DoneShrink() {
    complete();
    the_process->handles.insert(*this);
  }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    delete this;
  }
};

}  // namespace

int comm_revoke(Communicator& comm) noexcept {
  const core::ChannelLock lock(comm.channel().progress);
  faults().revoke(comm);
  comm.channel().progress.poll();
  return MPI_SUCCESS;
}

int comm_is_revoked(Communicator& comm, int* flag) noexcept {
  const auto is_revoked = [&] { return comm.fate.dead() && comm.fate.code() == MPIX_ERR_REVOKED; };
  if (!is_revoked()) poll(comm);
  *flag = is_revoked() ? 1 : 0;
  return MPI_SUCCESS;
}

int comm_agree(Communicator& comm, int* flag) noexcept {
  return attempt([&] {
    if (!faults().tolerated()) return agree_without_faults(comm, flag, {});
    return wait_for(*start(comm, flag, nullptr));
  });
}

int comm_iagree(Communicator& comm, int* flag, MPI_Request* request) noexcept {
  return attempt([&] {
    if (!faults().tolerated())
      return agree_without_faults(comm, flag, {Form::Kind::kNonblocking, request});
    give(*start(comm, flag, nullptr), request);
    return MPI_SUCCESS;
  });
}

int comm_shrink(Communicator& comm, MPI_Comm* newcomm) noexcept {
  return attempt([&] {
    if (!faults().tolerated()) return shrink_without_faults(comm, newcomm);
    return wait_for(*start(comm, nullptr, newcomm));
  });
}

int comm_ishrink(Communicator& comm, MPI_Comm* newcomm, MPI_Request* request) noexcept {
  return attempt([&] {
    if (!faults().tolerated()) {
      const int code = shrink_without_faults(comm, newcomm);
      if (code == MPI_SUCCESS) *request = reinterpret_cast<MPI_Request>((new DoneShrink)->handle());
      return code;
    }
    give(*start(comm, nullptr, newcomm), request);
    return MPI_SUCCESS;
  });
}

int comm_get_failed(Communicator& comm, MPI_Group* failedgrp) noexcept {
  return attempt([&] {
    poll(comm);
    return give_failed(comm, comm.process().deaths.count(), failedgrp);
  });
}

int comm_ack_failed(Communicator& comm, int num_to_ack, int* num_acked) noexcept {
  if (num_to_ack < 0)
    return fail(MPI_ERR_ARG, "num_to_ack is %d, but must be 0 or more", num_to_ack);
  poll(comm);
  const core::Deaths& deaths = comm.process().deaths;
  const uint32_t count = deaths.count();
  uint32_t prefix = 0;
  for (int acked = 0; prefix < count; ++prefix)
    if (is_member(comm, deaths.at(prefix)) && acked++ == num_to_ack) break;
  acknowledge(comm, prefix);
  *num_acked = 0;
  for (uint32_t i = 0; i < comm.acked(); ++i) *num_acked += is_member(comm, deaths.at(i)) ? 1 : 0;
  return MPI_SUCCESS;
}

int comm_failure_ack(Communicator& comm) noexcept {
  poll(comm);
  acknowledge(comm, comm.process().deaths.count());
  return MPI_SUCCESS;
}

int comm_failure_get_acked(Communicator& comm, MPI_Group* failedgrp) noexcept {
  return attempt([&] { return give_failed(comm, comm.acked(), failedgrp); });
}

}  // namespace tern::api
