// SPDX-License-Identifier: Apache-2.0
// Events: a place in a stream, or a counter in memory that processes share.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "stream.hpp"

namespace softcuda {

/// In a file without a name that its process makes once; importers map it.
struct SharedEvent {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
  std::atomic<uint32_t> bell;  // rung at each completion
  std::atomic<uint32_t> users;
};

/// What of each stream of a capture comes before: by number of nodes.
using Clock = std::map<CUstream, uint64_t>;

/// The event of a handle, or null where it is stale.
CUevent find_event(CUevent handle);
CUevent make_event(CUcontext context, unsigned flags);
/// One that another process made.
CUevent adopt_event(CUcontext context, SharedEvent* shared);
SharedEvent* take_shared_event(int* fd, ino_t* inode, unsigned* index);
SharedEvent* map_shared_event(pid_t pid, int fd, ino_t inode, unsigned index);

}  // namespace softcuda

/// Never freed, so that a stale handle is an error.
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
  std::shared_ptr<softcuda::Capture> capture;  // recorded in it, guarded by table_mutex
  softcuda::Clock clock;
};
