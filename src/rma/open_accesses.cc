// SPDX-License-Identifier: Apache-2.0
#include "rma/open_accesses.hpp"

namespace tern::rma {

/// Both flushes travel at the same time.
int OpenAccesses::finish_remote(int target, bool local) noexcept {
  if (network != nullptr && !local) network->begin_flush(target);
  const int code = messages == nullptr ? MPI_SUCCESS : messages->finish(target, local);
  const int rest = network == nullptr ? MPI_SUCCESS : network->finish(target, local);
  return code != MPI_SUCCESS ? code : rest;
}

int OpenAccesses::finish_before_notice() noexcept {
  const int code = network == nullptr ? MPI_SUCCESS : network->finish(-1, false);
  const int rest = finish(-1, true);
  return code != MPI_SUCCESS ? code : rest;
}

int OpenAccesses::finish_far(int target, bool local) noexcept {
  if (TERN_UNLIKELY(log != nullptr) && !local) return finish_logged(target);
  if (messages != nullptr) return finish_remote(target, local);
  look_around();
  return MPI_SUCCESS;
}

int OpenAccesses::finish_logged(int target) noexcept {
  const int code = finish_remote(target, false);
  log->end(target);
  poll();
  return code;
}

void OpenAccesses::poll() noexcept {
  calls_.store(0, std::memory_order_relaxed);
  const core::ChannelLock lock(targets_.progress());
  (void)targets_.progress().poll_for_caller();
}

}  // namespace tern::rma
