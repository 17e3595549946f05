// SPDX-License-Identifier: Apache-2.0
// A rank under any PMIx server: Tern's mpirun, Slurm, prterun, Open MPI's mpirun.
// Fences cover the whole namespace and always collect data: Slurm lets a fence without data through
// without a barrier across nodes, and hangs in one over a list of ranks.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.hpp"
#include "boot/pmix_library.hpp"
#include "boot/shared_job.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

constexpr const char* kCardKey = "tern.card";

pmix_info_t flag(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// A value from PMIx, released at the end. Servers differ in the integer types that they send.
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
  [[nodiscard]] bool number(long long* out) const noexcept;
  [[nodiscard]] bool bytes(std::string* out) const;

 private:
  pmix_value_t* value_;
};

bool Value::number(long long* out) const noexcept {
  if (value_ == nullptr) return false;
  const auto& data = value_->data;
  switch (value_->type) {
    case PMIX_INT:
      *out = data.integer;
      return true;
    case PMIX_INT8:
      *out = data.int8;
      return true;
    case PMIX_INT16:
      *out = data.int16;
      return true;
    case PMIX_INT32:
      *out = data.int32;
      return true;
    case PMIX_INT64:
      *out = data.int64;
      return true;
    case PMIX_UINT:
      *out = data.uint;
      return true;
    case PMIX_UINT8:
      *out = data.uint8;
      return true;
    case PMIX_UINT16:
      *out = data.uint16;
      return true;
    case PMIX_UINT32:
      *out = data.uint32;
      return true;
    case PMIX_UINT64:
      *out = static_cast<long long>(data.uint64);
      return true;
    case PMIX_SIZE:
      *out = static_cast<long long>(data.size);
      return true;
    case PMIX_PROC_RANK:
      *out = data.rank;
      return true;
    default:
      return false;
  }
}

bool Value::bytes(std::string* out) const {
  if (value_ == nullptr) return false;
  if (value_->type == PMIX_STRING && value_->data.string != nullptr) {
    *out = value_->data.string;
    return true;
  }
  if (value_->type != PMIX_BYTE_OBJECT) return false;
  out->assign(value_->data.bo.bytes, value_->data.bo.size);
  return true;
}

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
  void put_card(const Card& card) override {
    put(kCardKey, {reinterpret_cast<const char*>(card.data()), card.size()});
  }
  Card card(int rank) override;
  void put(std::string_view key, std::string_view value) override;
  std::string get(int rank, std::string_view key) override;
  void fence() override;
  void abort(int code, const char* text) noexcept override {
    pmix_.Abort(code, text, nullptr, 0);
    ::_exit((code & 0xff) != 0 ? code & 0xff : 1);
  }
  void finalize() override { pmix_.Finalize(nullptr, 0); }

 private:
  [[nodiscard]] pmix_proc_t proc(pmix_rank_t rank) const noexcept {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    return proc;
  }
  [[nodiscard]] pmix_value_t* ask(pmix_rank_t rank, const char* key) const noexcept;
  [[nodiscard]] long long number(pmix_rank_t rank, const char* key, long long otherwise) const;
  void check(pmix_status_t status, const char* what) const;
  void learn_local_ranks();
  void learn_nodes();

  const PmixLibrary& pmix_ = pmix_library();
  pmix_proc_t self_{};
  std::vector<int> nodes_;  // by rank; filled at the first question
};

PmixBoot::PmixBoot() {
  const pmix_status_t status = pmix_.Init(&self_, nullptr, 0);
  if (status != PMIX_SUCCESS)
    throw Error(MPI_ERR_OTHER,
                strf("the environment names a PMIx server (PMIX_NAMESPACE=%s), but it cannot be "
                     "reached: %s; is the launcher still there? Unset PMIX_NAMESPACE to run alone",
                     std::getenv("PMIX_NAMESPACE"), pmix_.Error_string(status)));
  job_.rank = static_cast<int>(self_.rank);
  job_.size = static_cast<int>(number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, 0));
  if (job_.size <= job_.rank)
    throw Error(MPI_ERR_OTHER, strf("the PMIx server says that rank %d is in a job of %d ranks",
                                    job_.rank, job_.size));
  job_.id = self_.nspace;
  job_.launcher = launcher_in_words();
  job_.app = static_cast<int>(number(self_.rank, PMIX_APPNUM, -1));
  job_.universe_size = static_cast<int>(number(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, 0));
  learn_local_ranks();
}

void PmixBoot::check(pmix_status_t status, const char* what) const {
  if (status == PMIX_SUCCESS) return;
  throw Error(MPI_ERR_OTHER, strf("rank %d: %s failed in the PMIx server of %s: %s", job_.rank,
                                  what, job_.launcher.c_str(), pmix_.Error_string(status)));
}

pmix_value_t* PmixBoot::ask(pmix_rank_t rank, const char* key) const noexcept {
  // Immediate: a key that nobody put is an answer, not a reason to wait for ever.
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
  if (Value(ask(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS)).bytes(&list)) {
    for (const char* at = list.c_str(); *at != '\0';) {
      char* end = nullptr;
      const long rank = std::strtol(at, &end, 10);
      if (end == at) break;
      if (rank >= 0 && rank < job_.size) job_.local_ranks.push_back(static_cast<int>(rank));
      at = *end == ',' ? end + 1 : end;
    }
  }
  std::sort(job_.local_ranks.begin(), job_.local_ranks.end());
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

Card PmixBoot::card(int rank) {
  const std::string bytes = get(rank, kCardKey);
  Card card{};
  std::memcpy(card.data(), bytes.data(), std::min(bytes.size(), card.size()));
  return card;
}

void PmixBoot::put(std::string_view key, std::string_view value) {
  pmix_value_t pmix_value{};
  pmix_value.type = PMIX_BYTE_OBJECT;
  pmix_value.data.bo.bytes = const_cast<char*>(value.data());  // read only
  pmix_value.data.bo.size = value.size();
  check(pmix_.Put(PMIX_GLOBAL, std::string(key).c_str(), &pmix_value), "putting a key");
}

std::string PmixBoot::get(int rank, std::string_view key) {
  check_rank(rank, "a key");
  const std::string name(key);
  std::string bytes;
  if (Value(ask(static_cast<pmix_rank_t>(rank), name.c_str())).bytes(&bytes)) return bytes;
  throw Error(MPI_ERR_OTHER, strf("rank %d has put no key \"%s\" (asked by rank %d under %s)", rank,
                                  name.c_str(), job_.rank, job_.launcher.c_str()));
}

void PmixBoot::fence() {
  const pmix_info_t collect = flag(PMIX_COLLECT_DATA);
  check(pmix_.Commit(), "publishing keys");
  check(pmix_.Fence(nullptr, 0, &collect, 1), "the fence");
}

}  // namespace

std::unique_ptr<Boot> make_pmix_boot() { return std::make_unique<PmixBoot>(); }

}  // namespace tern::boot
