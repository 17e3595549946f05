// SPDX-License-Identifier: Apache-2.0
// Ledger: memory shared by descriptor or fabric handle, as rows of an unnamed file that peers map.
// A handle names the first row of a block; rows of adjacent mappings are chained.
// Lifetime: the process. Rows are reused, but stamps are unique.
// Ordering: the owner writes rows before sending the handle, and changes a row before closing the
// descriptor. So a peer checks stamp and descriptor again after taking a descriptor. Peers' rows
// are untrusted: read_chain() checks copies.
// Threads: the writer has its own lock; readers are other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

struct Row {
  enum Forms : uint32_t { kDescriptor = 1, kFabric = 2, kPool = 4, kPointer = 8, kLegacy = 16 };
  uint64_t stamp;  // 0: empty row
  uint64_t buffer_id;
  uint64_t base, bytes;
  uint32_t forms;
  int32_t descriptor;  // number in the owner's process; -1: closed
  uint32_t next;       // row of the adjacent mapping; kPointer: row of the pool
  uint32_t reserved;
  unsigned char handle[64];
  unsigned char device[16];
};
static_assert(sizeof(Row) == 128);

struct LedgerFile {
  static constexpr uint32_t kRows = 16384;
  static constexpr uint32_t kTrials = 24;
  static constexpr uint64_t kMagic = 0x32726567'6465'6c74;
  uint64_t magic, number;
  uint32_t trials[kTrials];  // rows of trial blocks (trial.hpp); 0: none
  unsigned char unused[16];
  Row rows[kRows];
};

/// Ledger is the owner's side.
class Ledger {
 public:
  Ledger();
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  /// add() returns 0 if the ledger is full.
  uint32_t add(Row row) noexcept;
  bool list_trial(const Row& row) noexcept;
  /// The owner calls clear() before closing the row's descriptor.
  void clear(uint32_t row) noexcept;
  void chain(uint32_t row, uint32_t next) noexcept;
  /// The owner sets -1 before closing the descriptor.
  void set_descriptor(uint32_t row, int descriptor) noexcept;
  [[nodiscard]] const Row& operator[](uint32_t row) const noexcept { return all().rows[row]; }

 private:
  [[nodiscard]] LedgerFile& all() const noexcept {
    return *reinterpret_cast<LedgerFile*>(mapping_.data());
  }
  Fd file_;
  Mapping mapping_;
  uint64_t number_;
  uint64_t stamp_ = 0;
  uint32_t used_ = 1;
  std::vector<uint32_t> free_;
};

/// PeerLedger is the reader's side. An empty row has stamp 0.
class PeerLedger {
 public:
  /// Throws Error(MPI_ERR_OTHER) if the file is not the ledger of that number.
  PeerLedger(const Fd& file, uint64_t number);
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] Row read(uint32_t row) const noexcept;
  [[nodiscard]] Row trial_of(const cuda::Uuid& device) const noexcept;
  [[nodiscard]] bool is(uint32_t row, uint64_t stamp) const noexcept;
  [[nodiscard]] bool has_descriptor(uint32_t row, uint64_t stamp, int descriptor) const noexcept;

 private:
  Mapping mapping_;
  uint64_t number_;
};

struct ChainPiece {
  uint32_t number;
  Row row;
};
/// read_chain() returns the rows that cover a handle exactly, or false with a reason if the handle
/// is stale or wrong.
[[nodiscard]] bool read_chain(const PeerLedger& ledger, const MemoryHandle& handle,
                              std::vector<ChainPiece>* pieces, std::string* why_not);

}  // namespace tern::btl::cuda_ipc
