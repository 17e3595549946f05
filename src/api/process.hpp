// SPDX-License-Identifier: Apache-2.0
// The one Process of this operating-system process, for the C API alone, and MPI's own tables.
// Why: MPI's C functions name no process; everything below src/api gets its Process handed down.
// Life cycle: the first call in need of the Instance makes it (MPI_Info_create may come before
// MPI_Init). The Instance stays until the program ends, because programs may use handles after
// MPI_Finalize. api::Membership brings the Process into its job and out again.
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/error_codes.hpp"
#include "core/attribute.hpp"
#include "core/info.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

/// The values of MPI_Abi_set_fortran_*. logical_size 0: none yet.
struct FortranAbi {
  int logical_size = 0;
  int64_t logical_true = 0, logical_false = 0;  // as bytes
  core::Ref<core::Info> info;
};

class CompoundRequest;
class PartitionedRequest;
class SendBuffer;
class ToolRegistration;
class ToolSession;

/// Operations under way in a channel, under its lock.
template <class Request>
using ByChannel = std::array<std::vector<Request*>, core::Process::kMostChannels>;

struct PartitionedRequests {
  ByChannel<PartitionedRequest> running;
  std::atomic<uint32_t> tags = 0;  // used in turn
};

struct SendBuffers {
  std::mutex mutex;
  std::map<const core::Object*, std::shared_ptr<SendBuffer>> by_owner;  // null: the process
};

/// MPI_T.
struct ToolState {
  std::atomic<int> users = 0;  // MPI_T_init_thread without its MPI_T_finalize
  std::mutex mutex;            // of sessions
  std::vector<std::shared_ptr<ToolSession>> sessions;
  std::mutex registrations_mutex;  // taken before `mutex`, after a channel's lock
  std::vector<std::shared_ptr<ToolRegistration>> registrations;
};

/// The world of MPI_Init.
struct WorldState {
  bool started = false;         // MPI_Init was called
  bool ended = false;           // MPI_Finalize was called
  std::thread::id main_thread;  // the caller of MPI_Init
};

/// Values of predefined attributes: users get their addresses.
struct PredefinedAttributes {
  int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0, appnum = 0,
      universe_size = 0, last_used_code = MPI_ERR_LASTCODE;
};

/// The Process and the C API's own tables.
struct Instance {
  Instance();

  core::Process process;
  std::vector<std::string> complaints;  // about parameters, until Membership logs them
  core::Keyvals keyvals;
  PredefinedAttributes attributes;
  ErrorCodes error_codes;
  FortranAbi fortran;
  ByChannel<CompoundRequest> compounds;
  PartitionedRequests partitioned;
  SendBuffers send_buffers;
  WorldState world;
  ToolState tool;
};

/// Made at first use.
[[nodiscard]] Instance& instance() noexcept;

/// Non-null between MPI_Init and MPI_Finalize (and while a session is open).
extern core::Process* the_process;

/// The Process whether or not MPI is initialised.
[[nodiscard]] inline core::Process& any_process() noexcept { return instance().process; }

}  // namespace tern::api
