// SPDX-License-Identifier: Apache-2.0
// mpirun's options: one table, read by the parser and by --help.
// Users of other launchers type one dash or two, "--name value" or "--name=value": all are taken.
#include "tools/mpirun/options.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/params.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

struct Parser;

struct Row {
  const char* names;  // separated by spaces, without dashes; the first is the one in messages
  int values;         // how many words follow
  const char* shown;  // for --help; nullptr: taken, but not shown
  const char* meaning;
  void (*act)(Parser&, const char* const* values);
};

struct Parser {
  const std::vector<std::string>& words;
  Options options;
  App app{};
  std::string option;  // as typed, for messages

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(MPI_ERR_ARG, strf("%s: %s", option.c_str(), why.c_str()));
  }
  int count(const char* text, int most) const;
  double seconds(const char* text) const;
  std::size_t take_option(std::size_t at);
  void end_section(std::size_t at);
};

int Parser::count(const char* text, int most) const {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 1 || value > most)
    refuse(strf("\"%s\" is not a number of ranks from 1 to %d", text, most));
  return static_cast<int>(value);
}

double Parser::seconds(const char* text) const {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(value) || value <= 0)
    refuse(strf("\"%s\" is not a positive number of seconds", text));
  return value;
}

constexpr int kMostRanks = 65536;

void set_ranks(Parser& p, const char* const* v) { p.app.ranks = p.count(v[0], kMostRanks); }
void set_directory(Parser& p, const char* const* v) { p.app.directory = v[0]; }
void set_pair(Parser& p, const char* const* v) { p.app.environment.emplace_back(v[0], v[1]); }
void set_pair_everywhere(Parser& p, const char* const* v) {
  p.options.environment.emplace_back(v[0], v[1]);
}
void set_exported(Parser& p, const char* const* v) {
  const char* equals = std::strchr(v[0], '=');
  if (equals == v[0] || *v[0] == '\0') p.refuse("a variable needs a name: -x NAME=VALUE");
  if (equals != nullptr) {
    p.app.environment.emplace_back(std::string(v[0], equals), equals + 1);
  } else if (std::getenv(v[0]) == nullptr) {
    p.refuse(strf("%s is not set here; set it, or give the value: -x %s=VALUE", v[0], v[0]));
  }
}
void set_bind(Parser& p, const char* const* v) {
  const std::string what = v[0];
  if (what == "core")
    p.options.bind = Bind::kCore;
  else if (what == "numa")
    p.options.bind = Bind::kNuma;
  else if (what == "none")
    p.options.bind = Bind::kNone;
  else
    p.refuse(strf("\"%s\" is none of core, numa, none", v[0]));
}
void set_timeout(Parser& p, const char* const* v) { p.options.timeout_s = p.seconds(v[0]); }
void set_tag(Parser& p, const char* const*) { p.options.tag_output = true; }
void set_report(Parser& p, const char* const*) { p.options.report_bindings = true; }
void set_help(Parser& p, const char* const*) { p.options.help = true; }
void set_version(Parser& p, const char* const*) { p.options.version = true; }
void set_nothing(Parser&, const char* const*) {}

// clang-format off
constexpr Row kRows[] = {
  {"n np c", 1, "-n N, -np N", "start N ranks of this program (1 where not given)", set_ranks},
  {"x", 1, "-x NAME[=VALUE]", "set a variable for these ranks (they inherit all others)", set_exported},
  {"env", 2, "-env NAME VALUE", "the same", set_pair},
  {"genv", 2, "-genv NAME VALUE", "set a variable for all ranks", set_pair_everywhere},
  {"wdir wd", 1, "-wdir DIR", "start these ranks in DIR", set_directory},
  {"bind-to", 1, "--bind-to core|numa|none",
   "bind each rank to a core, a NUMA node, nothing; else: an equal share of the cores", set_bind},
  {"oversubscribe", 0, "--oversubscribe", "more ranks than cores (always allowed)", set_nothing},
  {"tag-output l", 0, "--tag-output, -l", "begin each line of output with its rank", set_tag},
  {"timeout", 1, "--timeout SECONDS", "end the job after that time, with exit code 124", set_timeout},
  {"report-bindings", 0, "--report-bindings", "print the cores of each rank", set_report},
  {"version V", 0, "-V, --version", "print the version", set_version},
  {"help h", 0, "-h, --help", "print this", set_help},
  {"allow-run-as-root", 0, nullptr, nullptr, set_nothing},
};

