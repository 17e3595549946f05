// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread, and the pinned memory of boards.
#include "stream/proxy.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "core/current_call.hpp"
#include "mpix.h"

namespace tern::stream {
namespace {

constexpr size_t kPage = 4096, kWords = 256, kLine = 64;  // bytes; a board's words lie apart
constexpr timespec kNap{0, 50'000};
constexpr int64_t kYieldNs = 200'000;     // since the last event, before it naps
constexpr int64_t kLongNs = 100'000'000;  // then the launcher may ask what it waits for

}  // namespace

struct GraphHold {
  std::shared_ptr<Proxy::Released> released;
  CommStream* of;
  uint32_t number;
  GraphHold* next;
};

Proxy::Proxy(core::Process& process, Raise raise)
    : process_(process), raise_(raise), released_(std::make_shared<Released>()) {
  released_->proxy = this;
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "tern-proxy");
}

void Proxy::end_thread() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ends_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

Proxy::~Proxy() {
  end_thread();
  (void)end_released();
  {
    const std::lock_guard<std::mutex> guard(released_->mutex);
    released_->proxy = nullptr;
    GraphHold* hold = released_->first.exchange(nullptr);
    while (hold != nullptr) delete std::exchange(hold, hold->next);
  }
  mine_.clear();
  for (const auto& one : std::exchange(all_, {})) one->end_board();
  for (const Page& page : pages_) {
    if (page.device->gone()) continue;
    const cuda::Current current(*page.device);
    (void)page.device->driver.cuMemFreeHost(page.here);
  }
}

// -- pinned memory

bool Proxy::add_page(cuda::Device& device, std::string* why) {
  const cuda::Driver& driver = device.driver;
  const cuda::Current current(device);
  void* here = nullptr;
  CUdeviceptr at = 0;
  CUresult result =
      driver.cuMemHostAlloc(&here, kPage, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result != CUDA_SUCCESS) {
    *why = cuda::words_of("cuMemHostAlloc", result);
    return false;
  }
  result = driver.cuMemHostGetDevicePointer_v2(&at, here, 0);
  if (result != CUDA_SUCCESS) {
    *why = cuda::words_of("cuMemHostGetDevicePointer", result);
    (void)driver.cuMemFreeHost(here);
    return false;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  pages_.push_back({&device, static_cast<std::byte*>(here), at});
  for (size_t begin = 0; begin < kPage; begin += kWords) {
    Words words{&device, {}};
    Word* const each[] = {&words.board.mail, &words.board.done[0], &words.board.done[1]};
    size_t offset = begin;
    for (Word* word : each) {
      word->here = new (static_cast<std::byte*>(here) + offset) std::atomic<uint32_t>(0);
      word->at = at + offset;
      offset += kLine;
    }
    idle_.push_back(words);
  }
  return true;
}

int Proxy::make_board(cuda::Device& device, size_t chunk, Board* board) noexcept {
  try {
    std::string why;
    const auto find = [&] {
      const std::lock_guard<std::mutex> guard(mutex_);
      const auto found = std::find_if(idle_.begin(), idle_.end(),
                                      [&](const Words& one) { return one.device == &device; });
      if (found == idle_.end()) return false;
      *board = found->board;
      idle_.erase(found);
      return true;
    };
    if (!find() && (!add_page(device, &why) || !find()))
      return fail(MPI_ERR_NO_MEM, "no pinned memory for the words of a stream: %s", why.c_str());
    const cuda::Current current(device);
    for (size_t i = 0; i < board->halves.size(); ++i) {
      board->bytes[i] = chunk;
      CUresult error = CUDA_SUCCESS;
      board->halves[i] = device.acquire(cuda::Device::Store::kPinned, &board->bytes[i], &error);
      if (board->halves[i] != nullptr) continue;
      give_back(device, *board);
      return fail(MPI_ERR_NO_MEM, "no pinned memory of %zu bytes for a stream: %s", chunk,
                  cuda::words_of("cuMemHostAlloc", error).c_str());
    }
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a stream");
  }
}

void Proxy::give_back(cuda::Device& device, const Board& board) noexcept {
  for (size_t i = 0; i < board.halves.size(); ++i)
    if (board.halves[i] != nullptr && !device.gone())
      device.release(cuda::Device::Store::kPinned, board.halves[i], board.bytes[i]);
  Words words{&device, board};
  words.board.halves = {};
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    idle_.push_back(words);
  } catch (const std::bad_alloc&) {  // they stay where they are until MPI ends
  }
}

void Proxy::prepare(const core::Datatype& type) noexcept {
  std::vector<cuda::Device*> devices;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    try {
      for (const Page& page : pages_)
        if (std::find(devices.begin(), devices.end(), page.device) == devices.end())
          devices.push_back(page.device);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  for (cuda::Device* device : devices)
    if (!device->gone()) prepare_type(*device, type);
}

// -- who is looked at

void Proxy::add(std::shared_ptr<CommStream> one) {
  const std::lock_guard<std::mutex> guard(mutex_);
  all_.push_back(std::move(one));
  changed_ = true;
}

void Proxy::count_outstanding(cuda::Device& device, int more) noexcept {
  device.count_waiting(more);
  if (outstanding_.fetch_add(more) != 0 || more < 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  woken_.notify_one();
}

void Proxy::count_captured(int more) noexcept {
  if (captured_.fetch_add(more) != 0 || more < 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  woken_.notify_one();
}

GraphHold* Proxy::make_hold(CommStream& of, uint32_t number) noexcept {
  return new (std::nothrow) GraphHold{released_, &of, number, nullptr};
}

void Proxy::drop_hold(GraphHold* hold) noexcept { delete hold; }

void Proxy::end_hold(void* given) noexcept {
  auto* const hold = static_cast<GraphHold*>(given);
  const std::shared_ptr<Released> released = hold->released;
  const std::lock_guard<std::mutex> guard(released->mutex);
  if (released->proxy == nullptr) {
    delete hold;
    return;
  }
  hold->next = released->first.load();
  released->first.store(hold, std::memory_order_release);
}

bool Proxy::end_released() noexcept {
  if (TERN_LIKELY(released_->first.load(std::memory_order_relaxed) == nullptr)) return false;
  GraphHold* hold = nullptr;
  {
    const std::lock_guard<std::mutex> guard(released_->mutex);
    hold = released_->first.exchange(nullptr);
  }
  while (hold != nullptr) {
    hold->of->leave_graph(hold->number);
    delete std::exchange(hold, hold->next);
  }
  return true;
}

void Proxy::finish() noexcept {
  core::Progress& progress = process_.channel(0).progress;
  const core::ChannelLock lock(progress);
  progress.stay_awake(1);
  progress.wait([this] { return outstanding_.load() == 0; },
                [this](WaitReport* report) {
                  report->words +=
                      strf("streams to pass %d enqueued operations", outstanding_.load());
                });
  progress.stay_awake(-1);
}

// -- the thread

void Proxy::update() noexcept {
  std::vector<std::shared_ptr<CommStream>> before;  // ends outside the lock, which its last needs
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    if (!changed_.exchange(false)) return;
    std::vector<std::shared_ptr<CommStream>> now = all_;
    before = std::exchange(mine_, std::move(now));
  } catch (const std::bad_alloc&) {
    changed_ = true;
  }
}

int Proxy::look() noexcept {
  int events = 0;
  bool over = false;
  for (const auto& one : mine_) {
    events += one->look();
    over |= one->over();
  }
  if (!over) return events;
  const auto is_over = [](const std::shared_ptr<CommStream>& one) { return one->over(); };
  std::vector<std::shared_ptr<CommStream>> ended;
  mine_.erase(std::remove_if(mine_.begin(), mine_.end(), is_over), mine_.end());
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto end = std::stable_partition(all_.begin(), all_.end(),
                                           [&](const auto& one) { return !is_over(one); });
    ended.assign(end, all_.end());
    all_.erase(end, all_.end());
  }
  return events;
}

bool Proxy::has_work() const noexcept {
  return std::any_of(mine_.begin(), mine_.end(), [](const auto& one) {
    return one->has_mail() || one->has_ended_flight() || one->has_passed_device_calls() ||
           one->has_lost_island();
  });
}

bool Proxy::is_under_way() const noexcept {
  return std::any_of(mine_.begin(), mine_.end(), [](const auto& one) { return one->under_way(); });
}

void Proxy::run() noexcept {
  int64_t idle_since = now_ns();
  while (!ends_) {
    update();
    const bool released = end_released();
    if (look() != 0 || released) {
      idle_since = now_ns();
      continue;
    }
    const bool long_idle = now_ns() - idle_since > kLongNs;
    if (is_under_way() || (outstanding_.load() != 0 && long_idle))
      wait_in_mpi();
    else
      wait_for_streams(idle_since);
  }
}

void Proxy::wait_in_mpi() noexcept {
  core::Channel* channel = &process_.channel(0);
  for (const auto& one : mine_)
    if (one->under_way()) channel = &one->communicator().channel();
  core::Progress& progress = channel->progress;
  core::current_call.call = "enqueued operations";
  const core::ChannelLock lock(progress);
  waits_ = true;
  progress.stay_awake(1);
  const auto over = [this] {
    for (const auto& one : mine_) one->watch_device();
    return ends_.load() || changed_.load() || has_work() ||
           (outstanding_.load() == 0 && !is_under_way());
  };
  progress.wait(over, [this](WaitReport* report) { describe(report); });
  progress.stay_awake(-1);
  waits_ = false;
}

void Proxy::wait_for_streams(int64_t idle_since_ns) noexcept {
  if (outstanding_.load() == 0 && captured_.load() == 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    woken_.wait(lock, [this] {
      return ends_.load() || changed_ || outstanding_.load() != 0 || captured_.load() != 0;
    });
  } else if (now_ns() - idle_since_ns < kYieldNs) {
    ::sched_yield();
  } else {
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
  }
}

void Proxy::describe(WaitReport* report) const {
  for (const auto& one : mine_)
    if (one->under_way()) return one->describe(report);
  for (const auto& one : mine_)
    if (one->describe_device(report)) return;
  report->words +=
      strf("a stream to come to the first of %d enqueued operations", outstanding_.load());
}

}  // namespace tern::stream
