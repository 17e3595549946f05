// SPDX-License-Identifier: Apache-2.0
// PmixBoot: a rank under any PMIx server. Fences cover the whole namespace and collect data: Slurm
// skips the barrier across nodes in a fence without data, and hangs in a fence over a list of
// ranks.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "boot/boot.hpp"
#include "boot/nodes.hpp"
#include "boot/pmix_client.hpp"
#include "boot/pmix_deaths.hpp"
#include "boot/pmix_library.hpp"
#include "boot/pmix_value.hpp"
#include "boot/shared_job.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

constexpr const char* kInfoKeys[] = {"tern.info", "tern.info2"};

const char* launcher_in_words() {
  if (std::getenv(kBootVariable) != nullptr) return "mpirun";
  if (std::getenv("SLURM_PROCID") != nullptr) return "Slurm";
  if (std::getenv("PRTE_LAUNCHED") != nullptr) return "prterun";
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "Open MPI's mpirun";
  return "a PMIx server";
}

class PmixBoot final : public Boot {
 public:
  PmixBoot(const PmixLibrary& pmix, const AbortBounds& bounds);

  const char* name() const noexcept override { return "pmix"; }
  int node(int rank) override;
  std::string host(int rank) override;
  std::vector<ProcessSet> process_sets() override;
  void put_connection_info(const ConnectionInfo& info) override {
    put(info_key(), {reinterpret_cast<const char*>(info.data()), info.size()});
  }
  bool has_connection_info(int rank) override;
  void publish() override { check(pmix_.Commit(), "publishing keys"); }
  void tell_session() override { own_session_ = true; }
  bool had_sessions() override;
  ConnectionInfo connection_info(int rank) override;
  void put(std::string_view key, std::string_view value) override;
  std::string get(int rank, std::string_view key) override;
  void start_fence() override;
  bool fence_over() noexcept override { return fence_state_.load() != kUnderWay; }
  FutexWord fence_word() noexcept override { return {&fence_state_, kUnderWay}; }
  void end_fence() override;
  void abort(int code, const char* text) noexcept override;
  std::shared_ptr<DeathNews> hear_deaths() override {
    return deaths_ = std::make_shared<PmixDeaths>(pmix_, self_);
  }
  void finalize() override { pmix_.Finalize(nullptr, 0); }
  void resume() override;

 private:
  [[nodiscard]] pmix_proc_t proc(pmix_rank_t rank) const noexcept {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    return proc;
  }
  [[nodiscard]] PmixValue ask(pmix_rank_t rank, const char* key) const noexcept {
    return ask(rank, key, {&immediate_, 1});
  }
  [[nodiscard]] PmixValue ask(pmix_rank_t rank, const char* key, std::span<const pmix_info_t> how,
                              pmix_status_t* status = nullptr) const noexcept;
  [[nodiscard]] long long number(pmix_rank_t rank, const char* key, long long otherwise) const;
  void check(pmix_status_t status, const char* what) const;
  [[nodiscard]] const char* info_key() const noexcept { return kInfoKeys[entry_ - 1]; }
  // Clients cache values, so each fence needs a key.
  [[nodiscard]] std::string session_key() const { return strf("tern.sessions%d", fences_); }
  void join();
  void learn_local_ranks();
  [[nodiscard]] bool ask_nodes(std::vector<int>* nodes) const;
  [[nodiscard]] std::vector<int> ask_hosts();
  [[nodiscard]] bool is_published_elsewhere(int rank);
  void learn_sets();
  void fence_has_ended(pmix_status_t status) noexcept;

  const PmixLibrary& pmix_;
  const AbortBounds bounds_;
  pmix_proc_t self_{};
  Nodes nodes_;
  int fences_ = 0;
  bool own_session_ = false;
  std::map<std::string, std::string> own_;
  std::vector<bool> here_;
  std::int64_t asked_ns_ = 0;
  enum Far : std::uint32_t { kNotAsked, kAsked, kThere };
  std::atomic<Far> far_{kNotAsked};
  int far_rank_ = -1;
  std::vector<ProcessSet> sets_;
  bool sets_known_ = false;
  enum : std::uint32_t { kOver, kUnderWay };
  std::atomic<std::uint32_t> fence_state_{kOver};
  pmix_status_t fence_status_ = PMIX_SUCCESS;  // written before the state
  std::shared_ptr<PmixDeaths> deaths_;
  const pmix_info_t collect_ = pmix_flag(PMIX_COLLECT_DATA);
  const pmix_info_t immediate_ = pmix_flag(PMIX_IMMEDIATE);
  const pmix_info_t wait_ = pmix_seconds(PMIX_TIMEOUT, kPmixSeconds);
};

