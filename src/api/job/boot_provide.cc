// SPDX-License-Identifier: Apache-2.0
// MPIX_Boot_provide: the program's boot functions for its next world.
#include "api/job/boot_provide.hpp"

#include "api/attempt.hpp"
#include "api/errors.hpp"
#include "api/job/membership.hpp"
#include "boot/provided.hpp"

namespace tern::api {

void Membership::provide(const MPIX_Boot& given) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (users_ != 0)
    throw Error(
        MPI_ERR_OTHER,
        "called while MPI is in use; call before MPI_Init, or after the last MPI_Session_finalize");
  if (runtime_ != nullptr)
    throw Error(MPI_ERR_OTHER,
                strf("called after this process entered the world of %s, and sessions return to "
                     "that world; call before the first MPI_Init or session",
                     boot_->job().launcher.c_str()));
  boot::provide(given);
}

int boot_provide(const char* name, const MPIX_Boot* boot) noexcept {
  const int code = attempt([&] {
    if (boot == nullptr) return fail(MPI_ERR_ARG, "boot is a null pointer");
    membership().provide(*boot);
    return MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS)
    remember_error(
        code, strf("%s: %s (%s)", name, take_last_error().text.c_str(), error_class_name(code)));
  return code;
}

}  // namespace tern::api
