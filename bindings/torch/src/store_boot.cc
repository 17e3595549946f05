// SPDX-License-Identifier: Apache-2.0
// Exchanges Tern's start-up values over a Store. Keys are tern/JOB/ATTEMPT/NUMBER/RANK/KEY.
#include "store_boot.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>

#include "errors.hpp"
#include "extensions.hpp"

namespace torch_tern {

namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

// A world's state in the Store. Threads: Tern calls from any, and a Store serializes calls.
struct StoreBoot {
  StorePointer store;
  int rank, size;
  std::string job, prefix;
  std::atomic<int> fences{0};

  std::string key_of(int of_rank, const char* key) const {
    return prefix + std::to_string(of_rank) + "/" + key;
  }
};

StoreBoot& of(void* context) { return *static_cast<StoreBoot*>(context); }

template <class Step>
int guarded(Step step) {
  try {
    return step();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: the Store failed: %s\n", error.what());
    return MPI_ERR_OTHER;
  }
}

int put(void* context, const char* key, const void* value, int bytes) {
  return guarded([&] {
    const auto* begin = static_cast<const std::uint8_t*>(value);
    of(context).store->set(of(context).key_of(of(context).rank, key),
                           std::vector<std::uint8_t>(begin, begin + bytes));
    return MPI_SUCCESS;
  });
}

int get(void* context, int rank, const char* key, void* value, int room, int* bytes) {
  return guarded([&] {
    const std::vector<std::uint8_t> found = of(context).store->get(of(context).key_of(rank, key));
    *bytes = static_cast<int>(found.size());
    if (*bytes > room) {
      return static_cast<int>(MPI_ERR_TRUNCATE);
    }
    std::memcpy(value, found.data(), found.size());
    return static_cast<int>(MPI_SUCCESS);
  });
}

int fence(void* context) {
  return guarded([&] {
    StoreBoot& boot = of(context);
    const std::string key = boot.prefix + "fence/" + std::to_string(boot.fences++);
    if (boot.store->add(key + "/count", 1) == boot.size) {
      boot.store->set(key, std::vector<std::uint8_t>{1});
    }
    boot.store->wait({key});
    return MPI_SUCCESS;
  });
}

void abort_job(void* context, int code, const char* text) {
  guarded([&] {
    const std::string words = text ? text : "";
    of(context).store->set(of(context).prefix + "abort",
                           std::vector<std::uint8_t>(words.begin(), words.end()));
    return MPI_SUCCESS;
  });
  std::fprintf(stderr, "tern: rank %d ends the job with code %d: %s\n", of(context).rank, code,
               text ? text : "");
}

void done(void* context) { delete static_cast<StoreBoot*>(context); }

// Agrees on the first caller's word, a part of shared-memory names.
std::string agree_on_job(c10d::Store& store, const std::string& key) {
  std::random_device device;
  char own[32];
  std::snprintf(own, sizeof own, "%08x%08x", static_cast<unsigned>(device()),
                static_cast<unsigned>(device()));
  const std::string word = own;
  const auto agreed =
      store.compareSet(key, {}, std::vector<std::uint8_t>(word.begin(), word.end()));
  return {agreed.begin(), agreed.end()};
}

// attempt() is a part of all keys, because torchrun restarts workers with the same store.
std::string attempt() {
  const char* const restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return restarts ? restarts : "0";
}

}  // namespace

// False under torchrun, because workers inherit the variables of torchrun's own launcher.
bool has_launcher() { return !std::getenv("TORCHELASTIC_RUN_ID") && was_launched(); }

bool was_launched() {
  for (const char* name : {"TERN_BOOT_FD", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK"}) {
    if (std::getenv(name)) {
      return true;
    }
  }
  return false;
}

void boot_over(const StorePointer& store, int rank, int size) {
  if (!extensions().boot_provide) {
    fail(
        "this process has no MPI launcher, and the libmpi_abi.so.1 in use lacks "
        "MPIX_Boot_provide, "
        "which PyTorch's Store needs. Start the program as \"mpirun -n " +
        std::to_string(size) +
        " python ...\" with torch_tern.init() before init_process_group, or use a newer Tern");
  }
  static int worlds = 0;
  const std::string number = attempt() + "/" + std::to_string(worlds++);
  auto boot = std::make_unique<StoreBoot>();
  boot->store = store;
  boot->rank = rank;
  boot->size = size;
  boot->job = agree_on_job(*store, "tern/job/" + number);
  boot->prefix = "tern/" + boot->job + "/" + number + "/";
  const Boot words{1,   rank, size,  boot->job.c_str(), "",  boot.get(),
                   put, get,  fence, abort_job,         done};
  check(extensions().boot_provide(&words));
  boot.release();  // `done` deletes the object
}

}  // namespace torch_tern