void PmixBoot::join() {
  far_ = kNotAsked;
  const pmix_status_t status = pmix_.Init(&self_, nullptr, 0);
  if (status != PMIX_SUCCESS)
    throw Error(MPI_ERR_OTHER, strf("cannot reach the PMIx server of PMIX_NAMESPACE=%s: %s; is the "
                                    "launcher still running? Unset PMIX_NAMESPACE to run alone",
                                    std::getenv("PMIX_NAMESPACE"), pmix_.Error_string(status)));
}

PmixBoot::PmixBoot(const PmixLibrary& pmix, const AbortBounds& bounds)
    : pmix_(pmix), bounds_(bounds) {
  join();
  job_.rank = count_of(self_.rank, -1);
  const long long size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, 0);
  job_.size = count_of(size, 0);
  if (job_.rank < 0 || job_.size <= job_.rank)
    throw Error(MPI_ERR_OTHER,
                strf("the PMIx server reports rank %u in a job of %lld ranks", self_.rank, size));
  job_.id = self_.nspace;
  job_.launcher = launcher_in_words();
  if (const char* server = std::getenv("PMIX_VERSION"); server != nullptr)
    job_.remark = greeting_remark(pmix_.Get_version(), server);
  job_.app = count_of(number(self_.rank, PMIX_APPNUM, -1), -1);
  job_.universe_size = count_of(number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, 0), 0);
  learn_local_ranks();
}

void PmixBoot::check(pmix_status_t status, const char* what) const {
  if (status == PMIX_SUCCESS) return;
  throw Error(MPI_ERR_OTHER, strf("rank %d: %s failed in the PMIx server of %s: %s", job_.rank,
                                  what, job_.launcher.c_str(), pmix_.Error_string(status)));
}

PmixValue PmixBoot::ask(pmix_rank_t rank, const char* key, std::span<const pmix_info_t> how,
                        pmix_status_t* status) const noexcept {
  const pmix_proc_t whom = proc(rank);
  pmix_value_t* value = nullptr;
  const pmix_status_t got = pmix_.Get(&whom, key, how.data(), how.size(), &value);
  if (status != nullptr) *status = got;
  return {pmix_, got == PMIX_SUCCESS ? value : nullptr};
}

long long PmixBoot::number(pmix_rank_t rank, const char* key, long long otherwise) const {
  long long result = otherwise;
  return ask(rank, key).number(&result) ? result : otherwise;
}

void PmixBoot::learn_local_ranks() {
  std::string list;
  if (ask(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS).bytes(&list))
    job_.local_ranks = ranks_of(list, job_.size);
  if (!is_local(job_.rank)) job_.local_ranks = {job_.rank};
  const auto& ranks = job_.local_ranks;
  job_.local_index =
      static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), job_.rank) - ranks.begin());
}

std::string PmixBoot::host(int rank) {
  check_rank(*this, rank, "the host");
  std::string name;
  if (ask(static_cast<pmix_rank_t>(rank), PMIX_HOSTNAME).bytes(&name)) return name;
  return is_local(rank) ? this_host() : strf("the host of rank %d", rank);
}

bool PmixBoot::ask_nodes(std::vector<int>* nodes) const {
  std::string list;
  if (!ask(PMIX_RANK_WILDCARD, PMIX_NODE_LIST).bytes(&list)) return false;
  nodes->assign(static_cast<std::size_t>(job_.size), -1);
  int number = 0, missing = job_.size;
  for (const std::string& name : names_of(list)) {
    const pmix_info_t how[] = {pmix_flag(PMIX_NODE_INFO), pmix_text(PMIX_HOSTNAME, name),
                               immediate_};
    std::string ranks;
    if (!ask(PMIX_RANK_UNDEF, PMIX_LOCAL_PEERS, how).bytes(&ranks)) continue;
    for (const int rank : ranks_of(ranks, job_.size)) {
      int& place = (*nodes)[static_cast<std::size_t>(rank)];
      if (place >= 0) return false;
      place = number;
      --missing;
    }
    ++number;
  }
  return missing == 0;
}

