// SPDX-License-Identifier: Apache-2.0
// Flights: nonempty queues, pooled calls, retired slabs.
#include "coll/flat/flights.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/explain.hpp"

namespace tern::coll {
namespace {
constexpr size_t kSweptAtOnce = 8;
}  // namespace

Flights::~Flights() {
  for (auto& slab : retired_) slab->forget();
  for (const auto& call : calls_.all())
    if (call->handle() != 0) executions_.process().handles.erase(*call);
}

FlatCall* Flights::acquire() {
  FlatCall* const call = calls_.acquire();
  return call != nullptr ? call : calls_.add(std::make_unique<FlatCall>(*this));
}

void Flights::release(FlatCall& call) noexcept { calls_.release(call); }

std::unique_ptr<FlatQueue> Flights::make_queue(core::Communicator& communicator, const Lane& lane) {
  auto made = std::make_unique<FlatQueue>(*this, communicator, lane);
  flights_.reserve(++queues_);  // list() cannot fail
  return made;
}

void Flights::list(FlatQueue& queue) noexcept {
  if (queue.listed) return;
  queue.listed = true;
  flights_.push_back(&queue);
}

void Flights::unlist(const FlatQueue& queue) noexcept {
  --queues_;
  if (queue.listed) std::erase(flights_, &queue);
}

void Flights::poll(int* events) noexcept {
  for (size_t i = 0; i < flights_.size();) {
    FlatQueue& queue = *flights_[i];
    FlatCall* ended = nullptr;
    queue.advance(&ended, events);
    if (queue.empty()) {
      queue.listed = false;
      flights_[i] = flights_.back();
      flights_.pop_back();
    } else {
      ++i;
    }
    while (ended != nullptr) {
      FlatCall& call = *ended;
      ended = call.next();
      call.finish();  // finish() may free the queue
    }
  }
}

void Flights::refuse(core::Communicator& communicator, const Failure& why,
                     const Failure& error) noexcept {
  FlatCall* ended = nullptr;
  for (FlatQueue* const queue : flights_)
    if (&queue->communicator() == &communicator) {
      for (const FlatCall* call = queue->first(); call != nullptr; call = call->next())
        refusals().broken_off(communicator, call->number(), why);
      queue->refuse(error, &ended);
    }
  while (ended != nullptr) std::exchange(ended, ended->next())->finish();
}

std::unique_ptr<Slab> Flights::make_slab(core::Communicator& communicator, Slab::Size size,
                                         const Lane* flight) {
  sweep(kSweptAtOnce);
  auto made = std::make_unique<Slab>(communicator, size, flight);
  if (made->number() == core::Slabs::kNone && !retired_.empty()) {
    sweep(retired_.size());
    made = std::make_unique<Slab>(communicator, size, flight);
  }
  retired_.reserve(retired_.size() + ++slabs_in_use_);  // retire() cannot fail
  return made;
}

void Flights::lacks_slabs(const core::Communicator& communicator) {
  --slabs_in_use_;
  executions_.process().explain.say(
      "fallback", {{"what", "messages"}, {"communicator", communicator.name.text()}},
      strf("nonblocking collectives on %s use messages instead of shared memory: a rank has more "
           "communicators and persistent requests than slabs; free unused communicators and "
           "requests",
           communicator.name.or_words("a communicator").c_str()));
}

// Readers are checked later, because at the end of the job the peers' memory may be gone.
void Flights::retire(std::unique_ptr<Slab> slab) noexcept {
  if (slab->deep != nullptr) retire(std::move(slab->deep));
  --slabs_in_use_;
  slab->leave();
  retired_.push_back(std::move(slab));
}

void Flights::sweep(size_t most) noexcept {
  for (size_t looked = std::min(retired_.size(), most); looked > 0; --looked) {
    if (swept_ >= retired_.size()) swept_ = 0;
    if (!retired_[swept_]->over()) {
      ++swept_;
      continue;
    }
    retired_[swept_] = std::move(retired_.back());
    retired_.pop_back();
  }
}

}  // namespace tern::coll
