// SPDX-License-Identifier: Apache-2.0
#include "io/service.hpp"

#include <new>

#include "base/log.hpp"
#include "io/tags.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr int kAnswerTags = 1 << 20;

template <class T>
pml::Buffer block_of(core::Communicator& own, T& object) noexcept {
  return {&object, sizeof object, &core::predefined_type(own.process(), MPI_BYTE),
          cuda::MemoryKind::kHost};
}

pml::Envelope between(core::Communicator& own, int rank, int tag) noexcept {
  return {&own, rank, tag, pml::Plane::kInternal};
}

/// A receive that has found its message still uses the memory.
void cancel(core::Request*& request) noexcept {
  if (request == nullptr) return;
  if (!request->done()) request->cancel_locked();
  request->release();
  request = nullptr;
}

bool ended(core::Request*& request) noexcept {
  if (request == nullptr || !request->done()) return false;
  request->release();
  request = nullptr;
  return true;
}

}  // namespace

void Service::start(Owner& owner) {
  owner_ = &owner;
  core::Channel& channel = meeting_.communicator().channel();
  const core::ChannelLock lock(channel.progress);
  if (!receive()) throw Error(MPI_ERR_OTHER, take_last_error().text);
  channel.progress.add(&Service::poll, this);
}

bool Service::receive() noexcept {
  core::Communicator& own = meeting_.communicator();
  return own.channel().pml->irecv_locked(block_of(own, coming_),
                                         between(own, MPI_ANY_SOURCE, kQuestionTag),
                                         &receive_) == MPI_SUCCESS;
}

void Service::stop() noexcept {
  core::Communicator& own = meeting_.communicator();
  const core::ChannelLock lock(own.channel().progress);
  cancel(closed_);
  if (owner_ == nullptr) return;
  if (meeting_.failed()) tell_closed();
  for (Watched& one : watched_) cancel(one.receive);
  watched_.clear();
  Question last;
  last.what = Question::Asks::kStop;
  core::Request* sent = nullptr;
  if (own.channel().pml->isend_locked(block_of(own, last), between(own, own.rank(), kQuestionTag),
                                      &sent) == MPI_SUCCESS)
    own.channel().progress.wait(
        [&] { return receive_ == nullptr && replies_.empty() && sent->done(); },
        [](WaitReport* report) { report->words += "the last questions about a file"; });
  if (sent != nullptr) sent->release();
  own.channel().progress.remove(this);
  owner_ = nullptr;
}

// Other ranks may still ask, because they have not learnt of the ended rank.
void Service::tell_closed() noexcept {
  static Answer notice{MPI_ERR_PROC_ABORTED, 0, 0};
  core::Communicator& own = meeting_.communicator();
  for (int rank = 1; rank < own.size(); ++rank) {
    core::Request* sent = nullptr;
    if (own.channel().pml->isend_locked(block_of(own, notice), between(own, rank, kClosedTag),
                                        &sent) == MPI_SUCCESS)
      sent->release();
  }
}

int Service::poll(void* self) noexcept { return static_cast<Service*>(self)->serve(); }

int Service::serve() noexcept {
  int events = look_for_ended();
  for (auto reply = replies_.begin(); reply != replies_.end();)
    reply = ended(reply->request) ? replies_.erase(reply) : std::next(reply);
  while (receive_ != nullptr && receive_->done()) {
    ++events;
    const int from = receive_->outcome.source;
    const int error = receive_->outcome.error;
    (void)ended(receive_);
    if (error != MPI_SUCCESS || coming_.what == Question::Asks::kStop) break;
    take_question(from);
    if (!receive()) log_line("the shared pointer of a file: %s", take_last_error().text.c_str());
  }
  return events;
}

void Service::take_question(int rank) noexcept {
  const Question question = coming_;
  Answer answer;
  if (question.what == Question::Asks::kTake) {
    answer.code = watch(rank);
    if (answer.code == MPI_ERR_PROC_ABORTED) return;
    if (answer.code != MPI_SUCCESS) return reply(rank, question, answer);
  }
  if (owner_->answer(rank, question, &answer)) {
    reply(rank, question, answer);
    if (question.what == Question::Asks::kRelease) try_waiting();
    return;
  }
  try {
    waiting_.push_back({rank, question});
  } catch (const std::bad_alloc&) {
    answer.code = MPI_ERR_NO_MEM;
    reply(rank, question, answer);
  }
}

int Service::watch(int rank) noexcept {
  for (const Watched& one : watched_)
    if (one.rank == rank)
      return one.has_ended ? static_cast<int>(MPI_ERR_PROC_ABORTED) : MPI_SUCCESS;
  core::Communicator& own = meeting_.communicator();
  try {
    watched_.push_back({rank, false, nullptr});
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  }
  if (meeting_.board(rank) != nullptr) return MPI_SUCCESS;
  const int code = own.channel().pml->irecv_locked(
      block_of(own, notice_), between(own, rank, kWatchTag), &watched_.back().receive);
  if (code != MPI_SUCCESS) watched_.pop_back();
  return code;
}

