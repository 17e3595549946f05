// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/cuda_ipc.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "btl/cuda_ipc/exports.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr std::chrono::milliseconds kLongestWait{50};

}  // namespace

class CudaIpc::Use final : public MappedPeerMemory {
 public:
  Use() = default;
  ~Use() override {
    for (Import* const import : imports_) --import->uses;
  }
  void add(Import& import, uint64_t turn) {
    imports_.push_back(&import);
    ++import.uses;
    import.last = turn;
  }
  void place(const MemoryHandle& handle) noexcept {
    address = reinterpret_cast<std::byte*>(imports_.front()->here + (handle.address - handle.base));
  }

 private:
  std::vector<Import*> imports_;
};

CudaIpc::~CudaIpc() {
  for (DeviceLink& link : links_)
    if (std::exchange(link.trial, nullptr) != nullptr) (void)unmap(link.block);
  closer_.end();
  for (const auto& node : leaving_) (void)unmap(node.mapped());
  for (const auto& [key, import] : imports_) (void)unmap(import);
  for (const Window& window : windows_) unreserve(window);
}

std::unique_ptr<MappedPeerMemory> CudaIpc::map(const MemoryHandle& handle, cuda::Device& device) {
  if (handle.form == MemoryHandle::HandleForm::kNone || !is_sound(handle)) {
    failure_ = {"the owner could not share the memory"};
    return nullptr;
  }
  ++turn_;
  failure_ = {};
  drop_unused(1);
  Exports::instance().answer();
  if (refused(handle, device)) {
    failure_.why = "an earlier attempt showed that the device cannot map this memory";
    return nullptr;
  }
  // The trial's block is opened first, because some drivers cannot open the block beside other
  // memory of its 2 MiB.
  if (!(handle.device == device.uuid) && !gives_right_data(handle, device)) return nullptr;
  auto mapped = handle.form == MemoryHandle::HandleForm::kLegacy ? map_legacy(handle, device)
                                                                 : map_listed(handle, device);
  if (mapped == nullptr && (failure_.unreachable || is_refused_among_spaces(handle)))
    refused_.push_back({handle.process, handle.form, handle.device, &device});
  if (descriptors_.missed()) descriptors_.ask(handle, &failure_.why);
  return mapped;
}

// A single attempt shows whether the driver accepts legacy handles across PID namespaces.
bool CudaIpc::is_refused_among_spaces(const MemoryHandle& handle) const noexcept {
  return handle.form == MemoryHandle::HandleForm::kLegacy && !owner_of(handle).has_number;
}

bool CudaIpc::refused(const MemoryHandle& handle, const cuda::Device& device) const noexcept {
  return std::any_of(refused_.begin(), refused_.end(), [&](const Refused& one) {
    return one.process == handle.process && one.form == handle.form &&
           one.device == handle.device && one.by == &device;
  });
}

std::unique_ptr<MappedPeerMemory> CudaIpc::map_legacy(const MemoryHandle& handle,
                                                      cuda::Device& device) {
  auto use = std::make_unique<Use>();
  const uint64_t stamp = stamp_of_legacy(handle);
  const Key key{&device, handle.process, handle.base};
  auto known = imports_.find(key);
  if (known == imports_.end() || known->second.buffer_id != handle.buffer_id ||
      known->second.bytes != handle.bytes || known->second.window != nullptr) {
    retire_overlapping(key, handle.bytes);
    make_room(handle.bytes);
    const cuda::Current current(device);
    Import import;
    bool open = open_legacy(handle, device, &import, &failure_);
    if (!open && (!leaving_.empty() || !closing_.empty())) {
      drop_leaving(When::kNow);
      closer_.wait(kLongestWait);
      failure_ = {};
      open = open_legacy(handle, device, &import, &failure_);
    }
    if (!open) return nullptr;
    bytes_ += handle.bytes;
    known = imports_.emplace(key, import).first;
  }
  if (stamp != 0) {
    known->second.row = handle.listed.row;
    known->second.stamp = stamp;
  }
  use->add(known->second, turn_);
  use->place(handle);
  return use;
}

// A link without a verdict is used, because a refusal decides a whole communicator's algorithms,
// and must not depend on the speed of a copy.
bool CudaIpc::gives_right_data(const MemoryHandle& handle, cuda::Device& device) {
  auto link = std::find_if(links_.begin(), links_.end(), [&](const DeviceLink& one) {
    return one.by == &device && one.to == handle.device;
  });
  if (link == links_.end()) link = links_.insert(links_.end(), DeviceLink{&device, handle.device});
  if (link->state == DeviceLink::State::kUntried && link->trial == nullptr) {
    begin_trial(handle, device, &*link);
    failure_ = {};
  }
  end_trial(&*link);
  if (link->state != DeviceLink::State::kBad) return true;
  failure_ = {"a trial has shown that the device reads wrong data from the peer's memory", false,
              true};
  return false;
}

