// SPDX-License-Identifier: Apache-2.0
// The end of communicators: MPI-5.0 section 7.4.3.
#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/streams.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "api/pt2pt/send_buffer.hpp"
#include "coll/coll.hpp"
#include "core/attribute.hpp"
#include "core/communicator.hpp"

namespace tern::api {

int comm_free(MPI_Comm* comm) noexcept {
  core::Process& process = *the_process;
  auto* found = process.handles.find<core::Communicator>(*comm);
  if (found->predefined())
    return fail(MPI_ERR_COMM, "%s cannot be freed; free only communicators created by the program",
                found->name.text().c_str());
  const int code = found->attributes.delete_all(found->handle());
  if (code != MPI_SUCCESS) return code;
  end_send_buffer(found);
  end_stream(*found);
  found->channel().coll->refusals().freeing(*found);
  *comm = MPI_COMM_NULL;
  process.handles.erase(*found);
  const core::ChannelLock lock(found->channel().progress);
  found->free();
  return MPI_SUCCESS;
}

int comm_disconnect(MPI_Comm* comm) noexcept {
  auto* found = the_process->handles.find<core::Communicator>(*comm);
  if (found->predefined())
    return fail(MPI_ERR_COMM,
                "%s cannot be disconnected; disconnect only communicators created by the program",
                found->name.text().c_str());
  {
    core::Progress& progress = found->channel().progress;
    const core::ChannelLock lock(progress);
    progress.wait([found] { return found->pending == found->kept; },
                  [found](WaitReport* report) {
                    report->words +=
                        strf("the end of %d operations on %s", found->pending - found->kept,
                             found->name.or_words("the communicator").c_str());
                  });
  }
  if (found->strangers.empty()) return comm_free(comm);
  return attempt([&] {
    const std::vector<uint32_t> strangers = found->strangers;
    const int code = comm_free(comm);
    if (code == MPI_SUCCESS)
      membership().runtime().part(the_process->worlds.take_unheld(strangers));
    return code;
  });
}

}  // namespace tern::api
