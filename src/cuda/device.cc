// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "base/explain.hpp"
#include "cuda/kernels.hpp"

namespace tern::cuda {
Device::Device(const Driver& with, CUcontext in, int number, const std::string& kernels_file)
    : driver(with),
      context(in),
      ordinal(number),
      events(with),
      late_writes(with),
      streams(with),
      kernels_file_(kernels_file) {
  CUdevice device = 0;
  CUuuid id{};
  if (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
      driver.cuDeviceGetUuid_v2(&id, device) == CUDA_SUCCESS)
    std::memcpy(uuid.bytes, id.bytes, sizeof uuid.bytes);
  if (driver.cuCtxGetId != nullptr) (void)driver.cuCtxGetId(context, &context_id_);
}

Device::~Device() {
  const auto empty = [](const Blocks& blocks) { return blocks.empty(); };
  if (gone() || (streams.empty() && events.empty() && late_writes.empty() && kernels_ == nullptr &&
                 std::all_of(stores_.begin(), stores_.end(), empty)))
    return;
  const Current current(*this);
  if (current.result() != CUDA_SUCCESS) {
    if (kernels_ != nullptr) kernels_->forget();
    return;
  }
  kernels_.reset();
  streams.destroy();
  events.destroy();
  late_writes.destroy();
  free_idle(Store::kPinned);
  free_idle(Store::kDevice);
}

bool Device::stale() const noexcept {
  if (driver.cuCtxGetId == nullptr) return false;
  unsigned long long now = 0;
  const CUresult result = driver.cuCtxGetId(context, &now);
  if (result == CUDA_SUCCESS) return now != context_id_;
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

namespace {

/// Makes up to so many, and gives them all back then: the first last, so that it is taken first.
template <class What, class Make, class GiveBack>
void make_some(int count, const Make& make, const GiveBack& give_back) noexcept {
  std::array<What, 16> made{};
  int n = 0;
  while (n < count && make(n, &made[static_cast<size_t>(n)])) ++n;
  while (n-- > 0) give_back(made[static_cast<size_t>(n)]);
}

}  // namespace

bool Device::is_quiet() noexcept {
  if (gone()) return true;
  if (has_waiting()) return false;
  const Current current(*this);
  return !legacy_is_captured(driver) && driver.cuStreamQuery(CU_STREAM_LEGACY) == CUDA_SUCCESS;
}

void Device::prepare(size_t chunk, int chunks) noexcept {
  constexpr size_t kBlock = 2 << 20, kTrial = 65536;
  constexpr int kStreams = 4, kEvents = 8, kMostChunks = 8;
  if (TERN_LIKELY(prepared_.load(std::memory_order_relaxed)) || !is_quiet()) return;
  if (prepared_.exchange(true)) return;
  const Current current(*this);
  (void)kernels();
  CUresult error = current.result();
  make_some<Stream*>(
      kStreams, [&](int, Stream** made) { return (*made = streams.make(&error)) != nullptr; },
      [&](Stream* made) {
        if (!streams.give_back(made)) streams.end(made);
      });
  make_some<std::pair<CUevent, EventName>>(
      kEvents,
      [&](int, auto* made) {
        return (made->first = events.acquire(&made->second, &error)) != nullptr;
      },
      [&](const auto& made) { events.release(made.first, made.second); });
  // For the trial of a link: at its owner, and at a peer.
  constexpr Store kStores[] = {Store::kDevice, Store::kDevice, Store::kPinned};
  size_t trial[] = {kBlock, kTrial, kTrial};
  std::byte* blocks[3] = {};
  for (size_t i = 0; i < 3; ++i) blocks[i] = acquire(kStores[i], &trial[i], &error);
  for (const Store store : {Store::kPinned, Store::kDevice})
    make_some<std::pair<std::byte*, size_t>>(
        std::min(store == Store::kPinned ? 2 * chunks : chunks, kMostChunks) + 1,  // both ways
        [&](int i, auto* made) {
          made->second = i > 0 ? chunk : store == Store::kDevice ? kBlock : 0;
          if (made->second == 0) return true;
          return (made->first = acquire(store, &made->second, &error)) != nullptr;
        },
        [&](const auto& made) {
          if (made.first != nullptr) release(store, made.first, made.second);
        });
  for (size_t i = 0; i < 3; ++i)
    if (blocks[i] != nullptr) release(kStores[i], blocks[i], trial[i]);
}

void Device::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  gone_.store(true, std::memory_order_relaxed);
  if (kernels_ != nullptr) kernels_->forget();
  streams.forget();
  events.forget();
  late_writes.forget();
  stores_ = {};
  for (const void* one : known_) forget_pinned(one);
}

namespace {

// Powers of two, so that blocks serve again; what is large would waste too much.
size_t block_bytes(size_t least) noexcept {
  constexpr size_t kLeast = 65536, kLarge = 64 << 20, kGrain = 2 << 20;
  return least > kLarge ? (least + kGrain - 1) / kGrain * kGrain
                        : std::bit_ceil(std::max(least, kLeast));
}

/// The smallest that serves without wasting more than itself.
template <class Blocks>
auto fitting(Blocks& idle, size_t bytes) noexcept {
  const auto found = idle.lower_bound(bytes);
  return found != idle.end() && found->first / 2 <= bytes ? found : idle.end();
}

}  // namespace

bool Device::affords(Store from, size_t bytes, size_t most) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto store = static_cast<size_t>(from);
  const size_t needed = block_bytes(bytes);
  return held_[store] + needed <= most || fitting(stores_[store], needed) != stores_[store].end();
}

