// SPDX-License-Identifier: Apache-2.0
#include "api/process.hpp"

#include "base/config.hpp"
#include "base/last_words.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/op.hpp"

extern char** environ;

namespace tern::api {

core::Process* the_process = nullptr;

Instance& instance() noexcept {
  // The Instance is never destroyed, because handles outlive static destructors.
  static Instance* const only = (install_last_words(), new Instance);
  return *only;
}

core::ErrorHandler* file_null_handler() noexcept { return instance().file_handler.get(); }

Instance::Instance() {
  process.params = load_params(environ, &complaints);
  process.checks = process.params.checks_arguments();
  core::make_predefined_error_handlers(process);
  file_handler =
      core::Ref<core::ErrorHandler>(&core::predefined_error_handler(process, MPI_ERRORS_RETURN));
  core::make_predefined_infos(process);
  core::make_predefined_types(process);
  core::make_predefined_ops(process);
}

}  // namespace tern::api
