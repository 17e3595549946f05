// SPDX-License-Identifier: Apache-2.0
#include "rma/open_accesses.hpp"

namespace tern::rma {

int OpenAccesses::finish_far(int target, bool local) noexcept {
  if (TERN_UNLIKELY(log != nullptr) && !local) return finish_logged(target);
  if (messages != nullptr) return messages->finish(target, local);
  look_around();
  return MPI_SUCCESS;
}

int OpenAccesses::finish_logged(int target) noexcept {
  const int code = messages == nullptr ? MPI_SUCCESS : messages->finish(target, false);
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
