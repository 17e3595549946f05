// SPDX-License-Identifier: Apache-2.0
// Messages at the origin: completed operations, flushes, and remote locks.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "rma/engine.hpp"
#include "rma/messages.hpp"

namespace tern::rma {

void Engine::join(core::Channel& channel, const Member& member) {
  if (channel.rma == nullptr) {
    channel.rma = new Engine;
    channel.progress.add(&Engine::poll, channel.rma);
  }
  channel.rma->all_.push_back(member);
}

void Engine::leave(core::Channel& channel, const void* self) noexcept {
  Engine* const engine = channel.rma;
  std::erase_if(engine->all_, [self](const Member& member) { return member.self == self; });
  if (!engine->all_.empty()) return;
  channel.progress.remove(engine);
  channel.rma = nullptr;
  delete engine;
}

void Engine::let_go(core::Channel& channel) noexcept {
  if (channel.rma == nullptr) return;
  const core::ChannelLock lock(channel.progress);
  for (const Member& member : channel.rma->all_)
    if (member.let_go != nullptr) member.let_go(member.self);
}

int Engine::poll(void* self) noexcept {
  int events = 0;
  for (const Member& member : static_cast<Engine*>(self)->all_) events += member.poll(member.self);
  return events;
}

int Messages::poll() noexcept {
  return flights_.poll([this](Flight& flight) { end(flight); }) + target_side_.poll();
}

void Messages::end(Flight& flight) noexcept {
  TargetState& to = link(flight.target);
  int error = flight.request->outcome.error;
  if (flight.then == Then::kGranted) to.granted = true;
  if (flight.then == Then::kUnpack && error == MPI_SUCCESS)
    error = core::unpack(process_, flight.into, flight.offset, flight.memory.data(),
                         flight.memory.size())
                .code;
  if (flight.then == Then::kSpread && error == MPI_SUCCESS) spread(flight);
  if (flight.then == Then::kEnded && error == MPI_SUCCESS) {
    Ended told;
    std::memcpy(&told, flight.memory.data(), sizeof told);
    error = told.error;
  }
  if (error != MPI_SUCCESS && to.error == MPI_SUCCESS) to.error = error;
  if (flight.whole) flight.whole->end_part(error);
  --to.open;
}

void Messages::spread(const Flight& flight) noexcept {
  core::Datatype& basic = *flight.basic;
  const std::byte* packed = flight.memory.data();
  const auto count =
      static_cast<MPI_Count>(flight.memory.size() / static_cast<size_t>(basic.extent()));
  const auto bytes = static_cast<size_t>(count * basic.size());
  std::vector<std::byte> copy;
  if (basic.size() != basic.extent()) {
    copy.resize(bytes);
    basic.pack(packed, count, 0, copy.data(), bytes);
    packed = copy.data();
  }
  (void)core::unpack(process_, flight.into, flight.offset, packed, bytes);
}

void Messages::describe(int first, int last, WaitReport* report) {
  report->words += strf("accesses to %s to end", targets_.words().c_str());
  for (int i = first; i <= last; ++i)
    if (link(i).open != 0) core::report_wait_for(communicator_.peer(i), report);
}

int Messages::flush_links(int first, int last, bool local) noexcept {
  for (int i = first; i <= last; ++i) {
    TargetState& to = link(i);
    if (!to.dirty || local) continue;
    Record record{};
    record.verb = Verb::kFlush;
    record.tag = next_tag();
    Flight flight;
    flight.then = Then::kEnded;
    flight.memory.resize(sizeof(Ended));
    const core::Data into{flight.memory.data(), sizeof(Ended), &byte_, cuda::MemoryKind::kHost};
    int code = expect(i, into, record.tag, std::move(flight), nullptr);
    if (code == MPI_SUCCESS) code = send_record(i, record, nullptr, nullptr, nullptr);
    if (code != MPI_SUCCESS) return code;
    to.dirty = to.told = false;
    to.records = 0;
    to.bytes = 0;
  }
  const auto over = [&] {
    for (int i = first; i <= last; ++i)
      if (link(i).open != 0) return false;
    return true;
  };
  (void)targets_.progress().poll_for_caller();
  if (!over())
    targets_.progress().wait(over, [&](WaitReport* report) { describe(first, last, report); });
  return MPI_SUCCESS;
}

int Messages::finish_locked(int target, bool local) noexcept {
  const int first = target < 0 ? 0 : target, last = target < 0 ? targets_.size() - 1 : target;
  int code = flush_links(first, last, local);
  for (int i = first; i <= last; ++i) {
    const int error = std::exchange(link(i).error, MPI_SUCCESS);
    if (error == MPI_SUCCESS || code != MPI_SUCCESS) continue;
    code = targets_.fail_access(i, error);
  }
  return code;
}

int Messages::finish(int target, bool local) noexcept {
  const core::ChannelLock lock(targets_.progress());
  return finish_locked(target, local);
}

int Messages::finish_notices() noexcept {
  const core::ChannelLock lock(targets_.progress());
  for (TargetState& to : links_) to.dirty = to.dirty || to.told;
  return finish_locked(-1, false);
}

int Messages::ask_lock(int target, bool exclusive) noexcept try {
  Record record{};
  record.verb = Verb::kLock;
  record.flags = exclusive ? Record::kExclusive : uint8_t{0};
  record.tag = next_tag();
  link(target).granted = false;
  Flight flight;
  flight.then = Then::kGranted;
  flight.memory.resize(1);
  const core::Data into{flight.memory.data(), 0, &byte_, cuda::MemoryKind::kHost};
  const int code = expect(target, into, record.tag, std::move(flight), nullptr);
  return code != MPI_SUCCESS ? code : send_record(target, record, nullptr, nullptr, nullptr);
} catch (const std::bad_alloc&) {
  return fail(MPI_ERR_NO_MEM, "no memory to request the lock of rank %d", target);
}

int Messages::await_lock(int target) noexcept {
  targets_.progress().wait([&] { return link(target).granted; },
                           [&](WaitReport* report) {
                             report->words += strf("the lock of rank %d in %s", target,
                                                   targets_.words().c_str());
                             core::report_wait_for(communicator_.peer(target), report);
                           });
  return std::exchange(link(target).error, MPI_SUCCESS) == MPI_SUCCESS
             ? MPI_SUCCESS
             : fail(MPI_ERR_OTHER, "cannot request the lock of rank %d", target);
}

int Messages::tell(Verb verb, int target, uint8_t flags) noexcept try {
  Record record{};
  record.verb = verb;
  record.flags = flags;
  return send_record(target, record, nullptr, nullptr, nullptr);
} catch (const std::bad_alloc&) {
  return fail(MPI_ERR_NO_MEM, "no memory for a message to rank %d", target);
}

void Messages::drain() noexcept {
  const core::ChannelLock lock(targets_.progress());
  targets_.progress().wait([this] { return flights_.empty() && target_side_.idle(); },
                           [this](WaitReport* report) {
                             report->words +=
                                 strf("the last messages of %s", targets_.words().c_str());
                           });
}

}  // namespace tern::rma
