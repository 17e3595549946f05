// SPDX-License-Identifier: Apache-2.0
#include "base/process_id.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "base/digest.hpp"

namespace tern {
namespace {

std::string namespace_of(const char* kind) {
  char name[64];
  const ssize_t bytes =
      ::readlink((std::string("/proc/self/ns/") + kind).c_str(), name, sizeof name);
  return {name, bytes > 0 ? static_cast<size_t>(bytes) : 0};
}

}  // namespace

// Not std::random_device: libstdc++ 12 and newer call arc4random of glibc 2.36, and packages serve
// older systems.
uint64_t random_word() noexcept {
  uint64_t word = 0;
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word)
    word = static_cast<uint64_t>(now_ns()) * 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(::getpid());
  return word;
}

uint64_t process_id() noexcept {
  static std::atomic<int32_t> of{0};
  static std::atomic<uint64_t> id{0};
  static std::mutex mutex;
  const auto pid = static_cast<int32_t>(::getpid());
  if (of.load(std::memory_order_acquire) != pid) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (of.load(std::memory_order_relaxed) != pid) {
      id.store(random_word() | 1, std::memory_order_relaxed);
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
  static const uint64_t domain = digest_text(namespace_of("pid"), machine_id());
  return domain;
}

uint32_t proc_domain() noexcept {
  static const auto domain =
      static_cast<uint32_t>(has_own_proc() ? number_domain() : number_domain() ^ process_id());
  return domain;
}

uint32_t access_domain() noexcept {
  static const auto domain =
      static_cast<uint32_t>(digest_text(namespace_of("user"), proc_domain()));
  return domain;
}

bool has_own_proc() noexcept {
  static const bool has = [] {
    char self[16] = {};
    return ::readlink("/proc/self", self, sizeof self - 1) > 0 && std::atoi(self) == ::getpid();
  }();
  return has;
}

}  // namespace tern
