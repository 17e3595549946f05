// SPDX-License-Identifier: Apache-2.0
#include "io/requests.hpp"

#include <utility>

#include "mpi.h"

namespace tern::io {

namespace {

/// The requests of all files, with TERN_CHECK=leaks: other threads may free requests meanwhile.
struct Tracked {
  std::mutex mutex;
  std::vector<FileRequest*> requests;
};

Tracked& tracked() noexcept {
  static Tracked all;
  return all;
}

}  // namespace

FileRequest::FileRequest(core::Object& file, core::Channel& in)
    : file_(&file), tracked_(in.process.params.checks("leaks")) {
  channel = &in;
  std::unique_lock<std::mutex> lock(tracked().mutex, std::defer_lock);
  if (tracked_) {
    lock.lock();
    tracked().requests.reserve(tracked().requests.size() + 1);
  }
  in.process.handles.insert(*this);
  if (tracked_) tracked().requests.push_back(this);
}

std::vector<core::CallPlace> FileRequest::live_of(const core::Object& file) {
  std::vector<core::CallPlace> found;
  const std::lock_guard<std::mutex> lock(tracked().mutex);
  for (const FileRequest* request : tracked().requests)
    if (request->file_.get() == &file) found.push_back(request->made_at);
  return found;
}

void FileRequest::destroy() noexcept {
  if (tracked_) {
    const std::lock_guard<std::mutex> lock(tracked().mutex);
    std::erase(tracked().requests, this);
  }
  channel->process.handles.erase(*this);
  delete this;
}

void FileRequest::take_error(Failure why) noexcept {
  outcome.error = why.code;
  text_ = std::move(why.text);
  error_text = &text_;
}

int FileRequest::deliver(bool) noexcept {
  if (conversion_ == nullptr || outcome.error != MPI_SUCCESS) return MPI_SUCCESS;
  const std::shared_ptr<Conversion> conversion = std::move(conversion_);
  const auto bytes = static_cast<size_t>(outcome.bytes);
  if (!writes_converted_) return conversion->from_file(bytes, &outcome.bytes);
  outcome.bytes = conversion->bytes_in_memory(bytes);
  return MPI_SUCCESS;
}

CompletedRequest::CompletedRequest(core::Object& file, core::Channel& in, MPI_Count bytes,
                                   Failure why)
    : FileRequest(file, in) {
  outcome.bytes = bytes;
  if (why) take_error(std::move(why));
  complete();
}

IndependentRequest::IndependentRequest(core::Object& file, core::Channel& in, const RawFile& raw,
                                       FileWindow& window, const Ways& ways,
                                       std::shared_ptr<const View> view, int64_t first,
                                       const Memory& memory, size_t bytes, bool writes)
    : FileRequest(file, in),
      raw_(raw),
      window_(window),
      ways_(ways),
      view_(std::move(view)),
      first_(first),
      memory_(memory),
      type_(memory.data().type),
      bytes_(bytes),
      writes_(writes) {}

void IndependentRequest::work() noexcept {
  size_t done = 0;
  Failure failed = move({raw_, window_, *view_, first_, ways_}, memory_, bytes_, writes_, &done);
  finish(done, std::move(failed));
}

void IndependentRequest::finish(size_t done, Failure failed) noexcept {
  outcome.bytes = static_cast<MPI_Count>(done);
  if (failed) take_error(std::move(failed));
  core::Progress& progress = channel->progress;
  complete();
  progress.wake();
  left_.store(true, std::memory_order_release);
}

void IndependentRequest::begin_on_device(std::shared_ptr<Worker> worker) {
  moving_ =
      std::make_unique<DeviceTransfer>(Part{raw_, window_, *view_, first_, ways_}, memory_, bytes_,
                                       writes_, &channel->progress, std::move(worker));
}

bool IndependentRequest::advance() noexcept {
  if (!moving_->advance()) return false;
  Failure failed = moving_->failed();
  const size_t done = failed && writes_ ? 0 : moving_->moved();
  moving_.reset();
  finish(done, std::move(failed));
  return true;
}

void IndependentRequest::describe(WaitReport* report) const {
  report->words += strf("a nonblocking transfer of %zu bytes of %s", bytes_, raw_.name().c_str());
}

void Requests::drop_complete() noexcept {
  for (size_t i = 0; i < running_.size();) {
    if (!running_[i]->left()) {
      ++i;
      continue;
    }
    running_[i] = std::move(running_.back());
    running_.pop_back();
  }
}

Requests::~Requests() {
  if (!polled_) return;
  const core::ChannelLock lock(progress_);
  progress_.remove(this);
}

void Requests::start(core::Ref<IndependentRequest> request) {
  IndependentRequest* const job = request.get();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (worker_ == nullptr) worker_ = Worker::shared();
    drop_complete();
    if (!job->on_device()) running_.push_back(std::move(request));
  }
  if (job->on_device()) return start_on_device(std::move(request));
  if (!worker_->add(*job)) job->work();
}

void Requests::start_on_device(core::Ref<IndependentRequest> request) {
  const core::ChannelLock lock(progress_);
  on_devices_.reserve(on_devices_.size() + 1);
  if (!polled_) progress_.add(&Requests::poll, this);
  polled_ = true;
  request->begin_on_device(worker_);
  if (!request->advance()) on_devices_.push_back(std::move(request));
}

int Requests::poll(void* self) noexcept { return static_cast<Requests*>(self)->advance(); }

int Requests::advance() noexcept {
  return static_cast<int>(
      std::erase_if(on_devices_, [](const auto& request) { return request->advance(); }));
}

size_t Requests::finish() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_complete();
  constexpr int64_t kMostSleepUs = 1000;  // left() follows the doorbell
  const core::ChannelLock channel(progress_);
  const size_t waiting = running_.size() + on_devices_.size();
  if (waiting == 0) return 0;
  progress_.wait(
      [this] {
        drop_complete();
        return running_.empty() && on_devices_.empty();
      },
      [](WaitReport* report) { report->words += "nonblocking transfers of a file"; }, kMostSleepUs);
  return waiting;
}

}  // namespace tern::io
