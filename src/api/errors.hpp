// SPDX-License-Identifier: Apache-2.0
// Error codes and their sentences, a thread's last error, and delivery to an error handler.
// Threads: any. See: MPI-5.0 sections 9.4 and 9.5; src/abi/raise.cc (caller).
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/error_handler.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

/// The class of a code: a standard code itself, or the class from MPI_Add_error_code.
[[nodiscard]] int class_of(int code) noexcept;
/// For example "invalid rank"; "unknown error class" for a class outside the standard.
[[nodiscard]] std::string class_sentence(int mpi_class);
[[nodiscard]] bool standard_class(int code) noexcept;

/// Keeps the full text of an error in delivery, for MPI_Error_string on the same thread.
void remember_error(int code, const std::string& text) noexcept;
/// The text kept for this code on this thread; empty if a later error replaced the text.
[[nodiscard]] std::string remembered_error(int code) noexcept;

/// Whether an error on `object` (null: before MPI_Init) ends the job.
[[nodiscard]] bool ends_the_job(core::Object* object) noexcept;
/// Applies the error handler of `object` (null: fatal) to an error. Returns the call of a user's
/// function, for the entry point to make.
[[nodiscard]] core::ErrorHandler::UserCall deliver(core::Process* process, core::Object* object,
                                                   int code, const std::string& text) noexcept;
/// For an enqueued operation: ends the job if the communicator's handler is fatal. Runs on the
/// proxy's thread.
void raise_if_fatal(core::Communicator& communicator, const Failure& failure) noexcept;
/// MPI_X_call_errhandler: asks the entry point to call the user's function and return MPI_SUCCESS.
/// The body returns the resulting code; the thread's next raise() takes the call.
[[nodiscard]] int request_call(const core::ErrorHandler::UserCall& call) noexcept;
/// Empty if the body requested no call.
[[nodiscard]] std::optional<core::ErrorHandler::UserCall> take_requested_call() noexcept;

/// Keeps the object of this thread's last error until delivery, in case another thread drops the
/// last reference. Null keeps nothing.
void keep_until_delivered(core::Ref<core::Object> object) noexcept;
[[nodiscard]] core::Ref<core::Object> kept_until_delivered() noexcept;

[[nodiscard]] int fail_no_memory() noexcept;
/// Ends the job with `code`, or this process without a launcher. `text` goes into the launcher's
/// message.
[[noreturn]] void abort_job(core::Process* process, int code, const char* text) noexcept;
[[nodiscard]] bool was_finalized() noexcept;

}  // namespace tern::api
