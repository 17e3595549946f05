// SPDX-License-Identifier: Apache-2.0
// Exports: the memory named for other processes: legacy handles, and ledger rows with their
// descriptors. Each allocation is named once, by id.
// Why: naming takes driver calls; messages from known memory take none.
// Lifetime: the process, with a single table for all ranks; emptied when the last rank leaves.
// Threads: any.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "btl/cuda_ipc/outbox.hpp"
#include "btl/cuda_ipc/trial.hpp"

namespace tern::btl::cuda_ipc {

class Exports {
 public:
  static Exports& instance() noexcept;
  /// name_legacy(), name_mappings() and name_pooled() return false with a reason on failure.
  bool name_legacy(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                   std::string* why_not);
  bool name_mappings(cuda::Device& device, size_t bytes, MemoryHandle* handle,
                     std::string* why_not);
  bool name_pooled(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                   std::string* why_not);
  void answer();
  void look_after() noexcept;
  /// The owner calls forget() before freeing the memory.
  void forget(uintptr_t address, size_t bytes) noexcept;
  /// `sends` allows sending descriptors; the first rank's value decides.
  void join(bool sends) noexcept;
  void leave() noexcept;

 private:
  /// A Name includes the IdKind, because ids of different kinds may coincide.
  struct Name {
    uint64_t id = 0;
    cuda::IdKind kind = cuda::IdKind::kBuffer;
    auto operator<=>(const Name&) const = default;
    [[nodiscard]] static Name of(const cuda::Memory& memory) noexcept {
      return {memory.buffer_id, memory.id_kind};
    }
  };
  struct Export {
    Name name;
    uintptr_t base = 0;
    uint64_t used = 0;
    int64_t offered_ns = 0;
    uint32_t pool = 0;
    Fd descriptor;
  };
  struct ListedPool {
    CUmemoryPool handle;
    uint32_t row;
    int pointers = 0;
  };
  uint32_t row_of(cuda::Device& device, const cuda::Memory& memory, std::string* why_not);
  void answer_locked();
  void send_rows(const Ask& ask, const Address& to);
  void send_fresh();
  bool make_room(bool with_descriptor);
  uint32_t enter(const cuda::Memory& memory, Row row, Fd descriptor);
  uint32_t known_row(const cuda::Memory& memory, bool with_descriptor, std::string* why_not);
  bool open_again(cuda::Device& device, uint32_t row, std::string* why_not);
  void note_fresh(uint32_t row);
  void close_idle(uint32_t row, int64_t now) noexcept;
  uint32_t pool_of(const cuda::Driver& driver, const cuda::Memory& memory, std::string* why_not);
  uint32_t share_pool(const cuda::Driver& driver, CUmemoryPool handle, CUresult* result);
  void count_pointer(uint32_t pool, int change) noexcept;
  void put(cuda::Device& device, uint32_t row, MemoryHandle* handle) noexcept;
  [[nodiscard]] static bool is_there(const Export& entry) noexcept;
  void withdraw(uint32_t row) noexcept;
  void look_at(int entries, int64_t now) noexcept;
  void refuse(const cuda::Memory& memory, const std::string& why);

  std::mutex mutex_;
  int ranks_ = 0;
  bool sends_ = false;
  uint64_t turn_ = 0;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Outbox> outbox_;
  std::vector<Export> entries_;
  std::vector<uint32_t> fresh_;
  std::vector<ListedPool> pools_;
  Trials trials_;
  std::map<Name, uint32_t> rows_;
  std::map<Name, std::string> refused_;
  std::map<CUmemoryPool, int> unshared_pools_;
  size_t descriptors_ = 0;
  uint32_t looked_at_ = 0;
  int64_t next_look_ns_ = 0;
};

}  // namespace tern::btl::cuda_ipc
