// SPDX-License-Identifier: Apache-2.0
#include "io/call_check.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/digest.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

/// The functions for MPI_Count match the others.
int length_of(const char* function) noexcept {
  const size_t length = std::strlen(function);
  const bool large = length > 2 && std::strcmp(function + length - 2, "_c") == 0;
  return static_cast<int>(large ? length - 2 : length);
}

int64_t digest_of(const char* words) noexcept {
  return static_cast<int64_t>(digest_text(words) >> 1);
}

}  // namespace

CallCheck::Words CallCheck::words() const noexcept {
  Words words;
  const char* const name = mine_.place.call == nullptr ? "an unknown call" : mine_.place.call;
  const int length = length_of(name);
  if (mine_.representation != nullptr)
    (void)std::snprintf(words.text, sizeof words.text, "%.*s with etypes of %lld bytes in %.64s",
                        length, name, static_cast<long long>(mine_.etype_extent),
                        mine_.representation);
  else if (const View* const view = mine_.view; view != nullptr)
    (void)std::snprintf(words.text, sizeof words.text,
                        "%.*s in a view of %lld of each %lld bytes from byte %lld on, in etypes of "
                        "%lld",
                        length, name, static_cast<long long>(view->filetype().size()),
                        static_cast<long long>(view->filetype().extent()),
                        static_cast<long long>(view->disp()),
                        static_cast<long long>(view->etype_bytes()));
  else
    (void)std::snprintf(words.text, sizeof words.text, "%.*s", length, name);
  return words;
}

Card CallCheck::card(const Failure& failed) const noexcept {
  Card card;
  const Words mine = words();
  const int64_t digest = digest_of(mine.text);
  if (step_ == Step::kCompare) {
    card.set_error(failed);
    card.first = card.last = digest;
  } else if (digest == (step_ == Step::kNameLow ? low_ : high_)) {
    card.set_error(failure(MPI_ERR_NOT_SAME, "rank %d calls %s", rank_, mine.text));
    card.first = rank_;
  }
  return card;
}

void CallCheck::take(const Card& all) noexcept {
  switch (step_) {
    case Step::kCompare:
      low_ = all.first;
      high_ = all.last;
      step_ = all.code != MPI_SUCCESS || low_ == high_ ? Step::kOver : Step::kNameLow;
      return;
    case Step::kNameLow:
      low_side_ = all.error();
      low_ = all.first;  // the rank
      step_ = Step::kNameHigh;
      return;
    case Step::kNameHigh: {
      Failure high_side = all.error();
      if (all.first < low_) std::swap(low_side_, high_side);
      failed_ = failure(MPI_ERR_NOT_SAME,
                        "%s, but %s, as the same collective call of %s (TERN_CHECK=collective)",
                        low_side_.text.c_str(), high_side.text.c_str(), file_);
      step_ = Step::kOver;
      return;
    }
    case Step::kOver:
      return;
  }
}

}  // namespace tern::io
