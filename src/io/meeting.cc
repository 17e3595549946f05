// SPDX-License-Identifier: Apache-2.0
#include "io/meeting.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "base/doorbell.hpp"
#include "io/tags.hpp"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr size_t kSlabHead = 64;  // belongs to all users of the slab
static_assert(kSlabHead + sizeof(Board) <= core::Slabs::kSmallBytes);

}  // namespace

void Card::add(const Card& next) noexcept {
  if (code == 0 && next.code != 0) {
    code = next.code;
    std::memcpy(text, next.text, sizeof text);
  }
  flags |= next.flags;
  if (bytes > 0 && next.bytes > 0 && next.first < last) flags |= kInterleaved;
  first = std::min(first, next.first);
  last = std::max(last, next.last);
  bytes += next.bytes;
  blocks += next.blocks;
  bits |= next.bits;
  if (offer.pid == 0) offer = next.offer;
}

void Card::set_error(const Failure& failure) noexcept {
  code = failure.code;
  const size_t length = failure.text.copy(text, sizeof text - 1);
  text[length] = '\0';
}

Failure Card::error() const noexcept {
  return code == 0 ? Failure{} : failure(code, "%.*s", static_cast<int>(sizeof text - 1), text);
}

Meeting::Meeting(core::Communicator& own) noexcept : own_(own), slabs_(own.channel().slabs) {
  if (slabs_ == nullptr || own.size() == 1) return;
  slab_ = slabs_->claim(core::Slabs::Size::kSmall);
  if (slab_ == core::Slabs::kNone) return;
  mine_ = new (slabs_->own(core::Slabs::Size::kSmall, slab_) + kSlabHead) Board{};
}

Meeting::~Meeting() {
  end_exchange();
  for (core::Request* request : last_sends_) {
    if (!request->done()) (void)last_.release();  // the sender still reads the card
    request->release();
  }
  // After the end of a rank, the others may still read the board.
  if (slab_ != core::Slabs::kNone && !failed_) slabs_->release(core::Slabs::Size::kSmall, slab_);
}

int Meeting::connect(const std::vector<uint32_t>& slabs) {
  int lowest = own_.rank();
  const int ranks = own_.size();
  boards_.resize(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Neighbor& one = boards_[static_cast<size_t>(rank)];
    const uint32_t slab = slabs[static_cast<size_t>(rank)];
    if (rank == own_.rank()) {
      one.board = mine_;
    } else if (slab_ != core::Slabs::kNone && slab != core::Slabs::kNone &&
               own_.shares_memory_with(rank)) {
      one.board = reinterpret_cast<Board*>(
          slabs_->of(own_.peer(rank), core::Slabs::Size::kSmall, slab) + kSlabHead);
      one.bell = &slabs_->bell(own_.peer(rank));
    }
    if (one.board != nullptr) lowest = std::min(lowest, rank);
  }
  return lowest;
}

void Meeting::post(const Card& card) noexcept {
  if (failed_) return;  // the board keeps the last card
  ++number_;
  next_local_ = 0;
  mine_->cards[number_ & 1] = card;
  mine_->posted.store(number_, std::memory_order_release);
  wake_locals();
}

void Meeting::wake_locals() const noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const int rank : locals())
    if (Doorbell* const bell = boards_[static_cast<size_t>(rank)].bell; bell != nullptr)
      bell->ring(false);
}

bool Meeting::has_died(int rank) const noexcept {
  const core::Deaths& deaths = own_.process().deaths;
  if (deaths.tolerated()) return deaths.has(own_.peer_index(rank));
  return rank != own_.rank() && board(rank) != nullptr && slabs_->has_died(own_.peer(rank));
}

