// SPDX-License-Identifier: Apache-2.0
// Descriptors: descriptors of other processes of this host, taken with pidfd_getfd or sent by the
// owner on request (letters.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "base/fd.hpp"
#include "base/params.hpp"
#include "btl/cuda_ipc/letters.hpp"
#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

struct DescriptorWays {
  bool pidfd = true, socket = true;
};
[[nodiscard]] DescriptorWays descriptor_ways(DescriptorWay asked) noexcept;

struct Owner {
  uint64_t process;
  int32_t pid;      // in the owner's PID namespace
  bool has_number;  // both processes share a PID namespace
};
[[nodiscard]] Owner owner_of(const MemoryHandle& handle) noexcept;

/// Row and stamp 0 mean the ledger's own descriptor.
struct Wanted {
  Owner owner;
  int32_t descriptor;
  uint64_t ledger;
  uint32_t row;
  uint64_t stamp;
};

class Descriptors {
 public:
  explicit Descriptors(DescriptorWays ways) noexcept : ways_(ways) {}
  /// take() returns an invalid descriptor and a reason on failure.
  [[nodiscard]] Fd take(const Wanted& wanted, std::string* why_not);
  /// missed() is true if the owner can send a missing descriptor. ask() resets it.
  [[nodiscard]] bool missed() const noexcept { return missed_; }
  /// ask() clears *why_not if an answer will come.
  void ask(const MemoryHandle& handle, std::string* why_not);
  void open_letters();
  using IsThere = std::function<bool(uint64_t ledger, uint32_t row, uint64_t stamp)>;
  void forget_withdrawn(const IsThere& is_there);

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;
  struct CachedDescriptor {
    Fd descriptor;
    int64_t since_ns;
  };
  const DescriptorWays ways_;
  std::optional<MailSocket> socket_;
  std::map<Key, CachedDescriptor> kept_;
  std::unordered_set<uint64_t> refused_;
  int unanswered_ = 0;
  bool missed_ = false;
};

}  // namespace tern::btl::cuda_ipc
