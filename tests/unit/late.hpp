// SPDX-License-Identifier: Apache-2.0
// Late: a bad network between the ranks of a test. Frames arrive late, sends find no room at
// random, and tests cut links. The promises of btl.hpp hold: order within an endpoint, no loss
// while the link holds. Usage: a World with a Network (world.hpp). Threads: any.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "btl/net/device_cache.hpp"
#include "btl/net/registrations.hpp"
#include "btl/transport.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"

namespace tern::test {

struct Place {
  uint32_t rank, channel;
  auto operator<=>(const Place&) const = default;
};

class Network {
 public:
  explicit Network(uint32_t seed) : random_(seed) {}

  struct Frame {
    btl::Header header;
    std::vector<std::byte> payload;
    int rounds;
    iovec data{};
    btl::Operation* operation = nullptr;
  };

  bool has_room(Place from, Place to) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return links_[{from, to}].size() < kMostFrames && random_() % kRefusals != 0;
  }
  void send(Place from, Place to, Frame frame) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (is_cut_locked(from.rank, to.rank)) return note_done(from, frame);
    frame.rounds = static_cast<int>(random_() % kMostRounds);
    links_[{from, to}].push_back(std::move(frame));
  }
  /// Before the ranks run: the host's view of device memory, which adapters read and write. Null:
  /// no GPUDirect RDMA.
  void* (*bytes_of)(const void* address) = nullptr;
  /// Before the ranks run: whether the ranks share a machine.
  bool maps = true;
  [[nodiscard]] std::byte* seen(const void* address) const {
    void* const device = bytes_of == nullptr ? nullptr : bytes_of(address);
    return static_cast<std::byte*>(device != nullptr ? device : const_cast<void*>(address));
  }
  /// One in this many registrations is refused, and starts of puts, gets and zero copies; 0: none.
  std::atomic<uint32_t> refuses_memory{0}, refuses_starts{0};
  [[nodiscard]] bool refuses(const std::atomic<uint32_t>& one_in) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return one_in != 0 && random_() % one_in == 0;
  }
  /// A get is a put in the other direction. A flush has no data and completes after all earlier
  /// puts. A put may be done before the data lands: `held` has the data of such a put.
  struct Put {
    iovec from;
    std::byte* to;
    btl::Operation* operation;
    bool gets = false;
    std::vector<std::byte> held{};
    void hold(const Network& between) {
      const auto* const first = between.seen(from.iov_base);
      held.assign(first, first + from.iov_len);
    }
    void land(const Network& between) const {
      const std::byte* const source = held.empty() ? between.seen(from.iov_base) : held.data();
      std::memcpy(between.seen(to), source, from.iov_len);
    }
  };
  std::atomic<uint64_t> moved_by_get{0};
  void enlist(const std::byte* memory, size_t bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    regions_.emplace(memory, bytes);
  }
  void release(const std::byte* memory, size_t bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto [first, last] = regions_.equal_range(memory);
    regions_.erase(std::find_if(first, last, [&](const auto& one) { return one.second == bytes; }));
  }
  void put(Place from, Place to, const Put& put) {
    const std::lock_guard<std::mutex> guard(mutex_);
    puts_[{from, to}].push_back(put);
    if (is_cut_locked(from.rank, to.rank)) end_puts(puts_.find({from, to}));
  }
  void move_puts(Place from) {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (auto& [ends, puts] : puts_) {
      if (ends.first != from || puts.empty() || random_() % 2 != 0) continue;
      const auto flush =
          std::find_if(puts.begin(), puts.end(), [](const Put& one) { return one.to == nullptr; });
      const auto before = static_cast<size_t>(flush - puts.begin());
      const auto chosen =
          puts.begin() + static_cast<std::ptrdiff_t>(before == 0 ? 0 : random_() % before);
      const bool is_put = chosen->to != nullptr && !chosen->gets;
      const bool holds = is_put && chosen->operation != nullptr && random_() % 2 == 0;
      note_done(from, *chosen);
      chosen->operation = nullptr;
      if (holds) {
        chosen->hold(*this);
        continue;
      }
      if (chosen->to != nullptr) move_locked(*chosen);
      puts.erase(chosen);
    }
  }
  /// take_done() returns an operation with a completed or cancelled part, or null.
  btl::Operation* take_done(Place from) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto& done = done_[from];
    if (done.empty()) return nullptr;
    btl::Operation* const operation = done.front();
    done.pop_front();
    return operation;
  }
  /// take() returns false if no frame is due. Each call counts a round on the examined links.
  bool take(Place to, Place* from, Frame* frame) {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (auto& [ends, frames] : links_) {
      if (ends.second != to || frames.empty() || frames.front().rounds-- > 0) continue;
      *from = ends.first;
      *frame = std::move(frames.front());
      frames.pop_front();
      const auto* data = static_cast<const std::byte*>(frame->data.iov_base);
      frame->payload.insert(frame->payload.end(), data, data + frame->data.iov_len);
      note_done(ends.first, *frame);
      return true;
    }
    return false;
  }
  bool is_empty_from(Place from) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::all_of(
               links_.begin(), links_.end(),
               [&](const auto& link) { return link.first.first != from || link.second.empty(); }) &&
           done_[from].empty() && std::all_of(puts_.begin(), puts_.end(), [&](const auto& link) {
             return link.first.first != from || link.second.empty();
           });
  }
  /// After cut(), both endpoints report the failure.
  void cut(uint32_t one, uint32_t other) {
    const std::lock_guard<std::mutex> guard(mutex_);
    cuts_.insert(std::minmax(one, other));
    for (auto& [ends, frames] : links_) {
      if (!is_cut_locked(ends.first.rank, ends.second.rank)) continue;
      for (const Frame& frame : frames) note_done(ends.first, frame);
      frames.clear();
    }
    for (auto link = puts_.begin(); link != puts_.end(); ++link)
      if (is_cut_locked(link->first.first.rank, link->first.second.rank)) end_puts(link);
  }
  bool is_cut(uint32_t one, uint32_t other) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return is_cut_locked(one, other);
  }
  /// Before the ranks run: `rank` registers no memory.
  void refuse_memory_of(uint32_t rank) { refused_.insert(rank); }
  [[nodiscard]] bool refuses_memory_of(uint32_t rank) const { return refused_.contains(rank); }

 private:
  static constexpr size_t kMostFrames = 12;
  static constexpr uint32_t kMostRounds = 4, kRefusals = 6;
  template <class Begun>
  void note_done(Place from, const Begun& frame) {
    if (frame.operation != nullptr) done_[from].push_back(frame.operation);
  }
  bool is_cut_locked(uint32_t one, uint32_t other) const {
    return cuts_.count(std::minmax(one, other)) != 0;
  }

  void move_locked(const Put& put) {
    const auto* const there = put.gets ? static_cast<std::byte*>(put.from.iov_base) : put.to;
    EXPECT_TRUE(std::any_of(regions_.begin(), regions_.end(), [&](const auto& one) {
      return one.first <= there && there + put.from.iov_len <= one.first + one.second;
    })) << "a peer's memory is not registered";
    put.land(*this);
    if (put.gets) moved_by_get += put.from.iov_len;
  }

  std::mutex mutex_;
  std::mt19937 random_;
  std::multimap<const std::byte*, size_t> regions_;
  std::map<std::pair<Place, Place>, std::deque<Frame>> links_;
  using Puts = std::map<std::pair<Place, Place>, std::deque<Put>>;
  void end_puts(Puts::iterator link) {
    for (const Put& put : link->second) {
      if (put.operation != nullptr) put.operation->failed = true;
      note_done(link->first.first, put);
    }
    link->second.clear();
  }
  Puts puts_;
  std::map<Place, std::deque<btl::Operation*>> done_;
  std::set<std::pair<uint32_t, uint32_t>> cuts_;
  std::set<uint32_t> refused_;
};

