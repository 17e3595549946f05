// SPDX-License-Identifier: Apache-2.0
// ErrorHandler: the reaction to an error on a communicator, window, file or session.
// Lifetime: reference counted, by the user's handle and every object using the handler. Threads:
// immutable.
// See: MPI-5.0 section 9.3; src/abi/raise.cc (delivers errors); tests/mpi/errhandler.c.
#pragma once

#include <atomic>

#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Process;

class ErrorHandler final : public Object {
 public:
  static constexpr Kind kKind = Kind::kErrorHandler;

  enum class Action {
    kFatal,
    kAbort,
    kReturn,
    kUser,
  };

  explicit ErrorHandler(Action action) noexcept : Object(Kind::kErrorHandler), action_(action) {}
  explicit ErrorHandler(MPI_Comm_errhandler_function* function) noexcept
      : Object(Kind::kErrorHandler), target_(Kind::kCommunicator) {
    user_.communicator = function;
  }
  explicit ErrorHandler(MPI_File_errhandler_function* function) noexcept
      : Object(Kind::kErrorHandler), target_(Kind::kFile) {
    user_.file = function;
  }
  explicit ErrorHandler(MPI_Session_errhandler_function* function) noexcept
      : Object(Kind::kErrorHandler), target_(Kind::kSession) {
    user_.session = function;
  }
  explicit ErrorHandler(MPI_Win_errhandler_function* function) noexcept
      : Object(Kind::kErrorHandler), target_(Kind::kWindow) {
    user_.window = function;
  }

  [[nodiscard]] Action action() const noexcept { return action_; }
  /// Whether objects of `kind` may use the handler: any object a predefined one, a user's handler
  /// only its target kind.
  [[nodiscard]] bool fits(Kind kind) const noexcept {
    return action_ != Action::kUser || target_ == kind;
  }
  /// Counts the user's references, from MPI_X_create_errhandler and MPI_X_get_errhandler. The
  /// handle ends with the last of them, the object when nothing uses the handler.
  void add_user() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool drop_user() noexcept {
    return users_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  union Function {
    MPI_Comm_errhandler_function* communicator;
    MPI_File_errhandler_function* file;
    MPI_Session_errhandler_function* session;
    MPI_Win_errhandler_function* window;
  };
  /// A call of the user's function. The function may throw or longjmp: no frame above run() holds a
  /// lock or a destructor. The function may free the handler and its object.
  struct UserCall {
    Kind target = Kind::kNone;
    Function function{};
    uintptr_t handle = 0;
    int code = 0;
    void run() const;
  };
  /// The call with the object's handle; `handle` 0 gives the null handle.
  [[nodiscard]] UserCall user_call(uintptr_t handle, int code) const noexcept;

 private:
  std::atomic<int> users_{1};
  Action action_ = Action::kUser;
  Kind target_ = Kind::kNone;
  Function user_{};
};

void make_predefined_error_handlers(Process& process);
/// The handler of mpirun -initial-errhandler: for MPI_COMM_WORLD, MPI_COMM_SELF, and errors without
/// an object. Null before the predefined handlers exist.
[[nodiscard]] ErrorHandler* initial_error_handler(Process& process) noexcept;

[[nodiscard]] ErrorHandler& predefined_error_handler(Process& process,
                                                     MPI_Errhandler constant) noexcept;

}  // namespace tern::core
