// SPDX-License-Identifier: Apache-2.0
// Error codes, a thread's last error, and delivery to an error handler (MPI-5.0 sections 9.4 and
// 9.5). Threads: any. See: src/abi/raise.cc.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/error_handler.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

/// Returns the class of a code; a standard code is its own class.
[[nodiscard]] int class_of(int code) noexcept;
[[nodiscard]] std::string class_sentence(int mpi_class);
[[nodiscard]] bool standard_class(int code) noexcept;

void remember_error(int code, const std::string& text) noexcept;
/// Returns an empty text if a later error replaced the text.
[[nodiscard]] std::string remembered_error(int code) noexcept;

/// `object` is null before MPI_Init.
[[nodiscard]] bool ends_the_job(core::Object* object) noexcept;
/// Applies `object`'s error handler (null: fatal). Returns the user's call for the entry point.
[[nodiscard]] core::ErrorHandler::UserCall deliver(core::Process* process, core::Object* object,
                                                   int code, const std::string& text) noexcept;
/// Ends the job if the communicator's handler is fatal. Serves enqueued operations, on the proxy's
/// thread.
void raise_if_fatal(core::Communicator& communicator, const Failure& failure) noexcept;
/// MPI_X_call_errhandler: the entry point calls the user's function and returns MPI_SUCCESS.
/// request_call() returns a code for the body.
[[nodiscard]] int request_call(const core::ErrorHandler::UserCall& call) noexcept;
[[nodiscard]] std::optional<core::ErrorHandler::UserCall> take_requested_call() noexcept;

/// Keeps an error's object until delivery, in case another thread drops the last reference.
void keep_until_delivered(core::Ref<core::Object> object) noexcept;
[[nodiscard]] core::Ref<core::Object> kept_until_delivered() noexcept;

/// Error handlers get the code of the status in place of the next MPI_ERR_IN_STATUS.
void keep_cause(int code) noexcept;

[[nodiscard]] int fail_no_memory() noexcept;
/// Ends the job, or without a launcher only this process. The launcher prints `text`.
[[noreturn]] void abort_job(core::Process* process, int code, const char* text) noexcept;
[[nodiscard]] bool was_finalized() noexcept;

}  // namespace tern::api
