// SPDX-License-Identifier: Apache-2.0
#include "io/service.hpp"

#include <new>
#include <utility>

#include "base/log.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr int kQuestionTag = 2, kAnswerTag = 3, kReleaseTag = 4;

template <class T>
pml::Buffer block_of(core::Communicator& own, T& object) noexcept {
  return {&object, sizeof object, &core::predefined_type(own.process(), MPI_BYTE),
          cuda::MemoryKind::kHost};
}

pml::Envelope between(core::Communicator& own, int rank, int tag) noexcept {
  return {&own, rank, tag, pml::Plane::kInternal};
}

bool ended(core::Request*& request) noexcept {
  if (request == nullptr || !request->done()) return false;
  request->release();
  request = nullptr;
  return true;
}

}  // namespace

Service::~Service() {
  // The message is short, so the system has a copy.
  if (releasing_ != nullptr) releasing_->release();
}

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
  if (owner_ == nullptr) return;
  core::Communicator& own = meeting_.communicator();
  Question last;
  last.what = Question::Asks::kStop;
  core::Request* sent = nullptr;
  const core::ChannelLock lock(own.channel().progress);
  if (own.channel().pml->isend_locked(block_of(own, last), between(own, own.rank(), kQuestionTag),
                                      &sent) == MPI_SUCCESS)
    own.channel().progress.wait(
        [&] { return receive_ == nullptr && replies_.empty() && sent->done(); },
        [](WaitReport* report) { report->words += "the last questions about a file"; });
  if (sent != nullptr) sent->release();
  own.channel().progress.remove(this);
  for (Grant& grant : grants_) {
    if (!grant.receive->done()) grant.receive->cancel_locked();
    grant.receive->release();
  }
  grants_.clear();
  owner_ = nullptr;
}

int Service::poll(void* self) noexcept { return static_cast<Service*>(self)->serve(); }

int Service::end_grants() noexcept {
  int events = 0;
  for (auto grant = grants_.begin(); grant != grants_.end();) {
    if (!ended(grant->receive)) {
      ++grant;
      continue;
    }
    ++events;
    Answer answer;
    (void)owner_->answer(grant->rank, release_, &answer);
    grant = grants_.erase(grant);
  }
  if (events > 0) try_waiting();
  return events;
}

void Service::watch(int rank) noexcept {
  core::Communicator& own = meeting_.communicator();
  try {
    Grant& made = grants_.emplace_back();
    made.rank = rank;
    if (own.channel().pml->irecv_locked(block_of(own, made.release),
                                        between(own, rank, kReleaseTag),
                                        &made.receive) == MPI_SUCCESS)
      return;
    grants_.pop_back();
  } catch (const std::bad_alloc&) {
  }
  // The rank has ended, or cannot tell.
  Answer answer;
  (void)owner_->answer(rank, release_, &answer);
}

int Service::serve() noexcept {
  int events = grants_.empty() ? 0 : end_grants();
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
  // The end of the rank's last range has arrived before.
  if (question.what == Question::Asks::kTake) (void)end_grants();
  if (owner_->answer(rank, question, &answer)) {
    reply(rank, answer);
    if (question.what == Question::Asks::kTake && answer.code == MPI_SUCCESS) watch(rank);
    return;
  }
  try {
    waiting_.push_back({rank, question});
  } catch (const std::bad_alloc&) {
    answer.code = MPI_ERR_NO_MEM;
    reply(rank, answer);
  }
}

void Service::try_waiting() noexcept {
  for (size_t i = 0; i < waiting_.size();) {
    Answer answer;
    if (!owner_->answer(waiting_[i].rank, waiting_[i].question, &answer)) {
      ++i;
      continue;
    }
    const int rank = waiting_[i].rank;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    reply(rank, answer);
    if (answer.code == MPI_SUCCESS) watch(rank);
  }
}

void Service::reply(int rank, const Answer& answer) noexcept {
  core::Communicator& own = meeting_.communicator();
  try {
    Reply& made = replies_.emplace_back();
    made.answer = answer;
    if (own.channel().pml->isend_locked(block_of(own, made.answer), between(own, rank, kAnswerTag),
                                        &made.request) == MPI_SUCCESS)
      return;
    replies_.pop_back();
  } catch (const std::bad_alloc&) {
  }
  log_line("no answer to rank %d about the shared pointer of a file", rank);
}

void Service::begin(Inquiry* inquiry) noexcept {
  if (owner_ != nullptr) return;
  core::Communicator& own = meeting_.communicator();
  int code = own.channel().pml->irecv_locked(block_of(own, inquiry->answer),
                                             between(own, 0, kAnswerTag), &inquiry->received);
  if (code == MPI_SUCCESS)
    code = own.channel().pml->isend_locked(block_of(own, inquiry->question),
                                           between(own, 0, kQuestionTag), &inquiry->sent);
  if (code == MPI_SUCCESS) return;
  inquiry->failed = {code, take_last_error().text};
  if (inquiry->received == nullptr) return;
  inquiry->received->cancel_locked();
  inquiry->received->release();
  inquiry->received = nullptr;
}

bool Service::answered(Inquiry* inquiry) noexcept {
  if (inquiry->failed) return true;
  if (owner_ != nullptr)
    return owner_->answer(meeting_.communicator().rank(), inquiry->question, &inquiry->answer);
  if (!inquiry->received->done() || !inquiry->sent->done()) return false;
  const core::Request& received = *inquiry->received;
  if (received.outcome.error != MPI_SUCCESS)
    inquiry->failed = failure(
        received.outcome.error, "%s",
        received.error_text != nullptr ? received.error_text->c_str() : "rank 0 does not answer");
  else if (inquiry->answer.code != MPI_SUCCESS)
    inquiry->failed = failure(inquiry->answer.code, "rank 0 refuses");
  (void)ended(inquiry->received);
  (void)ended(inquiry->sent);
  return true;
}

Failure Service::ask(const Question& question, const char* words, Answer* answer) noexcept {
  constexpr int64_t kMostSleepUs = 1000;
  core::Communicator& own = meeting_.communicator();
  Inquiry inquiry;
  inquiry.question = question;
  const core::ChannelLock lock(own.channel().progress);
  begin(&inquiry);
  own.channel().progress.wait([&] { return answered(&inquiry); },
                              [&](WaitReport* report) {
                                report->words += words;
                                if (owner_ == nullptr)
                                  report->wait_for(static_cast<int>(own.peer_index(0)));
                              },
                              kMostSleepUs);
  *answer = inquiry.answer;
  return inquiry.failed;
}

void Service::release_range() noexcept {
  core::Communicator& own = meeting_.communicator();
  if (owner_ != nullptr) {
    Answer answer;
    (void)owner_->answer(own.rank(), release_, &answer);
    return try_waiting();
  }
  // All releases are equal, so earlier messages may still read release_.
  if (releasing_ != nullptr) std::exchange(releasing_, nullptr)->release();
  if (own.channel().pml->isend_locked(block_of(own, release_), between(own, 0, kReleaseTag),
                                      &releasing_) != MPI_SUCCESS)
    (void)take_last_error();  // rank 0 has ended
}

}  // namespace tern::io
