// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "tool" (MPI_T, MPI-5.0 section 15.3.7): performance variables. The
// library always counts (one increment per event); a handle subtracts the count at its start.
#include <algorithm>
#include <cstring>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/tool/tool.hpp"

namespace tern::api {

class ToolHandle {
 public:
  ToolHandle(const PerformanceVariable& row, MPI_Comm of) noexcept : row_(row), of_(of) {
    running_ = row.continuous();
    base_ = running_ ? 0 : now();
  }
  [[nodiscard]] const PerformanceVariable& row() const noexcept { return row_; }
  [[nodiscard]] bool bound() const noexcept {
    return row_.bind == MPI_T_BIND_NO_OBJECT || communicator() != nullptr;
  }
  [[nodiscard]] uint64_t value() const noexcept { return sum_ + (running_ ? now() - base_ : 0); }
  void set(uint64_t value) noexcept {
    sum_ = value;
    base_ = now();
  }
  void start() noexcept {
    if (running_) return;
    running_ = true;
    base_ = now();
  }
  void stop() noexcept {
    sum_ = value();
    running_ = false;
  }

 private:
  [[nodiscard]] core::Communicator* communicator() const noexcept {
    return any_process().handles.find<core::Communicator>(of_);
  }
  [[nodiscard]] uint64_t now() const noexcept {
    Figures figures{};
    core::Process* process = the_process;
    if (process == nullptr) return 0;
    const auto* of = row_.bind == MPI_T_BIND_NO_OBJECT ? nullptr : communicator();
    for (const auto& channel : process->channels()) {
      const core::ChannelLock lock(channel->progress);
      channel->pml->add_up(of, &figures.messages);
      figures.poll_rounds += channel->progress.rounds();
      figures.idle_ns += static_cast<uint64_t>(channel->progress.idle_ns());
    }
    const auto& windows = process->window_operations;
    figures.windows = {windows.mapped, windows.copied, windows.by_target, windows.network,
                       windows.by_messages};
    const auto& registrations = process->registrations;
    figures.registrations = {registrations.asked, registrations.refused, registrations.bytes};
    const auto& devices = registrations.devices;
    figures.device_registrations = {devices.made, devices.hits, devices.evicted, devices.refused,
                                    devices.bytes};
    const auto& files = process->file_operations;
    figures.files = {files.block,         files.blocks,    files.mapped,
                     files.sieved,        files.exchanged, files.bytes_read,
                     files.bytes_written, files.rounds,    files.gpudirect};
    return row_.read(figures);
  }

  const PerformanceVariable& row_;
  const MPI_Comm of_;
  bool running_ = false;
  uint64_t base_ = 0, sum_ = 0;
};

class ToolSession {
 public:
  std::vector<std::unique_ptr<ToolHandle>> handles;
};

namespace {

struct Access {
  Access(MPI_T_pvar_session session_word, MPI_T_pvar_handle handle_word) noexcept
      : lock(instance().tool.mutex) {
    if (!tool_ready()) {
      code = MPI_T_ERR_NOT_INITIALIZED;
      return;
    }
    for (const auto& one : instance().tool.sessions)
      if (reinterpret_cast<const void*>(session_word) == one.get()) session = one.get();
    code = session == nullptr ? MPI_T_ERR_INVALID_SESSION : MPI_T_ERR_INVALID_HANDLE;
    if (session == nullptr) return;
    for (const auto& one : session->handles)
      if (reinterpret_cast<const void*>(handle_word) == one.get()) handle = one.get();
    if (handle != nullptr && handle->bound()) code = MPI_SUCCESS;
  }
  std::lock_guard<std::mutex> lock;
  ToolSession* session = nullptr;
  ToolHandle* handle = nullptr;
  int code;
};

/// "All" skips variables that always run or lack write access.
template <class Act>
int on_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refusal,
               Act&& act) noexcept {
  const Access access(session, handle);
  if (access.session == nullptr) return access.code;
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (const auto& one : access.session->handles)
      if (!one->row().continuous()) act(*one);
    return MPI_SUCCESS;
  }
  if (access.code != MPI_SUCCESS) return access.code;
  if (access.handle->row().continuous()) return refusal;
  act(*access.handle);
  return MPI_SUCCESS;
}

}  // namespace

