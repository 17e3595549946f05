// SPDX-License-Identifier: Apache-2.0
// ErrorHandler: what happens with an error of a communicator, window, file or session.
// Lifetime: reference counted: the user's handle and every object that has it set. Threads:
// immutable. See: MPI-5.0 section 9.3; src/abi/raise.cc (delivers errors); tests/mpi/errhandler.c.
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
    kFatal,   // MPI_ERRORS_ARE_FATAL: ends the whole job
    kAbort,   // MPI_ERRORS_ABORT: ends the processes of the object (here: the job)
    kReturn,  // MPI_ERRORS_RETURN: the call returns the code
    kUser,    // calls the user's function, then returns the code
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
  /// True where it may be set on objects of `kind`: the predefined ones on all, a user's on its
  /// own.
  [[nodiscard]] bool fits(Kind kind) const noexcept {
    return action_ != Action::kUser || target_ == kind;
  }
  /// References of the user: by MPI_X_create_errhandler and each MPI_X_get_errhandler. The
  /// handle goes with the last of them, the object when nothing has it set any more.
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
  /// A call of the user's function. The function may throw or jump: the frames above run() hold no
  /// lock and no destructor. The function may free the handler and its object.
  struct UserCall {
    Kind target = Kind::kNone;  // kNone: there is nothing to call
    Function function{};
    uintptr_t handle = 0;
    int code = 0;
    void run() const;
  };
  /// The call with the handle of the object; with the null handle where `handle` is 0.
  [[nodiscard]] UserCall user_call(uintptr_t handle, int code) const noexcept;

 private:
  std::atomic<int> users_{1};
  Action action_ = Action::kUser;
  Kind target_ = Kind::kNone;
  Function user_{};
};

/// Makes MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT and MPI_ERRORS_RETURN and enters them in the handle
/// table.
void make_predefined_error_handlers(Process& process);
/// What mpirun -initial-errhandler says: of MPI_COMM_WORLD, MPI_COMM_SELF, and of errors that
/// belong to no object. Null where the predefined ones are not made.
[[nodiscard]] ErrorHandler* initial_error_handler(Process& process) noexcept;

/// The predefined handler of an ABI constant (MPI_ERRORS_RETURN, ...).
[[nodiscard]] ErrorHandler& predefined_error_handler(Process& process,
                                                     MPI_Errhandler constant) noexcept;

}  // namespace tern::core
