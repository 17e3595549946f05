// SPDX-License-Identifier: Apache-2.0
// A rank under any PMIx server: Tern's mpirun, Slurm, prterun, Open MPI's mpirun.
// Fences cover the whole namespace and always collect data: Slurm lets a fence without data through
// without a barrier across nodes, and hangs in one over a list of ranks.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "boot/pmix_library.hpp"
#include "boot/pmix_value.hpp"
#include "boot/shared_job.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

constexpr const char* kInfoKeys[] = {"tern.info", "tern.info2"};  // by entry

pmix_info_t flag(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

pmix_info_t text(const char* key, std::string& value) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_STRING;
  info.value.data.string = value.data();
  return info;
}

// A value from PMIx, released at the end.
class Value {
 public:
  explicit Value(pmix_value_t* value) noexcept : value_(value) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (value_ == nullptr) return;
    pmix_library().Value_destruct(value_);
    std::free(value_);
  }
  [[nodiscard]] bool number(long long* out) const noexcept {
    return value_ != nullptr && number_of(*value_, out);
  }
  [[nodiscard]] bool bytes(std::string* out) const {
    return value_ != nullptr && bytes_of(*value_, out);
  }

 private:
  pmix_value_t* value_;
};

// A question about the whole system and its answers, released at the end; none where the server
// does not know the key.
class Query {
 public:
  explicit Query(const char* key, const pmix_info_t* about = nullptr) : key_(key) {
    constexpr int kSeconds = 10;
    char* keys[] = {const_cast<char*>(key), nullptr};
    pmix_info_t qualifiers[2] = {flag(PMIX_TIMEOUT)};
    qualifiers[0].value.type = PMIX_INT;
    qualifiers[0].value.data.integer = kSeconds;
    if (about != nullptr) qualifiers[1] = *about;
    pmix_query_t query{};
    query.keys = keys;
    query.qualifiers = qualifiers;
    query.nqual = about == nullptr ? 1 : 2;
    if (pmix_library().Query_info(&query, 1, &answers_, &count_) != PMIX_SUCCESS) count_ = 0;
  }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query() {
    for (std::size_t i = 0; i < count_; ++i) pmix_library().Value_destruct(&answers_[i].value);
    std::free(answers_);
  }
  [[nodiscard]] const pmix_value_t* answer() const noexcept {
    return answer_to(key_, answers_, count_);
  }

 private:
  const char* key_;
  pmix_info_t* answers_ = nullptr;
  std::size_t count_ = 0;
};

const char* launcher_in_words() {
  if (std::getenv(kBootVariable) != nullptr) return "mpirun";
  if (std::getenv("SLURM_PROCID") != nullptr) return "Slurm";
  if (std::getenv("PRTE_LAUNCHED") != nullptr) return "prterun";
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "Open MPI's mpirun";
  return "a PMIx server";
}

class PmixBoot final : public Boot {
 public:
  PmixBoot();

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
  void end_fence() override { check(fence_status_, "the fence"); }
  void abort(int code, const char* text) noexcept override {
    pmix_.Abort(code, text, nullptr, 0);
    ::_exit((code & 0xff) != 0 ? code & 0xff : 1);
  }
  void finalize() override { pmix_.Finalize(nullptr, 0); }
  void resume() override;

 private:
  [[nodiscard]] pmix_proc_t proc(pmix_rank_t rank) const noexcept {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    return proc;
  }
  [[nodiscard]] pmix_value_t* ask(pmix_rank_t rank, const char* key) const noexcept;
  [[nodiscard]] long long number(pmix_rank_t rank, const char* key, long long otherwise) const;
  void check(pmix_status_t status, const char* what) const;
  [[nodiscard]] const char* info_key() const noexcept { return kInfoKeys[entry_ - 1]; }
  // Of each fence a key of its own: a client does not ask again for what it has.
  [[nodiscard]] std::string session_key() const { return strf("tern.sessions%d", fences_); }
  void join();
  void learn_local_ranks();
  void learn_nodes();
  void learn_sets();
  void fence_has_ended(pmix_status_t status) noexcept;

  const PmixLibrary& pmix_ = pmix_library();
  pmix_proc_t self_{};
  std::vector<int> nodes_;  // by rank; filled at the first question
  int fences_ = 0;
  bool own_session_ = false;
  std::map<std::string, std::string> own_;  // what was put
  std::vector<bool> here_;                  // by rank: has_connection_info()
  std::int64_t asked_ns_ = 0;               // the server, in vain, for a connection info
  std::vector<ProcessSet> sets_;
  bool sets_known_ = false;
  enum : std::uint32_t { kOver, kUnderWay };
  std::atomic<std::uint32_t> fence_state_{kOver};
  pmix_status_t fence_status_ = PMIX_SUCCESS;  // written before the state
  const pmix_info_t collect_ = flag(PMIX_COLLECT_DATA);
};

void PmixBoot::join() {
  const pmix_status_t status = pmix_.Init(&self_, nullptr, 0);
  if (status != PMIX_SUCCESS)
    throw Error(MPI_ERR_OTHER,
                strf("the environment names a PMIx server (PMIX_NAMESPACE=%s), but it cannot be "
                     "reached: %s; is the launcher still there? Unset PMIX_NAMESPACE to run alone",
                     std::getenv("PMIX_NAMESPACE"), pmix_.Error_string(status)));
}

PmixBoot::PmixBoot() {
  join();
  job_.rank = count_of(self_.rank, -1);
  const long long size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, 0);
  job_.size = count_of(size, 0);
  if (job_.rank < 0 || job_.size <= job_.rank)
    throw Error(MPI_ERR_OTHER, strf("the PMIx server says that rank %u is in a job of %lld ranks",
                                    self_.rank, size));
  job_.id = self_.nspace;
  job_.launcher = launcher_in_words();
  job_.app = count_of(number(self_.rank, PMIX_APPNUM, -1), -1);
  job_.universe_size = count_of(number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, 0), 0);
  learn_local_ranks();
}