void Meeting::take_guard() const noexcept {
  constexpr uint32_t kSpins = 1000;
  std::atomic<uint64_t>& guard = board(0)->guard;
  const uint64_t mine = static_cast<uint64_t>(own_.rank()) + 1;
  for (uint32_t spins = 1;; ++spins) {
    uint64_t holder = 0;
    if (guard.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return;
    if (spins % kSpins != 0) continue;
    if (has_died(static_cast<int>(holder) - 1) &&
        guard.compare_exchange_strong(holder, mine, std::memory_order_acquire))
      return;
    ::sched_yield();
  }
}

bool Meeting::finds_dead(size_t from, size_t to) noexcept {
  constexpr uint32_t kRoundsBetweenLooks = 255;
  constexpr int64_t kPeriodNs = 100'000'000;
  const core::Deaths& deaths = own_.process().deaths;
  // A sleeping rank polls rarely.
  if ((++rounds_ & kRoundsBetweenLooks) != 0 && !own_.channel().progress.is_before_sleep() &&
      deaths.count() == 0)
    return false;
  const int64_t now = now_ns();
  if (!deaths.tolerated() && now - looked_ns_ < kPeriodNs) return false;
  looked_ns_ = now;
  for (size_t i = from; i < to; ++i) {
    const int rank = locals()[i];
    const Board& other = *board(rank);
    const Card& next = other.cards[(number_ + 1) & 1];
    if (other.posted.load(std::memory_order_acquire) > number_ && (next.flags & Card::kDead) != 0)
      failed_ = next.error();
    else if (has_died(rank))
      failed_ = failure(own_.process().deaths.lost_class(),
                        "rank %d ended during a collective operation on the file", rank);
    if (failed_) return true;
  }
  return false;
}

bool Meeting::all_posted() noexcept {
  for (; next_local_ < locals().size(); ++next_local_)
    if (board(locals()[next_local_])->posted.load(std::memory_order_acquire) < number_)
      return false;
  return true;
}

void Meeting::combine_locals(Card* sum) const noexcept {
  *sum = Card{};
  for (const int rank : locals()) sum->add(board(rank)->cards[number_ & 1]);
}

namespace {

pml::Buffer block_of(core::Communicator& own, Card& card) noexcept {
  return {&card, sizeof card, &core::predefined_type(own.process(), MPI_BYTE),
          cuda::MemoryKind::kHost};
}

pml::Envelope leader_at(core::Communicator& own, int rank) noexcept {
  return {&own, rank, kCardTag, pml::Plane::kInternal};
}

}  // namespace

bool Meeting::listen() noexcept {
  exchange_ = Exchange::kListening;
  const std::vector<int>& leaders = hosts_.leaders();
  try {
    far_.assign(leaders.size(), Card{});
    requests_.assign(2 * leaders.size(), nullptr);
  } catch (const std::bad_alloc&) {
    failed_ = failure(MPI_ERR_NO_MEM, "no memory for the cards of %zu hosts", leaders.size());
    return false;
  }
  for (size_t i = 0; i < leaders.size(); ++i) {
    if (leaders[i] == own_.rank()) continue;
    const int code = own_.channel().pml->irecv_locked(
        block_of(own_, far_[i]), leader_at(own_, leaders[i]), &requests_[2 * i]);
    if (code == MPI_SUCCESS) continue;
    failed_ = {code, take_last_error().text};
    return false;
  }
  return true;
}

bool Meeting::start_exchange() noexcept {
  if (exchange_ == Exchange::kIdle && !listen()) return false;
  exchange_ = Exchange::kUnderWay;
  const std::vector<int>& leaders = hosts_.leaders();
  Card& sum = mine_->results[number_ & 1];
  combine_locals(&sum);
  for (size_t i = 0; i < leaders.size(); ++i) {
    if (leaders[i] == own_.rank()) continue;
    const int code = own_.channel().pml->isend_locked(
        block_of(own_, sum), leader_at(own_, leaders[i]), &requests_[2 * i + 1]);
    if (code == MPI_SUCCESS) continue;
    failed_ = {code, take_last_error().text};
    return false;
  }
  return true;
}

namespace {

Failure error_of(const core::Request& request) noexcept {
  return failure(
      request.outcome.error, "%s",
      request.error_text == nullptr ? "a host is unreachable" : request.error_text->c_str());
}

}  // namespace

bool Meeting::exchanged() noexcept {
  if (exchange_ != Exchange::kUnderWay && !start_exchange()) return true;
  for (core::Request*& request : requests_) {
    if (request == nullptr) continue;
    if (!request->done()) return false;
    if (request->outcome.error != MPI_SUCCESS) {
      failed_ = error_of(*request);
      return true;
    }
    request->release();
    request = nullptr;
  }
  exchange_ = Exchange::kIdle;
  Card sum{};
  for (size_t i = 0; i < far_.size(); ++i)
    sum.add(hosts_.leaders()[i] == own_.rank() ? mine_->results[number_ & 1] : far_[i]);
  publish(sum, number_);
  return true;
}

void Meeting::end_exchange() noexcept {
  for (core::Request*& request : requests_) {
    if (request == nullptr) continue;
    if (!request->done()) request->cancel_locked();
    request->release();
    request = nullptr;
  }
}

void Meeting::publish(const Card& sum, uint64_t number) noexcept {
  mine_->results[number & 1] = sum;
  mine_->published.store(number, std::memory_order_release);
  wake_locals();
}

void Meeting::tell_end() noexcept {
  if (on_one_host() || !is_leader() || last_ != nullptr) return;
  last_.reset(new (std::nothrow) Card);
  if (last_ == nullptr) return;
  last_->set_error(failed_);
  last_->flags = Card::kDead;
  // Between meetings, the other ranks find the card in front of the next meeting.
  const bool is_over = mine_->published.load(std::memory_order_relaxed) == number_;
  publish(*last_, is_over ? number_ + 1 : number_);
  for (const int leader : hosts_.leaders()) {
    if (leader == own_.rank()) continue;
    core::Request* sent = nullptr;
    if (own_.channel().pml->isend_locked(block_of(own_, *last_), leader_at(own_, leader), &sent) !=
        MPI_SUCCESS)
      continue;
    try {
      last_sends_.push_back(sent);
    } catch (const std::bad_alloc&) {
      sent->release();
    }
  }
}

bool Meeting::over() noexcept {
  if (failed_) return true;
  if (!all_posted()) {
    if (!hears_end() && !finds_dead(next_local_, locals().size())) return false;
    tell_end();
    return true;
  }
  if (on_one_host()) {
    combine_locals(&result_);
    return true;
  }
  const Board& leader = *board(locals().front());
  if (leader.published.load(std::memory_order_acquire) < number_) {
    if (!is_leader()) return finds_dead(0, 1);
    if (!exchanged()) return false;
    if (failed_) {
      tell_end();
      return true;
    }
  }
  result_ = leader.results[number_ & 1];
  if ((result_.flags & Card::kDead) == 0) return true;
  failed_ = result_.error();
  tell_end();
  return true;
}

void Meeting::give_up(const Failure& why) noexcept {
  if (failed_) return;
  Card card;
  card.set_error(why);
  card.flags = Card::kDead;
  post(card);
  failed_ = why;
  tell_end();
}

bool Meeting::finds_end() noexcept {
  if (failed_) return true;
  if (!on_one_host() && is_leader()) {
    (void)hears_end();
  } else if (!on_one_host()) {
    const Board& leader = *board(locals().front());
    const Card& next = leader.results[(number_ + 1) & 1];
    if (leader.published.load(std::memory_order_acquire) > number_ &&
        (next.flags & Card::kDead) != 0)
      failed_ = next.error();
  }
  if (!failed_ && !finds_dead(0, locals().size())) return false;
  // The ranks in the next meeting wait for this rank's card.
  give_up(std::exchange(failed_, {}));
  return true;
}

bool Meeting::hears_end() noexcept {
  if (on_one_host()) return false;
  if (!is_leader()) {
    const Board& leader = *board(locals().front());
    const Card& result = leader.results[number_ & 1];
    if (leader.published.load(std::memory_order_acquire) < number_ ||
        (result.flags & Card::kDead) == 0)
      return false;
    failed_ = result.error();
    return true;
  }
  if (exchange_ == Exchange::kIdle && !listen()) return true;
  for (size_t i = 0; i < far_.size() && !failed_; ++i) {
    const core::Request* const card = requests_[2 * i];
    if (card == nullptr || !card->done()) continue;
    if (card->outcome.error != MPI_SUCCESS)
      failed_ = error_of(*card);
    else if ((far_[i].flags & Card::kDead) != 0)
      failed_ = far_[i].error();
  }
  return static_cast<bool>(failed_);
}

void Meeting::describe(WaitReport* report) const {
  report->words += "other ranks in a collective operation on a file";
  for (size_t i = next_local_; i < locals().size(); ++i)
    if (locals()[i] != own_.rank()) core::report_wait_for(own_.peer(locals()[i]), report);
}

}  // namespace tern::io
