// SPDX-License-Identifier: Apache-2.0
// tern_coll: lists, verifies, draws, simulates and measures schedules of collectives.
#include <cstdio>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

constexpr int kUsageError = 2;

struct Command {
  const char* name;
  int (*run)(const Options& options);
  const char* meaning;
};
constexpr Command kCommands[] = {
    {"list", list, "[COLLECTIVE]  algorithms, costs and limits"},
    {"verify", verify, "[COLLECTIVE [ALGORITHM]] [--ranks=N..M] [--root=N]  proves schedules"},
    {"draw", draw, "COLLECTIVE ALGORITHM [--ranks=N] [--root=N] [--output=FILE]  a picture (SVG)"},
    {"simulate", simulate,
     "COLLECTIVE ALGORITHM --bytes=N --topology=NAME [--ranks=N]  time on a model of a machine;\n"
     "           or --machine=fat-tree:16; or all calls of --workload=FILE"},
    {"search", search,
     "--workload=FILE --machine=WORDS [--place=FILE]  a TERN_COLL_TABLE, places of ranks;\n"
     "           or --model=FILE --machine=WORDS  splits of a model in training"},
    {"validate", validate, "FILE  the cost model against measured times of tune"},
    {"bound", bound, "[COLLECTIVE] --topology=NAME [--root=N]  best bus bandwidth on a machine"},
    {"forest", forest, "[COLLECTIVE] --topology=NAME [--root=N]  trees near this bound"},
    {"import", import,
     "FILE [--output=FILE]  proves an MSCCL plan, turns NCCL's topology into text,\n"
     "           and traces of Chakra (NAME.0.et --groups=FILE) into a workload"},
    {"export", export_plan, "COLLECTIVE ALGORITHM --ranks=N  writes an MSCCL plan (XML)"},
    {"topology", topology, "FILE|NAME|auto  the graph of TERN_TOPOLOGY; auto: of this host"},
    {"tune", tune,
     "[COLLECTIVE [ALGORITHM]] [--device] [--output=FILE]  under mpirun: writes TERN_COLL_TABLE"},
    {"show", show, "[COLLECTIVE]  lines measured by jobs on this machine (TERN_COLL_TUNE)"},
    {"forget", forget, "removes the lines measured by jobs on this machine"},
};

std::string help_text() {
  std::string text = "usage: tern_coll COMMAND ...\n";
  for (const Command& command : kCommands)
    text += strf("  %-8s %s\n", command.name, command.meaning);
  return text +
         "  --engine=stream  schedules of puts, signals and waits (verify, draw)\n"
         "  --device  collectives enqueued on GPU streams (tune)\n"
         "  --levels=4,2  hosts of 4 ranks, with parts of 2\n"
         "  --neighbors=torus  of neighbourhoods: ring, grid, torus, random, dense\nSee "
         "tern_coll(1).\n";
}

const Command& command_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.emplace_back(command.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error(MPI_ERR_ARG,
              name.empty() ? "a command is missing; tern_coll --help lists all"
                           : strf("unknown command \"%s\"; %s", name.c_str(),
                                  near.empty() ? "tern_coll --help lists all"
                                               : strf("did you mean %s?", near.c_str()).c_str()));
}

int main(int argc, char** argv) {
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(help_text().c_str(), stdout);
      return 0;
    }
    if (options.version) {
      std::printf("tern_coll (Tern MPI) %s\n", PACKAGE_VERSION);
      return 0;
    }
    return command_named(options.command).run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_coll: %s\n", error.what());
    return kUsageError;
  }
}

}  // namespace
}  // namespace tern::coll_tool

int main(int argc, char** argv) { return tern::coll_tool::main(argc, argv); }
