// SPDX-License-Identifier: Apache-2.0
// ErrorHandler: predefined handlers and calls.
#include "core/error_handler.hpp"

#include "base/error.hpp"
#include "core/process.hpp"

namespace tern::core {

int ErrorHandler::UserCall::run() const {
  int mutable_code = code;
  switch (target) {
    case Kind::kCommunicator: {
      auto word = reinterpret_cast<MPI_Comm>(handle);
      function.communicator(&word, &mutable_code);
      break;
    }
    case Kind::kFile: {
      auto word = reinterpret_cast<MPI_File>(handle);
      function.file(&word, &mutable_code);
      break;
    }
    case Kind::kSession: {
      auto word = reinterpret_cast<MPI_Session>(handle);
      function.session(&word, &mutable_code);
      break;
    }
    case Kind::kWindow: {
      auto word = reinterpret_cast<MPI_Win>(handle);
      function.window(&word, &mutable_code);
      break;
    }
    default:
      break;
  }
  return mutable_code;
}

ErrorHandler::UserCall ErrorHandler::user_call(uintptr_t handle, int code) const noexcept {
  const void* null = target_ == Kind::kCommunicator ? static_cast<void*>(MPI_COMM_NULL)
                     : target_ == Kind::kSession    ? static_cast<void*>(MPI_SESSION_NULL)
                     : target_ == Kind::kWindow     ? static_cast<void*>(MPI_WIN_NULL)
                                                    : static_cast<void*>(MPI_FILE_NULL);
  return {target_, user_, handle != 0 ? handle : reinterpret_cast<uintptr_t>(null), code};
}

void make_predefined_error_handlers(Process& process) {
  using Action = ErrorHandler::Action;
  const auto make = [&process](MPI_Errhandler constant, Action action) {
    process.handles.set_predefined(reinterpret_cast<uintptr_t>(constant),
                                   *new ErrorHandler(action));
  };
  make(MPI_ERRORS_ARE_FATAL, Action::kFatal);
  make(MPI_ERRORS_ABORT, Action::kAbort);
  make(MPI_ERRORS_RETURN, Action::kReturn);
}

ErrorHandler* initial_error_handler(Process& process) noexcept {
  const InitialHandler first = process.params.initial_errhandler;
  return process.handles.find<ErrorHandler>(first == InitialHandler::kReturn ? MPI_ERRORS_RETURN
                                            : first == InitialHandler::kAbort
                                                ? MPI_ERRORS_ABORT
                                                : MPI_ERRORS_ARE_FATAL);
}

ErrorHandler& predefined_error_handler(Process& process, MPI_Errhandler constant) noexcept {
  ErrorHandler* found = process.handles.find<ErrorHandler>(constant);
  TERN_ASSERT(found != nullptr);
  return *found;
}

}  // namespace tern::core