void CudaIpc::begin_trial(const MemoryHandle& handle, cuda::Device& device, DeviceLink* link) {
  constexpr int kMostTries = 256;
  if (link->tries >= kMostTries) return;
  ++link->tries;
  (void)stamp_of_legacy(handle);
  const auto peer = peers_.find(handle.process);
  if (peer == peers_.end() || peer->second.ledger == nullptr) return;
  const Row row = peer->second.ledger->trial_of(handle.device);
  if (row.stamp == 0 || row.bytes < kTrialBytes || !device.is_quiet()) return;
  MemoryHandle block = handle;
  block.form = MemoryHandle::HandleForm::kLegacy;
  block.buffer_id = row.buffer_id;
  block.base = block.address = row.base;
  block.bytes = row.bytes;
  std::memcpy(block.driver_handle, row.handle, sizeof block.driver_handle);
  link->pattern = trial_pattern(peer->second.ledger->number());
  const bool others = std::any_of(links_.begin(), links_.end(), [&](const DeviceLink& one) {
    return one.by == &device && one.trial != nullptr;
  });
  const cuda::Current current(device);
  auto trial = std::make_unique<TrialCopy>(device, others);
  Failure failure;
  if (!trial->ready() || !open_legacy(block, device, &link->block, &failure)) return;
  bytes_ += link->block.bytes;
  trial->read(reinterpret_cast<const void*>(link->block.here));
  link->trial = std::move(trial);
}

// The closer unmaps the trial's block, because a stream may wait for this message.
void CudaIpc::end_trial(DeviceLink* link) {
  if (link->trial == nullptr || !link->trial->ends_soon()) return;
  const auto trial = std::move(link->trial);
  if (!trial->failed())
    link->state = trial->has(link->pattern) ? DeviceLink::State::kGood : DeviceLink::State::kBad;
  let_go(link->block);
}

// The stamp shows in the owner's ledger when legacy memory is freed. The stamp is 0 while the
// ledger is unreadable.
uint64_t CudaIpc::stamp_of_legacy(const MemoryHandle& handle) noexcept {
  constexpr int kMostTries = 64;
  if (handle.listed.row == 0) return 0;
  uint64_t stamp = 0;
  try {
    LedgerPeer* peer = &peers_[handle.process];
    if (peer->ledger == nullptr && peer->tries++ >= kMostTries) return 0;
    peer = peer_of(handle);
    if (peer != nullptr) {
      const Row row = peer->ledger->read(handle.listed.row);
      if (row.buffer_id == handle.buffer_id && row.base == handle.base) stamp = row.stamp;
    }
  } catch (const std::exception&) {
  }
  failure_ = {};
  return stamp;
}

std::unique_ptr<MappedPeerMemory> CudaIpc::map_listed(const MemoryHandle& handle,
                                                      cuda::Device& device) {
  LedgerPeer* const peer = peer_of(handle);
  if (peer == nullptr && handle.form == MemoryHandle::HandleForm::kFabric)
    return map_fabric(handle, device);
  if (peer == nullptr || !read_chain(*peer->ledger, handle, &pieces_, &failure_.why))
    return nullptr;
  const Row& first = pieces_.front().row;
  if (first.buffer_id != handle.buffer_id) {
    failure_.why = "the owner has reused the address for other memory";
    return nullptr;
  }
  if ((first.forms & Row::kPointer) == 0) return map_mappings(*peer, handle, device);
  if (first.bytes == handle.bytes)
    return pools_.map(*peer->ledger, descriptors_, pieces_.front(), handle, device, &failure_);
  failure_.why = "the owner's handle mixes pool memory with other memory";
  return nullptr;
}

std::unique_ptr<MappedPeerMemory> CudaIpc::map_fabric(const MemoryHandle& handle,
                                                      cuda::Device& device) {
  Row row{};
  row.buffer_id = handle.buffer_id;
  row.base = handle.base;
  row.bytes = handle.bytes;
  row.forms = Row::kFabric;
  std::memcpy(row.handle, handle.driver_handle, sizeof row.handle);
  pieces_.assign(1, {0, row});
  return map_mappings(peers_[handle.process], handle, device);
}

