// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/outbox.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tern::btl::cuda_ipc {

Outbox::Outbox(const Ledger& ledger)
    : ledger_(ledger.number()), socket_(address_of(::getpid(), ledger.number())) {
  parcel_.ledger = ledger_;
}

bool Outbox::next(Ask* ask, Address* from) {
  constexpr size_t kMostReaders = 1024;
  if (!socket_.valid()) return false;
  std::vector<Fd> none;
  for (int wrong = 0; wrong < 64; ++wrong) {
    const size_t bytes = socket_.receive(ask, sizeof *ask, &none, from);
    if (bytes == 0) return false;
    if (bytes != sizeof *ask || ask->magic != Ask::kMagic || ask->ledger != ledger_) continue;
    if (std::find(readers_.begin(), readers_.end(), *from) == readers_.end() &&
        readers_.size() < kMostReaders)
      readers_.push_back(*from);
    return true;
  }
  return false;
}

void Outbox::add(const Address& to, uint32_t row, uint64_t stamp, int descriptor) {
  parcel_.items[parcel_.count] = {stamp, row, 0};
  descriptors_[parcel_.count] = descriptor;
  if (++parcel_.count == Parcel::kMost) send(to);
}

// The reader repeats the request if a parcel is lost.
void Outbox::send(const Address& to) {
  if (parcel_.count == 0) return;
  const int error = socket_.send(to, &parcel_, sizeof parcel_, descriptors_, parcel_.count);
  parcel_.count = 0;
  if (error == ECONNREFUSED) gone_.push_back(to);
}

void Outbox::forget_the_gone() {
  for (const Address& one : gone_)
    readers_.erase(std::remove(readers_.begin(), readers_.end(), one), readers_.end());
  gone_.clear();
}

}  // namespace tern::btl::cuda_ipc
