// SPDX-License-Identifier: Apache-2.0
// FakeJob: the table, and a Boot per thread.
#include "boot/fake.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::boot {

struct FakeJob::State {
  State(int size_, std::vector<std::string> hosts_)
      : size(size_),
        hosts(std::move(hosts_)),
        infos(static_cast<std::size_t>(size_)),
        has_connection_info(infos.size()) {
    if (hosts.empty()) hosts.assign(static_cast<std::size_t>(size), "fakehost");
  }
  int size;
  std::vector<std::string> hosts;
  std::vector<int> nodes;
  std::mutex mutex;
  std::vector<ConnectionInfo> infos;
  std::vector<bool> has_connection_info;
  std::map<std::pair<int, std::string>, std::string> values;
  int arrived = 0;
  std::atomic<std::uint32_t> generation{0};
  int abort_code = -1;
  int abort_rank = -1;

  void open() {
    arrived = 0;
    ++generation;
    futex_wake_all(generation);
  }
};

namespace {

std::vector<int> number_nodes(const std::vector<std::string>& hosts) {
  std::map<std::string, int> known;
  std::vector<int> nodes;
  for (const auto& host : hosts)
    nodes.push_back(known.emplace(host, static_cast<int>(known.size())).first->second);
  return nodes;
}

class FakeBoot final : public Boot {
 public:
  FakeBoot(std::shared_ptr<FakeJob::State> state, int rank) : state_(std::move(state)) {
    job_.rank = rank;
    job_.size = state_->size;
    job_.universe_size = state_->size;
    job_.id = strf("fake-%p", static_cast<void*>(state_.get()));
    job_.launcher = "a unit test";
    job_.threads = true;
    job_.learnt = Learnt::kFromLauncher;
    check_rank(*this, rank, "the Boot");
    const auto& hosts = state_->hosts;
    const auto mine = static_cast<std::size_t>(rank);
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      if (hosts[r] != hosts[mine]) continue;
      if (r == mine) job_.local_index = static_cast<int>(job_.local_ranks.size());
      job_.local_ranks.push_back(static_cast<int>(r));
    }
  }

  const char* name() const noexcept override { return "fake"; }
  int node(int rank) override {
    check_rank(*this, rank, "the node");
    return state_->nodes[static_cast<std::size_t>(rank)];
  }
  std::string host(int rank) override {
    check_rank(*this, rank, "the host");
    return state_->hosts[static_cast<std::size_t>(rank)];
  }
  void put_connection_info(const ConnectionInfo& info) override {
    const std::lock_guard lock(state_->mutex);
    state_->infos[static_cast<std::size_t>(rank())] = info;
    state_->has_connection_info[static_cast<std::size_t>(rank())] = true;
  }
  bool has_connection_info(int rank) override {
    check_rank(*this, rank, "the connection info");
    const std::lock_guard lock(state_->mutex);
    return state_->has_connection_info[static_cast<std::size_t>(rank)];
  }
  ConnectionInfo connection_info(int rank) override {
    check_rank(*this, rank, "the connection info");
    const std::lock_guard lock(state_->mutex);
    return state_->infos[static_cast<std::size_t>(rank)];
  }
  void put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(state_->mutex);
    state_->values[{rank(), std::string(key)}] = value;
  }
  std::string get(int rank, std::string_view key) override {
    check_rank(*this, rank, "a key");
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->values.find({rank, std::string(key)});
    if (found == state_->values.end())
      throw Error(MPI_ERR_OTHER, strf("rank %d has put no key \"%.*s\"", rank,
                                      static_cast<int>(key.size()), key.data()));
    return found->second;
  }
  std::string learnt() override { return {}; }
  void start_fence() override;
  bool fence_over() noexcept override { return state_->generation.load() != fence_; }
  FutexWord fence_word() noexcept override { return {&state_->generation, fence_}; }
  void end_fence() override;
  void abort(int code, const char*) noexcept override {
    const std::lock_guard lock(state_->mutex);
    if (state_->abort_rank < 0) {
      state_->abort_rank = rank();
      state_->abort_code = code;
    }
    state_->open();
  }
  void finalize() override {}

 private:
  std::shared_ptr<FakeJob::State> state_;
  std::uint32_t fence_ = 0;
};

void FakeBoot::start_fence() {
  const std::lock_guard lock(state_->mutex);
  fence_ = state_->generation;
  if (++state_->arrived == state_->size || state_->abort_rank >= 0) state_->open();
}

void FakeBoot::end_fence() {
  const std::lock_guard lock(state_->mutex);
  if (state_->abort_rank >= 0)
    throw Error(MPI_ERR_OTHER, strf("rank %d aborted the job with code %d", state_->abort_rank,
                                    state_->abort_code));
}

}  // namespace

FakeJob::FakeJob(int size, std::vector<std::string> hosts) {
  if (size < 1 || (!hosts.empty() && hosts.size() != static_cast<std::size_t>(size)))
    throw Error(MPI_ERR_ARG, strf("a fake job of %d ranks was given %zu hosts; give none or one "
                                  "for each rank",
                                  size, hosts.size()));
  state_ = std::make_shared<State>(size, std::move(hosts));
  state_->nodes = number_nodes(state_->hosts);
}

std::unique_ptr<Boot> FakeJob::boot(int rank) const {
  return std::make_unique<FakeBoot>(state_, rank);
}

int FakeJob::abort_code() const {
  const std::lock_guard lock(state_->mutex);
  return state_->abort_code;
}

}  // namespace tern::boot
