// SPDX-License-Identifier: Apache-2.0
// CommState: hints, and the end of a communicator's state.
#include "coll/comm_state.hpp"

#include "base/error.hpp"
#include "base/explain.hpp"
#include "coll/flat/flights.hpp"
#include "coll/flat/queue.hpp"
#include "coll/gpu/device_calls.hpp"
#include "coll/gpu/teams.hpp"
#include "core/info.hpp"
#include "core/process.hpp"

namespace tern::coll {

CommState::CommState(core::Communicator& owner, Flights& of_channel) noexcept
    : CommRefusals(owner), flights_of_channel_(of_channel) {
  of_channel.refusals().enter(*this);
}

CommState::~CommState() {
  for (const auto& one : {team, own.team})
    if (one != nullptr) GpuTeams::give_back(*one);
  const bool ended = communicator.channel().coll == nullptr;
  if (!ended) flights_of_channel_.refusals().leave(*this);
  for (auto& one : slabs)
    if (one != nullptr && !ended)
      flights_of_channel_.retire(std::move(one));
    else if (one != nullptr)
      one->forget();
  const Explain& explain = communicator.process().explain;
  for (const auto& [size, sum] : measured) {
    const auto& [algorithm, power] = size;
    const unsigned long long bytes = power == 0 ? 0 : 1ULL << (power - 1);
    const auto count = static_cast<double>(sum.count);
    const double took = static_cast<double>(sum.nanoseconds) / 1000 / count;
    explain.say(
        "collective_time",
        {{"operation", name_of(algorithm->collective)},
         {"algorithm", algorithm->name},
         {"bytes", bytes},
         {"count", static_cast<unsigned long long>(sum.count)},
         {"communicator", communicator.name.text()}},
        strf("%s from %s on, %s, %lld times on %s: predicted %.1f us, measured %.1f us",
             name_of(algorithm->collective), bytes_in_words(bytes).c_str(), algorithm->name,
             static_cast<long long>(sum.count),
             communicator.name.or_words("a communicator").c_str(), sum.predicted / count, took));
  }
}

std::unique_ptr<Forced> hints_of(const core::Communicator& communicator) {
  if (!communicator.info) return nullptr;
  std::unique_ptr<Forced> hints;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    const auto value = communicator.info->get(std::string("tern_") + name_of(collective));
    if (!value) continue;
    if (hints == nullptr) hints = std::make_unique<Forced>();
    hints->by[i] = find_algorithm(collective, value->c_str());
  }
  if (const auto wire = communicator.info->get("tern_gpu_wire")) {
    if (hints == nullptr) hints = std::make_unique<Forced>();
    hints->wire = find_wire(*wire).value_or(Wire::kAuto);
  }
  if (communicator.info->get("tern_any_order").value_or("false") == "true") {
    if (hints == nullptr) hints = std::make_unique<Forced>();
    hints->any_order = true;
  }
  return hints;
}

}  // namespace tern::coll