int Service::look_for_ended() noexcept {
  constexpr uint32_t kPollsBetweenLooks = 255;
  const bool looks_here = (++polls_ & kPollsBetweenLooks) == 0 ||
                          meeting_.communicator().channel().progress.is_before_sleep();
  int found = 0;
  for (Watched& one : watched_) {
    if (one.has_ended) continue;
    one.has_ended =
        one.receive != nullptr ? ended(one.receive) : looks_here && meeting_.has_died(one.rank);
    if (!one.has_ended) continue;
    ++found;
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.rank == one.rank; });
    owner_->forget(one.rank);
  }
  if (found > 0) try_waiting();
  return found;
}

void Service::try_waiting() noexcept {
  for (size_t i = 0; i < waiting_.size();) {
    Answer answer;
    if (!owner_->answer(waiting_[i].rank, waiting_[i].question, &answer)) {
      ++i;
      continue;
    }
    reply(waiting_[i].rank, waiting_[i].question, answer);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Service::reply(int rank, const Question& question, const Answer& answer) noexcept {
  core::Communicator& own = meeting_.communicator();
  try {
    Reply& made = replies_.emplace_back();
    made.answer = answer;
    if (own.channel().pml->isend_locked(block_of(own, made.answer),
                                        between(own, rank, static_cast<int>(question.tag)),
                                        &made.request) == MPI_SUCCESS)
      return;
    replies_.pop_back();
  } catch (const std::bad_alloc&) {
  }
  log_line("no answer to rank %d about the shared pointer of a file", rank);
}

Service::Asking::~Asking() {
  cancel(sent_);
  cancel(received_);
}

bool Service::Asking::answered_here() noexcept {
  if (!service_.owner_->answer(service_.meeting_.communicator().rank(), question_, &answer_))
    return false;
  if (question_.what == Question::Asks::kRelease) service_.try_waiting();
  if (answer_.code != MPI_SUCCESS) failed_ = failure(answer_.code, "rank 0 refuses");
  return true;
}

void Service::Asking::send() noexcept {
  core::Communicator& own = service_.meeting_.communicator();
  begun_ = true;
  core::Request*& closed = service_.closed_;
  if (closed == nullptr)
    (void)own.channel().pml->irecv_locked(block_of(own, service_.notice_),
                                          between(own, 0, kClosedTag), &closed);
  question_.tag = kFirstAnswerTag + service_.next_tag_++ % kAnswerTags;
  int code = own.channel().pml->irecv_locked(
      block_of(own, answer_), between(own, 0, static_cast<int>(question_.tag)), &received_);
  if (code == MPI_SUCCESS)
    code = own.channel().pml->isend_locked(block_of(own, question_), between(own, 0, kQuestionTag),
                                           &sent_);
  if (code != MPI_SUCCESS) failed_ = {code, take_last_error().text};
}

bool Service::Asking::over() noexcept {
  if (service_.owner_ != nullptr) return answered_here();
  if (!begun_) send();
  if (failed_) return true;
  if (!received_->done() || !sent_->done()) {
    failed_ = service_.keeper_left();
    return static_cast<bool>(failed_);
  }
  if (received_->outcome.error != MPI_SUCCESS)
    failed_ = failure(received_->outcome.error, "%s",
                      received_->error_text != nullptr ? received_->error_text->c_str()
                                                       : "rank 0 does not answer");
  else if (answer_.code != MPI_SUCCESS)
    failed_ = failure(answer_.code, "rank 0 refuses");
  return true;
}

Failure Service::keeper_left() noexcept {
  const int lost = meeting_.communicator().process().deaths.lost_class();
  if (closed_ != nullptr && closed_->done() && closed_->outcome.error == MPI_SUCCESS)
    return failure(lost,
                   "rank 0 has closed the file after the end of a rank, and no longer keeps the "
                   "shared pointer and the ranges of atomic mode");
  if (meeting_.has_died(0))
    return failure(lost,
                   "rank 0 has ended, which kept the shared pointer and the ranges of atomic mode");
  return {};
}

Failure Service::ask(const Question& question, const char* words, Answer* answer) noexcept {
  constexpr int64_t kMostSleepUs = 1000;
  core::Communicator& own = meeting_.communicator();
  const core::ChannelLock lock(own.channel().progress);
  Asking asking(*this, question);
  own.channel().progress.wait([&] { return asking.over(); },
                              [&](WaitReport* report) {
                                report->words += words;
                                if (own.rank() != 0) core::report_wait_for(own.peer(0), report);
                              },
                              kMostSleepUs);
  *answer = asking.answer();
  return asking.failed();
}

}  // namespace tern::io
