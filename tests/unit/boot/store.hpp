// SPDX-License-Identifier: Apache-2.0
// Store: a table for MPIX_Boot_provide, shared by ranks as threads. Threads: any. Lifetime:
// outlives all Boots of the Store.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpix.h"

namespace tern::boot {

class Store {
 public:
  explicit Store(int size) : fences_(static_cast<std::size_t>(size)), ends_(size) {}
  [[nodiscard]] MPIX_Boot boot(int rank) {
    ends_[static_cast<std::size_t>(rank)] = {this, rank};
    MPIX_Boot boot{};
    boot.version = MPIX_BOOT_VERSION;
    boot.rank = rank;
    boot.size = static_cast<int>(fences_.size());
    boot.job = "unit-test";
    boot.host = "";
    boot.context = &ends_[static_cast<std::size_t>(rank)];
    boot.put = put;
    boot.get = get;
    boot.fence = fence;
    boot.abort = abort;
    boot.done = done;
    return boot;
  }
  std::atomic<int> gets{0}, ended{0}, aborted{0};

 private:
  struct End {
    Store* store;
    int rank;
  };
  static int put(void* context, const char* key, const void* value, int bytes) {
    const auto [store, rank] = *static_cast<End*>(context);
    const std::lock_guard lock(store->mutex_);
    store->values_[{rank, key}].assign(static_cast<const char*>(value),
                                       static_cast<std::size_t>(bytes));
    store->changed_.notify_all();
    return MPI_SUCCESS;
  }
  // A key still absent after its rank's first fence is an error.
  static int get(void* context, int rank, const char* key, void* value, int room, int* bytes) {
    Store* store = static_cast<End*>(context)->store;
    std::unique_lock lock(store->mutex_);
    ++store->gets;
    const std::pair<int, std::string> name(rank, key);
    store->changed_.wait(lock, [&] {
      return store->values_.count(name) != 0 || store->fences_[static_cast<std::size_t>(rank)] > 0;
    });
    const auto found = store->values_.find(name);
    if (found == store->values_.end()) return MPI_ERR_OTHER;
    *bytes = static_cast<int>(found->second.size());
    if (*bytes > room) return MPI_ERR_TRUNCATE;
    std::copy(found->second.begin(), found->second.end(), static_cast<char*>(value));
    return MPI_SUCCESS;
  }
  static int fence(void* context) {
    const auto [store, rank] = *static_cast<End*>(context);
    std::unique_lock lock(store->mutex_);
    const int mine = ++store->fences_[static_cast<std::size_t>(rank)];
    store->changed_.notify_all();
    store->changed_.wait(lock, [&, store = store] {
      return std::all_of(store->fences_.begin(), store->fences_.end(),
                         [&](int others) { return others >= mine; });
    });
    return MPI_SUCCESS;
  }
  static void abort(void* context, int code, const char*) {
    static_cast<End*>(context)->store->aborted = code;
  }
  static void done(void* context) { ++static_cast<End*>(context)->store->ended; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, std::string>, std::string> values_;
  std::vector<int> fences_;
  std::vector<End> ends_;
};

}  // namespace tern::boot
