// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/descriptors.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process_id.hpp"
#include "btl/cuda_ipc/ledger.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr int64_t kKept = 60'000'000'000;  // ns; unused descriptors are then closed
constexpr int kTimeout = 16;               // unanswered requests before an error

Fd take_by_pidfd(int pid, int descriptor) noexcept {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return {};
  return Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
}

}  // namespace

DescriptorWays descriptor_ways(DescriptorWay asked) noexcept {
  return {asked != DescriptorWay::kSocket, asked != DescriptorWay::kPidfd};
}

Owner owner_of(const MemoryHandle& handle) noexcept {
  return {handle.process, handle.pid, handle.domain == number_domain()};
}

Fd Descriptors::take(const Wanted& wanted, std::string* why_not) {
  const int pid = wanted.owner.pid;
  if (ways_.pidfd && !wanted.owner.has_number) {
    *why_not = strf(
        "process %d is in another PID namespace (a container), where descriptors can only be "
        "sent over a socket",
        pid);
  } else if (ways_.pidfd && refused_.count(wanted.owner.process) == 0) {
    Fd taken = take_by_pidfd(pid, wanted.descriptor);
    if (taken.valid()) return taken;
    *why_not = strf("taking descriptor %d from process %d failed: %s", wanted.descriptor, pid,
                    std::strerror(errno));
    const bool for_good = errno == EPERM || errno == ENOSYS || errno == EACCES || errno == ESRCH;
    if (!ways_.socket || !for_good) return {};
    refused_.insert(wanted.owner.process);
  }
  if (!ways_.socket) return {};
  open_letters();
  const auto found = kept_.find({wanted.ledger, wanted.row, wanted.stamp});
  if (found == kept_.end()) {
    missed_ = true;
    return {};
  }
  Fd taken = std::move(found->second.descriptor);
  kept_.erase(found);
  return taken;
}

void Descriptors::ask(const MemoryHandle& handle, std::string* why_not) {
  missed_ = false;
  if (!socket_.has_value()) socket_.emplace(Address{});
  Ask letter;
  letter.ledger = handle.listed.ledger;
  letter.row = handle.listed.row;
  letter.bytes = handle.bytes;
  const int error = !socket_->valid() ? EADDRNOTAVAIL
                                      : socket_->send(address_of(handle.pid, letter.ledger),
                                                      &letter, sizeof letter, nullptr, 0);
  if (error != 0 && error != EAGAIN)
    *why_not = strf(
        "the system forbids taking descriptors (pidfd_getfd), and process %d cannot be "
        "asked for them over a socket: %s",
        handle.pid, std::strerror(error));
  else if (++unanswered_ > kTimeout)
    *why_not = strf("process %d was asked for its descriptors over a socket, and has not answered",
                    handle.pid);
  else
    why_not->clear();
}

void Descriptors::forget_withdrawn(const IsThere& is_there) {
  std::erase_if(kept_, [&](const auto& one) {
    const auto& [ledger, row, stamp] = one.first;
    return row != 0 && !is_there(ledger, row, stamp);
  });
}

// Row numbers in letters are trusted: any sender of letters can also write the ledger.
void Descriptors::open_letters() {
  if (!socket_.has_value() || !socket_->valid()) return;
  Parcel parcel;
  std::vector<Fd> descriptors;
  Address from;
  const int64_t now = now_ns();
  while (const size_t bytes = socket_->receive(&parcel, sizeof parcel, &descriptors, &from)) {
    if (bytes != sizeof parcel || parcel.magic != Parcel::kMagic ||
        parcel.count != descriptors.size() || parcel.count > Parcel::kMost)
      continue;
    unanswered_ = 0;
    for (uint32_t i = 0; i < parcel.count; ++i)
      kept_[{parcel.ledger, parcel.items[i].row, parcel.items[i].stamp}] = {
          std::move(descriptors[i]), now};
  }
  for (auto at = kept_.begin(); at != kept_.end();)
    at = now - at->second.since_ns > kKept ? kept_.erase(at) : std::next(at);
}

}  // namespace tern::btl::cuda_ipc