void PmixBoot::check(pmix_status_t status, const char* what) const {
  if (status == PMIX_SUCCESS) return;
  throw Error(MPI_ERR_OTHER, strf("rank %d: %s failed in the PMIx server of %s: %s", job_.rank,
                                  what, job_.launcher.c_str(), pmix_.Error_string(status)));
}

pmix_value_t* PmixBoot::ask(pmix_rank_t rank, const char* key) const noexcept {
  // Immediate: a key that no rank has put is an answer, not a reason to wait for ever.
  const pmix_info_t immediate = flag(PMIX_IMMEDIATE);
  const pmix_proc_t whom = proc(rank);
  pmix_value_t* value = nullptr;
  return pmix_.Get(&whom, key, &immediate, 1, &value) == PMIX_SUCCESS ? value : nullptr;
}

long long PmixBoot::number(pmix_rank_t rank, const char* key, long long otherwise) const {
  long long result = otherwise;
  return Value(ask(rank, key)).number(&result) ? result : otherwise;
}

void PmixBoot::learn_local_ranks() {
  std::string list;
  if (Value(ask(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)).bytes(&list))
    job_.local_ranks = ranks_of(list, job_.size);
  if (!is_local(job_.rank)) job_.local_ranks = {job_.rank};  // no or a senseless answer
  const auto& ranks = job_.local_ranks;
  job_.local_index =
      static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), job_.rank) - ranks.begin());
}

std::string PmixBoot::host(int rank) {
  check_rank(rank, "the host");
  std::string name;
  if (Value(ask(static_cast<pmix_rank_t>(rank), PMIX_HOSTNAME)).bytes(&name)) return name;
  return is_local(rank) ? this_host() : strf("the host of rank %d", rank);
}

void PmixBoot::learn_nodes() {
  std::map<std::string, int> known;
  for (int rank = 0; rank < job_.size; ++rank)
    nodes_.push_back(known.emplace(host(rank), static_cast<int>(known.size())).first->second);
}

int PmixBoot::node(int rank) {
  check_rank(rank, "the node");
  if (nodes_.empty()) learn_nodes();
  return nodes_[static_cast<std::size_t>(rank)];
}

std::vector<ProcessSet> PmixBoot::process_sets() {
  if (!sets_known_) learn_sets();
  sets_known_ = true;
  return sets_;
}

void PmixBoot::learn_sets() {
  const Query all(PMIX_QUERY_PSET_NAMES);
  std::string list;
  if (all.answer() == nullptr || !bytes_of(*all.answer(), &list)) return;
  for (std::string& name : names_of(list)) {
    pmix_info_t which = text(PMIX_PSET_NAME, name);
    const Query members(PMIX_QUERY_PSET_MEMBERSHIP, &which);
    if (members.answer() == nullptr) continue;
    std::vector<int> ranks = members_of(*members.answer(), self_.nspace, job_.size);
    if (!ranks.empty()) sets_.push_back({std::move(name), std::move(ranks)});
  }
}

ConnectionInfo PmixBoot::connection_info(int rank) {
  return connection_info_of(get(rank, info_key()));
}

// Asks the server at most once in a millisecond: the caller polls.
bool PmixBoot::has_connection_info(int rank) {
  check_rank(rank, "the connection info");
  constexpr std::int64_t kPauseNs = 1000000;
  const auto place = static_cast<std::size_t>(rank);
  here_.resize(static_cast<std::size_t>(job_.size));
  if (here_[place] || now_ns() - asked_ns_ < kPauseNs) return here_[place];
  std::string bytes;
  here_[place] = Value(ask(static_cast<pmix_rank_t>(rank), info_key())).bytes(&bytes);
  if (!here_[place]) asked_ns_ = now_ns();
  return here_[place];
}

bool PmixBoot::had_sessions() {
  return std::any_of(job_.local_ranks.begin(), job_.local_ranks.end(),
                     [this](int rank) { return get(rank, session_key()) == "1"; });
}

void PmixBoot::resume() {
  join();
  for (const auto& [key, value] : std::map(own_)) put(key, value);
  publish();
}

void PmixBoot::put(std::string_view key, std::string_view value) {
  pmix_value_t pmix_value{};
  pmix_value.type = PMIX_BYTE_OBJECT;
  pmix_value.data.bo.bytes = const_cast<char*>(value.data());  // read only
  pmix_value.data.bo.size = value.size();
  check(pmix_.Put(PMIX_GLOBAL, std::string(key).c_str(), &pmix_value), "putting a key");
  own_[std::string(key)] = value;
}

std::string PmixBoot::get(int rank, std::string_view key) {
  check_rank(rank, "a key");
  const std::string name(key);
  std::string bytes;
  if (Value(ask(static_cast<pmix_rank_t>(rank), name.c_str())).bytes(&bytes)) return bytes;
  throw Error(MPI_ERR_OTHER, strf("rank %d has put no key \"%s\" (asked by rank %d under %s)", rank,
                                  name.c_str(), job_.rank, job_.launcher.c_str()));
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

// On a thread of libpmix.
void PmixBoot::fence_has_ended(pmix_status_t status) noexcept {
  fence_status_ = status;
  fence_state_ = kOver;
  futex_wake_all(fence_state_);
}

}  // namespace

std::unique_ptr<Boot> make_pmix_boot() { return std::make_unique<PmixBoot>(); }

}  // namespace tern::boot
