// SPDX-License-Identifier: Apache-2.0
// tern_coll simulate: a schedule's time and busiest link on a model of a machine.
#include "coll/laboratory/simulate/simulate.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "base/params.hpp"
#include "coll/gpu/stream_calls.hpp"
#include "coll/laboratory/simulate/driver_costs.hpp"
#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/laboratory/simulate/predict.hpp"
#include "coll/lower/lower.hpp"
#include "coll/topology/routes.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

/// Returns the given levels, else hosts as divided by the network.
coll::Levels levels_on(const coll::Topology& topology, const Options& options, int32_t ranks) {
  if (!options.levels.empty()) return coll::Levels::from_sizes(ranks, options.levels);
  std::vector<int64_t> hosts = coll::hosts_of(topology);
  hosts.resize(static_cast<size_t>(ranks));
  return coll::Levels::from_names({hosts});
}

int simulate_workload(const Options& options) {
  const coll::PredictedWorkload found =
      coll::predict(coll::load_workload(options.workload), machine_of(options));
  std::string text = strf("%s on %s; a model, no measurement\n", options.workload.c_str(),
                          name_of_machine(options).c_str());
  text += strf("computation   %.1f us\ncommunication %.1f us\n", found.computation,
               found.communication);
  text +=
      "   calls  collective          bytes    ranks  quickest               us each     us in "
      "all\n";
  for (const coll::PredictedCall& one : found.calls)
    text += strf("%8lld  %-16s %8s %8d  %-18s %11.1f %13.1f\n", static_cast<long long>(one.count),
                 coll::name_of(one.call.collective),
                 bytes_in_words(static_cast<unsigned long long>(one.call.bytes)).c_str(),
                 one.call.ranks, one.row == nullptr ? "not modelled" : one.row->name, one.time,
                 one.time * static_cast<double>(one.count));
  if (found.left_out > 0)
    text += strf("%lld calls are not modelled and not counted\n",
                 static_cast<long long>(found.left_out));
  write_output(options, text);
  return 0;
}

std::string driver_in_words(const std::vector<coll::Schedule>& schedules,
                            const coll::Topology& topology, int64_t bytes) {
  coll::Routes routes(topology);
  const auto mapped = [&](int32_t from, int32_t to) { return routes.between(from, to).mapped; };
  for (int32_t from = 0; from < schedules[0].ranks; ++from)
    for (int32_t to = 0; to < schedules[0].ranks; ++to)
      if (!mapped(from, to))
        return strf("driver   none: GPUs of ranks %d and %d do not map each other's memory\n", from,
                    to);
  const std::vector<coll::Schedule> lowered = coll::lower(schedules, mapped);
  std::vector<std::string> complaints;
  const size_t scratch = Params::from(::environ, &complaints).gpu_scratch;
  coll::StreamCalls most;
  for (int32_t rank = 0; rank < static_cast<int32_t>(lowered.size()); ++rank) {
    coll::Placed placed;
    std::string why;
    if (!coll::place(lowered, rank, &placed, &why))
      return strf("driver   not by this engine: %s\n", why.c_str());
    const coll::StreamCalls calls = coll::stream_calls(placed, bytes, scratch);
    if (calls.calls > most.calls) most = calls;
  }
  const coll::DriverCosts cost;
  const auto us = [](MPI_Count count, double each) { return static_cast<double>(count) * each; };
  return strf(
      "driver   modelled: %lld calls of a rank, %.0f us of its processor (a call %g us)\n"
      "         modelled: %lld copies, %lld kernels, %lld waits on its GPU, %.0f us in sequence "
      "(%g, %g, %g us each)\n"
      "         in %lld pass%s of a scratch of %s; not part of the time above\n",
      static_cast<long long>(most.calls), us(most.calls, cost.call), cost.call,
      static_cast<long long>(most.copies), static_cast<long long>(most.kernels),
      static_cast<long long>(most.waits),
      us(most.copies, cost.copy) + us(most.kernels, cost.kernel) + us(most.waits, cost.wait),
      cost.copy, cost.kernel, cost.wait, static_cast<long long>(most.passes),
      most.passes == 1 ? "" : "es", bytes_in_words(scratch).c_str());
}

