// SPDX-License-Identifier: Apache-2.0
// Places and turns: a table within the process, file locks (SOFTCUDA_SHARED) between processes.
// Locks end with their holder.
#include "residency.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace softcuda {
namespace {

struct Residency {
  std::mutex mutex;
  std::vector<bool> taken = std::vector<bool>(places_of_device());  // places taken by kernels of
                                                                    // this process
  unsigned kernels = 0;
  int file = -1, door = -1;
};
Residency& residency_of(int physical) {
  static auto* const made = new Residency[64];
  return made[physical];
}

thread_local int device_of_thread = -1;
thread_local size_t first_place = 0, end_of_places = 0;
thread_local std::vector<size_t> places_of_thread;

bool is_shared() { return !config().shared.empty(); }

int open_for(int physical, const char* what) {
  const std::string path = config().shared + "." + std::to_string(physical) + what;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) give_up("SOFTCUDA_SHARED: cannot open %s", path.c_str());
  return fd;
}

// The caller holds the mutex. A waiter locks the door against repeated turns of another process.
void wait_for_turn(Residency& device, int physical, const char* kernel) {
  if (device.file < 0) device.file = open_for(physical, ".turn");
  if (device.door < 0) device.door = open_for(physical, ".door");
  flock(device.door, LOCK_EX);
  Patience patience;
  while (flock(device.file, LOCK_EX | LOCK_NB) != 0 && !exiting()) {
    patience.ask([&] {
      return std::string("kernel ") + kernel + " waits for a kernel of another process on device " +
             std::to_string(physical) + " to end, because processes take turns without MPS";
    });
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  flock(device.door, LOCK_UN);
}

bool lock_place(Residency& device, int physical, size_t place, short type) {
  if (!is_shared() || !config().mps) return true;
  if (device.file < 0) device.file = open_for(physical, ".places");
  struct flock byte {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(place);
  byte.l_len = 1;
  return fcntl(device.file, F_OFD_SETLK, &byte) == 0;
}

}  // namespace

unsigned places_of_device() { return config().processors * kBlocksEach; }

KernelTurn::KernelTurn(const Processors& on, const char* kernel) {
  const int physical = device_of_thread = on.physical;
  first_place = size_t{on.first} * kBlocksEach;
  end_of_places = first_place + size_t{on.count} * kBlocksEach;
  Residency& device = residency_of(physical);
  std::lock_guard lock(device.mutex);
  if (device.kernels++ == 0 && is_shared() && !config().mps)
    wait_for_turn(device, physical, kernel);
}

KernelTurn::~KernelTurn() {
  Residency& device = residency_of(device_of_thread);
  std::lock_guard lock(device.mutex);
  if (--device.kernels == 0 && is_shared() && !config().mps) flock(device.file, LOCK_UN);
}

int take_place() {
  Residency& device = residency_of(device_of_thread);
  std::lock_guard lock(device.mutex);
  for (size_t i = first_place; i < end_of_places; ++i) {
    if (device.taken[i] || !lock_place(device, device_of_thread, i, F_WRLCK)) continue;
    device.taken[i] = true;
    places_of_thread.push_back(i);
    return 1;
  }
  return 0;
}

// On the device and over NVLink, lines arrive whole.
int arrival_at(const void* bytes) {
  if (!config().weak) return 0;
  const std::optional<Allocation> there = find_allocation(address_of_bytes(bytes));
  if (!there) return 0;
  return there->on_device() && link_between(there->physical, device_of_thread) == Link::kNvlink ? 1
                                                                                                : 2;
}

void give_place() {
  Residency& device = residency_of(device_of_thread);
  std::lock_guard lock(device.mutex);
  const size_t place = places_of_thread.back();
  places_of_thread.pop_back();
  device.taken[place] = false;
  lock_place(device, device_of_thread, place, F_UNLCK);
}

}  // namespace softcuda
