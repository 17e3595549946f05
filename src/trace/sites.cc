// SPDX-License-Identifier: Apache-2.0
#include "trace/sites.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>
#include <unwind.h>

#include <exception>

#include "base/call_site.hpp"
#include "base/error.hpp"

namespace tern::trace {
namespace {

struct Walk {
  uintptr_t site;
  Frames frames{};
  uintptr_t where[kFrames] = {};  // 0: not in memory
  size_t found = 0;
  int skipped = 0;
};

/// The unwinder gives the frame address of the callee, below which the return address lies.
_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  constexpr int kOwnFrames = 16;
  auto& walk = *static_cast<Walk*>(argument);
  const uintptr_t address = _Unwind_GetIP(context);
  if (walk.found == 0 && address != walk.site)
    return ++walk.skipped < kOwnFrames ? _URC_NO_REASON : _URC_NORMAL_STOP;
  if (address == 0) return _URC_NORMAL_STOP;
  const uintptr_t slot = _Unwind_GetCFA(context) - sizeof(uintptr_t);
  walk.frames[walk.found] = address;
  walk.where[walk.found] = slot;
  return ++walk.found < kFrames ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

/// The program's own name may be relative.
std::string path_of(const char* name) {
  if (name[0] == '/') return name;
  char path[PATH_MAX];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
  return bytes > 0 ? std::string(path, static_cast<size_t>(bytes)) : name;
}

}  // namespace

uint32_t SiteTable::number(const Frames& frames, bool* is_new) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto next = static_cast<uint32_t>(numbers_.size() + 1);
  const auto [at, made] = numbers_.emplace(frames, next);
  *is_new = made;
  return at->second;
}

std::string frame_in_words(uintptr_t address) {
  Dl_info info{};
  const uintptr_t at = address - 1;
  if (::dladdr(reinterpret_cast<void*>(at), &info) == 0 || info.dli_fname == nullptr)
    return strf("?+0x%zx", static_cast<size_t>(at));
  if (info.dli_sname != nullptr)
    return strf("%s(%s+0x%zx)", path_of(info.dli_fname).c_str(), info.dli_sname,
                static_cast<size_t>(at - reinterpret_cast<uintptr_t>(info.dli_saddr)));
  return strf("%s+0x%zx", path_of(info.dli_fname).c_str(),
              static_cast<size_t>(at - reinterpret_cast<uintptr_t>(info.dli_fbase)));
}

std::string source_in_words(uintptr_t address) { return source_of_call(address - 1); }

std::string in_words(const Frames& frames) {
  std::string text;
  for (const uintptr_t address : frames) {
    if (address == 0) break;
    text += (text.empty() ? "" : ";") + frame_in_words(address);
  }
  return text;
}

void SiteCache::start(Number number) noexcept {
  number_ = number;
  std::fill(std::begin(entries_), std::end(entries_), Entry{});
  stack_begin_ = stack_end_ = 0;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* begin = nullptr;
  size_t bytes = 0;
  if (::pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    stack_begin_ = reinterpret_cast<uintptr_t>(begin);
    stack_end_ = stack_begin_ + bytes;
  }
  ::pthread_attr_destroy(&attributes);
}

uint32_t SiteCache::look_up(uintptr_t site, uintptr_t frame) noexcept {
  if (site == 0) return 0;
  Walk walk{site};
  _Unwind_Backtrace(take_frame, &walk);
  if (walk.found == 0) walk.frames[walk.found++] = site;
  const uint32_t number = number_(walk.frames);
  if (frame < stack_begin_ || frame >= stack_end_) return number;  // another stack: no cache
  Entry made{site, frame, number, 0, {}, {}};
  for (size_t i = 1; i < walk.found; ++i) {
    const uintptr_t where = walk.where[i];
    if (where < frame || where > stack_end_ - sizeof(uintptr_t) ||
        *reinterpret_cast<const uintptr_t*>(where) != walk.frames[i])
      return number;
    made.where[made.slots] = where;
    made.value[made.slots++] = walk.frames[i];
  }
  entries_[slot(site, frame)] = made;
  return number;
}

}  // namespace tern::trace
