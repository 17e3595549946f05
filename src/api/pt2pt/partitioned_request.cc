// SPDX-License-Identifier: Apache-2.0
// Partitioned requests: sending and receiving portions.
#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "api/attempt.hpp"
#include "api/process.hpp"
#include "api/pt2pt/partitioned.hpp"
#include "core/communicator.hpp"
#include "pml/requests.hpp"

namespace tern::api {
namespace {

constexpr int64_t kLeastPortion = 1024;  // smaller portions share a message
constexpr int kMostPortions = 4096;

using Listed = std::vector<PartitionedRequest*>;

Listed& listed_in(const core::Channel& channel) noexcept {
  return instance().partitioned.running[channel.number];
}

/// Returns tags below the user's tags, wrapping around.
int32_t take_tags(int count) noexcept {
  constexpr uint32_t kTags = 1U << 30;
  const auto needed = static_cast<uint32_t>(count);
  std::atomic<uint32_t>& next = instance().partitioned.tags;
  uint32_t first = next.load(std::memory_order_relaxed), from = 0;
  do {
    from = first + needed > kTags ? 0 : first;
  } while (!next.compare_exchange_weak(first, from + needed, std::memory_order_relaxed));
  return INT_MIN + static_cast<int32_t>(from);
}

int partitions_together(int64_t bytes, int partitions) noexcept {
  const int64_t for_size = bytes == 0 ? partitions : (kLeastPortion + bytes - 1) / bytes;
  const int64_t for_number = (int64_t{partitions} + kMostPortions - 1) / kMostPortions;
  return static_cast<int>(
      std::clamp<int64_t>(std::max(for_size, for_number), 1, std::max(partitions, 1)));
}

}  // namespace

PartitionedRequest::PartitionedRequest(const pml::Buffer& partition, int partitions,
                                       const pml::Envelope& envelope)
    : partition_(partition), partitions_(partitions), envelope_(envelope) {
  the_process->handles.insert(*this);
  traits_.persistent = true;
  set_active(false);
  complete();
  communicator = envelope.communicator;
  channel = &communicator->channel();
  communicator->keep_for_request();
  partition_.type->retain();
}

PartitionedRequest::~PartitionedRequest() {
  if (introduction_ != nullptr) introduction_->release();
  delete error_text;
  the_process->handles.erase(*this);
  partition_.type->release();
  communicator->request_ended();
}

void PartitionedRequest::destroy() noexcept { delete this; }

int PartitionedRequest::start() noexcept {
  const core::ChannelLock lock(channel->progress);
  return guarded([&] {
    outcome = {};
    delete std::exchange(error_text, nullptr);
    let_communicator_go();
    if (to_proc_null()) outcome.source = MPI_PROC_NULL;
    begin();
    set_active(true);
    restart();
    look_after();
  });
}

void PartitionedRequest::look_after() {
  if (listed_) return;
  Listed& all = listed_in(*channel);
  all.push_back(this);
  if (all.size() == 1) channel->progress.add(&PartitionedRequest::poll, &all);
  retain();
  listed_ = true;
}

int PartitionedRequest::poll(void* self) noexcept {
  auto& all = *static_cast<Listed*>(self);
  core::Progress& progress = all.front()->channel->progress;
  int events = 0;
  for (size_t i = 0; i < all.size();) {
    PartitionedRequest* one = all[i];
    if (!one->step()) {
      ++i;
      continue;
    }
    all[i] = all.back();
    all.pop_back();
    one->listed_ = false;
    one->release();
    ++events;
  }
  if (all.empty()) progress.remove(&all);
  return events;
}

void PartitionedRequest::abandon_all() noexcept {
  for (Listed& all : instance().partitioned.running) {
    if (all.empty()) continue;
    all.front()->channel->progress.remove(&all);
    for (PartitionedRequest* one : std::exchange(all, {})) one->release();
  }
}

void PartitionedRequest::fail_with(const Failure& why) noexcept {
  if (!why || outcome.error != MPI_SUCCESS) return;
  outcome.error = why.code;
  pml::set_error_text(*this, why.text);
}

void PartitionedRequest::collect(core::Request* part) noexcept {
  if (outcome.error == MPI_SUCCESS && part->outcome.error != MPI_SUCCESS) {
    outcome.error = part->outcome.error;
    error_text = std::exchange(part->error_text, nullptr);
  }
  part->release();
}

void PartitionedRequest::finish() noexcept {
  if (done()) return;
  if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) keep_communicator();
  complete();
}