inline thread_local Network* network = nullptr;

/// Ranks share an address space.
class LateMemory : public btl::MemoryRegion {
 public:
  LateMemory(Network& between, void* address, size_t bytes)
      : network_(between), memory_(static_cast<std::byte*>(address)), bytes_(bytes) {
    network_.enlist(memory_, bytes_);
  }
  LateMemory(const LateMemory&) = delete;
  LateMemory& operator=(const LateMemory&) = delete;
  ~LateMemory() override { network_.release(memory_, bytes_); }
  std::span<const std::byte> key() const noexcept override {
    return std::as_bytes(std::span(&memory_, 1));
  }

 private:
  Network& network_;
  const std::byte* const memory_;
  const size_t bytes_;
};

class LateRegion final : public LateMemory {
 public:
  LateRegion(core::Process& process, Network& between, void* address, size_t bytes)
      : LateMemory(between, address, bytes), counted_(process, bytes) {}

 private:
  const btl::net::CountedBytes counted_;
};

class LateEndpoint final : public btl::Endpoint, btl::ZeroCopy, btl::Rdma {
 public:
  LateEndpoint(core::Process& process, Network& between, btl::net::DeviceCache& devices, Place here,
               const btl::Destination& leads_to)
      : Endpoint(leads_to, {.maps = between.maps, .zero_copy = this, .rdma = this}),
        ZeroCopy(3000),
        Rdma(true),
        process_(process),
        network_(between),
        devices_(devices),
        here_(here) {}
  bool send(const btl::Header& header, const void* payload) noexcept override {
    std::byte* const room = begin(header.bytes);
    if (room == nullptr) return false;
    const auto* from = static_cast<const std::byte*>(payload);
    std::copy(from, from + header.bytes, room);
    commit(header);
    return true;
  }
  std::byte* begin(size_t bytes) noexcept override {
    if (!is_cut() && !network_.has_room(here_, there())) return nullptr;
    filling_.assign(std::max<size_t>(bytes, 1), std::byte{});
    return filling_.data();
  }
  void commit(const btl::Header& header) noexcept override {
    filling_.resize(header.bytes);
    network_.send(here_, there(), {header, std::move(filling_), 0});
  }
  btl::Start start_send(const btl::Header& header, const iovec& prefix, const iovec& data,
                        btl::Operation& operation) noexcept override {
    if (!is_cut() && !network_.has_room(here_, there())) return btl::Start::kNoRoom;
    if (network_.refuses(network_.refuses_starts)) return btl::Start::kRefused;
    const auto* words = static_cast<const std::byte*>(prefix.iov_base);
    ++operation.left;
    network_.send(here_, there(), {header, {words, words + prefix.iov_len}, 0, data, &operation});
    return btl::Start::kStarted;
  }
  std::unique_ptr<btl::MemoryRegion> register_memory(void* address,
                                                     size_t bytes) noexcept override {
    process_.registrations.asked += 1;
    if (!network_.refuses_memory_of(here_.rank) && !network_.refuses(network_.refuses_memory))
      return std::make_unique<LateRegion>(process_, network_, address, bytes);
    process_.registrations.refusal_said = true;
    btl::net::note_refused_memory(process_, "refused by the test");
    return nullptr;
  }
  std::unique_ptr<btl::MemoryRegion> register_device(const iovec& block) noexcept override {
    return network_.bytes_of == nullptr ? nullptr : devices_.lease(block);
  }
  std::unique_ptr<btl::RemoteKey> import_key(std::span<const std::byte> key) noexcept override {
    if (key.size() != sizeof(uint64_t)) return nullptr;
    return std::make_unique<btl::RemoteKey>();
  }
  btl::Start start_put(const btl::RemoteKey&, uint64_t address, const btl::LocalMemory& from,
                       btl::Operation& operation) noexcept override {
    expect_region(from);
    return start({{from.address, from.bytes}, reinterpret_cast<std::byte*>(address), &operation});
  }
  btl::Start start_get(const btl::RemoteKey&, uint64_t address, const btl::LocalMemory& into,
                       btl::Operation& operation) noexcept override {
    expect_region(into);
    return start({{reinterpret_cast<void*>(address), into.bytes},
                  static_cast<std::byte*>(into.address),
                  &operation,
                  true});
  }
  btl::Start start_flush(btl::Operation& operation) noexcept override {
    return start({{}, nullptr, &operation});
  }
  size_t max_payload() const noexcept override { return 8192; }
  const char* transport() const noexcept override { return "late"; }
  const char* reason() const noexcept override { return "a test's network"; }