std::vector<int> PmixBoot::ask_hosts() {
  std::map<std::string, int> known;
  std::vector<int> nodes;
  for (int rank = 0; rank < job_.size; ++rank)
    nodes.push_back(known.emplace(host(rank), static_cast<int>(known.size())).first->second);
  return nodes;
}

int PmixBoot::node(int rank) {
  check_rank(*this, rank, "the node");
  if (nodes_.empty()) {
    std::vector<int> nodes;
    nodes_ = Nodes(ask_nodes(&nodes) ? nodes : ask_hosts());
  }
  return nodes_.of(rank);
}

std::vector<ProcessSet> PmixBoot::process_sets() {
  if (!sets_known_) learn_sets();
  sets_known_ = true;
  return sets_;
}

void PmixBoot::learn_sets() {
  const PmixQuery all(pmix_, PMIX_QUERY_PSET_NAMES);
  std::string list;
  if (all.answer() == nullptr || !bytes_of(*all.answer(), &list)) return;
  for (std::string& name : names_of(list)) {
    const pmix_info_t which = pmix_text(PMIX_PSET_NAME, name);
    const PmixQuery members(pmix_, PMIX_QUERY_PSET_MEMBERSHIP, &which);
    if (members.answer() == nullptr) continue;
    std::vector<int> ranks = members_of(*members.answer(), self_.nspace, job_.size);
    if (!ranks.empty()) sets_.push_back({std::move(name), std::move(ranks)});
  }
}

ConnectionInfo PmixBoot::connection_info(int rank) {
  return connection_info_of(get(rank, info_key()));
}

// The server is polled at most once per millisecond.
bool PmixBoot::has_connection_info(int rank) {
  check_rank(*this, rank, "the connection info");
  constexpr std::int64_t kPauseNs = 1000000;
  const auto place = static_cast<std::size_t>(rank);
  here_.resize(static_cast<std::size_t>(job_.size));
  if (here_[place] || (far_ != kThere && now_ns() - asked_ns_ < kPauseNs)) return here_[place];
  std::string bytes;
  here_[place] = is_local(rank) ? ask(static_cast<pmix_rank_t>(rank), info_key()).bytes(&bytes)
                                : is_published_elsewhere(rank);
  if (!here_[place]) asked_ns_ = now_ns();
  return here_[place];
}

// A query for another host's rank is asynchronous, because the other host's server waits for the
// rank.
bool PmixBoot::is_published_elsewhere(int rank) {
  if (far_ == kAsked) return false;
  if (far_.exchange(kNotAsked) == kThere && far_rank_ == rank) return true;
  far_rank_ = rank;
  far_ = kAsked;
  const pmix_proc_t whom = proc(static_cast<pmix_rank_t>(rank));
  const auto over = [](pmix_status_t status, pmix_value_t*, void* boot) {
    static_cast<PmixBoot*>(boot)->far_ = status == PMIX_SUCCESS ? kThere : kNotAsked;
  };
  if (pmix_.Get_nb(&whom, info_key(), &wait_, 1, over, this) != PMIX_SUCCESS) far_ = kNotAsked;
  return false;
}

bool PmixBoot::had_sessions() {
  return std::any_of(job_.local_ranks.begin(), job_.local_ranks.end(),
                     [this](int rank) { return get(rank, session_key()) == "1"; });
}

// The launcher kills this rank. If the rank exits earlier, a daemon of PRRTE 3.0.14 that handles
// the order to kill before the SIGCHLD never reports the end of its ranks, and prterun waits for
// the report forever. PMIx_Abort has no timeout.
void PmixBoot::abort(int code, const char* text) noexcept {
  struct End {
    std::chrono::milliseconds after;
    int status;
  } end{bounds_.answer, (code & 0xff) != 0 ? code & 0xff : 1};
  const auto late = [](void* argument) -> void* {
    const End late_end = *static_cast<const End*>(argument);
    std::this_thread::sleep_for(late_end.after);
    ::_exit(late_end.status);
  };
  pthread_t thread;
  // Without a thread, the answer has no bound.
  [[maybe_unused]] const int error = ::pthread_create(&thread, nullptr, late, &end);
  if (pmix_.Abort(code, text, nullptr, 0) == PMIX_SUCCESS)
    std::this_thread::sleep_for(bounds_.kill);
  ::_exit(end.status);
}

