// SPDX-License-Identifier: Apache-2.0
// Error delivery: completes the error text and calls the object's error handler.
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "abi/entry.hpp"
#include "api/errors.hpp"
#include "base/log.hpp"
#include "core/user_call.hpp"
#include "mpix.h"

namespace tern::abi {
namespace {

using core::Kind;

/// MPI 4 raises errors of calls without an object on MPI_COMM_SELF, older versions on
/// MPI_COMM_WORLD. Programs of both kinds set the handler of their communicator only.
core::Object* without_object(core::Process& process) noexcept {
  core::Communicator* const self = process.self;
  if (self == nullptr || process.world == nullptr) return self;
  const auto* const initial = core::initial_error_handler(process);
  return self->error_handler.get() == initial ? process.world : self;
}

/// listener() returns the object with the error handler, or null before MPI_Init.
core::Object* listener(const Call& call, void* named) noexcept {
  if (named != nullptr) return static_cast<core::Object*>(named);
  if (call.hearer != nullptr) return call.hearer;
  if (call.at != nullptr) return call.at;
  return call.process == nullptr ? nullptr : without_object(*call.process);
}

std::string class_name(int code) {
  const char* name = error_class_name(api::class_of(code));
  return name != nullptr ? std::string(name) : strf("error class %d", code);
}

struct KindNames {
  const char *noun, *null_name;
  int mpi_class;
  uintptr_t null_word;
};

KindNames names_of(Kind kind) noexcept {
  const auto word = [](auto handle) { return reinterpret_cast<uintptr_t>(handle); };
  switch (kind) {
    case Kind::kCommunicator:
      return {"communicator", "MPI_COMM_NULL", MPI_ERR_COMM, word(MPI_COMM_NULL)};
    case Kind::kDatatype:
      return {"datatype", "MPI_DATATYPE_NULL", MPI_ERR_TYPE, word(MPI_DATATYPE_NULL)};
    case Kind::kGroup:
      return {"group", "MPI_GROUP_NULL", MPI_ERR_GROUP, word(MPI_GROUP_NULL)};
    case Kind::kOp:
      return {"operation", "MPI_OP_NULL", MPI_ERR_OP, word(MPI_OP_NULL)};
    case Kind::kErrorHandler:
      return {"error handler", "MPI_ERRHANDLER_NULL", MPI_ERR_ERRHANDLER,
              word(MPI_ERRHANDLER_NULL)};
    case Kind::kInfo:
      return {"info object", "MPI_INFO_NULL", MPI_ERR_INFO, word(MPI_INFO_NULL)};
    case Kind::kRequest:
      return {"request", "MPI_REQUEST_NULL", MPI_ERR_REQUEST, word(MPI_REQUEST_NULL)};
    case Kind::kMessage:
      return {"message", "MPI_MESSAGE_NULL", MPI_ERR_REQUEST, word(MPI_MESSAGE_NULL)};
    case Kind::kSession:
      return {"session", "MPI_SESSION_NULL", MPI_ERR_SESSION, word(MPI_SESSION_NULL)};
    case Kind::kFile:
      return {"file", "MPI_FILE_NULL", MPI_ERR_FILE, word(MPI_FILE_NULL)};
    case Kind::kWindow:
      return {"window", "MPI_WIN_NULL", MPI_ERR_WIN, word(MPI_WIN_NULL)};
    case Kind::kStream:
      return {"stream", "MPIX_STREAM_NULL", MPIX_ERR_STREAM, word(MPIX_STREAM_NULL)};
    case Kind::kNone:
      break;
  }
  return {"handle", "null", MPI_ERR_ARG, 0};
}

/// A program may repeat a failing call until news of another rank arrives.
void look_for_news(core::Process& process) noexcept {
  for (const auto& channel : process.channels()) {
    const core::ChannelLock lock(channel->progress);
    channel->progress.poll_for_caller();
  }
}

/// The handler may jump, so the record ends now. Calls without a record have other names.
TERN_COLD void end_record(const Call& call, int code) noexcept {
  trace::OpenCall* const open = trace::open_call();
  if (open != nullptr && std::strcmp(open->name, call.name) == 0)
    trace::end_failed(*open, api::class_of(code));
}

/// delivered() returns the call of the error handler, or sets *throws if the error is a kept
/// exception.
core::ErrorHandler::UserCall delivered(const Call& call, int code, bool* throws) noexcept {
  const bool of_file = call.part == api::CallContext::kFile;
  if ((of_file || call.part == api::CallContext::kFileView) && call.at != nullptr)
    api::notify_refusal(static_cast<io::File&>(*call.at), of_file, code);
  else if (call.part != api::CallContext::kNone && call.at != nullptr)
    api::notify_refusal(static_cast<core::Communicator&>(*call.at), call.part, code, std::nullopt,
                        call.hearer);
  const LastError last = take_last_error();
  if ((code == MPIX_ERR_PROC_FAILED || code == MPI_ERR_IN_STATUS) && call.process != nullptr)
    look_for_news(*call.process);
  *throws = core::keeps_exception_of(last.text);
  if (*throws) {
    api::keep_until_delivered({});
    return {};
  }
  std::string text;
  try {
    const std::string reason =
        last.text.empty() ? api::class_sentence(api::class_of(code)) : last.text;
    text = strf("%s: %s (%s)", call.name, reason.c_str(), class_name(code).c_str());
  } catch (const std::bad_alloc&) {  // without an allocation
    text = "out of memory";
  }
  return api::deliver(call.process, listener(call, last.object), code, text);
}

}  // namespace

// The stack between the entry point and a user's handler has no destructor, lock or noexcept
// function, because the handler may throw or jump.
int raise(Call call, int code) {
  if (trace::is_on()) end_record(call, code);
  if (const auto requested = api::take_requested_call()) {
    (void)requested->run();
    return MPI_SUCCESS;
  }
  bool throws = false;
  const core::ErrorHandler::UserCall handler = delivered(call, code, &throws);
  if (throws) core::throw_kept_exception();
  if (handler.target == Kind::kNone) return code;
  const int changed = handler.run();  // the handler may change its code
  return changed == handler.code ? code : changed;
}

int not_running() noexcept {
  const char* when = api::was_finalized() ? "after MPI_Finalize" : "before MPI_Init";
  return fail(MPI_ERR_OTHER, "called %s, where this function is not allowed", when);
}

int bad_handle(core::Kind kind, const char* what, uintptr_t word) noexcept {
  const KindNames names = names_of(kind);
  if (word == names.null_word)
    return fail(names.mpi_class, "%s is %s, but %s %s is needed", what, names.null_name,
                std::strchr("aeiou", names.noun[0]) != nullptr ? "an" : "a", names.noun);
  return fail(names.mpi_class,
              "%s is 0x%" PRIxPTR ", which is not a valid %s (already freed or never created)",
              what, word, names.noun);
}

int no_memory() noexcept { return fail(MPI_ERR_NO_MEM, "no memory for the arguments"); }

namespace {

constexpr const char* kMissing = "not implemented in this version of Tern";

void say_missing(const char* name) noexcept {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // outlives the program's own objects
  try {
    const std::lock_guard<std::mutex> lock(mutex);
    if (said.insert(name).second) log_line("%s: %s", name, kMissing);
  } catch (const std::exception&) {
    log_line("%s: %s", name, kMissing);
  }
}

}  // namespace

int unsupported(Call& call) noexcept {
  const auto* const comm = call.at != nullptr && call.at->kind() == Kind::kCommunicator
                               ? static_cast<const core::Communicator*>(call.at)
                               : nullptr;
  if ((comm == nullptr || comm->rank() == 0) && !api::ends_the_job(listener(call, nullptr)))
    say_missing(call.name);
  return fail(MPI_ERR_UNSUPPORTED_OPERATION, "%s", kMissing);
}

int unsupported(Call& call, MPI_Comm comm) noexcept {
  if (call.process != nullptr) call.at = call.find<core::Communicator>(comm);
  return unsupported(call);
}

int unsupported(Call& call, MPI_Session session) noexcept {
  if (call.process != nullptr) call.at = call.find<core::Session>(session);
  return unsupported(call);
}

int unsupported(Call& call, MPI_Win win) noexcept {
  if (call.process != nullptr) call.at = call.find<rma::Window>(win);
  return unsupported(call);
}

void name_unsupported(const char* name) noexcept { say_missing(name); }

}  // namespace tern::abi
