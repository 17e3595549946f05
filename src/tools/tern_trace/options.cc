// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/options.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "mpi.h"

namespace tern::trace_tool {
namespace {

const char* const kNames[] = {"--html", "--chrome", "--json",   "--otf2", "--workload", "--ranks",
                              "--from", "--to",     "--region", "--help", "--version"};

double seconds(const std::string& name, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(number) || number < 0)
    throw Error(MPI_ERR_ARG, strf("%s=%s: seconds from the start of the run are needed, as 1.5",
                                  name.c_str(), value.c_str()));
  return number;
}

int32_t rank(const std::string& text, const std::string& all) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 0 || number > INT32_MAX)
    throw Error(MPI_ERR_ARG, strf("--ranks=%s: ranks are needed, as 0-3,8", all.c_str()));
  return static_cast<int32_t>(number);
}

void set_ranks(Options* options, const std::string& value) {
  for (const std::string& part : split(value, ',')) {
    const size_t dash = part.find('-', 1);
    const int32_t first = rank(part.substr(0, dash), value);
    const int32_t last = dash == std::string::npos ? first : rank(part.substr(dash + 1), value);
    if (last < first)
      throw Error(MPI_ERR_ARG, strf("--ranks=%s: %d is below %d", value.c_str(), last, first));
    options->ranks.emplace_back(first, last);
  }
}

[[noreturn]] void unknown(const std::string& name) {
  const std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  const std::string near = nearest_name(name, names);
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
  throw Error(MPI_ERR_ARG, strf("unknown option %s; %s", name.c_str(),
                                near.empty() ? ("options are " + all).c_str()
                                             : strf("did you mean %s?", near.c_str()).c_str()));
}

void set_option(Options* options, const std::string& name, const std::string& value) {
  std::string* const text = name == "--html"     ? &options->html
                            : name == "--chrome" ? &options->chrome
                            : name == "--otf2"   ? &options->otf2
                            : name == "--region" ? &options->region
                                                 : nullptr;
  if (text != nullptr) {
    if (value.empty()) throw Error(MPI_ERR_ARG, name + " needs a name, as " + name + "=run");
    *text = value;
  } else if (name == "--json") {
    options->json = value.empty() ? "-" : value;
  } else if (name == "--workload") {
    options->workload = true;
  } else if (name == "--ranks") {
    set_ranks(options, value);
  } else if (name == "--from") {
    options->from = seconds(name, value);
  } else if (name == "--to") {
    options->to = seconds(name, value);
  } else if (name == "--help" || name == "-h") {
    options->help = true;
  } else if (name == "--version" || name == "-V") {
    options->version = true;
  } else {
    unknown(name);
  }
}

/// An output must not replace the trace, or another output.
void refuse_same_files(const Options& options) {
  std::vector<std::string> others = options.files;
  for (const std::string* const output : {&options.html, &options.chrome, &options.json}) {
    if (output->empty() || *output == "-") continue;
    for (const std::string& other : others) {
      std::error_code failure;
      if (*output == other || std::filesystem::equivalent(*output, other, failure))
        throw Error(MPI_ERR_ARG, strf("%s would be overwritten: choose another name for the output",
                                      other.c_str()));
    }
    others.push_back(*output);
  }
}

}  // namespace

std::string help_text() {
  return "usage: tern_trace FILE... [OPTION...]   FILE.0, FILE.1, ... of a missing FILE\n"
         "       tern_trace diff FILE FILE        compares two runs\n"
         "Without an option, prints wait states, call sites, ranks and the critical path.\n"
         "  --html=PAGE     a page for a browser, without network\n"
         "  --chrome=FILE   Chrome trace events, for Perfetto\n"
         "  --json[=FILE]   the report as JSON\n"
         "  --otf2=FOLDER   an OTF2 archive\n"
         "  --workload      the list of collectives, for simulations\n"
         "  --ranks=LIST    only these ranks: 0-3,8\n"
         "  --from=S, --to=S  only these seconds of the run\n"
         "  --region=NAME   only calls within MPIX_Trace_begin(NAME)\n"
         "mpirun --trace=FILE writes a trace. See tern_trace(1).\n";
}

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (word.size() > 1 && word[0] == '-')
      set_option(&options, word.substr(0, equals),
                 equals == std::string::npos ? "" : word.substr(equals + 1));
    else if (word == "diff" && options.files.empty() && !options.diff)
      options.diff = true;
    else
      options.files.push_back(word);
  }
  if (options.help || options.version) return options;
  if (options.files.empty())
    throw Error(MPI_ERR_ARG, "a file is missing: tern_trace FILE; mpirun --trace=FILE writes one");
  refuse_same_files(options);
  if (options.diff && options.files.size() != 2)
    throw Error(MPI_ERR_ARG, strf("diff compares two files, not %zu: tern_trace diff BEFORE AFTER",
                                  options.files.size()));
  if (options.to >= 0 && options.from > options.to)
    throw Error(MPI_ERR_ARG, strf("--from=%g is after --to=%g", options.from, options.to));
  return options;
}

}  // namespace tern::trace_tool
