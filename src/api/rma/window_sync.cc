// SPDX-License-Identifier: Apache-2.0
// Synchronisation of windows: MPI-5.0 section 12.5.
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/group.hpp"
#include "rma/window.hpp"

namespace tern::api {

using rma::Window;

int win_fence(int assert, Window& win) noexcept { return win.fence(assert); }
int win_start(core::Group& group, int assert, Window& win) noexcept {
  return win.posts.start(group, assert);
}
int win_complete(Window& win) noexcept { return win.posts.complete(); }
int win_post(core::Group& group, int assert, Window& win) noexcept {
  return win.posts.post(group, assert);
}
int win_wait(Window& win) noexcept { return win.posts.wait(); }
int win_test(Window& win, int* flag) noexcept { return win.posts.test(flag); }
int win_lock(int lock_type, int rank, int assert, Window& win) noexcept {
  return win.locks.lock(lock_type, rank, assert);
}
int win_lock_all(int assert, Window& win) noexcept { return win.locks.lock_all(assert); }
int win_unlock(int rank, Window& win) noexcept { return win.locks.unlock(rank); }
int win_unlock_all(Window& win) noexcept { return win.locks.unlock_all(); }
int win_flush(int rank, Window& win) noexcept { return win.flush(rank, false); }
int win_flush_all(Window& win) noexcept { return win.flush_all(false); }
int win_flush_local(int rank, Window& win) noexcept { return win.flush(rank, true); }
int win_flush_local_all(Window& win) noexcept { return win.flush_all(true); }
int win_sync(Window& win) noexcept { return win.sync(); }

}  // namespace tern::api
