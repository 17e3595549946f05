// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/ledger.hpp"

#include <sys/random.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::btl::cuda_ipc {
namespace {

uint64_t random_number() noexcept {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint64_t>(::getpid());
  return number;
}

}  // namespace

Ledger::Ledger()
    : file_(make_memfd("tern-device-memory", sizeof(LedgerFile))),
      mapping_(Mapping::shared(file_.get(), sizeof(LedgerFile))),
      number_(random_number()) {
  all().magic = LedgerFile::kMagic;
  all().number = number_;
}

uint32_t Ledger::add(Row row) noexcept {
  uint32_t place = 0;
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else if (used_ < LedgerFile::kRows) {
    place = used_++;
  } else {
    return 0;
  }
  row.stamp = 0;
  all().rows[place] = row;
  std::atomic_ref(all().rows[place].stamp).store(++stamp_, std::memory_order_release);
  return place;
}

bool Ledger::list_trial(const Row& row) noexcept {
  for (uint32_t& one : all().trials) {
    if (one != 0) continue;
    const uint32_t place = add(row);
    std::atomic_ref(one).store(place, std::memory_order_release);
    return place != 0;
  }
  return false;
}

void Ledger::clear(uint32_t row) noexcept {
  std::atomic_ref(all().rows[row].stamp).store(0, std::memory_order_seq_cst);
  try {
    free_.push_back(row);
  } catch (const std::bad_alloc&) {
  }
}

void Ledger::chain(uint32_t row, uint32_t next) noexcept {
  std::atomic_ref(all().rows[row].next).store(next, std::memory_order_relaxed);
}

void Ledger::set_descriptor(uint32_t row, int descriptor) noexcept {
  std::atomic_ref(all().rows[row].descriptor).store(descriptor, std::memory_order_seq_cst);
}

PeerLedger::PeerLedger(const Fd& file, uint64_t number) : number_(number) {
  struct stat about;
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size != static_cast<off_t>(sizeof(LedgerFile)) || !has_fixed_size(file.get()))
    throw Error(MPI_ERR_OTHER, "the peer's file is not a list of shared memory");
  void* const at = ::mmap(nullptr, sizeof(LedgerFile), PROT_READ, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED)
    throw Error(MPI_ERR_OTHER,
                strf("mapping the peer's list of shared memory failed: %s", std::strerror(errno)));
  mapping_ = Mapping(at, sizeof(LedgerFile));
  const auto& all = *reinterpret_cast<const LedgerFile*>(mapping_.data());
  if (all.magic != LedgerFile::kMagic || all.number != number)
    throw Error(MPI_ERR_OTHER, "the peer's list of shared memory is not the handle's");
}

// An equal stamp before and after proves a consistent row.
Row PeerLedger::read(uint32_t number) const noexcept {
  Row copy{};
  if (number == 0 || number >= LedgerFile::kRows) return copy;
  auto& row = reinterpret_cast<LedgerFile*>(mapping_.data())->rows[number];
  const uint64_t stamp = std::atomic_ref(row.stamp).load(std::memory_order_acquire);
  std::memcpy(&copy, &row, sizeof copy);
  copy.stamp = is(number, stamp) ? stamp : 0;
  return copy;
}

Row PeerLedger::trial_of(const cuda::Uuid& device) const noexcept {
  for (uint32_t& one : reinterpret_cast<LedgerFile*>(mapping_.data())->trials) {
    const Row row = read(std::atomic_ref(one).load(std::memory_order_acquire));
    if (row.stamp != 0 && std::memcmp(row.device, device.bytes, sizeof row.device) == 0) return row;
  }
  return {};
}

bool PeerLedger::is(uint32_t number, uint64_t stamp) const noexcept {
  if (number == 0 || number >= LedgerFile::kRows) return false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto& row = reinterpret_cast<LedgerFile*>(mapping_.data())->rows[number];
  return std::atomic_ref(row.stamp).load(std::memory_order_seq_cst) == stamp;
}

bool PeerLedger::has_descriptor(uint32_t number, uint64_t stamp, int descriptor) const noexcept {
  if (!is(number, stamp)) return false;
  auto& row = reinterpret_cast<LedgerFile*>(mapping_.data())->rows[number];
  return std::atomic_ref(row.descriptor).load(std::memory_order_seq_cst) == descriptor;
}

bool read_chain(const PeerLedger& ledger, const MemoryHandle& handle,
                std::vector<ChainPiece>* pieces, std::string* why_not) {
  pieces->clear();
  uint64_t left = handle.bytes, at = handle.base;
  for (uint32_t number = handle.listed.row; left > 0;) {
    const Row row = ledger.read(number);
    if (row.stamp == 0 || row.base != at || row.bytes == 0 || row.bytes > left ||
        pieces->size() >= LedgerFile::kRows) {
      *why_not =
          strf("row %u of the peer's list of shared memory does not name the %llu bytes at %#llx",
               number, static_cast<unsigned long long>(left), static_cast<unsigned long long>(at));
      return false;
    }
    pieces->push_back({number, row});
    at += row.bytes;
    left -= row.bytes;
    number = row.next;
  }
  return true;
}

}  // namespace tern::btl::cuda_ipc
