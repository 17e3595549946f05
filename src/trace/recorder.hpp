// SPDX-License-Identifier: Apache-2.0
// Recorder: writes a record for each MPI call, below the entry points and PMPI tools.
// Life cycle: start() before the first recorded call, leave() when MPI ends; the memory stays until
// the process ends. An entry point tests is_on() and calls the recorded twin of the function.
// Cost: one test if off; otherwise two readings of the clock, one call path, 64 bytes.
// Threads: each thread has a ring, without locks.
// See: src/trace/README.md, src/abi/traced.hpp (records from arguments).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/compiler.hpp"
#include "trace/format.hpp"
#include "trace/memory.hpp"
#include "trace/notes.hpp"

namespace tern::trace {

/// The word that every entry point tests.
/// Written once, by the first MPI_Init or session, before which no other thread makes a recorded
/// call. The name serves assembler code (abi/fork.hpp).
extern uint32_t on __asm__("tern_trace_on") __attribute__((visibility("hidden")));
[[nodiscard]] inline bool is_on() noexcept { return TERN_UNLIKELY(on != 0); }

/// start() returns a remark if recording is impossible, and may be called again after leave().
[[nodiscard]] std::string start(const Start& what);
void leave() noexcept;
/// Before the process ends without exit().
void abandon() noexcept;

/// OpenCall lies on the stack of the recorded twin.
struct OpenCall {
  Record record;
  Record part;  // the receive of a send-receive; kind 0: none
  const char* name;
  OpenCall* outer;
  uint32_t completions;  // of this thread, before this call
  // The latest end of a wait after the call began: a message, its match, a lock.
  int64_t came_ns;
  int32_t came_from;
  Waited waited;
  uint32_t group;       // of completed requests
  bool live;            // false: paused, or no ring
  bool found_no_match;  // a probe
};

/// The fields of `call` other than record.function, kind and name become those of an empty record.
void begin(OpenCall& call, const void* site, const void* frame) noexcept;
/// `error` is an error class; 0: success.
void end(OpenCall& call, int error) noexcept;
/// The innermost open call of this thread, or null.
[[nodiscard]] OpenCall* open_call() noexcept;
/// Before an error handler runs, which may jump: ends the call, and all calls around it.
TERN_COLD void end_failed(OpenCall& call, int error) noexcept;

/// A completion of a request by the open call. Written after the call's record. `came_ns`: when the
/// message of a receive came, or the receiver matched; 0: before.
void complete(const Record& done, int64_t came_ns) noexcept;
/// The call has waited until `came_ns` for the rank `cause`, or kNoPeer.
void note_wait(OpenCall& call, Waited what, int cause, int64_t came_ns) noexcept;
/// The open call has waited until now.
TERN_COLD void note_wait(Waited what, int cause) noexcept;
/// The whole call, begun at `begin_ns`, for MPI_Init.
void record_started(const char* name, int64_t begin_ns) noexcept;

[[nodiscard]] uint32_t next_request() noexcept;

/// An enqueued call, for the records of its runs on the stream.
struct Enqueued {
  uint16_t function = 0;  // 0: not recorded
  uint32_t site = 0, comm = 0, group = 0, request = 0;
};
/// Of the open call.
[[nodiscard]] Enqueued enqueued() noexcept;
/// Any thread.
void record_run(const Enqueued& call, int64_t begin_ns) noexcept;

[[nodiscard]] int64_t now() noexcept;
/// Adds a line of definitions.
void define(const std::string& line) noexcept;
/// A number for a communicator. `members`: the last fields of the line "comm". Throws
/// std::bad_alloc.
struct NewComm {
  std::string key, name, members, remote;
};
void define(const NewComm& comm, CommNotes* notes);

/// The message of the last blocking send or receive of this thread.
struct Matched {
  uint64_t number = 0;  // of a receive
  int64_t when_ns = 0;  // RequestNotes::matched_ns
};
[[nodiscard]] Matched& last_matched() noexcept;

/// Whether rank 0 prints a page for all ranks, because no mpirun reads the areas.
[[nodiscard]] bool gathers_profiles() noexcept;
/// The profile up to now: see packed.hpp. Throws std::bad_alloc.
[[nodiscard]] std::string pack_profile();
/// Adds another rank's profile to the page, which ignores a damaged one. Throws std::bad_alloc.
void keep_profile(int rank, std::string packed);

/// MPI_Pcontrol: 0 pauses, 1 and above resume.
void pause(bool paused) noexcept;
void region(RecordKind kind, std::string_view name) noexcept;

}  // namespace tern::trace
