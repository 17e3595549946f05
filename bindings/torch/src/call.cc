// SPDX-License-Identifier: Apache-2.0
// The name, the deadline and the errors of a call.
#include "call.hpp"

#include <unistd.h>

#include <cstdio>

#include "extensions.hpp"

namespace torch_tern {

namespace {

// Grace period for data in flight after a peer's end.
constexpr Milliseconds kMoment{300};

}  // namespace

Call::Call(std::shared_ptr<Group> group, const char* words, Milliseconds wanted)
    : group_(std::move(group)), words_(words), timeout_(group_->timeouts.of(wanted, ending_)) {
  group_->refuse_dead();
  group_->note_begin(words_, begun_);
}

std::string Call::name() const {
  return std::string(words_) + (peer_ ? "" : " number " + std::to_string(sequence_)) +
         " of group \"" + group_->name() + "\"";
}

void Call::set_sequence(std::uint64_t sequence) {
  sequence_ = sequence;
  is_numbered_ = true;
  last_call.sequence.store(static_cast<std::int64_t>(sequence), std::memory_order_relaxed);
}

void Call::note_end() {
  group_->note_end();
  for (const auto& extension : ending_) {
    extension->is_over = true;
  }
}

void Call::take_back() {
  group_->note_end();
  if (is_numbered_) {
    group_->take_back(sequence_);
  }
}

bool Call::waits_in_vain(int member, const Group::EndOfRank& end) const {
  if (Clock::now() - waits_since_ < kMoment) {
    return false;
  }
  if (peer_ && *peer_ != MPI_ANY_SOURCE) {
    return *peer_ == member;
  }
  return end.has_died || (!peer_ && sequence_ >= end.calls);
}

std::string Call::overdue(Milliseconds time) const {
  int rank = 0;
  MPI_Comm_rank(group_->comm(), &rank);
  return name() + " did not complete on rank " + std::to_string(rank) + " of " +
         std::to_string(group_->size()) + " before the timeout of " + std::to_string(time.count()) +
         " ms: a rank has died, or did not make this call";
}

void Call::end_overdue(Milliseconds time) const { group_->end_overdue(overdue(time)); }

std::unique_ptr<Timer> Call::watch() const {
  return std::make_unique<Timer>(after(Clock::now(), timeout_), [this] {
    const std::string words = overdue(timeout_);
    group_->end_overdue(words);
    if (!extensions().comm_interrupt) {
      std::fprintf(
          stderr,
          "tern: %s. This libmpi_abi.so.1 cannot interrupt a pending call, so this process exits\n",
          words.c_str());
      _exit(1);
    }
  });
}

std::exception_ptr Call::error_of(int code) const {
  const std::string text = code == MPI_SUCCESS ? std::string() : sentence(code);
  const bool is_differing = is_truncated(code) || text.find("different sizes") != std::string::npos;
  const std::string own = is_differing && description_.call[0] != '\0'
                              ? ". This rank calls " + description_.words() +
                                    "; TERN_CHECK=collective compares the calls of all ranks"
                              : "";
  if (code != MPI_SUCCESS && is_fatal(code)) {
    group_->end_broken(std::string(words_) + " failed: " + text + own);
  }
  if (group_->fate().dead()) {
    return failure(group_->fate().why());
  }
  return own.empty() ? exception_of(code) : failure(text + own);
}

}  // namespace torch_tern
