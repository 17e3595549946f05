// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_coll/options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "base/params.hpp"
#include "coll/forest/forest_plan.hpp"
#include "coll/schedule/level_words.hpp"
#include "coll/topology/generators.hpp"
#include "coll/topology/machines.hpp"
#include "mpi.h"

namespace tern::coll_tool {
namespace {

int32_t number(const std::string& word, const std::string& option) {
  char* end = nullptr;
  const long value = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || value < 0 || value > 1 << 20)
    throw Error(MPI_ERR_ARG, strf("%s needs a number from 0 to 1048576, not \"%s\"", option.c_str(),
                                  word.c_str()));
  return static_cast<int32_t>(value);
}

void set_ranks(Options* options, const std::string& value) {
  const size_t dots = value.find("..");
  options->least_ranks = number(value.substr(0, dots), "--ranks");
  options->most_ranks =
      dots == std::string::npos ? options->least_ranks : number(value.substr(dots + 2), "--ranks");
  if (options->least_ranks < 1 || options->most_ranks < options->least_ranks)
    throw Error(MPI_ERR_ARG, strf("--ranks=%s is no range of one or more ranks", value.c_str()));
}

void set_levels(Options* options, const std::string& value) {
  const coll::LevelWords words = coll::level_words(value, "--levels");
  if (!words.parts.empty())
    throw Error(
        MPI_ERR_ARG,
        strf("--levels=%s: bindings are known only at run time; here levels are sizes (8,2) "
             "or a description (pack:2 l3:2 core:4)",
             value.c_str()));
  options->levels = words.sizes;
}

void set_engine(Options* options, const std::string& value) {
  if (value != "host" && value != "stream")
    throw Error(MPI_ERR_ARG, strf("--engine=%s: engines are host (messages) and stream (puts, "
                                  "signals and waits)",
                                  value.c_str()));
  options->stream = value == "stream";
}

double decimal(const std::string& word, const std::string& option) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (word.empty() || *end != '\0' || !(value > 0 && value <= 1e6))
    throw Error(MPI_ERR_ARG, strf("%s needs a number above 0, up to 1000000, not \"%s\"",
                                  option.c_str(), word.c_str()));
  return value;
}

void set_nvlink(Options* options, const std::string& value) {
  const size_t times = value.find('x');
  if (times == std::string::npos)
    throw Error(MPI_ERR_ARG,
                strf("--nvlink=%s: give links and GB/s of each: --nvlink=18x20.6", value.c_str()));
  options->host.links = number(value.substr(0, times), "--nvlink");
  options->host.bandwidth = decimal(value.substr(times + 1), "--nvlink");
}

void set_option(Options* options, const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name == "--help" || name == "-h")
    options->help = true;
  else if (name == "--version" || name == "-V")
    options->version = true;
  else if (name == "--device")
    options->device = true;
  else if (name == "--ranks")
    set_ranks(options, value);
  else if (name == "--root")
    options->root = number(value, name);
  else if (name == "--levels")
    set_levels(options, value);
  else if (name == "--neighbors")
    options->neighbors = value;
  else if (name == "--engine")
    set_engine(options, value);
  else if (name == "--bytes")
    options->bytes = parse_size(value, name);
  else if (name == "--chunk")
    options->chunk = parse_size(value, name);
  else if (name == "--topology")
    options->topology = value;
  else if (name == "--machine")
    options->machine = value;
  else if (name == "--workload")
    options->workload = value;
  else if (name == "--place" && !value.empty())
    options->place = value;
  else if (name == "--model" && !value.empty())
    options->model = value;
  else if (name == "--groups" && !value.empty())
    options->groups = value;
  else if (name == "--nvlink")
    set_nvlink(options, value);
  else if (name == "--hosts")
    options->host.hosts = number(value, name);
  else if (name == "--network")
    options->host.network = decimal(value, name);
  else if (name == "--output" && !value.empty())
    options->output = value;
  else
    throw Error(MPI_ERR_ARG,
                strf("unknown option %s; options are --ranks=N or N..M, --root=N, --levels=N,..., "
                     "--neighbors=WORD, --engine=host or stream, --bytes=N, --chunk=N, "
                     "--topology=NAME, --machine=WORDS, --workload=FILE, --place=FILE, "
                     "--model=FILE, --groups=FILE, --nvlink=LINKSxGB/s, --hosts=N, --network=GBIT, "
                     "--device, --output=FILE, --help, --version",
                     word.c_str()));
}

