// SPDX-License-Identifier: Apache-2.0
// Translates mpirun's options for srun and prterun.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/dry_run.hpp"
#include "tools/mpirun/elsewhere.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/output_files.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/spawn.hpp"

namespace tern::mpirun {
namespace {

using Words = std::vector<std::string>;

const char* srun_unit(Unit unit) {
  switch (unit) {
    case Unit::kThread:
      return "threads";
    case Unit::kCore:
      return "cores";
    case Unit::kNuma:
      return "ldoms";
    case Unit::kPackage:
      return "sockets";
    case Unit::kL3:
    case Unit::kMachine:
      break;
  }
  throw Error(MPI_ERR_ARG,
              "--bind-to l3cache: srun, used for several hosts, lacks "
              "this object; numa is the nearest");
}

const char* prte_unit(Unit unit) {
  switch (unit) {
    case Unit::kThread:
      return "hwthread";
    case Unit::kCore:
      return "core";
    case Unit::kL3:
      return "l3cache";
    case Unit::kNuma:
      return "numa";
    case Unit::kPackage:
      return "package";
    case Unit::kMachine:
      break;
  }
  return "slot";
}

void common_environment(const Options& options, Handover& out) {
  out.environment = options.environment;
  out.unset = options.unset;
}

std::string joined_hosts(const std::vector<Host>& hosts, bool with_slots) {
  std::string text;
  for (const Host& host : hosts) {
    text += (text.empty() ? "" : ",") + host.name;
    if (with_slots && host.slots > 0) text += strf(":%d", host.slots);
  }
  return text;
}

std::size_t distinct(const std::vector<Host>& hosts) {
  std::set<std::string> names;
  for (const Host& host : hosts) names.insert(host.name);
  return names.size();
}

Words program_of(const App& app) {
  Words words = app.command;
  if (!app.search_path.empty())
    words[0] = find_program(app.command[0], app.directory, app.search_path, std::getenv("PATH"));
  return words;
}

Words wrapped(const App& app, bool with_folder) {
  Words words;
  const bool folder = with_folder && !app.directory.empty();
  if (folder || !app.environment.empty()) words.emplace_back("env");
  if (folder) words.insert(words.end(), {"-C", app.directory});
  for (const auto& [name, value] : app.environment) words.push_back(name + "=" + value);
  const Words program = program_of(app);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

// Returns the ranks of the whole job; 0: srun decides by the allocation.
int srun_ranks(const Options& options, const Allocation& allocation) {
  if (options.apps.size() == 1 && options.apps[0].ranks == 0) {
    const int hosts =
        options.hosts.empty() ? allocation.nodes : static_cast<int>(distinct(options.hosts));
    int slots = 0;
    for (const Host& host : options.hosts) slots += host.slots;
    return options.per_node > 0 ? options.per_node * hosts : slots;
  }
  int sum = 0;
  for (const App& app : options.apps) sum += app.ranks > 0 ? app.ranks : 1;
  return sum;
}

void srun_places(const Options& options, Words& words) {
  const Placing& placing = options.placing;
  if (placing.per_unit > 0 && placing.map != Unit::kMachine)
    throw Error(MPI_ERR_ARG,
                "--map-by ppr: srun, used for several hosts, has only "
                "ranks per node: use -N");
  if (placing.per_unit > 0) words.push_back(strf("--ntasks-per-node=%d", placing.per_unit));
  if (placing.cores_each > 0) words.push_back(strf("--cpus-per-task=%d", placing.cores_each));
  if (placing.map != Unit::kMachine && placing.per_unit == 0)
    words.emplace_back("--distribution=block:cyclic");
  std::string bind = options.report_bindings ? "verbose" : "";
  const auto add = [&bind](const char* text) {
    bind += (bind.empty() ? "" : ",") + std::string(text);
  };
  if (placing.bind == Bind::kNone) add("none");
  if (placing.bind == Bind::kUnit) add(srun_unit(placing.bind_unit));
  if (!bind.empty()) words.push_back("--cpu-bind=" + bind);
  if (placing.may_oversubscribe) words.emplace_back("--overcommit");
}

void srun_streams(const Options& options, int ranks, Words& words) {
  if (options.timestamp_output)
    throw Error(MPI_ERR_ARG,
                "--timestamp: srun, used for several hosts, has no "
                "timestamps; use --tag-output");
  if (options.tag_output) words.emplace_back("--label");
  words.push_back(options.input == Input::kAll    ? "--input=all"
                  : options.input == Input::kNone ? "--input=none"
                                                  : strf("--input=%d", options.input_rank));
  if (options.output_directory.empty()) return;
  if (ranks == 0)
    throw Error(MPI_ERR_ARG, "--output on several hosts needs the number of ranks: -n N");
  make_output_folders(options.output_directory, ranks);
  words.push_back("--output=" + options.output_directory + "/rank.%t/stdout");
  words.push_back("--error=" + options.output_directory + "/rank.%t/stderr");
}

std::string program_list(const Options& options) {
  std::string text;
  int rank = 0;
  for (const App& app : options.apps) {
    const int ranks = app.ranks > 0 ? app.ranks : 1;
    text += ranks == 1 ? strf("%d ", rank) : strf("%d-%d ", rank, rank + ranks - 1);
    text += quoted(wrapped(app, true)) + "\n";
    rank += ranks;
  }
  return text;
}

// With OVERSUBSCRIBE each program begins on the first host, even if another host has free slots.
bool may_exceed_slots(const Options& options) {
  const auto known = [](const App& app) { return app.ranks > 0; };
  if (options.hosts.empty() || !std::all_of(options.apps.begin(), options.apps.end(), known))
    return true;
  int slots = 0;
  for (const Host& host : options.hosts) slots += std::max(host.slots, 1);
  return options.ranks() > slots;
}

void prte_places(const Options& options, Words& words) {
  const Placing& placing = options.placing;
  std::string map = prte_unit(placing.map);
  if (placing.per_unit > 0)
    map = strf("ppr:%d:%s", placing.per_unit,
               placing.map == Unit::kMachine ? "node" : prte_unit(placing.map));
  else if (options.per_node > 0)
    map = strf("ppr:%d:node", options.per_node);
  if (placing.cores_each > 0) map += strf(":PE=%d", placing.cores_each);
  if (placing.may_oversubscribe && may_exceed_slots(options)) map += ":OVERSUBSCRIBE";
  words.insert(words.end(), {"--map-by", map});
  if (placing.rank_given) words.insert(words.end(), {"--rank-by", prte_unit(placing.rank)});
  if (placing.bind == Bind::kNone) words.insert(words.end(), {"--bind-to", "none"});
  if (placing.bind == Bind::kUnit)
    words.insert(words.end(), {"--bind-to", prte_unit(placing.bind_unit)});
  if (options.report_bindings) words.insert(words.end(), {"--display", "bind"});
}

void prte_streams(const Options& options, Words& words) {
  if (options.tag_output) words.insert(words.end(), {"--output", "tag"});
  if (options.timestamp_output) words.insert(words.end(), {"--output", "timestamp"});
  if (!options.output_directory.empty())
    words.insert(words.end(), {"--output", "dir=" + options.output_directory});
  if (options.input != Input::kRank || options.input_rank != 0)
    words.insert(words.end(),
                 {"--stdin", options.input == Input::kAll    ? "all"
                             : options.input == Input::kNone ? "none"
                                                             : strf("%d", options.input_rank)});
  if (options.timeout_s > 0)
    words.insert(words.end(), {"--timeout", strf("%.0f", std::ceil(options.timeout_s))});
}

// prterun passes its environment to ranks of its own host only. It puts its prefix into
// LD_LIBRARY_PATH, where the ranks' libraries could be found wrongly.
void prte_variables(const Options& options, const App& app, const char* const* inherited,
                    Words& words) {
  std::set<std::string> done;
  const auto add = [&done, &words](const std::string& name, const std::string& text) {
    if (done.insert(name).second) words.insert(words.end(), {"-x", text});
  };
  for (const auto& [name, value] : variables_of(options, app)) add(name, name + "=" + value);
  done.insert(options.unset.begin(), options.unset.end());
  for (const std::string& name : names_for_other_hosts(inherited)) add(name, name);
  add("LD_LIBRARY_PATH", "LD_LIBRARY_PATH=");
}

}  // namespace

Handover for_srun(const Options& options, const Allocation& allocation) {
  Handover out;
  common_environment(options, out);
  Words& words = out.words;
  words = {"srun", "--mpi=pmix", "--export=ALL"};
  for (const App& app : options.apps)
    if (!app.sets.empty())
      throw Error(MPI_ERR_ARG, strf("--pset %s: srun, used for several hosts, has no "
                                    "process sets",
                                    app.sets[0].c_str()));
  const int ranks = srun_ranks(options, allocation);
  if (ranks > 0) words.insert(words.end(), {"-n", std::to_string(ranks)});
  if (options.per_node > 0) words.push_back(strf("--ntasks-per-node=%d", options.per_node));
  if (!options.hosts.empty())
    words.insert(words.end(), {"-N", std::to_string(distinct(options.hosts)), "-w",
                               joined_hosts(options.hosts, false)});
  else if (options.per_node > 0 && ranks > 0)
    words.insert(words.end(),
                 {"-N", std::to_string((ranks + options.per_node - 1) / options.per_node)});
  srun_places(options, words);
  srun_streams(options, ranks, words);
  if (options.timeout_s > 0) {
    const auto seconds = static_cast<long>(std::ceil(options.timeout_s));
    words.push_back(strf("--time=%ld:%02ld", seconds / 60, seconds % 60));
  }
  if (options.quiet) words.emplace_back("--quiet");
  if (options.apps.size() > 1) {
    out.programs = program_list(options);
    words.insert(words.end(), {"--multi-prog", kProgramsFile});
    return out;
  }
  const App& app = options.apps[0];
  if (!app.directory.empty()) words.push_back("--chdir=" + app.directory);
  const Words program = wrapped(app, false);
  words.insert(words.end(), program.begin(), program.end());
  return out;
}

Handover for_prterun(const Options& options, const Prterun& prterun, const char* const* inherited) {
  Handover out;
  common_environment(options, out);
  Words& words = out.words;
  if (!prterun.prefix.empty()) words = {"env", "PRTE_PREFIX=" + prterun.prefix};
  words.push_back(prterun.path);
  if (options.as_root) words.emplace_back("--allow-run-as-root");
  if (parameters_of(options).ft != 0)
    words.insert(words.end(), {"--rtos", "continuous,recoverable,notifyerrors"});
  prte_places(options, words);
  prte_streams(options, words);
  bool first = true;
  for (const App& app : options.apps) {
    if (!first) words.emplace_back(":");
    if (first && !options.hosts.empty())  // later programs go to the slots left
      words.insert(words.end(), {"--host", joined_hosts(options.hosts, true)});
    first = false;
    if (app.ranks > 0) words.insert(words.end(), {"-n", std::to_string(app.ranks)});
    if (!app.directory.empty()) words.insert(words.end(), {"--wdir", app.directory});
    for (const std::string& name : app.sets) words.insert(words.end(), {"--pset", name});
    prte_variables(options, app, inherited, words);
    const Words program = program_of(app);
    words.insert(words.end(), program.begin(), program.end());
  }
  return out;
}

}  // namespace tern::mpirun