const std::vector<PerformanceVariable>& performance_variables() {
#define TERN_FIGURE(field) [](const Figures& figures) { return figures.field; }
  constexpr int kCounter = MPI_T_PVAR_CLASS_COUNTER, kSum = MPI_T_PVAR_CLASS_AGGREGATE,
                kLevel = MPI_T_PVAR_CLASS_LEVEL, kMost = MPI_T_PVAR_CLASS_HIGHWATERMARK,
                kTimer = MPI_T_PVAR_CLASS_TIMER;
  constexpr int kAll = MPI_T_BIND_NO_OBJECT, kComm = MPI_T_BIND_MPI_COMM;
  static const std::vector<PerformanceVariable> table = {
      {"sent_eager", "protocol", kCounter, kAll,
       "messages sent eagerly, including collective messages", TERN_FIGURE(messages.eager)},
      {"sent_eager_bytes", "protocol", kSum, kAll, "their bytes",
       TERN_FIGURE(messages.eager_bytes)},
      {"sent_announced", "protocol", kCounter, kAll, "larger messages, sent by rendezvous",
       TERN_FIGURE(messages.announced)},
      {"sent_announced_bytes", "protocol", kSum, kAll, "their bytes",
       TERN_FIGURE(messages.announced_bytes)},
      {"sent_in_fragments", "protocol", kCounter, kAll,
       "rendezvous messages copied twice, through the transport's memory",
       TERN_FIGURE(messages.in_fragments)},
      {"sent_by_both_ends", "protocol", kCounter, kAll,
       "rendezvous messages copied in parts by both sender and receiver",
       TERN_FIGURE(messages.by_both_ends)},
      {"sent_written_by_rdma", "protocol", kCounter, kAll,
       "rendezvous messages written to the receiver's memory by RDMA",
       TERN_FIGURE(messages.written_by_rdma)},
      {"sent_read_by_rdma", "protocol", kCounter, kAll,
       "rendezvous messages read from this rank's memory by RDMA",
       TERN_FIGURE(messages.read_by_rdma)},
      {"rdma_registrations", "protocol", kCounter, kAll,
       "requests to register memory for RDMA with a network", TERN_FIGURE(registrations.asked)},
      {"rdma_registrations_refused", "protocol", kCounter, kAll,
       "refused ones; the data goes without RDMA", TERN_FIGURE(registrations.refused)},
      {"rdma_registered_bytes", "protocol", kLevel, kAll,
       "memory registered now, without the caches of the network's library",
       TERN_FIGURE(registrations.bytes)},
      {"rdma_device_registrations", "protocol", kCounter, kAll,
       "allocations of device memory registered for RDMA", TERN_FIGURE(device_registrations.made)},
      {"rdma_device_registrations_found", "protocol", kCounter, kAll,
       "blocks of device memory in an allocation that was registered",
       TERN_FIGURE(device_registrations.hits)},
      {"rdma_device_registrations_evicted", "protocol", kCounter, kAll,
       "allocations released for others, or beyond TERN_NET_CACHE",
       TERN_FIGURE(device_registrations.evicted)},
      {"rdma_device_registrations_refused", "protocol", kCounter, kAll,
       "blocks of device memory refused; the data goes through pinned host memory",
       TERN_FIGURE(device_registrations.refused)},
      {"rdma_device_registered_bytes", "protocol", kLevel, kAll,
       "device memory registered now, used or kept", TERN_FIGURE(device_registrations.bytes)},
      {"received", "protocol", kCounter, kAll, "completed receives",
       TERN_FIGURE(messages.received)},
      {"unexpected", "protocol", kCounter, kAll, "messages arriving before the receive",
       TERN_FIGURE(messages.unexpected)},
      {"unexpected_queue", "protocol", kLevel, kAll, "messages waiting for a receive",
       TERN_FIGURE(messages.kept)},
      {"unexpected_queue_bytes", "protocol", kLevel, kAll,
       "payload of waiting messages kept here; rendezvous payload waits at the sender",
       TERN_FIGURE(messages.kept_bytes)},
      {"unexpected_queue_most", "protocol", kMost, kAll,
       "largest number of messages waiting for a receive", TERN_FIGURE(messages.most_kept)},
      {"posted_receives", "protocol", kLevel, kAll, "receives waiting for a message",
       TERN_FIGURE(messages.posted)},
      {"comm_unexpected_queue", "protocol", kLevel, kComm,
       "point-to-point messages of the communicator waiting for a receive",
       TERN_FIGURE(messages.kept)},
      {"comm_posted_receives", "protocol", kLevel, kComm,
       "receives of the communicator waiting for a message", TERN_FIGURE(messages.posted)},
      {"rma_mapped", "rma", kCounter, kAll,
       "window operations in memory mapped by this rank, including its own part",
       TERN_FIGURE(windows.mapped)},
      {"rma_copied", "rma", kCounter, kAll,
       "window operations copied by the kernel from or to other processes of the host",
       TERN_FIGURE(windows.copied)},
      {"rma_by_target", "rma", kCounter, kAll,
       "copied operations executed by the polling target instead", TERN_FIGURE(windows.by_target)},
      {"rma_network", "rma", kCounter, kAll, "puts and gets of windows by RDMA to other hosts",
       TERN_FIGURE(windows.network)},
      {"rma_by_messages", "rma", kCounter, kAll, "window operations sent to the target as messages",
       TERN_FIGURE(windows.by_messages)},
      {"file_block", "file", kCounter, kAll, "transfers of one block of a file",
       TERN_FIGURE(files.block)},
      {"file_blocks", "file", kCounter, kAll, "transfers with a system call for each block",
       TERN_FIGURE(files.blocks)},
      {"file_mapped", "file", kCounter, kAll,
       "writes of small blocks through a mapping of the file", TERN_FIGURE(files.mapped)},
      {"file_sieved", "file", kCounter, kAll,
       "reads of small blocks together with the bytes between the blocks",
       TERN_FIGURE(files.sieved)},
      {"file_exchanged", "file", kCounter, kAll,
       "collective transfers through memory shared by the ranks of a host",
       TERN_FIGURE(files.exchanged)},
      {"file_rounds", "file", kCounter, kAll, "rounds of these transfers",
       TERN_FIGURE(files.rounds)},
      {"file_gpudirect", "file", kCounter, kAll,
       "calls of GPUDirect Storage, which moves device memory without the host",
       TERN_FIGURE(files.gpudirect)},
      {"file_bytes_read", "file", kSum, kAll, "bytes that this rank has read from files",
       TERN_FIGURE(files.bytes_read)},
      {"file_bytes_written", "file", kSum, kAll, "bytes that this rank has written to files",
       TERN_FIGURE(files.bytes_written)},
      {"poll_rounds", "progress", kCounter, kAll, "rounds over all pollers",
       TERN_FIGURE(poll_rounds)},
      {"idle_time", "progress", kTimer, kAll, "nanoseconds spent yielding or sleeping in waits",
       TERN_FIGURE(idle_ns)},
  };
#undef TERN_FIGURE
  return table;
}

