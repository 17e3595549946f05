// SPDX-License-Identifier: Apache-2.0
// Events: a place in a stream, or a counter in shared memory.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "stream.hpp"

namespace softcuda {

/// In an unnamed file, mapped by importers.
struct SharedEvent {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
  std::atomic<uint32_t> bell;  // rung at completion
  std::atomic<uint32_t> users;
};

/// Preceding nodes of each captured stream, by count.
using Clock = std::map<CUstream, uint64_t>;

/// Null for a stale handle.
CUevent find_event(CUevent handle);
CUevent make_event(CUcontext context, unsigned flags);
CUevent adopt_event(CUcontext context, SharedEvent* shared);
SharedEvent* take_shared_event(int* fd, ino_t* inode, unsigned* index);
SharedEvent* map_shared_event(pid_t pid, int fd, ino_t inode, unsigned index);

}  // namespace softcuda

/// Never freed: a stale handle is an error.
struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  bool adopted = false;
  std::mutex mutex;
  softcuda::Place last;
  bool recorded = false;
  std::atomic<int64_t> time_ns{0};
  softcuda::SharedEvent* shared = nullptr;
  int fd = -1;
  ino_t inode = 0;
  unsigned index = 0;
  std::shared_ptr<softcuda::Capture> capture;  // guarded by table_mutex
  softcuda::Clock clock;
};
