// SPDX-License-Identifier: Apache-2.0
// Queries of windows, and their end: MPI-5.0 sections 12.2.5 to 12.2.7.
#include "rma/window.hpp"

#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/group.hpp"
#include "api/errors.hpp"
#include "api/process.hpp"
#include "cuda/memory.hpp"
#include "mpix.h"

namespace tern::api {

using rma::Window;

int win_free(MPI_Win* win) noexcept {
  core::Process& process = *the_process;
  auto* found = process.handles.find<Window>(*win);
  int code = found->epoch.may_free();
  if (code == MPI_SUCCESS) code = found->attributes.delete_all(found->handle());
  if (code == MPI_SUCCESS) code = found->leave();
  if (code != MPI_SUCCESS && code != MPIX_ERR_PROC_FAILED) return code;
  *win = MPI_WIN_NULL;
  process.handles.erase(*found);
  auto ended = core::Ref<core::Object>::adopt(found);
  if (code == MPI_SUCCESS) return code;
  keep_until_delivered(std::move(ended));
  return fail_on(found, code, "%s", take_last_error().text.c_str());
}

int win_get_group(Window& win, MPI_Group* group) noexcept {
  return attempt([&] {
    auto copy = core::Ref<core::Group>::adopt(new core::Group(win.targets.communicator().group()));
    copy->session = win.targets.communicator().session;
    publish(std::move(copy), group);
    return MPI_SUCCESS;
  });
}

int win_set_name(Window& win, const char* win_name) noexcept {
  return attempt([&] {
    win.targets.name.set({win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1)});
    return MPI_SUCCESS;
  });
}

int win_get_name(Window* win, char* win_name, int* resultlen) noexcept {
  *resultlen =
      win == nullptr ? core::copy_name("MPI_WIN_NULL", win_name) : win->targets.name.copy(win_name);
  return MPI_SUCCESS;
}

int win_attach(Window& win, void* base, MPI_Aint size) noexcept {
  return attempt([&] {
    if (base == nullptr && size > 0)
      return fail(MPI_ERR_ARG, "base is a null pointer, but size is %lld",
                  static_cast<long long>(size));
    if (size > 0 && cuda::on_device(cuda::kind_of(base)))
      return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                  "base is device memory, but a dynamic window takes host memory only; use "
                  "MPI_Win_create for device memory");
    return win.regions.attach(base, size);
  });
}

int win_detach(Window& win, const void* base) noexcept {
  return attempt([&] { return win.regions.detach(base); });
}

int win_shared_query(Window& win, int rank, MPI_Aint* size, MPI_Aint* disp_unit,
                     void* baseptr) noexcept {
  Window::WindowPart part;
  const int code = win.shared_query(rank, &part);
  if (code != MPI_SUCCESS) return code;
  *size = part.size;
  *disp_unit = part.unit;
  *static_cast<void**>(baseptr) = part.address;
  return MPI_SUCCESS;
}

}  // namespace tern::api