bool Device::lends(Store from, size_t bytes) noexcept {
  const size_t needed = block_bytes(bytes);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const Blocks& idle = stores_[static_cast<size_t>(from)];
    if (idle.lower_bound(needed) != idle.end()) return true;
  }
  if (is_quiet() || becomes_quiet()) return true;
  wanted_[static_cast<size_t>(from)].store(needed, std::memory_order_relaxed);
  return false;
}

// Work that waits for what this thread does next outlasts the attempt.
bool Device::becomes_quiet() noexcept {
  constexpr uint32_t kFirst = 8;
  constexpr int64_t kLongest = 100'000'000;  // ns
  const uint32_t refusals = refusals_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (refusals < kFirst || !std::has_single_bit(refusals) || has_waiting()) return false;
  for (const int64_t end = now_ns() + kLongest; now_ns() < end && !has_waiting(); ::sched_yield())
    if (is_quiet()) return true;
  return false;
}

void Device::make_wanted() noexcept {
  for (const Store store : {Store::kPinned, Store::kDevice}) {
    std::atomic<size_t>& wanted = wanted_[static_cast<size_t>(store)];
    size_t bytes = wanted.load(std::memory_order_relaxed);
    if (TERN_LIKELY(bytes == 0) || !is_quiet()) continue;
    wanted.store(0, std::memory_order_relaxed);
    const Current current(*this);
    CUresult error = current.result();
    if (std::byte* const block = acquire(store, &bytes, &error); block != nullptr)
      release(store, block, bytes);
  }
}

std::byte* Device::acquire(Store from, size_t* bytes, CUresult* error) noexcept {
  *bytes = block_bytes(*bytes);
  if (std::byte* const block = take_idle(from, bytes)) return block;
  std::byte* block = nullptr;
  *error = allocate(from, *bytes, &block);
  if (*error == CUDA_ERROR_OUT_OF_MEMORY && free_idle(from))
    *error = allocate(from, *bytes, &block);
  return *error == CUDA_SUCCESS ? block : nullptr;
}

std::byte* Device::spare(Store from, size_t* bytes) noexcept {
  *bytes = block_bytes(*bytes);
  return take_idle(from, bytes, nullptr);
}

std::byte* Device::take_idle(Store from, size_t* bytes) noexcept {
  bool larger = false;
  if (std::byte* const block = take_idle(from, bytes, &larger)) return block;
  return larger && !is_quiet() ? take_idle(from, bytes, nullptr) : nullptr;
}

