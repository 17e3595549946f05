// SPDX-License-Identifier: Apache-2.0
// Arrays of requests, looked up once, for wait, test and get_status.
#pragma once

#include <memory>
#include <new>

#include "api/process.hpp"
#include "core/request.hpp"

namespace tern::api {

inline constexpr core::Outcome kFromNobody{MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, false, 0};

inline core::Request* find_request(MPI_Request handle) noexcept {
  return the_process->handles.find<core::Request>(handle);
}

/// Raises the error on the request's communicator or file, which stays until delivery.
[[nodiscard]] TERN_COLD int fail_with(core::Request& request, int code, const char* text) noexcept;

int collect(core::Request& request, MPI_Request* handle, MPI_Status* status,
            bool with_error) noexcept;

/// Returns MPI_ERR_REQUEST if the request cannot be cancelled, or a callback's code.
[[nodiscard]] int cancel_request(core::Request& request) noexcept;
/// Returns the code of a generalised request's free function.
[[nodiscard]] int free_request(core::Request& request) noexcept;

/// MPI_REQUEST_NULL and inactive requests are complete with an empty status.
inline bool idle(MPI_Request handle) noexcept {
  if (handle == MPI_REQUEST_NULL) return true;
  const core::Request* request = find_request(handle);
  return request != nullptr && !request->active();
}

/// find_active() takes a valid handle, and returns null for an idle one.
inline core::Request* find_active(MPI_Request handle) noexcept {
  core::Request* const found = handle == MPI_REQUEST_NULL ? nullptr : find_request(handle);
  return found != nullptr && found->active() ? found : nullptr;
}

inline int bad_request(MPI_Request handle, int position) noexcept {
  return fail(
      MPI_ERR_REQUEST,
      "array_of_requests[%d] is %p, which is not a request (completed, freed, or never made)",
      position, static_cast<void*>(handle));
}

class Requests {
 public:
  Requests(int count, const MPI_Request* handles) noexcept : count_(count) {
    if (count > kFew) {
      many_.reset(new (std::nothrow) core::Request*[static_cast<size_t>(count)]);
      if (many_ == nullptr) {
        code_ = fail(MPI_ERR_NO_MEM, "no memory to look at %d requests", count);
        return;
      }
      all_ = many_.get();
    }
    for (int i = 0; i < count && code_ == MPI_SUCCESS; ++i) look_up(handles[i], i);
  }
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] bool all_idle() const noexcept { return active_ == 0; }
  [[nodiscard]] core::Request* operator[](int i) const noexcept { return all_[i]; }
  [[nodiscard]] core::Progress& progress() const noexcept {
    return channel_ == nullptr ? the_process->channel(0).progress : channel_->progress;
  }
  [[nodiscard]] bool in_several_channels() const noexcept { return several_; }
  void run_ready() const noexcept {
    if (TERN_LIKELY(!run_functions_)) return;
    for (int i = 0; i < count_; ++i)
      if (all_[i] != nullptr && all_[i]->runs_functions()) all_[i]->run_ready();
  }
  [[nodiscard]] bool has_ready() const noexcept {
    if (TERN_LIKELY(!run_functions_)) return false;
    for (int i = 0; i < count_; ++i)
      if (all_[i] != nullptr && all_[i]->runs_functions() && all_[i]->has_ready()) return true;
    return false;
  }
  [[nodiscard]] bool complete(int i) const noexcept {
    return all_[i] == nullptr || all_[i]->done();
  }

 private:
  static constexpr int kFew = 128;
  void look_up(MPI_Request handle, int i) noexcept {
    all_[i] = nullptr;
    if (handle == MPI_REQUEST_NULL) return;
    core::Request* found = find_request(handle);
    if (TERN_UNLIKELY(found == nullptr)) {
      code_ = bad_request(handle, i);
    } else if (found->active()) {
      all_[i] = found;
      run_functions_ |= found->runs_functions();
      ++active_;
      if (channel_ == nullptr) channel_ = found->channel;
      several_ |= (found->channel != nullptr && found->channel != channel_) || run_functions_;
    }
  }

  int count_, active_ = 0, code_ = MPI_SUCCESS;
  core::Channel* channel_ = nullptr;
  bool several_ = false, run_functions_ = false;
  core::Request* few_[kFew];
  core::Request** all_ = few_;
  std::unique_ptr<core::Request*[]> many_;
};

inline MPI_Status* at(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

inline bool all_complete(const Requests& requests) noexcept {
  for (int i = 0; i < requests.count(); ++i)
    if (!requests.complete(i)) return false;
  return true;
}

inline int first_complete(const Requests& requests) noexcept {
  for (int i = 0; i < requests.count(); ++i)
    if (requests[i] != nullptr && requests[i]->done()) return i;
  return -1;
}

inline core::Progress& progress_of(const core::Request& request) noexcept {
  return request.channel == nullptr ? the_process->channel(0).progress : request.channel->progress;
}

/// Polls, because a program may call only tests.
inline void poll_once(core::Request& request) noexcept {
  {
    core::Progress& progress = progress_of(request);
    const core::ChannelLock lock(progress);
    if (TERN_UNLIKELY(request.runs_functions())) progress.poll_others();
    progress.poll_for_caller();
  }
  if (TERN_UNLIKELY(request.runs_functions())) request.run_ready();
}
inline void poll_once(const Requests& requests) noexcept {
  {
    core::Progress& progress = requests.progress();
    const core::ChannelLock lock(progress);
    if (requests.in_several_channels()) progress.poll_others();
    progress.poll_for_caller();
  }
  requests.run_ready();
}

inline void poll_for_some(const Requests& requests) noexcept {
  requests.run_ready();
  if (first_complete(requests) < 0) return poll_once(requests);
  core::Progress& progress = requests.progress();
  const core::ChannelLock lock(progress);
  progress.poll();
  if (requests.in_several_channels()) progress.poll_others();
}

}  // namespace tern::api
