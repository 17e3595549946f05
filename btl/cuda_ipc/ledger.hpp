// SPDX-License-Identifier: Apache-2.0
// Ledger: what a process shares by descriptor or by fabric handle, as rows of a file without a name
// that its peers map. A handle names the first row of a block; rows of mappings that lie side by
// side are chained. Why: a block may consist of any number of mappings, and a handle has 128 bytes.
// A file is mapped once by each peer, and then a message from known memory costs no system call.
// Lifetime: of the process. Rows are used again for other memory: a row's stamp never is.
// Ordering: rows are written before the handle that names them leaves. A peer that takes a row's
// descriptor looks at the row's stamp and descriptor again afterwards: the owner changes the row
// first, and closes the descriptor then. Nothing in a peer's ledger is believed: Chain checks a
// copy. Threads: the writer holds its own lock; readers are other processes. See:
// btl/cuda_ipc/README.md, tests/unit/btl/ledger_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

struct Row {
  /// What is there to share it by; several may be.
  enum Forms : uint32_t { kDescriptor = 1, kFabric = 2, kPool = 4, kPointer = 8, kLegacy = 16 };
  uint64_t stamp;  // 0: nothing is here
  uint64_t buffer_id;
  uint64_t base, bytes;
  uint32_t forms;
  int32_t descriptor;  // kDescriptor, kPool: in the writer's process; -1 while it is closed
  uint32_t next;       // the row of what begins where this ends; of a kPointer, the row of its pool
  uint32_t reserved;
  unsigned char handle[64];  // kFabric, kPointer, kLegacy
  unsigned char device[16];  // of a trial's block: its device
};
static_assert(sizeof(Row) == 128);

/// The file of a ledger.
struct LedgerFile {
  static constexpr uint32_t kRows = 16384;
  static constexpr uint32_t kTrials = 24;
  static constexpr uint64_t kMagic = 0x32726567'6465'6c74;
  uint64_t magic, number;
  uint32_t trials[kTrials];  // rows of blocks for trials (trial.hpp); 0: none
  unsigned char unused[16];
  Row rows[kRows];  // the first is never used
};

/// The writer's.
class Ledger {
 public:
  /// Throws Error.
  Ledger();
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  /// The number of a free row, filled with this and a new stamp; 0 if all are taken.
  uint32_t add(Row row) noexcept;
  /// A row of a block for trials. False where there is no room.
  bool list_trial(const Row& row) noexcept;
  /// Before what it names is closed.
  void clear(uint32_t row) noexcept;
  void chain(uint32_t row, uint32_t next) noexcept;
  /// Another one; before it is closed -1.
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
  uint32_t used_ = 1;  // rows that were ever used
  std::vector<uint32_t> free_;
};

/// A peer's ledger in this process.
class PeerLedger {
 public:
  /// Throws Error(MPI_ERR_OTHER) where the file is no ledger, or not the one of that number.
  PeerLedger(const Fd& file, uint64_t number);
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  /// A copy; its stamp is 0 where there is no such row.
  [[nodiscard]] Row read(uint32_t row) const noexcept;
  /// The block for trials of a device; its stamp is 0 if none is listed.
  [[nodiscard]] Row trial_of(const cuda::Uuid& device) const noexcept;
  /// Whether a row is still the same.
  [[nodiscard]] bool is(uint32_t row, uint64_t stamp) const noexcept;
  /// And its descriptor, too: what was taken by that number is the row's.
  [[nodiscard]] bool has_descriptor(uint32_t row, uint64_t stamp, int descriptor) const noexcept;

 private:
  Mapping mapping_;
  uint64_t number_;
};

/// A part of a chain, as it was read.
struct Piece {
  uint32_t number;
  Row row;
};
/// The rows of a handle from first to last, which fill it exactly. False with a reason where they
/// do not: then the handle is one of other memory by now, or a wrong one.
[[nodiscard]] bool read_chain(const PeerLedger& ledger, const MemoryHandle& handle,
                              std::vector<Piece>* pieces, std::string* why_not);

}  // namespace tern::btl::cuda_ipc