std::string report(const Options& options, const coll::Algorithm& row, int32_t ranks,
                   const coll::Topology& topology, const coll::Simulated& found) {
  const std::string bytes = bytes_in_words(static_cast<unsigned long long>(options.bytes));
  std::string text = strf(
      "%s %s, %d ranks, %s of %s on %s, %s engine, %d pass%s; a model, no "
      "measurement\n",
      coll::name_of(row.collective), row.name, ranks,
      coll::splits(row.collective) ? "a vector" : "blocks", bytes.c_str(),
      name_of_machine(options).c_str(), options.stream ? "stream" : "host", found.passes,
      found.passes == 1 ? "" : "es");
  text += strf("time     %.1f us\n", found.time);
  if (row.collective != coll::Collective::kBarrier)
    text += strf(
        "busbw    %.1f GB/s\n",
        coll::bus_bandwidth(row.collective, ranks, static_cast<double>(options.bytes), found.time));
  if (found.busiest < 0) return text + "busiest  no link is used\n";
  const coll::Topology::Link& link = topology.links[static_cast<size_t>(found.busiest)];
  return text + strf("busiest  %s: %.1f%% of %g GB/s\n",
                     topology.name_of_link(found.busiest).c_str(), 100 * found.share,
                     link.bandwidth());
}

/// Host schedules of a row with a symmetry are not all built.
std::string simulate_row(const Options& options, const coll::Algorithm& row, int32_t ranks,
                         const coll::Topology& topology, const coll::Levels* levels,
                         const coll::Plan* plan) {
  const coll::Simulation what{
      .engine = options.stream ? coll::SimulatedEngine::kStream : coll::SimulatedEngine::kHost,
      .bytes = static_cast<double>(options.bytes),
      .chunk =
          static_cast<double>(options.chunk < 0 ? static_cast<int64_t>(row.chunk) : options.chunk),
      .fit = options.chunk < 0};
  const int32_t root = std::max(options.root, 0) % ranks;
  if (!options.stream && plan == nullptr && !coll::neighborly(row.collective))
    return report(options, row, ranks, topology,
                  coll::simulate(coll::Pattern::of(row, ranks, root, levels), topology, what));
  const std::vector<coll::Schedule> schedules =
      schedules_of(options, row, ranks, root, levels, plan);
  const std::string text =
      report(options, row, ranks, topology, coll::simulate(schedules, topology, what));
  return options.stream ? text + driver_in_words(schedules, topology, options.bytes) : text;
}

}  // namespace

int simulate(const Options& options) {
  if (!options.workload.empty()) return simulate_workload(options);
  if (options.collective.empty() || options.algorithm.empty())
    throw Error(MPI_ERR_ARG,
                "simulate needs a collective and an algorithm (tern_coll list prints both), or "
                "--workload=FILE");
  const coll::Algorithm& row = *rows_of(options)[0];
  const coll::Topology topology = machine_of(options);
  if (options.bytes <= 0 && row.collective != coll::Collective::kBarrier)
    throw Error(MPI_ERR_ARG, "simulate needs --bytes=N, of the vector or of one block: 256m");
  const int32_t ranks = options.most_ranks == 0 ? topology.ranks() : options.most_ranks;
  if (ranks > topology.ranks())
    throw Error(MPI_ERR_ARG, strf("%d ranks, but %s has %d GPUs", ranks,
                                  name_of_machine(options).c_str(), topology.ranks()));
  const std::shared_ptr<const coll::Plan> plan = plan_of(options, row);
  const coll::Levels levels = levels_on(topology, options, ranks);
  const coll::Levels* const told = levels.empty() ? nullptr : &levels;
  if (!coll::serves(row, ranks, told, plan.get()))
    throw Error(MPI_ERR_ARG,
                strf("%s %s does not serve %d ranks%s; tern_coll list prints its needs",
                     coll::name_of(row.collective), row.name, ranks,
                     told == nullptr ? " on one host (--levels=4 makes hosts of 4)" : ""));
  write_output(options, simulate_row(options, row, ranks, topology, told, plan.get()));
  return 0;
}

}  // namespace tern::coll_tool
