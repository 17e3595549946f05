// SPDX-License-Identifier: Apache-2.0
#include "io/pointers.hpp"

#include "core/channel.hpp"
#include "mpi.h"

namespace tern::io {

void Pointers::restart() noexcept {
  set(0);
  ++view_;
  meeting_.board(meeting_.communicator().rank())->view.store(view_, std::memory_order_release);
}

/// A rank of this host may still use the view whose entry this view takes.
void Pointers::await_room(uint64_t view) noexcept {
  if (view <= Board::kPointers) return;
  const uint64_t least = view - Board::kPointers + 1;
  const auto has_room = [&] {
    for (const int rank : meeting_.locals())
      if (meeting_.board(rank)->view.load(std::memory_order_acquire) < least &&
          !meeting_.has_died(rank))
        return false;
    return true;
  };
  if (has_room()) return;
  core::Progress& progress = meeting_.communicator().channel().progress;
  const core::ChannelLock lock(progress);
  progress.wait(
      has_room,
      [](WaitReport* report) { report->words += "ranks that use an earlier view of a file"; },
      1000);
}

Failure Pointers::change(uint64_t view, bool sets, int64_t etypes, int64_t* before) noexcept {
  PointerEntry& entry = meeting_.board(0)->pointers[view % Board::kPointers];
  bool fits = true;
  meeting_.take_guard();
  if (entry.view < view) entry = {view, 0};
  *before = entry.etypes;
  if (sets)
    entry.etypes = etypes;
  else
    fits = !__builtin_add_overflow(entry.etypes, etypes, &entry.etypes);
  if (!fits) entry.etypes = *before;
  meeting_.drop_guard();
  if (fits) return {};
  return failure(MPI_ERR_ARG, "the shared file pointer would exceed 64 bits");
}

Failure Pointers::ask(Question::Asks what, int64_t etypes, int64_t* before) noexcept {
  if (meeting_.on_one_host() && meeting_.board(0) != nullptr) {
    await_room(view_);
    return change(view_, what == Question::Asks::kSet, etypes, before);
  }
  Question question;
  question.what = what;
  question.view = view_;
  question.from = etypes;
  Answer answer;
  Failure failed = service_.ask(question, "the shared pointer of a file, kept by rank 0", &answer);
  *before = answer.value;
  return failed;
}

Failure Pointers::add_shared(int64_t etypes, int64_t* before) noexcept {
  return ask(Question::Asks::kAdd, etypes, before);
}

Failure Pointers::set_shared(int64_t etypes) noexcept {
  int64_t before = 0;
  return ask(Question::Asks::kSet, etypes, &before);
}

}  // namespace tern::io
