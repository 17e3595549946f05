// SPDX-License-Identifier: Apache-2.0
// Creation of windows: MPI-5.0 sections 12.2.1 to 12.2.4.
#include <climits>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "api/rma/window.hpp"

namespace tern::api {
namespace {

using rma::Wanted;
using rma::Window;

Failure check_shape(MPI_Aint size, MPI_Aint unit) noexcept {
  if (size < 0)
    return failure(MPI_ERR_SIZE, "size is %lld bytes, but must not be negative",
                   static_cast<long long>(size));
  if (unit > 0 && unit <= INT_MAX) return {};
  return failure(MPI_ERR_DISP, "disp_unit is %lld, but must be positive and fit an int",
                 static_cast<long long>(unit));
}

/// Errors in the arguments reach all ranks.
int make(core::Communicator& comm, Wanted wanted, const core::Info* info, core::Ref<Window>* made) {
  if (const int code = require_intra(comm, "comm"); code != MPI_SUCCESS) return code;
  if (!wanted.refused) wanted.refused = check_window_hints(info, &wanted);
  int code = rma::create(comm, wanted, made);
  if (code != MPI_SUCCESS) return code;
  (*made)->error_handler = core::Ref<core::ErrorHandler>(
      &core::predefined_error_handler(any_process(), MPI_ERRORS_ARE_FATAL));
  code = set_hints(**made, info);
  if ((*made)->accesses.messages != nullptr) membership().start_progress();
  return code;
}

void publish(core::Ref<Window> made, MPI_Win* win) {
  *win = reinterpret_cast<MPI_Win>(any_process().handles.insert(*made));
  (void)made.leak();
}

int allocate(MPI_Aint size, MPI_Aint unit, const core::Info* info, core::Communicator& comm,
             void* baseptr, MPI_Win* win, Wanted wanted) noexcept {
  *win = MPI_WIN_NULL;
  return attempt([&] {
    wanted.refused = check_shape(size, unit);
    wanted.bytes = size;
    wanted.unit = unit;
    core::Ref<Window> made;
    const int code = make(comm, wanted, info, &made);
    if (code != MPI_SUCCESS) return code;
    *static_cast<void**>(baseptr) = made->base;
    publish(std::move(made), win);
    return MPI_SUCCESS;
  });
}

}  // namespace

int win_create(void* base, MPI_Aint size, MPI_Aint disp_unit, core::Info* info,
               core::Communicator& comm, MPI_Win* win) noexcept {
  *win = MPI_WIN_NULL;
  return attempt([&] {
    Wanted wanted;
    wanted.base = base;
    wanted.bytes = size;
    wanted.unit = disp_unit;
    wanted.refused = check_shape(size, disp_unit);
    if (!wanted.refused && base == nullptr && size > 0)
      wanted.refused = failure(MPI_ERR_BASE, "base is a null pointer, but size is %lld",
                               static_cast<long long>(size));
    core::Ref<Window> made;
    const int code = make(comm, wanted, info, &made);
    if (code == MPI_SUCCESS) publish(std::move(made), win);
    return code;
  });
}

int win_create_dynamic(core::Info* info, core::Communicator& comm, MPI_Win* win) noexcept {
  *win = MPI_WIN_NULL;
  return attempt([&] {
    Wanted wanted;
    wanted.flavor = MPI_WIN_FLAVOR_DYNAMIC;
    core::Ref<Window> made;
    const int code = make(comm, wanted, info, &made);
    if (code == MPI_SUCCESS) publish(std::move(made), win);
    return code;
  });
}

int win_allocate(MPI_Aint size, MPI_Aint disp_unit, core::Info* info, core::Communicator& comm,
                 void* baseptr, MPI_Win* win) noexcept {
  Wanted wanted;
  wanted.flavor = MPI_WIN_FLAVOR_ALLOCATE;
  return allocate(size, disp_unit, info, comm, baseptr, win, wanted);
}

int win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, core::Info* info,
                        core::Communicator& comm, void* baseptr, MPI_Win* win) noexcept {
  Wanted wanted;
  wanted.flavor = MPI_WIN_FLAVOR_SHARED;
  wanted.contiguous = true;
  return allocate(size, disp_unit, info, comm, baseptr, win, wanted);
}

}  // namespace tern::api
