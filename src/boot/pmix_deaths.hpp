// SPDX-License-Identifier: Apache-2.0
// PmixDeaths: the server's news of dead ranks. PRRTE reports them in jobs that may lose ranks
// (prterun --rtos recoverable).
// Threads: the library's thread adds, any thread takes.
#pragma once

#include <deque>
#include <mutex>

#include "boot/pmix_library.hpp"

namespace tern::boot {

class PmixDeaths {
 public:
  /// `self` is the own process. The object outlives the library's PMIx_Finalize.
  PmixDeaths(const PmixLibrary& pmix, const pmix_proc_t& self);
  PmixDeaths(const PmixDeaths&) = delete;
  PmixDeaths& operator=(const PmixDeaths&) = delete;
  ~PmixDeaths() = default;

  /// Returns a rank, once, or -1.
  [[nodiscard]] int take() noexcept;

 private:
  static void hear(std::size_t handler, pmix_status_t status, const pmix_proc_t* source,
                   pmix_info_t* info, std::size_t count, pmix_info_t* results,
                   std::size_t result_count, pmix_event_notification_cbfunc_fn_t over, void* with);
  void add(const pmix_proc_t& dead) noexcept;

  const pmix_proc_t self_;
  std::mutex mutex_;
  std::deque<int> ranks_;
};

}  // namespace tern::boot
