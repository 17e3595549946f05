// SPDX-License-Identifier: Apache-2.0
// CudaIpc: maps device memory of other processes of this machine. Cache: a mapping is reused while
// the allocation's buffer id is the same, up to a number of bytes. Unmapping waits for all device
// work. So CudaIpc unmaps only unused mappings: to make room in the cache, for other memory at the
// same address, or after the owner has withdrawn the memory.
#pragma once

#include <list>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "btl/cuda_ipc/closer.hpp"
#include "btl/cuda_ipc/opening.hpp"
#include "btl/cuda_ipc/pools.hpp"
#include "btl/cuda_ipc/trial.hpp"

namespace tern::btl::cuda_ipc {

class CudaIpc final : public DeviceTransport {
 public:
  CudaIpc(size_t most_bytes, DescriptorWays ways) noexcept
      : most_bytes_(most_bytes), descriptors_(ways) {}
  ~CudaIpc() override;
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle, cuda::Device& device) override;
  void look_after() noexcept override;
  /// why_not() returns an empty string if the next handle for the same memory will work.
  [[nodiscard]] std::string why_not() const override { return failure_.why; }
  [[nodiscard]] bool found_wrong_data() const noexcept override { return failure_.wrong_data; }

 private:
  class Use;
  /// A Key is the device, the owner's process_id() and the owner's address.
  using Key = std::tuple<const cuda::Device*, uint64_t, uint64_t>;
  using Imports = std::map<Key, Import>;
  using Closing = std::list<std::shared_ptr<Closer::Going>>;
  /// A trial found that this device cannot map the peer's device.
  struct Refused {
    uint64_t process;
    MemoryHandle::HandleForm form;
    cuda::Uuid device;
    const cuda::Device* by;
  };
  struct DeviceLink {
    const cuda::Device* by;
    cuda::Uuid to;
    enum class State : uint8_t { kUntried, kGood, kBad } state = State::kUntried;
    int tries = 0;
    Import block = {};
    std::vector<uint64_t> pattern = {};
    std::unique_ptr<TrialCopy> trial = nullptr;
  };
  struct LedgerPeer {
    std::unique_ptr<PeerLedger> ledger;
    bool fabric = true;
    int tries = 0;
  };

  [[nodiscard]] bool is_refused_among_spaces(const MemoryHandle& handle) const noexcept;
  [[nodiscard]] bool refused(const MemoryHandle& handle, const cuda::Device& device) const noexcept;
  std::unique_ptr<MappedPeerMemory> map_legacy(const MemoryHandle& handle, cuda::Device& device);
  [[nodiscard]] bool gives_right_data(const MemoryHandle& handle, cuda::Device& device);
  void begin_trial(const MemoryHandle& handle, cuda::Device& device, DeviceLink* link);
  void end_trial(DeviceLink* link);
  [[nodiscard]] uint64_t stamp_of_legacy(const MemoryHandle& handle) noexcept;
  std::unique_ptr<MappedPeerMemory> map_fabric(const MemoryHandle& handle, cuda::Device& device);
  std::unique_ptr<MappedPeerMemory> map_listed(const MemoryHandle& handle, cuda::Device& device);
  std::unique_ptr<MappedPeerMemory> map_mappings(LedgerPeer& peer, const MemoryHandle& handle,
                                                 cuda::Device& device);
  bool map_missing(LedgerPeer& peer, Window& window, const std::vector<const ChainPiece*>& missing,
                   Use& use);
  LedgerPeer* peer_of(const MemoryHandle& handle);
  Window* window_of(const MemoryHandle& handle, cuda::Device& device);
  bool allow_all(const Window& window, const std::vector<Imports::iterator>& fresh);
  void leave(Window* window) noexcept;
  void retire_replaced(const MemoryHandle& handle, cuda::Device& device);
  void retire_overlapping(const Key& key, uint64_t bytes);
  Imports::iterator retire(Imports::iterator at);
  void let_go(const Import& import);
  void drop_closed() noexcept;
  enum class When : uint8_t { kQuiet, kNow };
  void drop_leaving(When when);
  void drop_unused(int imports);
  void make_room(size_t bytes);

  const size_t most_bytes_;
  size_t bytes_ = 0;
  uint64_t turn_ = 0;
  Imports imports_;
  std::list<Imports::node_type> leaving_;  // stale imports, in use or not yet unmappable
  Closing closing_;
  Closer closer_;
  std::list<Window> windows_;
  std::unordered_map<uint64_t, LedgerPeer> peers_;
  Pools pools_;
  Descriptors descriptors_;
  std::vector<Refused> refused_;
  std::vector<DeviceLink> links_;
  std::vector<ChainPiece> pieces_;
  Key looked_at_{};
  Failure failure_;
};

}  // namespace tern::btl::cuda_ipc
