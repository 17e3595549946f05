// SPDX-License-Identifier: Apache-2.0
// CollRequest: begin, end, errors, return to the pool.
#include "coll/engine/coll_request.hpp"

#include <utility>

#include "core/process.hpp"

namespace tern::coll {
namespace {

constexpr uint32_t kSequences = 1U << 14;

}  // namespace

uint32_t next_sequence(core::Communicator& communicator) noexcept {
  return communicator.numbers.tags++ % kSequences;
}

uint32_t sequence_of(CallNumber persistent) noexcept {
  return kSequences + persistent.value % kSequences;
}

CollRequest::CollRequest(core::Channel& of, Refusals& refusals) noexcept : refusals_(refusals) {
  channel = &of;
}

void CollRequest::set_persistent() noexcept {
  traits_.persistent = true;
  set_active(false);
  operation().communicator->keep_for_request();
  number(Refusals::next_number(*operation().communicator, true, operation().kind(false)));
  tag_by(sequence_of(number_));
}

void CollRequest::begin() noexcept {
  core::Communicator& comm = *operation().communicator;
  if (!numbered_) number_ = Refusals::next_number(comm, false, operation().kind(false));
  if (!tagged_) sequence_ = next_sequence(comm);
  ++comm.pending;
  retain();
  outcome = {};
  outcome.source = MPI_UNDEFINED;
  error_text = nullptr;
  restart();
  watch_.begin();
}

void CollRequest::end() noexcept {
  watch_.end();
  core::Communicator& comm = *operation().communicator;
  if (TERN_UNLIKELY(outcome.error != MPI_SUCCESS)) keep_communicator();
  complete();
  release();
  comm.operation_ended();
}

Failure CollRequest::run() noexcept {
  go();
  channel->progress.wait([this] { return done(); },
                         [this](WaitReport* report) { describe(report); });
  if (TERN_LIKELY(outcome.error == MPI_SUCCESS)) return {};
  return failure(outcome.error, "%s", error_text->c_str());
}

int CollRequest::start() noexcept {
  const core::ChannelLock lock(channel->progress);
  const int code = refusals_.over(*operation().communicator, number_);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) return code;
  set_active(true);
  go();
  return MPI_SUCCESS;
}

void CollRequest::take_error(Failure why) noexcept {
  if (outcome.error != MPI_SUCCESS) return;
  outcome.error = why.code;
  text_ = std::move(why.text);
  error_text = &text_;
}

void CollRequest::describe(WaitReport* report) const {
  const char* const name =
      operation().serves == nullptr ? name_of(operation().collective) : operation().serves;
  report->words += part_in(name, *operation().communicator);
}

void CollRequest::destroy() noexcept {
  core::Communicator* const kept = persistent() ? operation().communicator : nullptr;
  kept_.release();
  unbind();
  watch_.measure(nullptr);
  let_communicator_go();
  traits_.persistent = numbered_ = tagged_ = false;
  set_active(true);
  revive();
  if (handle() != 0) channel->process.handles.renew(*this);
  made_at = {};
  pool();
  if (kept != nullptr) kept->request_ended();
}

}  // namespace tern::coll
