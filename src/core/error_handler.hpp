// SPDX-License-Identifier: Apache-2.0
// ErrorHandler: the reaction to an error on a communicator, window, file or session (MPI-5.0
// section 9.3). src/abi/raise.cc delivers errors.
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
  [[nodiscard]] bool fits(Kind kind) const noexcept {
    return action_ != Action::kUser || target_ == kind;
  }
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
  /// A user's handler may throw or longjmp, because no frame above run() holds a lock or a
  /// destructor. The handler may free itself and the object. run() returns the code as the handler
  /// leaves it, as in MPICH and Open MPI.
  struct UserCall {
    Kind target = Kind::kNone;
    Function function{};
    uintptr_t handle = 0;
    int code = 0;
    [[nodiscard]] int run() const;
  };
  [[nodiscard]] UserCall user_call(uintptr_t handle, int code) const noexcept;

 private:
  std::atomic<int> users_{1};
  Action action_ = Action::kUser;
  Kind target_ = Kind::kNone;
  Function user_{};
};

void make_predefined_error_handlers(Process& process);
/// mpirun -initial-errhandler sets this handler for the world, self, and errors without an object.
/// May be null.
[[nodiscard]] ErrorHandler* initial_error_handler(Process& process) noexcept;

[[nodiscard]] ErrorHandler& predefined_error_handler(Process& process,
                                                     MPI_Errhandler constant) noexcept;

}  // namespace tern::core