  [[nodiscard]] bool is_cut() { return network_.is_cut(here_.rank, to.peer.rank); }
  bool told = false;

 private:
  void expect_region(const btl::LocalMemory& memory) const {
    if (network_.bytes_of == nullptr) return;
    EXPECT_EQ(memory.on_device != nullptr, network_.bytes_of(memory.address) != nullptr);
  }
  btl::Start start(const Network::Put& put) {
    if (!is_cut() && !network_.has_room(here_, there())) return btl::Start::kNoRoom;
    if (put.to != nullptr && network_.refuses(network_.refuses_starts)) return btl::Start::kRefused;
    ++put.operation->left;
    network_.put(here_, there(), put);
    return btl::Start::kStarted;
  }
  [[nodiscard]] Place there() const { return {to.peer.rank, to.channel}; }
  core::Process& process_;
  Network& network_;
  btl::net::DeviceCache& devices_;
  const Place here_;
  std::vector<std::byte> filling_;
};

class Late final : public btl::Btl {
 public:
  Late(core::Process& process, btl::Sink& sink, Network& between, uint32_t channel)
      : process_(process),
        sink_(sink),
        network_(between),
        here_{static_cast<uint32_t>(process.world_rank), channel},
        devices_(std::make_shared<btl::net::DeviceCache>(
            process, [this](const cuda::Memory& memory) { return device_region(memory); })) {}
  const char* name() const noexcept override { return "late"; }
  bool reaches(const core::Peer& peer) const noexcept override { return peer.rank != here_.rank; }
  bool may_lose_peers() const noexcept override { return true; }
  btl::Endpoint* connect(core::Peer& peer, uint32_t hint) override {
    if (!reaches(peer)) return nullptr;
    return &endpoint_to({peer.rank, hint & (process_.channel_count() - 1)});
  }
  int progress() noexcept override {
    int frames = 0;
    Place from{};
    for (Network::Frame frame; network_.take(here_, &from, &frame); ++frames)
      sink_.arrived(endpoint_to(from), {frame.header, frame.payload.data(), frame.payload.size()});
    network_.move_puts(here_);
    while (btl::Operation* const operation = network_.take_done(here_))
      if (++frames; --operation->left == 0) sink_.done(*operation);
    for (auto& [place, endpoint] : endpoints_) {
      if (endpoint->told || leaving_ || !endpoint->is_cut()) continue;
      endpoint->told = true;
      sink_.failed(*endpoint, "the test has cut the link");
      ++frames;
    }
    return frames;
  }
  bool is_quiet() noexcept override { return network_.is_empty_from(here_); }
  void set_leaving() noexcept override { leaving_ = true; }
  std::unique_ptr<Btl> for_channel(btl::Sink& sink, uint32_t channel) override {
    return std::make_unique<Late>(process_, sink, network_, channel);
  }

