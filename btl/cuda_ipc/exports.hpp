// SPDX-License-Identifier: Apache-2.0
// Exports: what this process has named for others: legacy handles, and rows of its ledger with the
// descriptors behind them; each made once for an allocation, by its id.
// Why: naming is a driver call or several, and a message from memory that is known costs none.
// A descriptor keeps the memory that it names, and so does a mapping of a peer's: some entries are
// looked at in each offer and now and then besides, and what was freed is withdrawn. A descriptor
// that was not offered for seconds is closed; the next offer makes another. Half of the
// descriptors that the process may have are taken at most; then the one that was not offered for
// longest is withdrawn: a peer that wanted it gets the data through the host. Lifetime: of the
// process, which has one table of descriptors, whatever ranks it has; emptied when the last rank
// leaves. Threads: any. See: btl/cuda_ipc/README.md.
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
  /// Memory that cuIpcGetMemHandle takes. False with a reason.
  bool name_legacy(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                   std::string* why_not);
  /// Mappings side by side, from the one at the handle's address on. The same.
  bool name_mappings(cuda::Device& device, size_t bytes, MemoryHandle* handle,
                     std::string* why_not);
  /// Memory from a pool. The same.
  bool name_pooled(cuda::Device& device, const cuda::Memory& memory, MemoryHandle* handle,
                   std::string* why_not);
  /// Sends descriptors to those who have asked.
  void answer();
  /// Looks whether some of what was named is still there, and closes descriptors that were not
  /// offered for some time; at most once in some milliseconds, however often it is called.
  void look_after() noexcept;
  /// Memory that this process frees now: what was named of it is withdrawn.
  void forget(uintptr_t address, size_t bytes) noexcept;
  /// A rank begins, a rank ends. Whether descriptors may be sent: as the first rank says.
  void join(bool sends) noexcept;
  void leave() noexcept;

 private:
  /// An allocation's name in this process: ids of both kinds count for themselves.
  struct Name {
    uint64_t id = 0;
    cuda::IdKind kind = cuda::IdKind::kBuffer;
    auto operator<=>(const Name&) const = default;
    [[nodiscard]] static Name of(const cuda::Memory& memory) noexcept {
      return {memory.buffer_id, memory.id_kind};
    }
  };
  struct Entry {
    Name name;
    uintptr_t base = 0;
    uint64_t used = 0;       // the turn of its last offer
    int64_t offered_ns = 0;  // the time of it
    uint32_t pool = 0;       // row of its pool
    Fd descriptor;
  };
  /// A pool that lists memory. Its row has an entry without a name.
  struct Pool {
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
  [[nodiscard]] static bool is_there(const Entry& entry) noexcept;
  void withdraw(uint32_t row) noexcept;
  void look_at(int entries, int64_t now) noexcept;
  void refuse(const cuda::Memory& memory, const std::string& why);

  std::mutex mutex_;
  int ranks_ = 0;
  bool sends_ = false;
  uint64_t turn_ = 0;
  std::unique_ptr<Ledger> ledger_;  // from the first row on
  std::unique_ptr<Outbox> outbox_;  // with it
  std::vector<Entry> entries_;      // by row
  std::vector<uint32_t> fresh_;     // rows that no reader was sent
  std::vector<Pool> pools_;
  Trials trials_;
  std::map<Name, uint32_t> rows_;
  std::map<Name, std::string> refused_;         // for good
  std::map<CUmemoryPool, int> unshared_pools_;  // and how often they were met since
  size_t descriptors_ = 0;
  uint32_t looked_at_ = 0;
  int64_t next_look_ns_ = 0;
};

}  // namespace tern::btl::cuda_ipc