int t_pvar_get_num(int* num_pvar) noexcept {
  const int code = check_out(num_pvar);
  if (code == MPI_SUCCESS) *num_pvar = static_cast<int>(performance_variables().size());
  return code;
}

int t_pvar_get_index(const char* name, int var_class, int* pvar_index) noexcept {
  if (!tool_ready()) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (const PerformanceVariable& row : performance_variables()) {
    if (std::strcmp(row.name, name) != 0 || row.var_class != var_class) continue;
    *pvar_index = static_cast<int>(&row - performance_variables().data());
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* readonly, int* continuous, int* atomic) noexcept {
  const int code = check_index(pvar_index, performance_variables().size());
  if (code != MPI_SUCCESS) return code;
  const PerformanceVariable& row = performance_variables()[static_cast<size_t>(pvar_index)];
  give(row.name, name, name_len);
  give(row.meaning, desc, desc_len);
  give_value(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  give_value(var_class, row.var_class);
  if (datatype != nullptr) *datatype = MPI_UNSIGNED_LONG;
  if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
  give_value(bind, row.bind);
  give_value(readonly, row.continuous());
  give_value(continuous, row.continuous());
  give_value(atomic, !row.continuous());
  return MPI_SUCCESS;
}

int t_pvar_session_create(MPI_T_pvar_session* pe_session) noexcept {
  const int code = check_out(pe_session);
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard<std::mutex> lock(instance().tool.mutex);
  auto& all = instance().tool.sessions;
  if (guarded([&] { all.push_back(std::make_shared<ToolSession>()); }) != MPI_SUCCESS)
    return MPI_T_ERR_OUT_OF_SESSIONS;
  *pe_session = reinterpret_cast<MPI_T_pvar_session>(all.back().get());
  return MPI_SUCCESS;
}

int t_pvar_session_free(MPI_T_pvar_session* pe_session) noexcept {
  const int code = check_out(pe_session);
  if (code != MPI_SUCCESS) return code;
  const Access access(*pe_session, MPI_T_PVAR_HANDLE_NULL);
  if (access.session == nullptr) return access.code;
  std::erase_if(instance().tool.sessions,
                [&](const auto& one) { return one.get() == access.session; });
  *pe_session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int t_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void* obj_handle,
                        MPI_T_pvar_handle* handle, int* count) noexcept {
  const int code = check_index(pvar_index, performance_variables().size());
  if (code != MPI_SUCCESS) return code;
  if (handle == nullptr) return MPI_T_ERR_INVALID;
  const PerformanceVariable& row = performance_variables()[static_cast<size_t>(pvar_index)];
  const bool bound = row.bind == MPI_T_BIND_MPI_COMM;
  if (bound && obj_handle == nullptr) return MPI_T_ERR_INVALID;
  const Access access(pe_session, MPI_T_PVAR_HANDLE_NULL);
  if (access.session == nullptr) return access.code;
  auto& handles = access.session->handles;
  const int made = guarded([&] {
    handles.push_back(std::make_unique<ToolHandle>(
        row, bound ? *static_cast<const MPI_Comm*>(obj_handle) : MPI_COMM_NULL));
  });
  if (made != MPI_SUCCESS) return MPI_T_ERR_OUT_OF_HANDLES;
  if (!handles.back()->bound()) {
    handles.pop_back();
    return MPI_T_ERR_INVALID;
  }
  *handle = reinterpret_cast<MPI_T_pvar_handle>(handles.back().get());
  give_value(count, 1);
  return MPI_SUCCESS;
}

int t_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle) noexcept {
  const int code = check_out(handle);
  if (code != MPI_SUCCESS) return code;
  const Access access(pe_session, *handle);
  if (access.handle == nullptr) return access.code;
  std::erase_if(access.session->handles,
                [&](const auto& one) { return one.get() == access.handle; });
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) noexcept {
  return on_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP,
                    [](ToolHandle& one) { one.start(); });
}

int t_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) noexcept {
  return on_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP,
                    [](ToolHandle& one) { one.stop(); });
}

int t_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle) noexcept {
  return on_handles(pe_session, handle, MPI_T_ERR_PVAR_NO_WRITE,
                    [](ToolHandle& one) { one.set(0); });
}

int t_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) noexcept {
  const Access access(pe_session, handle);
  if (access.code != MPI_SUCCESS) return access.code;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  *static_cast<unsigned long*>(buf) = access.handle->value();
  return MPI_SUCCESS;
}

int t_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle,
                 const void* buf) noexcept {
  const Access access(pe_session, handle);
  if (access.code != MPI_SUCCESS) return access.code;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (access.handle->row().continuous()) return MPI_T_ERR_PVAR_NO_WRITE;
  access.handle->set(*static_cast<const unsigned long*>(buf));
  return MPI_SUCCESS;
}

int t_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf) noexcept {
  const Access access(pe_session, handle);
  if (access.code != MPI_SUCCESS) return access.code;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (access.handle->row().continuous()) return MPI_T_ERR_PVAR_NO_ATOMIC;
  *static_cast<unsigned long*>(buf) = access.handle->value();
  access.handle->set(0);
  return MPI_SUCCESS;
}

}  // namespace tern::api
