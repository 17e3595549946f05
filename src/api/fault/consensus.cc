// SPDX-License-Identifier: Apache-2.0
#include "api/fault/consensus.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "core/datatype.hpp"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

constexpr int kTag = INT_MIN + 1, kArity = 4;

}  // namespace

/// Access of fault::HostAgreement to the board, and to other hosts.
class Consensus::Port {
 public:
  Port(Consensus& of, uint64_t number) noexcept : of_(of), number_(number) {}

  [[nodiscard]] bool is_dead(int member) const noexcept {
    const uint32_t peer = of_.quorum_.peers[static_cast<size_t>(member)];
    return of_.carrier_->process().deaths.has(peer);
  }
  void send(const fault::HostMessage& message) { of_.send(message, number_); }
  void record(const fault::HostResult& result) {
    of_.detector_.memory().record(of_.own_, number_, result);
    of_.detector_.memory().ring();
  }
  [[nodiscard]] std::optional<fault::HostResult> recorded(int member) const {
    const auto at = std::find(of_.order_.begin(), of_.order_.end(), member) - of_.order_.begin();
    const fault::BoardEntry* const entry = of_.entries_[static_cast<size_t>(at)];
    if (entry == nullptr) return std::nullopt;
    return of_.detector_.memory().recorded(*entry, number_);
  }

 private:
  Consensus& of_;
  const uint64_t number_;
};

Consensus::Consensus(const Detector& detector, uint64_t id, Quorum quorum, fault::BoardEntry& own,
                     core::Ref<core::Communicator> carrier)
    : detector_(detector),
      id_(id),
      quorum_(std::move(quorum)),
      hosts_(quorum_.hosts, kArity),
      own_(own),
      carrier_(std::move(carrier)),
      order_(quorum_.hosts[static_cast<size_t>(quorum_.host_of(quorum_.self))]) {
  const size_t here = order_.size();
  for (int place = 0; place < static_cast<int>(quorum_.peers.size()); ++place)
    if (!std::binary_search(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(here), place))
      order_.push_back(place);
  entries_.resize(here);
  for (const int place : order_)
    numbers_.push_back(detector_.number_of(quorum_.peers[static_cast<size_t>(place)]));
  const auto self = std::find(order_.begin(), order_.end(), quorum_.self) - order_.begin();
  entries_[static_cast<size_t>(self)] = &own_;
  board_.emplace(static_cast<int>(self), entries_, numbers_, detector_.memory().deaths(),
                 fault::DeathQuery{});
  if (has_hosts()) {
    room_.resize(most_words(quorum_.peers.size()));
    listen();
  }
}

Consensus::~Consensus() {
  if (listening_ != nullptr) {
    listening_->cancel_locked();
    listening_->release();
  }
  for (Sent& one : sent_) {
    // A transport may still read the words.
    if (!one.request->done()) (void)new (std::nothrow) std::vector<uint32_t>(std::move(one.words));
    one.request->release();
  }
  if (carrier_) carrier_.leak()->free();
}

void Consensus::begin(uint32_t flag, uint32_t acked) {
  const auto self = std::find(order_.begin(), order_.end(), quorum_.self) - order_.begin();
  local_.emplace(number_ + 1, static_cast<int>(self), static_cast<int>(entries_.size()),
                 fault::Proposal{flag, acked});
  agreed_on_host_ = false;
}

bool Consensus::step() {
  if (!agreed_on_host_ && !step_on_host()) return false;
  return !has_hosts() || step_between_hosts();
}

bool Consensus::step_on_host() {
  const fault::HostMemory& memory = detector_.memory();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i] != nullptr) continue;
    const uint32_t peer = quorum_.peers[static_cast<size_t>(order_[i])];
    entries_[i] = memory.find(static_cast<uint32_t>(detector_.member_of(peer)), id_);
  }
  for (;;) {
    const bool writes = local_->phase() == fault::Agreement::Phase::kStoreNumber;
    const fault::Progress progress = local_->step(*board_);
    if (writes) memory.ring();
    if (progress == fault::Progress::kWaits) return false;
    if (progress == fault::Progress::kDone) break;
  }
  fault::Word word = fault::word_of(local_->outcome(), *board_);
  for (auto* list : {&word.failed, &word.acked}) {
    for (int& member : *list) member = order_[static_cast<size_t>(member)];
    std::sort(list->begin(), list->end());
  }
  agreed_on_host_ = true;
  if (has_hosts())
    between(number_ + 1).start(std::move(word));
  else
    end(std::move(word));
  return true;
}

