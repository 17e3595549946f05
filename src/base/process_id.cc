// SPDX-License-Identifier: Apache-2.0
#include "base/process_id.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/digest.hpp"

namespace tern {
namespace {

uint64_t random_id() noexcept {
  uint64_t id = 0;
  if (::getrandom(&id, sizeof id, GRND_NONBLOCK) != sizeof id)
    id = static_cast<uint64_t>(now_ns()) * 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(::getpid());
  return id | 1;
}

}  // namespace

// In a child the system's number is another one.
uint64_t process_id() noexcept {
  static std::atomic<int32_t> of{0};
  static std::atomic<uint64_t> id{0};
  static std::mutex mutex;
  const auto pid = static_cast<int32_t>(::getpid());
  if (of.load(std::memory_order_acquire) != pid) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (of.load(std::memory_order_relaxed) != pid) {
      id.store(random_id(), std::memory_order_relaxed);
      of.store(pid, std::memory_order_release);
    }
  }
  return id.load(std::memory_order_relaxed);
}

uint64_t machine_id() noexcept {
  static const uint64_t machine = [] {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    return digest_text(boot);
  }();
  return machine;
}

uint64_t number_domain() noexcept {
  static const uint64_t domain = [] {
    char space[64] = {};
    const ssize_t named = ::readlink("/proc/self/ns/pid", space, sizeof space);
    return digest_text({space, named > 0 ? static_cast<size_t>(named) : 0}, machine_id());
  }();
  return domain;
}

}  // namespace tern
