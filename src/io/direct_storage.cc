// SPDX-License-Identifier: Apache-2.0
#include "io/direct_storage.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "core/process.hpp"
#include "cuda/context.hpp"
#include "io/say_once.hpp"

namespace tern::io {
namespace {

constexpr const char* kCuFileLibrary = "libcufile.so.0";

std::string words_of_move(const char* function, ssize_t moved) {
  if (moved == -1) return strf("%s: %s", function, std::strerror(errno));
  return strf("%s: error %lld", function, static_cast<long long>(-moved));
}

}  // namespace

/// The binary interface of libcufile.
struct CuFile {
  struct Result {
    int error = 0;  // 0: success
    int driver_error = 0;
  };
  struct Descriptor {
    int type = 1;  // a descriptor of the system
    union {
      int fd;
      void* handle;
    } file = {};
    const void* operations = nullptr;
  };
  Result (*cuFileDriverOpen)();
  Result (*cuFileHandleRegister)(void** handle, Descriptor* descriptor);
  void (*cuFileHandleDeregister)(void* handle);
  ssize_t (*cuFileRead)(void* handle, void* memory, size_t bytes, off_t at, off_t memory_offset);
  ssize_t (*cuFileWrite)(void* handle, const void* memory, size_t bytes, off_t at,
                         off_t memory_offset);
  std::string why_not;  // empty: usable

  static std::string words_of(const char* function, const Result& result) {
    if (result.driver_error == 0) return strf("%s: error %d", function, result.error);
    return strf("%s: error %d, error %d of CUDA", function, result.error, result.driver_error);
  }

  CuFile() {
    void* const library = ::dlopen(kCuFileLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const reason = ::dlerror();
      why_not = reason != nullptr ? reason : kCuFileLibrary;
      return;
    }
    const auto resolve = [&](const char* function, auto& place) {
      place =
          reinterpret_cast<std::remove_reference_t<decltype(place)>>(::dlsym(library, function));
      if (place == nullptr) why_not = strf("%s has no %s", kCuFileLibrary, function);
    };
    resolve("cuFileDriverOpen", cuFileDriverOpen);
    resolve("cuFileHandleRegister", cuFileHandleRegister);
    resolve("cuFileHandleDeregister", cuFileHandleDeregister);
    resolve("cuFileRead", cuFileRead);
    resolve("cuFileWrite", cuFileWrite);
    if (!why_not.empty()) return;
    if (const Result result = cuFileDriverOpen(); result.error != 0)
      why_not = words_of("cuFileDriverOpen", result);
  }
};

DirectStorage::~DirectStorage() {
  if (handle_ != nullptr) library_->cuFileHandleDeregister(handle_);
}

bool DirectStorage::may_exist(const Params& params) noexcept {
  return ::access(params.io_nvidia_fs.c_str(), F_OK) == 0;
}

void DirectStorage::say(const std::string& why) const noexcept {
  try {
    say_once(strf("device memory of %s goes through host memory instead of GPUDirect Storage: %s",
                  name_.c_str(), why.c_str()));
  } catch (const std::bad_alloc&) {
  }
}

bool DirectStorage::open(const Part& part, const core::Process& process) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(tried_, true)) return handle_ != nullptr;
  try {
    if (!may_exist(process.params)) {
      say(strf("the kernel module nvidia-fs is not loaded (%s: %s)",
               process.params.io_nvidia_fs.c_str(), std::strerror(errno)));
      return false;
    }
    if (part.file.direct().fd() < 0) {
      say(strf("%s refuses O_DIRECT", part.file.system().name));
      return false;
    }
    static const auto& library = *new CuFile;  // outlives the program's own objects
    if (!library.why_not.empty()) {
      say(library.why_not);
      return false;
    }
    CuFile::Descriptor descriptor;
    descriptor.file.fd = part.file.direct().fd();
    void* handle = nullptr;
    if (const CuFile::Result result = library.cuFileHandleRegister(&handle, &descriptor);
        result.error != 0) {
      say(CuFile::words_of("cuFileHandleRegister", result));
      return false;
    }
    library_ = &library;
    handle_ = handle;
  } catch (const std::bad_alloc&) {
  }
  return handle_ != nullptr;
}

DirectStorage::Middle DirectStorage::middle(const Part& part, const Memory& memory, size_t bytes,
                                            bool writes) noexcept {
  if (part.file.storage() == nullptr || bytes < kLeast || memory.device_block() == nullptr)
    return {};
  const int64_t at = part.view.at(part.first);
  if (part.view.end_of(part.first, static_cast<int64_t>(bytes)) - at != static_cast<int64_t>(bytes))
    return {};
  const int64_t block = part.file.direct().block();
  const auto before = static_cast<size_t>(-at & (block - 1));
  if (bytes < before + kLeast) return {};
  size_t whole = (bytes - before) & static_cast<size_t>(-block);
  if (!writes && part.file.direct().fd() >= 0)
    whole = part.file.direct().blocks_inside(whole, at + static_cast<int64_t>(before));
  return whole < kLeast ? Middle{} : Middle{before, whole};
}

size_t DirectStorage::move(const Part& part, const Memory& memory, const Middle& middle,
                           bool writes) noexcept {
  constexpr size_t kMostPerCall = size_t{1} << 30;
  Failure failed;
  // The job waits for late writes to the memory.
  cuda::Job job = core::begin_job(memory.process(), memory.data(), &failed);
  if (failed || !job.finish()) return 0;
  const cuda::Current current(job.device());
  if (!open(part, memory.process())) return 0;
  const int64_t from = part.view.at(part.first) + static_cast<int64_t>(middle.offset);
  std::byte* const data = memory.device_block() + middle.offset;
  size_t done = 0;
  while (done < middle.bytes) {
    const int64_t at = from + static_cast<int64_t>(done);
    const size_t some = std::min(middle.bytes - done, kMostPerCall);
    // An error of the flush shows again in the chunks.
    if (DirectFile::flush(part.file.fd(), some, at) != 0) return done;
    const ssize_t moved = writes ? library_->cuFileWrite(handle_, data + done, some, at, 0)
                                 : library_->cuFileRead(handle_, data + done, some, at, 0);
    auto& counts = memory.process().file_operations;
    counts.add_to(counts.gpudirect, 1);
    try {
      const char* const function = writes ? "cuFileWrite" : "cuFileRead";
      if (moved < 0)
        say(words_of_move(function, moved));
      else if (static_cast<size_t>(moved) < some)
        say(strf("%s moved %zd of %zu bytes", function, moved, some));
    } catch (const std::bad_alloc&) {
    }
    if (moved > 0) done += std::min(static_cast<size_t>(moved), some);
    if (moved < static_cast<ssize_t>(some)) break;
  }
  return done;
}

}  // namespace tern::io