std::unique_ptr<MappedPeerMemory> CudaIpc::map_mappings(LedgerPeer& peer,
                                                        const MemoryHandle& handle,
                                                        cuda::Device& device) {
  auto use = std::make_unique<Use>();
  retire_replaced(handle, device);
  Window* const window = window_of(handle, device);
  if (window == nullptr) return nullptr;
  ++window->imports;
  std::vector<const ChainPiece*> missing;
  for (const ChainPiece& piece : pieces_) {
    const auto known = imports_.find(Key{&device, handle.process, piece.row.base});
    if (known != imports_.end() && known->second.window == window &&
        known->second.buffer_id == piece.row.buffer_id && known->second.bytes == piece.row.bytes)
      use->add(known->second, turn_);
    else
      missing.push_back(&piece);
  }
  const bool there = missing.empty() || map_missing(peer, *window, missing, *use);
  --window->imports;
  leave(window);
  if (!there) return nullptr;
  use->place(handle);
  return use;
}

bool CudaIpc::map_missing(LedgerPeer& peer, Window& window,
                          const std::vector<const ChainPiece*>& missing, Use& use) {
  size_t bytes = 0;
  for (const ChainPiece* piece : missing) {
    retire_overlapping({window.device, window.owner.process, piece->row.base}, piece->row.bytes);
    bytes += piece->row.bytes;
  }
  make_room(bytes);
  const cuda::Current current(*window.device);
  std::vector<Imports::iterator> fresh;
  fresh.reserve(missing.size());
  bool there = true;
  for (const ChainPiece* piece : missing) {
    Import import;
    there = map_piece(peer.ledger.get(), descriptors_, *piece, window, &peer.fabric, &import,
                      &failure_);
    if (!there) break;
    const Key key{window.device, window.owner.process, piece->row.base};
    fresh.push_back(imports_.emplace(key, import).first);
    bytes_ += import.bytes;
    use.add(fresh.back()->second, turn_);
  }
  there = there && allow_all(window, fresh);
  if (!there)
    for (const auto& at : fresh) retire(at);
  return there;
}

bool CudaIpc::allow_all(const Window& window, const std::vector<Imports::iterator>& fresh) {
  for (size_t first = 0, next = 0; first < fresh.size(); first = next) {
    const CUdeviceptr begin = fresh[first]->second.here;
    CUdeviceptr end = begin;
    for (; next < fresh.size() && fresh[next]->second.here == end; ++next)
      end += fresh[next]->second.bytes;
    if (!allow(*window.device, begin, end - begin, &failure_)) return false;
  }
  return true;
}

// A new ledger number means a new process with the same number: old mappings belong to the dead
// process.
CudaIpc::LedgerPeer* CudaIpc::peer_of(const MemoryHandle& handle) {
  const Listed& place = handle.listed;
  LedgerPeer& peer = peers_[handle.process];
  if (peer.ledger != nullptr && peer.ledger->number() == place.ledger) return &peer;
  const Fd file =
      descriptors_.take({owner_of(handle), place.descriptor, place.ledger, 0, 0}, &failure_.why);
  if (!file.valid()) return nullptr;
  auto ledger = std::make_unique<PeerLedger>(file, place.ledger);
  for (auto at = imports_.begin(); at != imports_.end();)
    at = std::get<1>(at->first) == handle.process ? retire(at) : std::next(at);
  pools_.drop_withdrawn(handle.process, nullptr);
  peer.ledger = std::move(ledger);
  peer.fabric = true;
  return &peer;
}

Window* CudaIpc::window_of(const MemoryHandle& handle, cuda::Device& device) {
  for (Window& window : windows_)
    if (window.device == &device && window.owner.process == handle.process && !window.closed &&
        window.has(handle.base, handle.bytes))
      return &window;
  Window fresh{};
  const cuda::Current current(device);
  if (!reserve(handle, device, &fresh, &failure_)) return nullptr;
  return &windows_.emplace_back(fresh);
}

void CudaIpc::leave(Window* window) noexcept {
  if (window->imports > 0) return;
  unreserve(*window);
  windows_.remove_if([&](const Window& one) { return &one == window; });
}

// The caller retires imports before choosing a window, because retiring may close the window.
void CudaIpc::retire_replaced(const MemoryHandle& handle, cuda::Device& device) {
  for (const ChainPiece& piece : pieces_) {
    const Key key{&device, handle.process, piece.row.base};
    const auto known = imports_.find(key);
    if (known == imports_.end() || known->second.buffer_id != piece.row.buffer_id ||
        known->second.bytes != piece.row.bytes)
      retire_overlapping(key, piece.row.bytes);
  }
}

