// SPDX-License-Identifier: Apache-2.0
#include "boot/pmix_deaths.hpp"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <new>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "boot/pmix_value.hpp"

namespace tern::boot {
namespace {

constexpr pmix_status_t kEnds[] = {
    PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_KILLED_BY_CMD,
    PMIX_ERR_PROC_ABORTED_BY_SIG,  PMIX_ERR_EXIT_NONZERO_TERM,
};

pmix_info_t to_object(void* object) noexcept {
  pmix_info_t info{};
  std::strncpy(info.key, PMIX_EVENT_RETURN_OBJECT, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_POINTER;
  info.value.data.ptr = object;
  return info;
}

}  // namespace

PmixDeaths::PmixDeaths(const PmixLibrary& pmix, const pmix_proc_t& self)
    : pmix_(pmix), self_(self) {
  const pmix_info_t object = to_object(this);
  auto* codes = const_cast<pmix_status_t*>(kEnds);
  const pmix_status_t status =
      pmix.Register_event_handler(codes, std::size(kEnds), const_cast<pmix_info_t*>(&object), 1,
                                  &PmixDeaths::hear, nullptr, nullptr);
  handler_ = status;
  if (status < 0)
    log_line(
        "the PMIx server tells nothing of dead ranks (%s); networks find deaths on other hosts",
        pmix.Error_string(status));
}

PmixDeaths::~PmixDeaths() {
  // The program may keep the library open.
  if (handler_ >= 0)
    (void)pmix_.Deregister_event_handler(static_cast<std::size_t>(handler_), nullptr, nullptr);
}

void PmixDeaths::hear(std::size_t /*handler*/, pmix_status_t status, const pmix_proc_t* source,
                      pmix_info_t* info, std::size_t count, pmix_info_t* /*results*/,
                      std::size_t /*result_count*/, pmix_event_notification_cbfunc_fn_t over,
                      void* with) {
  PmixDeaths* object = nullptr;
  const pmix_proc_t* dead = source;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strcmp(info[i].key, PMIX_EVENT_RETURN_OBJECT) == 0)
      object = static_cast<PmixDeaths*>(info[i].value.data.ptr);
    if (std::strcmp(info[i].key, PMIX_EVENT_AFFECTED_PROC) == 0 && info[i].value.type == PMIX_PROC)
      dead = info[i].value.data.proc;
  }
  if (object != nullptr && dead != nullptr && object->is_other(*dead)) {
    // PRRTE ends only the caller of MPI_Abort if a job may lose ranks.
    if (status == PMIX_ERR_PROC_REQUESTED_ABORT) {
      log_line("rank %u has aborted the job; this rank ends", dead->rank);
      ::_exit(1);
    }
    object->add(dead->rank);
  }
  if (over != nullptr) over(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, with);
}

bool PmixDeaths::is_other(const pmix_proc_t& process) const noexcept {
  return std::strncmp(process.nspace, self_.nspace, PMIX_MAX_NSLEN) == 0 &&
         process.rank <= PMIX_RANK_VALID && process.rank != self_.rank;
}

void PmixDeaths::add(pmix_rank_t dead) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    if (known_.insert(static_cast<int>(dead)).second) ranks_.push_back(static_cast<int>(dead));
  } catch (const std::bad_alloc&) {
    log_line("no memory to note the death of rank %u", dead);
  }
}

bool PmixDeaths::has(int rank) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  return known_.contains(rank);
}

bool PmixDeaths::get(const pmix_proc_t& whom, const char* key, const pmix_info_t& how,
                     std::int64_t end_ns, std::string* bytes, pmix_status_t* status) {
  constexpr int kNapUs = 200;
  struct Answer {
    std::mutex mutex;
    bool over = false;
    bool found = false;
    pmix_status_t status = PMIX_ERR_TIMEOUT;
    std::string bytes;
  };
  *status = PMIX_ERR_NOT_FOUND;
  if (has(static_cast<int>(whom.rank))) return false;
  const auto answer = std::make_shared<Answer>();
  // The library's thread owns a reference, since the answer may come after the last look.
  auto reference = std::make_unique<std::shared_ptr<Answer>>(answer);
  const auto over = [](pmix_status_t got, pmix_value_t* value, void* of) {
    const std::unique_ptr<std::shared_ptr<Answer>> kept(static_cast<std::shared_ptr<Answer>*>(of));
    Answer& to = **kept;
    const std::lock_guard<std::mutex> guard(to.mutex);
    to.status = got;
    to.found = got == PMIX_SUCCESS && value != nullptr && bytes_of(*value, &to.bytes);
    to.over = true;
  };
  *status = pmix_.Get_nb(&whom, key, &how, 1, over, reference.get());
  if (*status != PMIX_SUCCESS) return false;
  (void)reference.release();
  for (;; ::usleep(kNapUs)) {
    const bool late = now_ns() >= end_ns || has(static_cast<int>(whom.rank));
    const std::lock_guard<std::mutex> guard(answer->mutex);
    if (!answer->over && !late) continue;
    *status = answer->status;
    *bytes = answer->bytes;
    return answer->found;
  }
}

int PmixDeaths::take() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (ranks_.empty()) return -1;
  const int rank = ranks_.front();
  ranks_.pop_front();
  return rank;
}

}  // namespace tern::boot
