// SPDX-License-Identifier: Apache-2.0
#include "io/service.hpp"

#include <new>

#include "base/log.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr int kQuestionTag = 2, kAnswerTag = 3;

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
  owner_ = nullptr;
}

int Service::poll(void* self) noexcept { return static_cast<Service*>(self)->serve(); }

int Service::serve() noexcept {
  int events = 0;
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
  if (owner_->answer(rank, question, &answer)) {
    reply(rank, answer);
    if (question.what == Question::Asks::kRelease) try_waiting();
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
    reply(waiting_[i].rank, answer);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
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

Failure Service::ask(const Question& question, const char* words, Answer* answer) noexcept {
  core::Communicator& own = meeting_.communicator();
  const core::ChannelLock lock(own.channel().progress);
  if (owner_ != nullptr) {
    const auto answered = [&] { return owner_->answer(own.rank(), question, answer); };
    own.channel().progress.wait(
        answered, [&](WaitReport* report) { report->words += words; }, 1000);
    if (question.what == Question::Asks::kRelease) try_waiting();
    return {};
  }
  core::Request *sent = nullptr, *received = nullptr;
  Question asked = question;
  int code = own.channel().pml->irecv_locked(block_of(own, *answer), between(own, 0, kAnswerTag),
                                             &received);
  if (code == MPI_SUCCESS)
    code =
        own.channel().pml->isend_locked(block_of(own, asked), between(own, 0, kQuestionTag), &sent);
  if (code != MPI_SUCCESS) {
    if (received != nullptr) received->release();
    return {code, take_last_error().text};
  }
  own.channel().progress.wait([&] { return received->done() && sent->done(); },
                              [&](WaitReport* report) {
                                report->words += words;
                                report->wait_for(static_cast<int>(own.peer_index(0)));
                              });
  Failure failed;
  if (received->outcome.error != MPI_SUCCESS)
    failed = failure(
        received->outcome.error, "%s",
        received->error_text != nullptr ? received->error_text->c_str() : "rank 0 does not answer");
  else if (answer->code != MPI_SUCCESS)
    failed = failure(answer->code, "rank 0 refuses");
  received->release();
  sent->release();
  return failed;
}

}  // namespace tern::io