// *larger: there is only one that is far too large, which stays; null: that serves, too.
std::byte* Device::take_idle(Store from, size_t* bytes, bool* larger) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  Blocks& idle = stores_[static_cast<size_t>(from)];
  const auto found = larger == nullptr ? idle.lower_bound(*bytes) : fitting(idle, *bytes);
  if (found == idle.end()) {
    if (larger != nullptr) *larger = idle.lower_bound(*bytes) != idle.end();
    return nullptr;
  }
  std::byte* const block = found->second;
  *bytes = found->first;
  idle.erase(found);
  return block;
}

void Device::release(Store to, std::byte* block, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!gone()) stores_[static_cast<size_t>(to)].emplace(bytes, block);
}

// The driver may wait for streams that wait for the proxy, which gives memory back: not under the
// lock.
CUresult Device::allocate(Store from, size_t bytes, std::byte** block) noexcept {
  void* host = nullptr;
  CUdeviceptr device = 0;
  const CUresult result = from == Store::kPinned
                              ? driver.cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_PORTABLE)
                              : driver.cuMemAlloc_v2(&device, bytes);
  *block = static_cast<std::byte*>(from == Store::kPinned ? host : reinterpret_cast<void*>(device));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard<std::mutex> guard(mutex_);
  held_[static_cast<size_t>(from)] += bytes;
  if (from == Store::kPinned) {
    try {
      known_.push_back(host);
      know_pinned(host, bytes);
    } catch (const std::bad_alloc&) {  // the driver is asked
    }
  }
  return result;
}

bool Device::free_idle(Store of) noexcept {
  Blocks going;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    going.swap(stores_[static_cast<size_t>(of)]);
    for (const auto& [bytes, block] : going) {
      held_[static_cast<size_t>(of)] -= bytes;
      if (of != Store::kPinned) continue;
      forget_pinned(block);
      known_.erase(std::remove(known_.begin(), known_.end(), block), known_.end());
    }
  }
  for (const auto& [bytes, block] : going)
    (void)(of == Store::kPinned ? driver.cuMemFreeHost(block)
                                : driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(block)));
  return !going.empty();
}

int Device::attribute(CUdevice_attribute which) const noexcept {
  CUdevice handle = 0;
  int value = 0;
  return driver.cuDeviceGet(&handle, ordinal) == CUDA_SUCCESS &&
                 driver.cuDeviceGetAttribute(&value, which, handle) == CUDA_SUCCESS
             ? value
             : 0;
}

Kernels* Device::kernels(std::string* why_not) noexcept {
  const std::lock_guard<std::mutex> guard(kernels_mutex_);  // loading may wait for all work
  if (kernels_ == nullptr && no_kernels_.empty() && !gone()) {
    const Current current(*this);
    CUdevice device = 0;
    try {
      if (driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS)
        kernels_ = std::make_unique<Kernels>(driver, device, kernels_file_);
      if (kernels_ == nullptr || !kernels_->available())
        no_kernels_ = kernels_ == nullptr ? "the device does not answer" : kernels_->why_not();
    } catch (const std::exception& error) {
      no_kernels_ = error.what();
    }
  }
  if (why_not != nullptr) *why_not = no_kernels_;
  return kernels_ != nullptr && kernels_->available() ? kernels_.get() : nullptr;
}

namespace {
constinit thread_local CUcontext entered __attribute__((tls_model("initial-exec"))) = nullptr;
}

Current::Current(const Driver& driver, CUcontext context) noexcept
    : driver_(driver), outer_(entered), nested_(entered == context) {
  if (nested_) return;
  CUcontext now = nullptr;
  if (driver_.cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != context) {
    result_ = driver_.cuCtxPushCurrent_v2(context);
    pushed_ = result_ == CUDA_SUCCESS;
  }
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  if (result_ == CUDA_SUCCESS) entered = context;
}

Current::~Current() {
  if (nested_) return;
  entered = outer_;
  (void)driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent_v2(&popped);
}

