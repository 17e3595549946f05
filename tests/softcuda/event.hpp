// SPDX-License-Identifier: Apache-2.0
// Events: a place in a stream, or a counter in shared memory.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "stream.hpp"

namespace softcuda {

/// An importer maps the unnamed file of a SharedEvent.
struct SharedEvent {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
  std::atomic<uint32_t> bell;
  std::atomic<uint32_t> users;
};

/// A Clock counts the preceding nodes of each captured stream.
using Clock = std::map<CUstream, uint64_t>;

/// find_event() returns null for a stale handle.
CUevent find_event(CUevent handle);
CUevent make_event(CUcontext context, unsigned flags);
CUevent adopt_event(CUcontext context, SharedEvent* shared);
SharedEvent* take_shared_event(int* fd, ino_t* inode, unsigned* index);
SharedEvent* map_shared_event(pid_t pid, int fd, ino_t inode, unsigned index);

}  // namespace softcuda

/// An event is never freed, so a stale handle is an error.
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