// New memory at an address proves that the old memory is gone.
void CudaIpc::retire_overlapping(const Key& key, uint64_t bytes) {
  const auto& [device, process, base] = key;
  const auto is_theirs = [&, on = device, of = process](Imports::iterator at) {
    return std::get<0>(at->first) == on && std::get<1>(at->first) == of;
  };
  auto at = imports_.lower_bound(key);
  if (at != imports_.begin()) {
    const auto before = std::prev(at);
    if (is_theirs(before) && base - std::get<2>(before->first) < before->second.bytes) at = before;
  }
  while (at != imports_.end() && is_theirs(at) && std::get<2>(at->first) < base + bytes)
    at = retire(at);
}

// Unmapping waits for all device work, and the application's work may wait for this rank. On a busy
// device the import stays mapped and keeps the place in the window.
CudaIpc::Imports::iterator CudaIpc::retire(Imports::iterator at) {
  const auto next = std::next(at);
  const Import& import = at->second;
  if (import.uses != 0 || !import.device->is_quiet()) {
    if (import.window != nullptr) import.window->closed = true;
    leaving_.push_back(imports_.extract(at));
  } else {
    let_go(import);
    imports_.erase(at);
  }
  return next;
}

// On a busy device the caller waits for the first import only; an import in a window keeps the
// place. If memory runs out, nothing changes.
void CudaIpc::let_go(const Import& import) {
  drop_closed();
  Closing going{std::make_shared<Closer::Going>(import)};
  closer_.close(going.front());
  closing_.splice(closing_.end(), going);
  const Closer::Going& last = *closing_.back();
  bytes_ -= last.what.bytes;
  if (closing_.size() == 1) closer_.wait(kLongestWait);
  const bool over = last.over.load(std::memory_order_acquire) && last.unmapped;
  if (last.what.window != nullptr && !over) last.what.window->closed = true;
  drop_closed();
}

void CudaIpc::drop_closed() noexcept {
  closing_.remove_if([this](const std::shared_ptr<Closer::Going>& one) {
    if (!one->over.load(std::memory_order_acquire)) return false;
    Window* const window = one->what.window;
    if (window != nullptr) --window->imports;
    if (window != nullptr && one->unmapped) leave(window);
    return true;
  });
}

void CudaIpc::drop_leaving(When when) {
  const cuda::Device* busy = nullptr;
  for (auto at = leaving_.begin(); at != leaving_.end();) {
    const Import& import = at->mapped();
    const bool now = import.uses == 0 && import.device != busy &&
                     (when == When::kNow || import.device->is_quiet());
    if (!now) {
      if (import.uses == 0) busy = import.device;
      ++at;
      continue;
    }
    let_go(import);
    at = leaving_.erase(at);
  }
  drop_closed();
}

// Mappings keep freed memory, so mappings withdrawn by their owners are dropped. Each call checks
// `imports` mappings.
void CudaIpc::drop_unused(int imports) {
  drop_leaving(When::kQuiet);
  if (!pools_.empty())
    for (const auto& [process, peer] : peers_) pools_.drop_withdrawn(process, peer.ledger.get());
  imports = std::min(imports, static_cast<int>(imports_.size()));
  for (auto at = imports_.upper_bound(looked_at_); imports > 0; --imports) {
    if (at == imports_.end()) at = imports_.begin();
    looked_at_ = at->first;
    const Import& import = at->second;
    const LedgerPeer& peer = peers_[std::get<1>(at->first)];
    const bool is_there =
        import.row == 0 || (peer.ledger != nullptr && peer.ledger->is(import.row, import.stamp));
    at = is_there || import.uses != 0 ? std::next(at) : retire(at);
  }
}

void CudaIpc::look_after() noexcept {
  constexpr int kImports = 256;
  try {
    for (DeviceLink& link : links_) end_trial(&link);
    drop_unused(kImports);
    descriptors_.open_letters();
    descriptors_.forget_withdrawn([this](uint64_t ledger, uint32_t row, uint64_t stamp) {
      for (const auto& [process, peer] : peers_)
        if (peer.ledger != nullptr && peer.ledger->number() == ledger)
          return peer.ledger->is(row, stamp);
      return true;
    });
  } catch (const std::bad_alloc&) {
  }
}

void CudaIpc::make_room(size_t bytes) {
  if (bytes_ + bytes <= most_bytes_) return;
  drop_leaving(When::kNow);
  while (bytes_ + bytes > most_bytes_) {
    auto oldest = imports_.end();
    for (auto at = imports_.begin(); at != imports_.end(); ++at)
      if (at->second.uses == 0 &&
          (oldest == imports_.end() || at->second.last < oldest->second.last))
        oldest = at;
    if (oldest == imports_.end()) break;
    let_go(oldest->second);
    imports_.erase(oldest);
  }
  closer_.wait(kLongestWait);
}

}  // namespace tern::btl::cuda_ipc