pml::Envelope PartitionedRequest::portion(int32_t tag) const noexcept {
  return {envelope_.communicator, envelope_.rank, tag, pml::Plane::kPartitioned};
}

int PartitionedSend::introduce() noexcept {
  group_ = partitions_together(static_cast<int64_t>(partition_.bytes()), partitions_);
  plan_.bytes = total_bytes();
  plan_.portions = (partitions_ + group_ - 1) / group_;
  plan_.portion_bytes = static_cast<int64_t>(partition_.bytes()) * group_;
  plan_.first_tag = take_tags(plan_.portions);
  if (to_proc_null()) return MPI_SUCCESS;
  const pml::Buffer words{&plan_, sizeof plan_, &core::predefined_type(*the_process, MPI_BYTE)};
  const int code = channel->pml->isend_locked(words, portion(envelope_.tag), &introduction_);
  return code != MPI_SUCCESS ? code : guarded([&] { look_after(); });
}

void PartitionedSend::begin() {
  ready_.assign(static_cast<size_t>(partitions_), 0);
  missing_.assign(static_cast<size_t>(plan_.portions), group_);
  if (plan_.portions > 0) missing_.back() = partitions_ - group_ * (plan_.portions - 1);
  open_.reserve(static_cast<size_t>(plan_.portions));
  told_.clear();
  told_.reserve(static_cast<size_t>(partitions_));
  unsent_ = plan_.portions;
}

int PartitionedSend::ready(int partition) noexcept {
  const auto place = static_cast<size_t>(partition);
  if (ready_[place] != 0)
    return fail_on(communicator, MPI_ERR_ARG, "partition %d is already marked ready in this round",
                   partition);
  ready_[place] = 1;
  const int portion = partition / group_;
  if (--missing_[static_cast<size_t>(portion)] > 0) return MPI_SUCCESS;
  if (--unsent_ == 0) channel->progress.wake();
  return to_proc_null() ? MPI_SUCCESS : send(portion);
}

int PartitionedSend::ready_in_stream(int partition) noexcept {
  if (!active())
    return fail(
        MPI_ERR_REQUEST,
        "the request was not active when the stream reached partition %d; call MPI_Start first",
        partition);
  if (ready_[static_cast<size_t>(partition)] != 0 ||
      std::find(told_.begin(), told_.end(), partition) != told_.end())
    return fail(MPI_ERR_ARG, "partition %d is already marked ready in this round", partition);
  told_.push_back(partition);  // capacity is reserved
  channel->progress.wake();
  return MPI_SUCCESS;
}

int PartitionedSend::send(int number) noexcept {
  const int first = number * group_;
  pml::Buffer buffer = partition_;
  buffer.address =
      static_cast<char*>(buffer.address) + partition_.count * first * partition_.type->extent();
  buffer.count *= std::min(group_, partitions_ - first);
  core::Request* part = nullptr;
  const int code = channel->pml->isend_locked(buffer, portion(plan_.first_tag + number), &part);
  if (code != MPI_SUCCESS) {
    const Failure why{code, take_last_error().text};
    fail_with(why);
    return fail(why);
  }
  if (part->done())
    collect(part);
  else
    open_.push_back(part);  // capacity is reserved
  return MPI_SUCCESS;
}

bool PartitionedSend::step() noexcept {
  for (; !told_.empty(); told_.pop_back())
    if (const int code = ready(told_.back()); code != MPI_SUCCESS)
      fail_with({code, take_last_error().text});
  if (introduction_ != nullptr && introduction_->done()) {
    collect(std::exchange(introduction_, nullptr));
  }
  while (!open_.empty() && open_.back()->done()) {
    collect(open_.back());
    open_.pop_back();
  }
  if (unsent_ == 0 && open_.empty()) finish();
  return done() && introduction_ == nullptr;
}

void PartitionedSend::describe(WaitReport* report) const {
  if (unsent_ == 0 && !open_.empty()) return open_.back()->describe(report);
  const auto ready = static_cast<long>(std::count(ready_.begin(), ready_.end(), uint8_t{1}));
  report->words += strf("MPI_Pready of %ld of the %d partitions of a partitioned send",
                        partitions_ - ready, partitions_);
}

