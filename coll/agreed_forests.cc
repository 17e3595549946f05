// SPDX-License-Identifier: Apache-2.0
// Coll: the job's graph, and forests of earlier jobs, which only the lowest rank reads. Without a
// file all ranks make equal forests, so this agreement is the only one, and no call waits for a
// forest of another rank.
#include <algorithm>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/forest/store.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr const char* kAgreementName = "the agreement on forests (TERN_TOPOLOGY)";

Failure broadcast(Executions& executions, core::Communicator& world, std::string* text) {
  Operation operation;
  operation.collective = Collective::kBcast;
  operation.communicator = &world;
  operation.output = {text->data(), static_cast<MPI_Count>(text->size()),
                      &core::predefined_type(world.process(), MPI_BYTE)};
  operation.serves = kAgreementName;
  Execution* const made = executions.bound(
      operation, *find_algorithm(Collective::kBcast, "binomial"), nullptr, nullptr, nullptr);
  Failure why = made->run();
  made->release();
  return why;
}

}  // namespace

void Coll::set_graph(const std::shared_ptr<const forest::ForestPlan>& plan, bool with_sessions) {
  context_.world_plan = plan;
  if (with_sessions) context_.plan = plan;
  if (plan != nullptr) context_.selector.set_graph(plan->topology());
}

void Coll::set_agreed(const std::shared_ptr<const forest::ForestPlan>& plan) {
  const core::ChannelLock lock(context_.channel.progress);
  context_.world_plan = plan;
  core::Communicator& world = *context_.process.world;
  if (world.coll == nullptr || &world.channel() != &context_.channel) return;
  auto& state = static_cast<CommState&>(*world.coll);
  if (state.plan != nullptr) state.plan = plan;
  state.memo.forget();
}

forest::Forests Coll::agree_on_forests(core::Communicator& world, const Topology& machine,
                                       std::string text) {
  const core::ChannelLock lock(context_.channel.progress);
  Executions& executions = context_.executions;
  const auto all_can = [&](auto&& act) {
    const Failure why = attempt(act, [] { return failure(MPI_ERR_NO_MEM, "no memory"); });
    const std::vector<uint32_t> all = executions.exchange(world, why ? 0 : 1, kAgreementName);
    return std::find(all.begin(), all.end(), 0U) == all.end();
  };
  const auto bytes =
      executions.exchange(world, static_cast<uint32_t>(text.size()), kAgreementName)[0];
  if (bytes == 0 || bytes > forest::PlanStore::kMostBytes) return {};
  const bool room = all_can([&] {
    text.resize(bytes);
    return Failure{};
  });
  if (!room) return {};
  if (Failure why = broadcast(executions, world, &text)) throw Error(std::move(why));
  forest::Forests forests;
  const bool certified = all_can([&] {
    forests = forest::certified_forests(text, kAgreementName, machine);
    return Failure{};
  });
  return certified ? forests : forest::Forests();
}

}  // namespace tern::coll