// Options of other launchers that would be a silent surprise if guessed at.
constexpr struct { const char* names; const char* answer; } kElsewhere[] = {
  {"mca gmca", "is Open MPI's; Tern's parameters are environment variables: -x TERN_NAME=VALUE"},
  {"host hosts H hostfile machinefile f N ppn npernode",
   "names hosts, and this mpirun starts ranks on its own host; in a Slurm allocation use srun --mpi=pmix"},
  {"map-by rank-by", "is not known here; ranks are placed in order, see --bind-to"},
};
// clang-format on

bool names_contain(const char* names, const std::string& name) {
  const std::size_t length = name.size();
  for (const char* at = names; (at = std::strstr(at, name.c_str())) != nullptr; ++at)
    if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
      return length > 0;
  return false;
}

[[noreturn]] void refuse_unknown(const std::string& typed, const std::string& name) {
  for (const auto& other : kElsewhere)
    if (names_contain(other.names, name))
      throw Error(MPI_ERR_ARG, strf("%s %s", typed.c_str(), other.answer));
  std::vector<std::string> known;
  for (const Row& row : kRows) {
    if (row.shown == nullptr) continue;
    const char* names = row.names;
    while (*names != '\0') {
      const std::size_t length = std::strcspn(names, " ");
      known.emplace_back(names, length);
      names += length + (names[length] == ' ' ? 1 : 0);
    }
  }
  const std::string nearest = nearest_name(name, known);
  throw Error(MPI_ERR_ARG, nearest.empty()
                               ? strf("unknown option %s; mpirun --help lists them", typed.c_str())
                               : strf("unknown option %s; did you mean %s%s?", typed.c_str(),
                                      nearest.size() > 5 ? "--" : "-", nearest.c_str()));
}

std::size_t Parser::take_option(std::size_t at) {
  option = words[at++];
  std::string name = option.substr(option.compare(0, 2, "--") == 0 ? 2 : 1);
  std::vector<const char*> values;
  std::string attached;
  const std::size_t equals = name.find('=');
  if (equals != std::string::npos) {
    attached = name.substr(equals + 1);
    name.resize(equals);
    values.push_back(attached.c_str());
  }
  for (const Row& row : kRows) {
    if (!names_contain(row.names, name)) continue;
    const auto needed = static_cast<std::size_t>(row.values);
    while (values.size() < needed && at < words.size()) values.push_back(words[at++].c_str());
    if (values.size() != needed)
      refuse(
          strf("takes %d value%s; mpirun --help shows it", row.values, row.values == 1 ? "" : "s"));
    row.act(*this, values.data());
    return at;
  }
  refuse_unknown(option, name);
}

void Parser::end_section(std::size_t at) {
  if (app.command.empty() && !options.help && !options.version)
    throw Error(MPI_ERR_ARG, at < words.size()
                                 ? strf("no program before the ':' of word %zu", at + 1)
                                 : std::string("no program to start; mpirun -n 4 ./program"));
  if (!app.command.empty()) options.apps.push_back(std::move(app));
  app = {};
}

}  // namespace

int Options::ranks() const noexcept {
  int sum = 0;
  for (const App& app : apps) sum += app.ranks;
  return sum;
}

Options parse_options(const std::vector<std::string>& words) {
  Parser parser{words, {}, {}, {}};
  std::size_t at = 0;
  while (at < words.size()) {
    if (words[at] == ":") {
      parser.end_section(at++);
    } else if (words[at].size() > 1 && words[at][0] == '-') {
      if (words[at] == "--")
        ++at;
      else {
        at = parser.take_option(at);
        continue;
      }
    } else {
      while (at < words.size() && words[at] != ":") parser.app.command.push_back(words[at++]);
    }
  }
  parser.end_section(at);
  if (parser.options.ranks() > kMostRanks)
    throw Error(MPI_ERR_ARG, strf("%d ranks are more than mpirun starts on one machine (%d)",
                                  parser.options.ranks(), kMostRanks));
  return std::move(parser.options);
}

std::string help_text() {
  std::string text =
      "Usage: mpirun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
      "Starts the ranks of an MPI program on this machine and ends when they have ended.\n\n";
  for (const Row& row : kRows)
    if (row.shown != nullptr) text += strf("  %-26s %s\n", row.shown, row.meaning);
  return text +
         "\nThe exit code is that of the first rank that failed (128 + its signal).\n"
         "See man mpirun.\n";
}

}  // namespace tern::mpirun
