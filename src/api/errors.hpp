// SPDX-License-Identifier: Apache-2.0
// Error codes and their sentences, the last error of a thread, the way to an error handler.
// Threads: any; the last error is the calling thread's.
// See: MPI-5.0 section 9.4 and 9.5; src/abi/raise.cc (uses it).
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/error_handler.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

/// The class of a code: itself for the standard's, what MPI_Add_error_code said for the user's.
[[nodiscard]] int class_of(int code) noexcept;
/// One sentence about a class of the standard ("invalid rank"); "unknown error class" otherwise.
[[nodiscard]] std::string class_sentence(int mpi_class);
[[nodiscard]] bool standard_class(int code) noexcept;

/// Keeps the whole text of an error that is being raised, for MPI_Error_string on the same thread.
void remember_error(int code, const std::string& text) noexcept;
/// The text remembered for this code on this thread; empty where another error came after it.
[[nodiscard]] std::string remembered_error(int code) noexcept;

/// Whether an error of `object` (null: before MPI_Init) ends the job.
[[nodiscard]] bool ends_the_job(core::Object* object) noexcept;
/// Tells the error handler of `object` (null: fatal) of an error with its whole text; returns the
/// call of the user's function, for the entry point.
[[nodiscard]] core::ErrorHandler::UserCall deliver(core::Process* process, core::Object* object,
                                                   int code, const std::string& text) noexcept;
/// Of an enqueued operation: ends the job if the communicator's handler does, else returns. The
/// proxy's thread.
void raise_if_fatal(core::Communicator& communicator, const Failure& failure) noexcept;
/// MPI_X_call_errhandler: the entry point calls the user's function and returns MPI_SUCCESS.
/// Returns a code for the body; the thread's next raise() takes the call.
[[nodiscard]] int request_call(const core::ErrorHandler::UserCall& call) noexcept;
/// Empty: the body has requested no call.
[[nodiscard]] std::optional<core::ErrorHandler::UserCall> take_requested_call() noexcept;

/// Keeps the object of this thread's last error, of which another thread may drop the last
/// reference, until the error is delivered. Null: nothing.
void keep_until_delivered(core::Ref<core::Object> object) noexcept;
[[nodiscard]] core::Ref<core::Object> kept_until_delivered() noexcept;

[[nodiscard]] int fail_no_memory() noexcept;
/// Ends the job with `code`; without a launcher, this process. `text` goes to the launcher's
/// message.
[[noreturn]] void abort_job(core::Process* process, int code, const char* text) noexcept;
[[nodiscard]] bool was_finalized() noexcept;

}  // namespace tern::api
