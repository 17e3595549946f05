// SPDX-License-Identifier: Apache-2.0
// ProvidedBoot: a job over the program's functions. Rank 0 joins data of all ranks into a single
// value, because the store is slow.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/signals.hpp"
#include "boot/boot.hpp"
#include "boot/calls.hpp"
#include "boot/nodes.hpp"
#include "boot/provided.hpp"
#include "boot/site.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

class ProvidedBoot final : public Boot {
 public:
  explicit ProvidedBoot(std::shared_ptr<Calls> calls);

  const char* name() const noexcept override { return "provided"; }
  int node(int rank) override {
    check_rank(*this, rank, "the node");
    return nodes_.of(rank);
  }
  std::string host(int rank) override {
    check_rank(*this, rank, "the host");
    return hosts_[static_cast<std::size_t>(nodes_.of(rank))];
  }
  void put_connection_info(const ConnectionInfo& info) override {
    own_info_.assign(reinterpret_cast<const char*>(info.data()), info.size());
  }
  void publish() override;
  bool has_connection_info(int rank) override;
  ConnectionInfo connection_info(int rank) override;
  void put(std::string_view key, std::string_view value) override {
    calls_->put(std::string(key), value);
  }
  std::string get(int rank, std::string_view key) override {
    check_rank(*this, rank, "a key");
    return calls_->get(rank, std::string(key));
  }
  void hand_out(std::string_view learnt) override { learnt_ = learnt; }
  std::string learnt() override {
    (void)has_connection_info(0);
    return learnt_;
  }
  void start_fence() override;
  bool fence_over() noexcept override { return fence_->state.load() == kOver; }
  FutexWord fence_word() noexcept override { return {&fence_->state, kUnderWay}; }
  void end_fence() override;
  void abort(int code, const char* text) noexcept override {
    calls_->abort(code, text);
    ::_exit((code & 0xff) != 0 ? code & 0xff : 1);
  }
  void finalize() override {}

 private:
  void learn_hosts(const std::vector<Site>& sites);

  enum : std::uint32_t { kOver, kUnderWay };
  struct Fence {
    std::atomic<std::uint32_t> state{kUnderWay};
    std::string error;  // written before the state
    int error_class = MPI_SUCCESS;
    void run(std::shared_ptr<Calls> calls) noexcept;
  };

  std::shared_ptr<Calls> calls_;
  Nodes nodes_;
  std::vector<std::string> hosts_;
  std::string own_info_, infos_;
  std::string learnt_;
  bool published_ = false;
  std::mutex infos_mutex_;
  std::shared_ptr<Fence> fence_ = std::make_shared<Fence>();
};

constexpr const char* kSiteKey = "site";
constexpr const char* kInfoKey = "info";

ProvidedBoot::ProvidedBoot(std::shared_ptr<Calls> calls) : calls_(std::move(calls)) {
  job_.rank = calls_->rank();
  job_.size = job_.universe_size = calls_->size();
  job_.id = calls_->job();
  job_.launcher = "the program (MPIX_Boot_provide)";
  job_.learnt = Learnt::kPublished;
  const Site mine = site_here(*calls_);
  calls_->put(kSiteKey, {reinterpret_cast<const char*>(&mine), sizeof mine});
  if (rank() == 0)
    calls_->gather(kSiteKey, sizeof mine, [this](int from, const std::string& value) {
      return objection_to(site_of(value), from, size());
    });
  learn_hosts(sites_of(calls_->gathered(kSiteKey, sizeof mine), mine));
}

void ProvidedBoot::learn_hosts(const std::vector<Site>& sites) {
  std::map<std::uint64_t, int> known;
  std::vector<int> nodes;
  for (const Site& site : sites) {
    const auto [place, fresh] = known.emplace(site.machine, static_cast<int>(known.size()));
    nodes.push_back(place->second);
    if (fresh) hosts_.emplace_back(site.host);
    if (site.machine != sites[static_cast<std::size_t>(rank())].machine) continue;
    if (site.rank == rank()) job_.local_index = static_cast<int>(job_.local_ranks.size());
    job_.local_ranks.push_back(site.rank);
  }
  nodes_ = Nodes(nodes);
}

void ProvidedBoot::publish() {
  if (published_ || own_info_.empty()) return;
  published_ = true;
  calls_->put(kInfoKey, own_info_);
  if (rank() == 0)
    calls_->gather(
        kInfoKey, kConnectionInfoSize, [](int, const std::string&) { return std::string(); },
        learnt_);
}

bool ProvidedBoot::has_connection_info(int rank) {
  check_rank(*this, rank, "the connection info");
  const std::lock_guard lock(infos_mutex_);
  if (infos_.empty()) infos_ = calls_->gathered(kInfoKey, kConnectionInfoSize, &learnt_);
  return true;
}

ConnectionInfo ProvidedBoot::connection_info(int rank) {
  (void)has_connection_info(rank);
  ConnectionInfo info;
  std::memcpy(info.data(), infos_.data() + static_cast<std::size_t>(rank) * info.size(),
              info.size());
  return info;
}

// The waiter may be the last owner of the functions afterwards.
void ProvidedBoot::Fence::run(std::shared_ptr<Calls> calls) noexcept {
  try {
    calls->fence();
  } catch (const Error& failed) {
    error = failed.what();
    error_class = failed.mpi_class();
  }
  calls.reset();
  state = kOver;
  futex_wake_all(state);
}

// The program's fence function blocks, so a thread makes the call while messages progress.
void ProvidedBoot::start_fence() {
  publish();
  fence_ = std::make_shared<Fence>();
  const SignalsBlocked blocked;
  std::thread thread([fence = fence_, calls = calls_]() mutable { fence->run(std::move(calls)); });
  ::pthread_setname_np(thread.native_handle(), "tern-fence");
  thread.detach();  // the function may never return
}

void ProvidedBoot::end_fence() {
  if (fence_->error_class != MPI_SUCCESS) throw Error(fence_->error_class, fence_->error);
}

std::mutex pending_mutex;
std::shared_ptr<Calls>& pending() noexcept {
  static auto* const only = new std::shared_ptr<Calls>;
  return *only;
}

}  // namespace

void provide(const MPIX_Boot& given) {
  auto calls = std::make_shared<Calls>(given);
  const std::lock_guard lock(pending_mutex);
  pending().swap(calls);
}

bool is_provided() noexcept {
  const std::lock_guard lock(pending_mutex);
  return pending() != nullptr;
}

std::unique_ptr<Boot> make_provided_boot() {
  std::shared_ptr<Calls> calls;
  {
    const std::lock_guard lock(pending_mutex);
    calls.swap(pending());
  }
  return std::make_unique<ProvidedBoot>(std::move(calls));
}

std::unique_ptr<Boot> make_provided_boot(const MPIX_Boot& given) {
  return std::make_unique<ProvidedBoot>(std::make_shared<Calls>(given));
}

}  // namespace tern::boot
