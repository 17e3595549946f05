// SPDX-License-Identifier: Apache-2.0
// tern_trace: reads traces of MPI programs, and reports where the time went.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/tern_trace/filter.hpp"
#include "tools/tern_trace/reader.hpp"
#include "tools/tern_trace/reports.hpp"
#include "tools/tern_trace/symbols.hpp"

namespace tern::trace_tool {
namespace {

constexpr int kUsageError = 2;

struct Loaded {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Analysis> analysis;
};

Loaded load(const std::vector<std::string>& files, const Options& options) {
  Loaded loaded;
  loaded.trace = open_trace(files);
  if (loaded.trace->records == 0) {
    std::string why;
    for (const std::string& remark : loaded.trace->remarks) why += "; " + remark;
    throw Error(MPI_ERR_FILE, strf("%s has no records%s", files[0].c_str(), why.c_str()));
  }
  filter(loaded.trace.get(), options);
  resolve_sites(loaded.trace.get());
  loaded.analysis = std::make_unique<Analysis>(loaded.trace.get());
  analyse(loaded.analysis.get());
  return loaded;
}

int report(const Options& options) {
  const Loaded loaded = load(options.files, options);
  Analysis* const analysis = loaded.analysis.get();
  if (!options.html.empty()) write_file(options.html, page(analysis));
  if (!options.chrome.empty()) write_chrome(analysis, options.chrome);
  if (!options.otf2.empty()) write_otf2(analysis, options.otf2);
  if (!options.json.empty()) write_file(options.json, json_report(*analysis));
  if (options.workload) write_file("-", workload(analysis));
  const bool other = !options.html.empty() || !options.chrome.empty() || !options.otf2.empty() ||
                     !options.json.empty() || options.workload;
  if (!other) write_file("-", text_report(*analysis));
  return 0;
}

int main(int argc, char** argv) {
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(help_text().c_str(), stdout);
      return 0;
    }
    if (options.version) {
      std::printf("tern_trace (Tern MPI) %s\n", PACKAGE_VERSION);
      return 0;
    }
    if (!options.diff) return report(options);
    const Loaded before = load({options.files[0]}, options);
    const Loaded after = load({options.files[1]}, options);
    write_file("-", diff_report(*before.analysis, *after.analysis));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "tern_trace: %s\n", error.what());
    return kUsageError;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tern_trace: not enough memory; --ranks, --from and --to need less\n");
    return kUsageError;
  }
}

}  // namespace
}  // namespace tern::trace_tool

int main(int argc, char** argv) { return tern::trace_tool::main(argc, argv); }
