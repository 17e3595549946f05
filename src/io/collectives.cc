// SPDX-License-Identifier: Apache-2.0
#include "io/collectives.hpp"

#include <new>
#include <utility>

#include "io/collective_call.hpp"

namespace tern::io {
namespace {

constexpr int64_t kLooksUs = 20'000;  // ranks of this host may die without a doorbell

template <class Done, class Describe>
void wait(core::Channel& channel, Done&& done, const Describe& describe) noexcept {
  const core::ChannelLock lock(channel.progress);
  channel.progress.wait(done, describe, kLooksUs);
}

}  // namespace

Collectives::Collectives(core::Object& file, Meeting& meeting, const RawFile& raw,
                         FileWindow& window, const Hints& hints, Pointers& pointers,
                         Service& service)
    : file_(file), channel_(meeting.communicator().channel()), shared_{meeting, raw,      window,
                                                                       hints,   pointers, service,
                                                                       {},      false,    nullptr,
                                                                       {},      false,    nullptr} {
  core::Communicator& own = meeting.communicator();
  if (own.size() == 1) return;
  shared_.checks_calls = own.process().params.checks("collective");
  if (own.process().params.checks("files"))
    shared_.overlaps = std::make_unique<OverlapCheck>(own, raw);
}

Collectives::~Collectives() {
  if (!polled_) return;
  const core::ChannelLock lock(channel_.progress);
  channel_.progress.remove(this);
}

void Collectives::wait_for_queue() noexcept {
  if (queue_.empty()) return;
  wait(
      channel_, [this] { return queue_.empty(); },
      [this](WaitReport* report) { queue_.front()->describe(report); });
}

void Collectives::finish() noexcept { wait_for_queue(); }

Failure Collectives::run(const Call& call, size_t* done) noexcept {
  *done = 0;
  wait_for_queue();
  if (shared_.fate.dead()) return shared_.fate.reason();
  try {
    Transfer transfer(shared_, call, false);
    if (!transfer.valid()) return failure(MPI_ERR_NO_MEM, "no memory for a collective transfer");
    transfer.resume();
    while (!transfer.done()) {
      wait(
          channel_, [&] { return transfer.ready(); },
          [&](WaitReport* report) { transfer.describe(report); });
      transfer.resume();
    }
    *done = transfer.moved();
    return transfer.failed();
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory for a collective transfer");
  }
}

core::Ref<FileRequest> Collectives::start(const Call& call) {
  auto made = core::Ref<CollectiveCall>::adopt(new CollectiveCall(file_, channel_, shared_, call));
  if (!made->valid()) throw std::bad_alloc();
  const core::ChannelLock lock(channel_.progress);
  if (!polled_) channel_.progress.add(&Collectives::poll, this);
  polled_ = true;
  queue_.push_back(made);
  (void)advance();
  return core::Ref<FileRequest>(made.get());
}

int Collectives::poll(void* self) noexcept { return static_cast<Collectives*>(self)->advance(); }

int Collectives::advance() noexcept {
  int events = 0;
  while (!queue_.empty() && queue_.front()->advance()) {
    queue_.pop_front();
    ++events;
  }
  return events;
}

bool Collectives::meet(Card* card) noexcept {
  Meeting& meeting = shared_.meeting;
  meeting.post(*card);
  wait(
      channel_, [&] { return meeting.over(); },
      [&](WaitReport* report) { meeting.describe(report); });
  if (meeting.failed()) {
    (void)shared_.fate.end(meeting.failed());
    return false;
  }
  *card = meeting.result();
  return true;
}

Failure Collectives::check(CheckedCall call) noexcept {
  if (!shared_.checks_calls) return {};
  wait_for_queue();
  if (shared_.fate.dead()) return shared_.fate.reason();
  call.place = core::current_call;
  CallCheck check(call, shared_.meeting.communicator().rank(), shared_.raw.name().c_str());
  Card card;
  while (!check.over()) {
    card = check.card({});
    if (!meet(&card)) return shared_.fate.reason();
    check.take(card);
  }
  if (!check.failed()) return card.error();
  shared_.meeting.end(check.failed());
  (void)shared_.fate.end(check.failed());
  return check.failed();
}

Failure Collectives::agree(Card* card) noexcept {
  if (Failure failed = check({})) return failed;
  wait_for_queue();
  if (shared_.fate.dead() || !meet(card)) return shared_.fate.reason();
  return card->error();
}

}  // namespace tern::io