 private:
  std::unique_ptr<btl::MemoryRegion> device_region(const cuda::Memory& memory) const {
    if (network_.refuses_memory_of(here_.rank) || network_.refuses(network_.refuses_memory)) {
      process_.registrations.devices.refusal_said = true;
      throw Error(MPI_ERR_OTHER, "refused by the test");
    }
    return std::make_unique<LateMemory>(network_, reinterpret_cast<void*>(memory.base),
                                        memory.bytes);
  }
  LateEndpoint& endpoint_to(Place there) {
    auto& endpoint = endpoints_[there];
    if (endpoint == nullptr)
      endpoint = std::make_unique<LateEndpoint>(
          process_, network_, *devices_, here_,
          btl::Destination{process_.peer(there.rank), there.channel, process_.channel_count()});
    return *endpoint;
  }
  core::Process& process_;
  btl::Sink& sink_;
  Network& network_;
  const Place here_;
  const std::shared_ptr<btl::net::DeviceCache> devices_;
  std::map<Place, std::unique_ptr<LateEndpoint>> endpoints_;
  bool leaving_ = false;
};

inline constexpr btl::Transport kLate{.name = "late",
                                      .reaches = "ranks of a test",
                                      .make = [](core::Process& process, btl::Sink& sink,
                                                 btl::AddressBook&) -> std::unique_ptr<btl::Btl> {
                                        if (network == nullptr) return nullptr;
                                        return std::make_unique<Late>(process, sink, *network, 0);
                                      },
                                      .try_here = []() -> std::vector<btl::Trial> { return {}; }};

}  // namespace tern::test
