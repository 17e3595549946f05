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
                                                                       {}} {}

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

Failure Collectives::agree(Card* card) noexcept {
  wait_for_queue();
  if (shared_.fate.dead()) return shared_.fate.reason();
  Meeting& meeting = shared_.meeting;
  meeting.post(*card);
  wait(
      channel_, [&] { return meeting.over(); },
      [&](WaitReport* report) { meeting.describe(report); });
  if (meeting.failed()) {
    (void)shared_.fate.end(meeting.failed());
    return meeting.failed();
  }
  *card = meeting.result();
  return card->error();
}

}  // namespace tern::io
