// SPDX-License-Identifier: Apache-2.0
// Where the kernel does not copy between processes what a program can read and write itself
// (mappings of devices, secret memory): found out when a message is matched already.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {

// The sender is asked to begin again, in fragments. Of a peer that has died the launcher knows why,
// and says so first.
void P2p::copy_failed(RecvRequest& request, int error) noexcept {
  Transfer& transfer = request.transfer;
  if (error == ESRCH) {
    constexpr useconds_t kLauncherFirst = 200'000;
    ::usleep(kLauncherFirst);
    delete request.error_text;  // it may be one about truncation
    request.error_text = new std::string(
        strf("rank %d has died while it sent %zu bytes", request.outcome.source, transfer.bytes));
    return tell_done(request, MPI_ERR_PROC_ABORTED);
  }
  if (!copy_failed_) explain_copy_failed(request, error);
  copy_failed_ = true;
  transfer.claims = nullptr;
  transfer.stage.reset();
  transfer.moved = 0;
  receive_pipeline(request);
}

void P2p::explain_copy_failed(const RecvRequest& request, int error) const noexcept {
  const core::Peer& peer = *request.peer->peer;
  process_.explain.warn(
      "fallback", {{"peer", peer.rank}, {"what", "two copies"}, {"why", std::strerror(error)}},
      strf("a message of %zu bytes from rank %u takes two copies: the kernel does not copy its "
           "buffer, or this rank's, between processes (%s), as with mappings of devices. Cure: "
           "buffers in ordinary memory",
           request.transfer.bytes, peer.rank, std::strerror(error)));
}

}  // namespace tern::pml
