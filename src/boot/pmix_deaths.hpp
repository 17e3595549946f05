// SPDX-License-Identifier: Apache-2.0
// PmixDeaths: the server's news of dead ranks. PRRTE reports them in jobs that may lose ranks
// (prterun --rtos recoverable).
// Threads: the library's thread adds, any thread takes.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>

#include "boot/boot.hpp"
#include "boot/pmix_library.hpp"

namespace tern::boot {

class PmixDeaths final : public DeathNews {
 public:
  /// `self` is the own process. The object outlives the library's PMIx_Finalize.
  PmixDeaths(const PmixLibrary& pmix, const pmix_proc_t& self);
  PmixDeaths(const PmixDeaths&) = delete;
  PmixDeaths& operator=(const PmixDeaths&) = delete;
  ~PmixDeaths() override;

  [[nodiscard]] int take() noexcept override;
  [[nodiscard]] bool has(int rank) noexcept;
  /// Asks for a value until `end_ns` (now_ns()), or until the rank is dead: the servers wait for a
  /// dead rank's values. Returns false without a value.
  [[nodiscard]] bool get(const pmix_proc_t& whom, const char* key, const pmix_info_t& how,
                         std::int64_t end_ns, std::string* bytes, pmix_status_t* status);

 private:
  static void hear(std::size_t handler, pmix_status_t status, const pmix_proc_t* source,
                   pmix_info_t* info, std::size_t count, pmix_info_t* results,
                   std::size_t result_count, pmix_event_notification_cbfunc_fn_t over, void* with);
  [[nodiscard]] bool is_other(const pmix_proc_t& process) const noexcept;
  void add(pmix_rank_t dead) noexcept;

  const PmixLibrary& pmix_;
  const pmix_proc_t self_;
  pmix_status_t handler_ = PMIX_ERROR;
  std::mutex mutex_;
  std::deque<int> ranks_;
  std::set<int> known_;
};

}  // namespace tern::boot