PartitionedReceive::~PartitionedReceive() {
  for (core::Request* part : parts_)
    if (part != nullptr) part->release();
}

int PartitionedReceive::introduce() noexcept {
  introduced_ = to_proc_null();
  if (introduced_) return MPI_SUCCESS;
  const pml::Buffer words{&plan_, sizeof plan_, &core::predefined_type(*the_process, MPI_BYTE)};
  const int code = channel->pml->irecv_locked(words, portion(envelope_.tag), &introduction_);
  return code != MPI_SUCCESS ? code : guarded([&] { look_after(); });
}

void PartitionedReceive::begin() {
  posted_ = false;
  first_open_ = 0;
  parts_.clear();
  if (introduced_) post();
}

void PartitionedReceive::post() noexcept {
  posted_ = true;
  const int failed = attempt([&] {
    parts_.reserve(static_cast<size_t>(plan_.portions));
    staged_.resize(static_cast<size_t>(plan_.portions));
    for (int32_t i = 0; i < plan_.portions; ++i) {
      core::Request* part = nullptr;
      const int code = receive(i * plan_.portion_bytes, plan_.first_tag + i, &part);
      if (code != MPI_SUCCESS) return code;
      parts_.push_back(part);
    }
    return MPI_SUCCESS;
  });
  if (failed != MPI_SUCCESS) fail_with({failed, take_last_error().text});
}

// Receives whole elements in place, other data through a copy.
int PartitionedReceive::receive(int64_t from, int32_t tag, core::Request** part) {
  const int64_t room = std::max<int64_t>(total_bytes() - from, 0);
  const int64_t bytes = std::min({plan_.portion_bytes, plan_.bytes - from, room});
  const int64_t element = std::max<int64_t>(partition_.type->size(), 1);
  pml::Buffer buffer = partition_;
  auto& stage = staged_[parts_.size()];
  if (from % element == 0 && bytes % element == 0) {
    buffer.address =
        static_cast<char*>(buffer.address) + from / element * partition_.type->extent();
    buffer.count = bytes / element;
  } else {
    stage.resize(static_cast<size_t>(bytes));
    buffer = {stage.data(), bytes, &core::predefined_type(*the_process, MPI_PACKED)};
  }
  return channel->pml->irecv_locked(buffer, portion(tag), part);
}

bool PartitionedReceive::here(size_t number) noexcept {
  if (number >= parts_.size()) return true;
  core::Request*& part = parts_[number];
  if (part == nullptr) return true;
  if (!part->done()) return false;
  outcome.bytes += part->outcome.bytes;
  collect(std::exchange(part, nullptr));
  auto& stage = staged_[number];
  if (!stage.empty())
    fail_with(core::unpack(
        *the_process, {partition_.address, partition_.count * partitions_, partition_.type},
        number * static_cast<size_t>(plan_.portion_bytes), stage.data(), stage.size()));
  return true;
}

bool PartitionedReceive::step() noexcept {
  if (introduction_ != nullptr && introduction_->done()) {
    collect(std::exchange(introduction_, nullptr));
    introduced_ = true;
  }
  if (!introduced_) return false;
  if (done()) return true;
  if (!posted_) post();
  while (first_open_ < parts_.size() && here(first_open_)) ++first_open_;
  if (first_open_ < parts_.size()) return false;
  outcome.source = envelope_.rank;
  outcome.tag = to_proc_null() ? MPI_ANY_TAG : envelope_.tag;
  finish();
  return true;
}

bool PartitionedReceive::arrived(int partition) noexcept {
  if (done()) return true;
  if (!posted_) return false;
  const int64_t from = static_cast<int64_t>(partition_.bytes()) * partition;
  const int64_t to =
      std::min<int64_t>(from + static_cast<int64_t>(partition_.bytes()), plan_.bytes);
  if (plan_.portion_bytes == 0) return here(0);
  bool all = true;
  for (int64_t i = from / plan_.portion_bytes; i * plan_.portion_bytes < to; ++i)
    all &= here(static_cast<size_t>(i));
  return all;
}

void PartitionedReceive::describe(WaitReport* report) const {
  if (introduction_ != nullptr) {
    report->words += "MPI_Psend_init, as ";
    return introduction_->describe(report);
  }
  for (const core::Request* part : parts_)
    if (part != nullptr && !part->done()) return part->describe(report);
}

}  // namespace tern::api