bool Consensus::step_between_hosts() {
  Port port(*this, number_ + 1);
  fault::HostAgreement& agreement = between(number_ + 1);
  for (;;) {
    const fault::Progress progress = agreement.step(port);
    if (progress == fault::Progress::kWaits) return false;
    if (progress == fault::Progress::kDone) break;
  }
  end(agreement.result());
  while (!between_.empty() && between_.begin()->first < number_) between_.erase(between_.begin());
  return true;
}

// A transport may have lost a living process; all go on without.
void Consensus::end(fault::Word word) noexcept {
  if (std::binary_search(word.failed.begin(), word.failed.end(), quorum_.self)) {
    log_line("the other members of a communicator have found this rank dead; this rank ends");
    ::_exit(1);
  }
  result_ = std::move(word);
  ++number_;
  local_.reset();
  own_.left.store(number_, std::memory_order_release);
}

fault::HostAgreement& Consensus::between(uint64_t number) {
  std::unique_ptr<fault::HostAgreement>& one = between_[number];
  if (one == nullptr) one = std::make_unique<fault::HostAgreement>(hosts_, quorum_.self);
  return *one;
}

void Consensus::listen() {
  core::Datatype& byte = core::predefined_type(carrier_->process(), MPI_BYTE);
  const core::Data room{room_.data(), static_cast<MPI_Count>(room_.size() * sizeof room_[0]), &byte,
                        cuda::MemoryKind::kHost};
  if (carrier_->channel().pml->irecv_locked(
          room, {carrier_.get(), MPI_ANY_SOURCE, kTag, pml::Plane::kInternal}, &listening_) !=
      MPI_SUCCESS) {
    log_line("agreements hear no other host: %s", take_last_error().text.c_str());
    listening_ = nullptr;
  } else {
    listening_->made_at = {};
  }
}

int Consensus::serve() {
  std::erase_if(sent_, [](const Sent& one) {
    if (!one.request->done()) return false;
    one.request->release();
    return true;
  });
  int served = 0;
  for (; listening_ != nullptr && listening_->done(); ++served) {
    const core::Outcome outcome = listening_->outcome;
    std::exchange(listening_, nullptr)->release();
    std::vector<uint32_t> words;
    if (outcome.error == MPI_SUCCESS)
      words.assign(room_.begin(), room_.begin() + outcome.bytes / ptrdiff_t{sizeof room_[0]});
    listen();
    if (outcome.error != MPI_SUCCESS) continue;
    fault::HostMessage message;
    uint64_t number = 0;
    if (!unpack(words, quorum_, &message, &number)) {
      log_line("ignored a damaged message of an agreement");
      continue;
    }
    if (number + 1 < number_) continue;  // all hosts have ended this agreement
    message.to = quorum_.self;
    Port port(*this, number);
    between(number).receive(port, message);
  }
  // Agreements that have ended here answer other hosts.
  for (auto& [number, one] : between_) {
    if (number > number_) break;
    Port port(*this, number);
    while (one->step(port) == fault::Progress::kMoved) ++served;
  }
  return served;
}

void Consensus::send(const fault::HostMessage& message, uint64_t number) {
  const uint32_t peer = quorum_.peers[static_cast<size_t>(message.to)];
  if (carrier_->process().deaths.has(peer)) return;
  core::Datatype& byte = core::predefined_type(carrier_->process(), MPI_BYTE);
  Sent& one = sent_.emplace_back(Sent{pack(message, number)});
  const core::Data data{one.words.data(),
                        static_cast<MPI_Count>(one.words.size() * sizeof one.words[0]), &byte,
                        cuda::MemoryKind::kHost};
  const int code = carrier_->channel().pml->isend_locked(
      data, {carrier_.get(), message.to, kTag, pml::Plane::kInternal}, &one.request);
  if (code == MPI_SUCCESS) return;
  (void)take_last_error();  // the peer is lost
  sent_.pop_back();
}

// An entry with another id: the member has left.
bool Consensus::all_have_left() const noexcept {
  if (has_hosts()) return false;
  const core::Deaths* const deaths = &detector_.deaths();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const fault::BoardEntry* const entry = entries_[i];
    if (entry != nullptr && entry->id.load(std::memory_order_acquire) == id_ &&
        entry->left.load(std::memory_order_acquire) < number_ &&
        !deaths->has(quorum_.peers[static_cast<size_t>(order_[i])]))
      return false;
  }
  return true;
}

}  // namespace tern::api
