// SPDX-License-Identifier: Apache-2.0
// OpRequest: the request of MPI_Rput etc., done when its parts are done at the origin. Threads:
// under the channel's lock; on shared memory, the calling thread.
#pragma once

#include "core/process.hpp"
#include "core/request.hpp"

namespace tern::rma {

class OpRequest final : public core::Request {
 public:
  /// The constructor throws Error, std::bad_alloc.
  OpRequest(core::Process& process, core::Channel& in) : process_(process) {
    channel = &in;
    outcome.source = MPI_ANY_SOURCE;
    process.handles.insert(*this);
  }
  /// Adds a part; starting the operation counts as a part.
  void add_part() noexcept { ++parts_; }
  void end_part(int error) noexcept {
    if (error != 0 && outcome.error == 0) outcome.error = error;
    if (--parts_ == 0) complete();
  }
  void describe(WaitReport* report) const override {
    report->words += "an operation on a window to end";
  }
  void destroy() noexcept override {
    process_.handles.erase(*this);
    delete error_text;
    delete this;
  }

 private:
  core::Process& process_;
  int parts_ = 1;
};

}  // namespace tern::rma