void PmixBoot::resume() {
  join();
  here_.clear();  // ranks that left must publish again
  for (const auto& [key, value] : std::map(own_)) put(key, value);
  publish();
}

void PmixBoot::put(std::string_view key, std::string_view value) {
  pmix_value_t pmix_value{};
  pmix_value.type = PMIX_BYTE_OBJECT;
  pmix_value.data.bo.bytes = const_cast<char*>(value.data());
  pmix_value.data.bo.size = value.size();
  check(pmix_.Put(PMIX_GLOBAL, std::string(key).c_str(), &pmix_value), "putting a key");
  own_[std::string(key)] = value;
}

// PRRTE fetches remote values on request, even after a fence. A rank between two sessions puts its
// values again. Servers differ in waiting for missing keys.
std::string PmixBoot::get(int rank, std::string_view key) {
  check_rank(*this, rank, "a key");
  const std::string name(key);
  const auto whom = static_cast<pmix_rank_t>(rank);
  const std::int64_t end_ns = now_ns() + kPmixSeconds * std::int64_t{1000000000};
  constexpr int kNapUs = 10000;
  pmix_status_t status = PMIX_SUCCESS;
  const auto finds = [&](std::string* bytes) {
    // The own server keeps the values of its dead ranks; other servers wait for their ranks.
    if (deaths_ != nullptr && is_local(rank) && ask(whom, name.c_str()).bytes(bytes)) return true;
    if (deaths_ != nullptr)
      return deaths_->get(proc(whom), name.c_str(), wait_, end_ns, bytes, &status);
    return ask(whom, name.c_str()).bytes(bytes) ||
           ask(whom, name.c_str(), {&wait_, 1}, &status).bytes(bytes);
  };
  const auto is_dead = [&] { return deaths_ != nullptr && deaths_->has(rank); };
  for (std::string bytes;; ::usleep(kNapUs)) {
    if (finds(&bytes)) return bytes;
    if (status == PMIX_ERR_TIMEOUT || now_ns() >= end_ns || is_dead()) break;
  }
  throw Error(MPI_ERR_OTHER,
              strf("rank %d, which is on %s host, has put no key \"%s\", or the key did not arrive "
                   "within %d seconds (requested by rank %d under %s: %s)",
                   rank, is_local(rank) ? "this" : "another", name.c_str(), kPmixSeconds, job_.rank,
                   job_.launcher.c_str(), pmix_.Error_string(status)));
}

void PmixBoot::start_fence() {
  ++fences_;
  put(session_key(), own_session_ ? "1" : "0");
  publish();
  fence_state_ = kUnderWay;
  const auto over = [](pmix_status_t status, void* boot) {
    static_cast<PmixBoot*>(boot)->fence_has_ended(status);
  };
  const pmix_status_t status = pmix_.Fence_nb(nullptr, 0, &collect_, 1, over, this);
  if (status != PMIX_SUCCESS)
    fence_has_ended(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status);
}

// A fence fails if a rank is gone. After a failed fence, the rank waits so that the launcher
// reports the lost rank first.
void PmixBoot::end_fence() {
  constexpr int kLaunchersWordUs = 500000;
  if (fence_status_ != PMIX_SUCCESS) ::usleep(kLaunchersWordUs);
  check(fence_status_, "the fence");
}

void PmixBoot::fence_has_ended(pmix_status_t status) noexcept {
  fence_status_ = status;
  fence_state_ = kOver;
  futex_wake_all(fence_state_);
}

}  // namespace

std::unique_ptr<Boot> make_pmix_boot() { return make_pmix_boot(pmix_library()); }

std::unique_ptr<Boot> make_pmix_boot(const PmixLibrary& library, const AbortBounds& bounds) {
  return std::make_unique<PmixBoot>(library, bounds);
}

}  // namespace tern::boot
