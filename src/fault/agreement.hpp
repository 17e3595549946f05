// SPDX-License-Identifier: Apache-2.0
// Agreement: the members of a communicator on one host agree on a flag and on the failed members,
// although members may die at any time. Shrink: agreements until the failed members stay the same.
// Protocol: a member writes its half of the board, and releases the half's number. Then the member
// reads each other half: a half with the number counts. A half without the number does not count if
// it still lacks the number when read again *after* the death of its owner is known. A dead process
// writes no more, so all survivors read the same halves, and compute the same result.
// Order: halves alternate by the parity of the number. A member begins n + 1 after the end of n, so
// a half of n is overwritten (by n + 2) only after all living members have written n + 1, and have
// read all halves of n.
// Steps: step() makes at most one access to the board, so a model test can interleave any accesses
// of members (tests/unit/fault/agreement_test.cc), and a nonblocking agreement resumes anywhere.
// Threads: the caller's. Cost: a cache line per member; no allocation without failures.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "fault/word.hpp"

namespace tern::fault {

/// The words of a half. The number is stored with release and loaded with acquire.
enum class Field : uint8_t { kNumber, kFlag, kSeen, kAcked };

/// The board's list of dead processes only grows. dead_member() returns the member of a position
/// below a loaded length, or -1 for a process outside the communicator. is_dead() may say no for a
/// while after a death, but says yes only for a process that will never store again.
template <class B>
concept Board = requires(B& board, int member, uint64_t number, Field field, uint32_t position) {
  {board.store(number, field, uint64_t{})};
  { board.load(member, number, field) } -> std::convertible_to<uint64_t>;
  { board.is_dead(member) } -> std::convertible_to<bool>;
  { board.deaths() } -> std::convertible_to<uint32_t>;
  { board.dead_member(position) } -> std::convertible_to<int>;
};

struct Proposal {
  uint32_t flag = ~0U;
  uint32_t acked = 0;  // a prefix of the list of dead processes
};

/// The combination of all halves that count. The failures are the members in the first `seen`
/// entries of the list, and the absent members, whose halves do not count.
struct Outcome {
  uint32_t flag = ~0U, seen = 0, acked = ~0U;
  std::vector<int> absent;

  bool operator==(const Outcome&) const = default;
};

enum class Progress : uint8_t {
  kMoved,
  kWaits,  // for a living member; more steps without an event are in vain
  kDone,
};

class Agreement {
 public:
  enum class Phase : uint8_t {
    kLook,
    kStoreFlag,
    kStoreSeen,
    kStoreAcked,
    kStoreNumber,
    kRead,
    kReadFlag,
    kReadSeen,
    kReadAcked,
    kAskDeath,
    kReadAgain,
    kDone,
  };

  /// Numbers begin at 1 and rise by 1 for each agreement of the communicator.
  Agreement(uint64_t number, int self, int members, const Proposal& proposal) noexcept;

  /// Throws std::bad_alloc before the step.
  template <Board B>
  Progress step(B& board);

  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] int reads() const noexcept { return member_; }
  [[nodiscard]] const Outcome& outcome() const noexcept { return outcome_; }

 private:
  template <Board B>
  void write(B& board);
  template <Board B>
  Progress read(B& board);
  Progress next_member() noexcept;

  uint64_t number_;
  int self_, members_;
  int member_ = -1;
  Phase phase_ = Phase::kLook;
  Outcome outcome_;
};

/// Returns the result for the caller and for other hosts. Throws std::bad_alloc.
template <Board B>
[[nodiscard]] Word word_of(const Outcome& outcome, const B& board);

/// Shrink repeats agreements until the failed members are those of the agreement before.
/// `failed_before` is the result of the communicator's last agreement, so a shrink without new
/// failures takes one agreement. All survivors do the same number of agreements, because all have
/// the same results.
class Shrink {
 public:
  Shrink(uint64_t number, int self, int members, uint32_t acked, std::vector<int> failed_before);

  template <Board B>
  Progress step(B& board);
  /// Takes the result of an agreement made elsewhere, and returns whether the shrink is complete.
  bool take(const Word& result);

  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }
  [[nodiscard]] const std::vector<int>& failed() const noexcept { return failed_; }

 private:
  int self_, members_;
  uint32_t acked_;
  Agreement agreement_;
  std::vector<int> failed_;
};

template <Board B>
Progress Agreement::step(B& board) {
  if (phase_ < Phase::kRead) {
    write(board);
    return phase_ == Phase::kDone ? Progress::kDone : Progress::kMoved;
  }
  return read(board);
}

template <Board B>
void Agreement::write(B& board) {
  switch (phase_) {
    case Phase::kLook:
      outcome_.seen = board.deaths();
      phase_ = Phase::kStoreFlag;
      break;
    case Phase::kStoreFlag:
      board.store(number_, Field::kFlag, outcome_.flag);
      phase_ = Phase::kStoreSeen;
      break;
    case Phase::kStoreSeen:
      board.store(number_, Field::kSeen, outcome_.seen);
      phase_ = Phase::kStoreAcked;
      break;
    case Phase::kStoreAcked:
      board.store(number_, Field::kAcked, outcome_.acked);
      phase_ = Phase::kStoreNumber;
      break;
    default:
      board.store(number_, Field::kNumber, number_);
      next_member();
  }
}

template <Board B>
Progress Agreement::read(B& board) {
  const auto load = [&](Field field) { return board.load(member_, number_, field); };
  switch (phase_) {
    case Phase::kRead:
      phase_ = load(Field::kNumber) == number_ ? Phase::kReadFlag : Phase::kAskDeath;
      return Progress::kMoved;
    case Phase::kReadFlag:
      outcome_.flag &= static_cast<uint32_t>(load(Field::kFlag));
      phase_ = Phase::kReadSeen;
      return Progress::kMoved;
    case Phase::kReadSeen:
      outcome_.seen = std::max(outcome_.seen, static_cast<uint32_t>(load(Field::kSeen)));
      phase_ = Phase::kReadAcked;
      return Progress::kMoved;
    case Phase::kReadAcked:
      outcome_.acked = std::min(outcome_.acked, static_cast<uint32_t>(load(Field::kAcked)));
      return next_member();
    case Phase::kAskDeath:
      if (!board.is_dead(member_)) {
        phase_ = Phase::kRead;
        return Progress::kWaits;
      }
      phase_ = Phase::kReadAgain;
      return Progress::kMoved;
    case Phase::kReadAgain:
      if (load(Field::kNumber) == number_) {
        phase_ = Phase::kReadFlag;
        return Progress::kMoved;
      }
      outcome_.absent.push_back(member_);
      return next_member();
    default:
      return Progress::kDone;
  }
}

namespace detail {
[[nodiscard]] Word word_of(const Outcome& outcome, std::vector<int> seen, std::vector<int> acked);
}

template <Board B>
Word word_of(const Outcome& outcome, const B& board) {
  std::vector<int> seen, acked;
  for (uint32_t i = 0; i < std::max(outcome.seen, outcome.acked); ++i) {
    const int member = board.dead_member(i);
    if (member < 0) continue;
    if (i < outcome.seen) seen.push_back(member);
    if (i < outcome.acked) acked.push_back(member);
  }
  return detail::word_of(outcome, std::move(seen), std::move(acked));
}

template <Board B>
Progress Shrink::step(B& board) {
  const Progress progress = agreement_.step(board);
  if (progress != Progress::kDone) return progress;
  return take(word_of(agreement_.outcome(), board)) ? Progress::kDone : Progress::kMoved;
}

}  // namespace tern::fault
