// SPDX-License-Identifier: Apache-2.0
// tern_coll search: algorithms and places for a workload's calls, by simulation.
#include <algorithm>

#include "base/error.hpp"
#include "coll/laboratory/search/model_split.hpp"
#include "coll/laboratory/search/place.hpp"
#include "coll/laboratory/simulate/predict.hpp"
#include "coll/topology/routes.hpp"
#include "mpi.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

constexpr size_t kBestSplits = 10;

std::string head_of(const Options& options) {
  return strf("# %s on %s; a model, no measurement\n", options.workload.c_str(),
              name_of_machine(options).c_str());
}

/// Calls that differ in root or communicator share a line, by the longer time in all.
std::string table_of(const coll::PredictedWorkload& found) {
  std::string text;
  std::vector<std::string> known;
  for (const coll::PredictedCall& one : found.calls) {
    if (one.row == nullptr) continue;
    const std::string call =
        strf("%s %d %.0f", coll::name_of(one.call.collective), one.call.ranks, one.call.bytes);
    if (std::find(known.begin(), known.end(), call) != known.end()) continue;
    known.push_back(call);
    text += strf("%s %s  # %lld calls, %.1f us each\n", call.c_str(), one.row->name,
                 static_cast<long long>(one.count), one.time);
  }
  return text;
}

/// Lines of mpirun's --hostfile: runs of ranks of a host.
std::string host_file_of(const coll::Topology& machine, const coll::Placement& found) {
  const std::vector<int64_t> hosts = coll::hosts_of(machine);
  const auto host = [&](size_t rank) { return hosts[static_cast<size_t>(found.places[rank])]; };
  std::string text =
      "# Rename the hosts. The comments name each rank's GPU on the modelled machine; the program "
      "chooses it.\n";
  std::vector<int64_t> runs;
  for (size_t rank = 0; rank < found.places.size(); ++rank)
    if (rank == 0 || host(rank) != host(rank - 1)) runs.push_back(host(rank));
  std::sort(runs.begin(), runs.end());
  if (std::adjacent_find(runs.begin(), runs.end()) != runs.end())
    text +=
        "# A host has several lines. Launchers for several hosts merge them: renumber the ranks in "
        "the program instead, by MPI_Comm_split with these ranks as keys.\n";
  for (size_t first = 0; first < found.places.size();) {
    size_t end = first;
    std::string gpus;
    for (; end < found.places.size() && host(end) == host(first); ++end)
      gpus += " " + machine.name_of(machine.gpus[static_cast<size_t>(found.places[end])]);
    text += strf("host%lld slots=%zu  # ranks %zu to %zu:%s\n", static_cast<long long>(host(first)),
                 end - first, first, end - 1, gpus.c_str());
    first = end;
  }
  return text;
}

std::string gain_in_words(const coll::Placement& found) {
  const double before = found.before.communication, after = found.after.communication;
  std::string text = strf(
      "# communication of a step: %.1f us with ranks in order, %.1f us placed (%.1f %% less); "
      "%lld placements tried\n",
      before, after, before > 0 ? 100 * (before - after) / before : 0,
      static_cast<long long>(found.tried));
  for (const coll::PredictedCall& one : found.before.calls) {
    const auto same = [&](const coll::PredictedCall& other) {
      return other.call.collective == one.call.collective && other.call.bytes == one.call.bytes &&
             other.call.root == one.call.root && other.call.ranks == one.call.ranks &&
             other.call.communicator == one.call.communicator;
    };
    const auto then = std::find_if(found.after.calls.begin(), found.after.calls.end(), same);
    if (one.row == nullptr || then == found.after.calls.end()) continue;
    text += strf("#   %s %d %.0f of communicator %lld: %s %.1f us, then %s %.1f us\n",
                 coll::name_of(one.call.collective), one.call.ranks, one.call.bytes,
                 static_cast<long long>(one.call.communicator), one.row->name, one.time,
                 then->row->name, then->time);
  }
  return text;
}

std::string parts_in_words(const coll::TrainedModel& model, const coll::ModelSplit& split) {
  std::string text;
  size_t from = 0;
  for (const size_t to : split.ends) {
    const bool one = to == from + 1;
    text += " " + model.layers[from].name;
    text += one ? "" : strf("+%zu", to - from - 1);
    from = to;
  }
  return text;
}

int search_splits(const Options& options) {
  const coll::TrainedModel model = coll::load_model(options.model);
  const coll::Topology machine = machine_of(options);
  std::string text = strf(
      "# %s, %zu layers, on %s, %d GPUs; a model, no measurement\n"
      "# rank (stage * data + replica) * tensor + part; parts of stages: first layer + further\n"
      "   ms a step  data  tensor  stages  interleave  microbatches  GB a GPU  bound by\n",
      options.model.c_str(), model.layers.size(), name_of_machine(options).c_str(),
      machine.ranks());
  for (const coll::ModelSplit& one : coll::split_model(model, machine, kBestSplits)) {
    text += strf("%12.3f %5d %7d %7d %11d %13lld %9.1f  %s\n", one.time / 1000, one.data,
                 one.tensor, one.stages, one.interleave, static_cast<long long>(one.microbatches),
                 one.memory / 1e9, one.bound());
    text += strf(
        "             computation %.3f, tensor sums %.3f, messages %.3f, waiting %.3f, gradients "
        "%.3f ms\n             parts:%s\n",
        one.computation / 1000, one.tensor_sums / 1000, one.messages / 1000, one.waiting / 1000,
        one.gradients / 1000, parts_in_words(model, one).c_str());
  }
  write_output(options, text);
  return 0;
}

int search_places(const Options& options) {
  const coll::Workload workload = coll::load_workload(options.workload);
  const coll::Topology machine = machine_of(options);
  const coll::Placement found = coll::place(workload, machine);
  Options places = options;
  places.output = options.place;
  write_output(places, head_of(options) + host_file_of(machine, found));
  write_output(options, head_of(options) + gain_in_words(found) + table_of(found.after));
  return 0;
}

}  // namespace

int search(const Options& options) {
  if (!options.model.empty() && (!options.workload.empty() || !options.place.empty()))
    throw Error(MPI_ERR_ARG, "search takes --model=FILE, or --workload=FILE with --place=FILE");
  if (!options.model.empty()) return search_splits(options);
  if (options.workload.empty())
    throw Error(MPI_ERR_ARG,
                "search needs --workload=FILE, a list of calls from tern_trace, or --model=FILE, a "
                "model's layers");
  if (!options.place.empty()) return search_places(options);
  const coll::PredictedWorkload found =
      coll::predict(coll::load_workload(options.workload), machine_of(options));
  write_output(options, head_of(options) + table_of(found));
  return 0;
}

}  // namespace tern::coll_tool