std::string with_nearest(const std::string& sentence, const std::string& word,
                         const std::vector<std::string>& known) {
  std::string text = sentence + ": ";
  for (const std::string& one : known) text += one + (&one == &known.back() ? "" : ", ");
  const std::string near = nearest_name(word, known);
  return near.empty() ? text : text + " (did you mean " + near + "?)";
}

}  // namespace

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  std::string* const places[] = {&options.command, &options.collective, &options.algorithm};
  size_t place = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = word.find('=') != std::string::npos || word.compare(0, 2, "--") != 0 ||
                           word == "--help" || word == "--version" || word == "--device";
    if (!has_value && i + 1 < words.size())
      set_option(&options, word + "=" + words[++i]);
    else if (!word.empty() && word[0] == '-')
      set_option(&options, word);
    else if (place < std::size(places))
      *places[place++] = word;
    else
      throw Error(MPI_ERR_ARG, strf("\"%s\" is an extra word", word.c_str()));
  }
  return options;
}

std::vector<const coll::Algorithm*> rows_of(const Options& options) {
  std::vector<const coll::Algorithm*> rows;
  std::vector<std::string> collectives, names;
  for (const coll::Algorithm& row : coll::algorithms()) {
    const std::string collective = coll::name_of(row.collective);
    if (collectives.empty() || collectives.back() != collective) collectives.push_back(collective);
    if (!options.collective.empty() && options.collective != collective) continue;
    names.emplace_back(row.name);
    if (options.algorithm.empty() || options.algorithm == row.name) rows.push_back(&row);
  }
  if (names.empty())
    throw Error(MPI_ERR_ARG,
                with_nearest(strf("unknown collective \"%s\"", options.collective.c_str()),
                             options.collective, collectives));
  if (rows.empty())
    throw Error(MPI_ERR_ARG,
                with_nearest(strf("%s has no algorithm \"%s\"", options.collective.c_str(),
                                  options.algorithm.c_str()),
                             options.algorithm, names));
  return rows;
}

const coll::Levels* levels_of(const Options& options, int32_t ranks, coll::Levels* made) {
  *made = coll::Levels::from_sizes(ranks, options.levels);
  return made->empty() ? nullptr : made;
}

std::vector<coll::Neighbors> neighbors_of(const std::string& word, int32_t ranks) {
  if (word == "ring") return coll::grid_of(ranks, 1, true);
  if (word == "grid") return coll::grid_of(ranks, 2, false);
  if (word == "torus") return coll::grid_of(ranks, 3, true);
  if (word == "random") return coll::random_graph(ranks, 3, static_cast<uint32_t>(ranks));
  if (word == "dense") return coll::random_graph(ranks, 40, static_cast<uint32_t>(ranks));
  throw Error(MPI_ERR_ARG, with_nearest(strf("unknown neighbours \"%s\"", word.c_str()), word,
                                        {"ring", "grid", "torus", "random", "dense"}));
}

std::vector<coll::Schedule> schedules_of(const Options& options, const coll::Algorithm& row,
                                         int32_t ranks, int32_t root, const coll::Levels* levels,
                                         const coll::Plan* plan) {
  std::vector<coll::Schedule> schedules;
  if (coll::neighborly(row.collective)) {
    for (const coll::Neighbors& one :
         neighbors_of(options.neighbors.empty() ? "ring" : options.neighbors, ranks))
      schedules.push_back(coll::build(row, ranks, static_cast<int32_t>(schedules.size()),
                                      std::make_shared<coll::Neighbors>(one)));
    return schedules;
  }
  for (int32_t r = 0; r < ranks; ++r)
    schedules.push_back(coll::build(row, ranks, r, root, levels, plan));
  return schedules;
}

std::shared_ptr<const coll::Plan> plan_of(const Options& options, const coll::Algorithm& row) {
  if ((row.limits & coll::kPlan) == 0 || options.topology.empty()) return nullptr;
  return std::make_shared<coll::forest::ForestPlan>(coll::load_topology(options.topology));
}

coll::Topology machine_of(const Options& options) {
  if (!options.machine.empty() && !options.topology.empty())
    throw Error(MPI_ERR_ARG, options.command + " takes --topology or --machine, not both");
  if (!options.machine.empty()) return coll::generate_machine(options.machine);
  if (!options.topology.empty()) return coll::load_topology(options.topology);
  std::string known;
  for (const std::string& one : coll::known_topologies()) known += one + ", ";
  throw Error(MPI_ERR_ARG,
              options.command + " needs --topology=NAME: " + known +
                  "or a file with a machine's description; or --machine=rails:16,8,16,0");
}

const std::string& name_of_machine(const Options& options) {
  return options.machine.empty() ? options.topology : options.machine;
}

void write_output(const Options& options, const std::string& text) {
  FILE* file = options.output == "-" ? stdout : std::fopen(options.output.c_str(), "wb");
  const bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  const bool closed =
      file != nullptr && (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (!written || !closed)
    throw Error(MPI_ERR_FILE,
                strf("cannot write %s: %s", options.output.c_str(), std::strerror(errno)));
}

}  // namespace tern::coll_tool
