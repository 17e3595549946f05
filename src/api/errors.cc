// SPDX-License-Identifier: Apache-2.0
// Error codes: sentences, delivery of errors, and the end of a job.
#include "api/errors.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "api/process.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "core/communicator.hpp"
#include "core/error_handler.hpp"
#include "core/session.hpp"
#include "io/file.hpp"
#include "mpix.h"
#include "rma/window.hpp"
#include "trace/recorder.hpp"

namespace tern::api {
namespace {

struct Remembered {
  int code = 0;
  std::string text;
};
thread_local Remembered last_raised;
thread_local core::Ref<core::Object> kept_object;
thread_local int kept_cause = MPI_SUCCESS;
constinit thread_local std::optional<core::ErrorHandler::UserCall> requested_call;
// note_these_early() is explained in base/error.cc.
[[gnu::constructor]] void note_these_early() noexcept {
  asm volatile("" : : "r"(&last_raised), "r"(&kept_object));
}

struct Sentence {
  int mpi_class;
  const char* text;
};

constexpr Sentence kSentences[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer address"},
    {MPI_ERR_COUNT, "invalid count"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_REQUEST, "invalid request or message"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_OP, "invalid reduction operation"},
    {MPI_ERR_TOPOLOGY, "invalid topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_UNKNOWN, "unknown error"},
    {MPI_ERR_TRUNCATE, "the message is longer than the receive buffer"},
    {MPI_ERR_OTHER, "other error"},
    {MPI_ERR_INTERN, "internal error of the library"},
    {MPI_ERR_PENDING, "the request is not complete"},
    {MPI_ERR_IN_STATUS, "the error is in the statuses"},
    {MPI_ERR_ACCESS, "permission denied"},
    {MPI_ERR_AMODE, "invalid access mode of a file"},
    {MPI_ERR_ASSERT, "invalid assertion"},
    {MPI_ERR_BAD_FILE, "invalid file name"},
    {MPI_ERR_BASE, "invalid base of a window"},
    {MPI_ERR_CONVERSION, "error in a data conversion function"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_DUP_DATAREP, "the data representation exists already"},
    {MPI_ERR_FILE_EXISTS, "the file exists"},
    {MPI_ERR_FILE_IN_USE, "the file is open"},
    {MPI_ERR_FILE, "invalid file handle"},
    {MPI_ERR_INFO_KEY, "the info key is too long or empty"},
    {MPI_ERR_INFO_NOKEY, "the info key is not set"},
    {MPI_ERR_INFO_VALUE, "the info value is too long or not allowed"},
    {MPI_ERR_INFO, "invalid info object"},
    {MPI_ERR_IO, "input or output failed"},
    {MPI_ERR_KEYVAL, "invalid attribute key"},
    {MPI_ERR_LOCKTYPE, "invalid lock type"},
    {MPI_ERR_NAME, "the service name is not published"},
    {MPI_ERR_NO_MEM, "out of memory"},
    {MPI_ERR_NOT_SAME, "an argument differs between processes"},
    {MPI_ERR_NO_SPACE, "no space left for the file"},
    {MPI_ERR_NO_SUCH_FILE, "the file does not exist"},
    {MPI_ERR_PORT, "invalid port name"},
    {MPI_ERR_QUOTA, "the quota is exceeded"},
    {MPI_ERR_READ_ONLY, "the file or file system is read-only"},
    {MPI_ERR_RMA_ATTACH, "memory cannot be attached"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "the target memory is outside the window"},
    {MPI_ERR_RMA_SHARED, "memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"},
    {MPI_ERR_SERVICE, "the service name cannot be withdrawn"},
    {MPI_ERR_SIZE, "invalid size"},
    {MPI_ERR_SPAWN, "processes cannot be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "the operation is not supported"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_RMA_FLAVOR, "wrong flavour of window"},
    {MPI_ERR_PROC_ABORTED, "a peer process has ended"},
    {MPI_ERR_VALUE_TOO_LARGE, "a value does not fit the type"},
    {MPI_ERR_SESSION, "invalid session"},
    {MPI_ERR_ERRHANDLER, "invalid error handler"},
    {MPI_ERR_ABI, "wrong use of the ABI"},
    {MPIX_ERR_STREAM, "a stream cannot be used"},
    {MPIX_ERR_PROC_FAILED, "a process has failed"},
    {MPIX_ERR_PROC_FAILED_PENDING,
     "a possible sender has failed, and the receive is still pending"},
    {MPIX_ERR_REVOKED, "the communicator is revoked"},
    {MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialised"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "the tool interface cannot be used now"},
    {MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialised"},
    {MPI_T_ERR_NOT_SUPPORTED, "the tool interface does not have this function"},
    {MPI_T_ERR_MEMORY, "the tool interface is out of memory"},
    {MPI_T_ERR_INVALID, "invalid use of the tool interface"},
    {MPI_T_ERR_INVALID_INDEX, "invalid index"},
    {MPI_T_ERR_INVALID_ITEM, "invalid item of an enumeration"},
    {MPI_T_ERR_INVALID_SESSION, "invalid performance session"},
    {MPI_T_ERR_INVALID_HANDLE, "invalid handle of a variable"},
    {MPI_T_ERR_INVALID_NAME, "no variable has this name"},
    {MPI_T_ERR_OUT_OF_HANDLES, "out of handles of variables"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "out of performance sessions"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "the control variable cannot be set"},
    {MPI_T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "the performance variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "the performance variable cannot be read and reset at once"},
};

core::ErrorHandler* handler_of(core::Object& object) noexcept {
  switch (object.kind()) {
    case core::Kind::kErrorHandler:
      return static_cast<core::ErrorHandler*>(&object);
    case core::Kind::kCommunicator:
      return static_cast<const core::Communicator&>(object).error_handler.get();
    case core::Kind::kSession:
      return static_cast<const core::Session&>(object).error_handler.get();
    case core::Kind::kWindow:
      return static_cast<const rma::Window&>(object).error_handler.get();
    case core::Kind::kFile:
      return static_cast<const io::File&>(object).error_handler.get();
    default:
      return nullptr;
  }
}

const char* sentence(int mpi_class) noexcept {
  for (const Sentence& row : kSentences)
    if (row.mpi_class == mpi_class) return row.text;
  return nullptr;
}

}  // namespace

int class_of(int code) noexcept {
  return standard_class(code) ? code : instance().error_codes.class_of(code);
}

bool standard_class(int code) noexcept { return sentence(code) != nullptr; }

std::string class_sentence(int mpi_class) {
  const char* text = sentence(mpi_class);
  return text != nullptr ? text : "unknown error class";
}

void remember_error(int code, const std::string& text) noexcept {
  last_raised.code = code;
  try {
    last_raised.text = text;
  } catch (const std::bad_alloc&) {
    last_raised.text.clear();
  }
}

std::string remembered_error(int code) noexcept {
  return last_raised.code == code ? last_raised.text : std::string();
}

void keep_until_delivered(core::Ref<core::Object> object) noexcept {
  kept_object = std::move(object);
}

core::Ref<core::Object> kept_until_delivered() noexcept { return kept_object; }

void keep_cause(int code) noexcept { kept_cause = code; }

namespace {

core::ErrorHandler* heard_by(core::Object* object) noexcept {
  return object == nullptr ? core::initial_error_handler(any_process()) : handler_of(*object);
}

}  // namespace

bool ends_the_job(core::Object* object) noexcept {
  using Action = core::ErrorHandler::Action;
  const core::ErrorHandler* const handler = heard_by(object);
  const Action action = handler == nullptr ? Action::kFatal : handler->action();
  return action != Action::kReturn && action != Action::kUser;
}

core::ErrorHandler::UserCall deliver(core::Process* process, core::Object* object, int code,
                                     const std::string& text) noexcept {
  const core::Ref<core::Object> kept = std::exchange(kept_object, {});
  const int cause = std::exchange(kept_cause, MPI_SUCCESS);
  using Action = core::ErrorHandler::Action;
  const core::ErrorHandler* const handler = heard_by(object);
  const Action action = handler == nullptr ? Action::kFatal : handler->action();
  const int heard = action == Action::kUser && cause != MPI_SUCCESS ? cause : code;
  remember_error(heard, text);
  if (action == Action::kReturn) return {};
  // An unfinished or freed object has a null handle.
  if (action == Action::kUser)
    return handler->user_call(object == handler ? 0 : object->handle(), heard);
  log_line("%s", text.c_str());
  abort_job(process, code, text.c_str());
}

void raise_if_fatal(core::Communicator& communicator, const Failure& failure) noexcept {
  if (!ends_the_job(&communicator)) return;
  const char* const name = error_class_name(failure.code);
  const Failure told = tern::failure(failure.code, "%s (%s)", failure.text.c_str(),
                                     name != nullptr ? name : "error");
  (void)deliver(&communicator.process(), &communicator, told.code, told.text);
}

int request_call(const core::ErrorHandler::UserCall& call) noexcept {
  requested_call = call;
  return MPI_ERR_OTHER;
}

std::optional<core::ErrorHandler::UserCall> take_requested_call() noexcept {
  return std::exchange(requested_call, std::nullopt);
}

int fail_no_memory() noexcept { return fail(MPI_ERR_NO_MEM, "out of memory"); }

namespace {

void flush_output() noexcept {
  for (FILE* const stream : {stdout, stderr}) {
    if (::ftrylockfile(stream) != 0) continue;
    ::fflush_unlocked(stream);
    ::funlockfile(stream);
  }
}

}  // namespace

void abort_job(core::Process* process, int code, const char* text) noexcept {
  flush_output();
  if (trace::is_on()) trace::abandon();
  if (process != nullptr && process->boot != nullptr) process->boot->abort(code, text);
  std::_Exit(code == 0 || (code & 0xff) != 0 ? code & 0xff : 1);
}

bool was_finalized() noexcept { return instance().world.ended; }

}  // namespace tern::api