Entered::Entered(const Device& device) noexcept : driver_(device.driver) {
  if (entered == device.context) return;
  CUcontext now = nullptr;
  if (driver_.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == device.context) return;
  pushed_ = driver_.cuCtxPushCurrent_v2(device.context) == CUDA_SUCCESS;
}

Entered::~Entered() {
  CUcontext popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent_v2(&popped);
}

bool Gpus::is_new(const std::string& text) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (std::find(told_.begin(), told_.end(), text) != told_.end()) return false;
  told_.push_back(text);
  return true;
}

void Gpus::tell_once(const Explain& explain, const std::string& why) noexcept {
  if (is_new(why))
    explain.warn("fallback", {{"what", "reduction on the host"}},
                 "device memory is reduced on the host: " + why);
}

void Gpus::tell_fallback(const Explain& explain, const std::string& what) noexcept {
  if (is_new(what)) explain.warn("fallback", {{"what", "staged device memory"}}, what);
}

void Gpus::tell_choice(const Explain& explain, const std::string& what) noexcept {
  if (is_new(what)) explain.say("collective", {{"algorithm", "on_device"}}, what);
}

void Gpus::release() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Driver* const known = driver();
  if (known == nullptr)
    for (auto& device : devices_) device->forget();
  devices_.clear();
  for (const auto& [ordinal, context] : primaries_) {
    CUdevice device = 0;
    if (known != nullptr && known->cuDeviceGet(&device, ordinal) == CUDA_SUCCESS)
      (void)known->cuDevicePrimaryCtxRelease_v2(device);
  }
  primaries_.clear();
}

Residency& Gpus::residency(const Uuid& gpu) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& [name, one] : residencies_)
    if (name == gpu) return *one;
  return *residencies_.emplace_back(gpu, std::make_unique<Residency>()).second;
}

// Not while streams of the application may wait for this thread: what allocates may wait for them.
void Gpus::look_after() noexcept {
  if (enqueues_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& device : devices_)
    if (!device->gone()) {
      device->prepare(chunk_, chunks_);
      device->make_wanted();
    }
}

Device* Gpus::any() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto& device : devices_) {
    if (device->gone()) continue;
    if (TERN_LIKELY(!device->stale())) return device.get();
    device->forget();
  }
  return nullptr;
}

Device* Gpus::device_of(const Memory& memory, std::string* why) noexcept {
  const Driver* const known = driver();
  if (known == nullptr) {
    *why = unusable_driver() == nullptr ? "the CUDA driver is not there any more"
                                        : "it is device memory, but " + driver_in_words();
    return nullptr;
  }
  try {
    const std::lock_guard<std::mutex> guard(mutex_);
    const CUcontext context =
        memory.context != nullptr ? memory.context : primary_of(*known, memory.device, why);
    return context == nullptr ? nullptr : device_in(context, memory);
  } catch (const std::exception& error) {
    *why = error.what();
    return nullptr;
  }
}

// Pools and mapped memory have no context: the application's active one is the device's primary.
CUcontext Gpus::primary_of(const Driver& known, int ordinal, std::string* why) {
  if (const auto found = primaries_.find(ordinal); found != primaries_.end()) return found->second;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult result = known.cuDeviceGet(&device, ordinal);
  if (result == CUDA_SUCCESS) result = known.cuDevicePrimaryCtxRetain(&context, device);
  if (result != CUDA_SUCCESS) {
    *why = words_of("cuDevicePrimaryCtxRetain", result);
    return nullptr;
  }
  primaries_.emplace(ordinal, context);
  return context;
}

Device* Gpus::device_in(CUcontext context, const Memory& memory) {
  for (auto& device : devices_) {
    if (device->context != context || device->gone()) continue;
    if (TERN_LIKELY(!device->has_ended(memory))) return device.get();
    device->forget();
  }
  devices_.push_back(std::make_unique<Device>(*driver(), context, memory.device, kernels_file_));
  Device* const device = devices_.back().get();
  device->mails = mails_;
  device->prepare(chunk_, chunks_);
  return device;
}

}  // namespace tern::cuda
