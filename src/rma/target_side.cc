// SPDX-License-Identifier: Apache-2.0
#include "rma/target_side.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "core/op.hpp"
#include "core/reduce/table.hpp"
#include "rma/device_elements.hpp"
#include "rma/lock_word.hpp"
#include "rma/stripes.hpp"

namespace tern::rma {
namespace {

constexpr uint32_t kConstants = 1024;

bool brings_data(Verb verb) noexcept {
  return verb == Verb::kPut || verb == Verb::kAccumulate || verb == Verb::kFetch;
}

size_t bytes_of(const std::vector<RecordPiece>& pieces) noexcept {
  size_t sum = 0;
  for (const RecordPiece& piece : pieces) sum += piece.bytes;
  return sum;
}

std::unique_ptr<ElementMemory> elements_of_own(Targets& targets) {
  const Shared shared = targets.elements_of(targets.rank());
  if (targets.own().on_device) return std::make_unique<DeviceElements>(shared, targets.process());
  return std::make_unique<MappedElements>(shared);
}

}  // namespace

uint32_t constant_of(core::Process& process, const core::Datatype& basic) noexcept {
  if (basic.predefined()) return static_cast<uint32_t>(basic.handle());
  for (uint32_t word = 1; word < kConstants; ++word) {
    const auto* const type = process.handles.find<core::Datatype>(uintptr_t{word});
    if (type != nullptr && type->number() == basic.number() && type->size() == basic.size())
      return word;
  }
  return 0;
}

TargetSide::TargetSide(Targets& targets, Regions& regions)
    : targets_(targets),
      regions_(regions),
      communicator_(targets.communicator()),
      pml_(*communicator_.channel().pml),
      byte_(core::predefined_type(targets.process(), MPI_BYTE)),
      own_(elements_of_own(targets)),
      room_(kMostRecord),
      jobs_(static_cast<size_t>(targets.size())),
      errors_(jobs_.size()) {
  const core::ChannelLock lock(targets_.progress());
  listen();
}

TargetSide::~TargetSide() {
  if (listening_ == nullptr) return;
  listening_->cancel_locked();
  listening_->release();
}

bool TargetSide::idle() const noexcept { return waiting_ == 0 && answers_.empty(); }

void TargetSide::listen() {
  const core::Data room{room_.data(), static_cast<MPI_Count>(room_.size()), &byte_,
                        cuda::MemoryKind::kHost};
  if (pml_.irecv_locked(room, {&communicator_, MPI_ANY_SOURCE, kRecordTag, pml::Plane::kUser},
                        &listening_) == MPI_SUCCESS)
    listening_->made_at = {};  // only the window counts as a leak
  else
    listening_ = nullptr;  // all peers are lost
}

int TargetSide::poll() noexcept {
  int events = 0;
  while (listening_ != nullptr && listening_->done()) {
    const core::Outcome outcome = listening_->outcome;
    std::exchange(listening_, nullptr)->release();
    try {
      if (outcome.error == MPI_SUCCESS) take(outcome.source, static_cast<size_t>(outcome.bytes));
    } catch (const std::bad_alloc&) {
      errors_[static_cast<size_t>(outcome.source)] = MPI_ERR_NO_MEM;
    }
    listen();
    ++events;
  }
  for (int origin = 0; waiting_ > 0 && origin < targets_.size(); ++origin) events += run(origin);
  if (!locks_.empty()) events += try_locks();
  for (size_t i = 0; i < answers_.size();) {
    if (!answers_[i].request->done()) {
      ++i;
      continue;
    }
    answers_[i].request->release();
    if (i + 1 < answers_.size()) answers_[i] = std::move(answers_.back());
    answers_.pop_back();
    ++events;
  }
  return events;
}

bool TargetSide::parse(size_t bytes, PendingRecord* job) const {
  Record& record = job->record;
  if (bytes < sizeof record) return false;
  std::memcpy(&record, room_.data(), sizeof record);
  const bool inlined = (record.flags & Record::kInline) != 0;
  if (record.pieces > kMostPieces || (inlined && record.bytes > kMostInline)) return false;
  const size_t pieces = record.pieces * sizeof(RecordPiece), data = inlined ? record.bytes : 0;
  if (bytes != sizeof record + pieces + data) return false;
  job->pieces.resize(record.pieces);
  if (pieces != 0) std::memcpy(job->pieces.data(), room_.data() + sizeof record, pieces);
  const std::byte* const behind = room_.data() + sizeof record + pieces;
  job->data.assign(behind, behind + data);
  return true;
}

void TargetSide::take(int origin, size_t bytes) {
  PendingRecord job{};
  if (!parse(bytes, &job)) {
    errors_[static_cast<size_t>(origin)] = MPI_ERR_INTERN;
    return;
  }
  if (brings_data(job.record.verb) && (job.record.flags & Record::kInline) == 0 &&
      job.record.bytes > 0)
    receive_data(origin, &job);
  auto& queue = jobs_[static_cast<size_t>(origin)];
  if (queue.empty()) ++waiting_;
  queue.push_back(std::move(job));
  (void)run(origin);
}

void TargetSide::receive_data(int origin, PendingRecord* job) {
  const bool block = job->record.verb == Verb::kPut && job->pieces.size() == 1;
  job->in_place = block && job->pieces.front().bytes == job->record.bytes && in_part(*job);
  std::byte* into = nullptr;
  size_t room = 0;
  if (job->in_place) {
    into = at(job->pieces.front().at);
    room = job->record.bytes;
  } else if (job->record.bytes <= kMostStaged) {
    job->data.resize(job->record.bytes);
    into = job->data.data();
    room = job->data.size();
  }  // a truncated record is an error
  const auto kind = job->in_place ? targets_.own().kind() : cuda::MemoryKind::kHost;
  const core::Data data = core::with_kind({into, static_cast<MPI_Count>(room), &byte_, kind});
  if (pml_.irecv_locked(data, {&communicator_, origin, job->record.tag, pml::Plane::kUser},
                        &job->incoming) != MPI_SUCCESS)
    job->incoming = nullptr;
}

int TargetSide::run(int origin) noexcept {
  auto& queue = jobs_[static_cast<size_t>(origin)];
  int events = 0;
  while (!queue.empty()) {
    PendingRecord& job = queue.front();
    if (job.incoming != nullptr && !job.incoming->done()) return events;
    int error = MPI_SUCCESS;
    if (job.incoming != nullptr) {
      error = job.incoming->outcome.error;
      std::exchange(job.incoming, nullptr)->release();
    }
    try {
      if (error != MPI_SUCCESS)
        refuse(origin, job, error);
      else
        execute(origin, job);
    } catch (const std::bad_alloc&) {
      errors_[static_cast<size_t>(origin)] = MPI_ERR_NO_MEM;
    }
    queue.pop_front();
    if (queue.empty()) --waiting_;
    ++events;
  }
  return events;
}

void TargetSide::execute(int origin, PendingRecord& job) {
  const Record& record = job.record;
  const bool exclusive = (record.flags & Record::kExclusive) != 0;
  switch (record.verb) {
    case Verb::kPut:
      return in_part(job) ? execute_put(origin, job) : refuse(origin, job, MPI_ERR_RMA_RANGE);
    case Verb::kGet:
      return in_part(job) ? execute_get(origin, job) : refuse(origin, job, MPI_ERR_RMA_RANGE);
    case Verb::kAccumulate:
    case Verb::kFetch:
      return in_part(job) ? execute_accumulate(origin, job)
                          : refuse(origin, job, MPI_ERR_RMA_RANGE);
    case Verb::kCompareSwap:
      return in_part(job) ? execute_swap(origin, job) : refuse(origin, job, MPI_ERR_RMA_RANGE);
    case Verb::kFlush:
      return execute_flush(origin, job);
    case Verb::kLock:
      locks_.push_back({origin, record.tag, exclusive});
      (void)try_locks();
      return;
    case Verb::kUnlock:
      return release_lock(targets_, targets_.rank(), exclusive);
    case Verb::kPost:
      targets_.own().control.posted(origin).fetch_add(1);
      return targets_.wake(targets_.rank());
    case Verb::kComplete:
      targets_.own().control.completed(origin).fetch_add(1);
      return targets_.wake(targets_.rank());
  }
  errors_[static_cast<size_t>(origin)] = MPI_ERR_INTERN;
}

std::byte* TargetSide::at(uint64_t place) const noexcept {
  const auto base = targets_.dynamic() ? 0 : reinterpret_cast<uint64_t>(targets_.own().first());
  return reinterpret_cast<std::byte*>(base + place);
}

bool TargetSide::in_part(const RecordPiece& piece) const noexcept {
  if (targets_.dynamic()) return regions_.attached(piece.at, piece.bytes);
  const auto size = static_cast<uint64_t>(targets_.own().size);
  return piece.at <= size && piece.bytes <= size - piece.at;
}

bool TargetSide::in_part(const PendingRecord& job) const noexcept {
  return std::all_of(job.pieces.begin(), job.pieces.end(),
                     [this](const RecordPiece& piece) { return in_part(piece); });
}

core::Data TargetSide::part(const RecordPiece& piece) const noexcept {
  return core::with_kind(
      {at(piece.at), static_cast<MPI_Count>(piece.bytes), &byte_, targets_.own().kind()});
}

core::Data TargetSide::here(std::byte* bytes, const RecordPiece& piece) const noexcept {
  return {bytes, static_cast<MPI_Count>(piece.bytes), &byte_, cuda::MemoryKind::kHost};
}

void TargetSide::execute_put(int origin, PendingRecord& job) noexcept {
  if (job.in_place) return;
  if (bytes_of(job.pieces) != job.data.size()) {
    errors_[static_cast<size_t>(origin)] = MPI_ERR_INTERN;
    return;
  }
  std::byte* from = job.data.data();
  for (const RecordPiece& piece : job.pieces) {
    if (const Failure why = core::copy(targets_.process(), here(from, piece), part(piece)))
      return refuse(origin, job, why.code);
    from += piece.bytes;
  }
}

void TargetSide::execute_get(int origin, const PendingRecord& job) {
  if (job.pieces.size() == 1)
    return answer_block(origin, job.record.tag, part(job.pieces.front()), {});
  const size_t bytes = bytes_of(job.pieces);
  if (bytes > kMostStaged) return refuse(origin, job, MPI_ERR_INTERN);
  std::vector<std::byte> data(bytes);
  std::byte* to = data.data();
  for (const RecordPiece& piece : job.pieces) {
    if (const Failure why = core::copy(targets_.process(), part(piece), here(to, piece)))
      return refuse(origin, job, why.code);
    to += piece.bytes;
  }
  answer(origin, job.record.tag, std::move(data));
}

void TargetSide::execute_accumulate(int origin, const PendingRecord& job) {
  const Record& record = job.record;
  const auto* const basic =
      record.basic < kConstants
          ? targets_.process().handles.find<core::Datatype>(uintptr_t{record.basic})
          : nullptr;
  if (basic == nullptr || basic->size() <= 0 ||
      record.reduction >= static_cast<uint8_t>(Reduction::kCount))
    return refuse(origin, job, MPI_ERR_INTERN);
  const core::Op& op =
      core::predefined_op(targets_.process(), static_cast<Reduction>(record.reduction));
  const Element element = element_of(op, *basic);
  const size_t bytes = bytes_of(job.pieces);
  const size_t first = (record.packed + element.size - 1) / element.size;
  const size_t end = (record.packed + bytes + element.size - 1) / element.size;
  const size_t array = (end - first) * element.extent;
  const bool fetches = record.verb == Verb::kFetch, reads = fetches && record.bytes == 0;
  if (element.loop == nullptr || bytes > kMostStaged || (!reads && array != job.data.size()))
    return refuse(origin, job, MPI_ERR_INTERN);
  std::vector<iovec> pieces;
  for (const RecordPiece& piece : job.pieces) pieces.push_back({at(piece.at), piece.bytes});
  std::vector<std::byte> result(fetches ? array : 0);
  const int code =
      own_->apply(pieces.data(), pieces.size(), record.packed, element,
                  {reads ? nullptr : job.data.data(), fetches ? result.data() : nullptr});
  if (code != MPI_SUCCESS) return refuse(origin, job, code);
  if (fetches) answer(origin, record.tag, std::move(result));
}

void TargetSide::execute_swap(int origin, const PendingRecord& job) {
  if (job.pieces.size() != 1 || job.pieces.front().bytes > Element::kMostExtent ||
      job.data.size() != 2 * job.pieces.front().bytes)
    return refuse(origin, job, MPI_ERR_INTERN);
  const RecordPiece& piece = job.pieces.front();
  std::vector<std::byte> old(piece.bytes);
  const int code = own_->compare_and_swap(at(piece.at), piece.bytes, job.data.data(),
                                          job.data.data() + piece.bytes, old.data());
  if (code != MPI_SUCCESS) return refuse(origin, job, code);
  answer(origin, job.record.tag, std::move(old));
}

void TargetSide::execute_flush(int origin, const PendingRecord& job) {
  const Ended ended{std::exchange(errors_[static_cast<size_t>(origin)], MPI_SUCCESS)};
  std::vector<std::byte> bytes(sizeof ended);
  std::memcpy(bytes.data(), &ended, sizeof ended);
  answer(origin, job.record.tag, std::move(bytes));
}

void TargetSide::answer(int origin, int32_t tag, std::vector<std::byte> bytes) {
  const core::Data block{bytes.data(), static_cast<MPI_Count>(bytes.size()), &byte_,
                         cuda::MemoryKind::kHost};
  answer_block(origin, tag, block, std::move(bytes));
}

void TargetSide::answer_block(int origin, int32_t tag, const core::Data& data,
                              std::vector<std::byte> memory) {
  Answer made{nullptr, std::move(memory)};
  if (pml_.isend_locked(data, {&communicator_, origin, tag, pml::Plane::kInternal},
                        &made.request) == MPI_SUCCESS)
    answers_.push_back(std::move(made));
}

void TargetSide::refuse(int origin, const PendingRecord& job, int error) {
  int32_t& first = errors_[static_cast<size_t>(origin)];
  if (first == MPI_SUCCESS) first = error;
  const Verb verb = job.record.verb;
  if (verb != Verb::kGet && verb != Verb::kFetch && verb != Verb::kCompareSwap) return;
  Answer made{nullptr, {}};
  const core::Data none{nullptr, 0, &byte_, cuda::MemoryKind::kHost};
  if (pml_.isend_lost_locked(none, {&communicator_, origin, job.record.tag, pml::Plane::kInternal},
                             error, &made.request) == MPI_SUCCESS)
    answers_.push_back(std::move(made));
}

int TargetSide::try_locks() noexcept {
  const Control control = targets_.own().control;
  int granted = 0;
  while (!locks_.empty()) {
    const Asked& asked = locks_.front();
    if (!try_lock(control, asked.origin, asked.exclusive)) {
      if (asked.exclusive) want(control);
      enlist(targets_, targets_.rank());
      if (!try_lock(control, asked.origin, asked.exclusive)) break;
    }
    if (asked.origin == targets_.rank())
      own_granted_ = true;
    else
      answer(asked.origin, asked.tag, {});
    locks_.pop_front();
    ++granted;
  }
  return granted;
}

void TargetSide::forget_own_lock() noexcept {
  std::erase_if(locks_, [this](const Asked& asked) { return asked.origin == targets_.rank(); });
}

}  // namespace tern::rma
