// SPDX-License-Identifier: Apache-2.0
// The Process of this program, for the C API, and MPI's own tables.
// Life cycle: the first call creates the Instance (MPI_Info_create may precede MPI_Init). The
// Instance stays until the program ends, because handles outlive MPI_Finalize. Threads: any.
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
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

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

/// Operations in flight by channel, under the channel's lock.
template <class Request>
using ByChannel = std::array<std::vector<Request*>, core::Process::kMostChannels>;

struct PartitionedRequests {
  ByChannel<PartitionedRequest> running;
  std::atomic<uint32_t> tags = 0;
};

struct SendBuffers {
  std::mutex mutex;
  // A null key means the process's buffer.
  std::map<const core::Object*, std::shared_ptr<SendBuffer>> by_owner;
};

struct ToolState {
  std::atomic<int> users = 0;
  std::mutex mutex;  // guards sessions
  std::vector<std::shared_ptr<ToolSession>> sessions;
  std::mutex registrations_mutex;  // locked before `mutex`, after a channel's lock
  std::vector<std::shared_ptr<ToolRegistration>> registrations;
};

struct WorldState {
  bool started = false;
  bool ended = false;
  std::thread::id main_thread;
};

/// Users get the addresses of these attribute values.
struct PredefinedAttributes {
  int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0, appnum = 0,
      universe_size = 0, ft = 0, last_used_code = MPI_ERR_LASTCODE;
};

struct Instance {
  Instance();

  core::Process process;
  std::vector<std::string> complaints;  // Membership logs complaints about parameters
  core::Keyvals keyvals;
  PredefinedAttributes attributes;
  ErrorCodes error_codes;
  core::Ref<core::ErrorHandler> file_handler;  // of MPI_FILE_NULL, and of new files
  FortranAbi fortran;
  ByChannel<CompoundRequest> compounds;
  PartitionedRequests partitioned;
  SendBuffers send_buffers;
  WorldState world;
  MPI_Comm parent = MPI_COMM_NULL;  // of MPI_Comm_get_parent
  ToolState tool;
};

[[nodiscard]] Instance& instance() noexcept;
[[nodiscard]] core::ErrorHandler* file_null_handler() noexcept;

/// the_process is null outside of MPI.
extern core::Process* the_process;

[[nodiscard]] inline core::Process& any_process() noexcept { return instance().process; }

}  // namespace tern::api
