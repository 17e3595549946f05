// SPDX-License-Identifier: Apache-2.0
// tern_info: the installation, the transports and the parameters.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "base/params.hpp"
#include "btl/transport.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/tern_info/facts.hpp"
#include "tools/tern_info/manual.hpp"
#include "tools/tern_info/options.hpp"
#include "tools/tern_info/picture.hpp"
#include "tools/tern_info/program.hpp"
#include "tools/tern_info/report.hpp"

namespace tern::info {
namespace {

constexpr int kUsageError = 2;

Facts collect(const Options& options) {
  const bool summary = !chooses(options);
  Facts facts;
  // The trials come first, because a trial forks and this process is still single-threaded.
  if (summary || options.transports) facts.transports = btl::try_transports();
  if (summary || options.build || options.parameters) add_parameters(&facts);
  if (summary || options.build) {
    facts.build = build_facts();
    facts.dependencies = dependencies();
    facts.gpus = gpu_facts();
    for (const Parameter& parameter : facts.parameters)
      if (parameter.name == "TERN_BOOT") facts.launch = launch_here(parameter.value);
    if (!summary && !options.parameters) facts.parameters.clear();
  }
  if (options.topology || !options.svg.empty()) add_topology(&facts);
  return facts;
}

void write_file(const std::string& path, const std::string& text) {
  FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  const bool closed =
      file != nullptr && (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (!written || !closed)
    throw Error(MPI_ERR_FILE, strf("cannot write %s: %s", path.c_str(), std::strerror(errno)));
}

std::string answer(const Options& options) {
  if (options.help) return help_text();
  if (options.version) return strf("tern_info (Tern MPI) %s\n", PACKAGE_VERSION);
  if (options.manual) return parameters_as_mdoc();
  if (!options.program.empty()) {
    const Imports imports = imports_of(options.program);
    return options.json ? imports_as_json(options.program, imports)
                        : imports_in_words(options.program, imports, page_here().columns);
  }
  const Facts facts = collect(options);
  const bool nothing_else = !options.build && !options.transports && !options.topology &&
                            !options.parameters && !options.json;
  if (!options.links.empty()) {
    const GpuLinks links = gpu_links();
    if (links.names.empty()) throw Error(MPI_ERR_OTHER, links.problem);
    write_file(options.links, draw_links_svg(links));
    if (nothing_else && options.svg.empty()) return {};
  }
  if (!options.svg.empty()) {
    if (!facts.topology) throw Error(MPI_ERR_OTHER, facts.topology_problem);
    write_file(options.svg, draw_svg(*facts.topology));
    if (!options.topology && !options.json) return {};
  }
  if (options.json) return report_json(facts);
  return chooses(options) ? report_text(facts, page_here()) : summary_text(facts, page_here());
}

int main(int argc, char** argv) {
  Options options;
  try {
    options = parse_options({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "tern_info: %s\n", error.what());
    return kUsageError;
  }
  try {
    write_file("-", answer(options));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "tern_info: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tern::info

int main(int argc, char** argv) { return tern::info::main(argc, argv); }
