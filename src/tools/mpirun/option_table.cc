// SPDX-License-Identifier: Apache-2.0
// The table of options and their effects.
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "base/params.hpp"
#include "mpi.h"
#include "tools/mpirun/hosts.hpp"
#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

using Parser = OptionParser;
using Values = const char* const*;

void set_ranks(Parser& p, Values v) { p.app.ranks = p.number(v[0], "ranks", 1, kMostRanks); }
void set_per_node(Parser& p, Values v) {
  p.options.per_node = p.number(v[0], "ranks", 1, kMostRanks);
}
void set_directory(Parser& p, Values v) { p.app.directory = v[0]; }
void set_path(Parser& p, Values v) { p.app.search_path = v[0]; }
void set_process_set(Parser& p, Values v) {
  const std::string name = v[0];
  if (name.empty() || name.find('\n') != std::string::npos || name.find(',') != std::string::npos)
    p.refuse("a process set needs a name of one line, without a comma");
  if (name.compare(0, 6, "mpi://") == 0)
    p.refuse(strf("\"%s\" begins with mpi://, reserved for the MPI standard", v[0]));
  std::vector<std::string>& sets = p.app.sets;
  if (std::find(sets.begin(), sets.end(), name) == sets.end()) sets.push_back(name);
}
void set_pair(Parser& p, Values v) { p.variable(&p.app.environment, v[0], v[1]); }
void set_pair_everywhere(Parser& p, Values v) { p.variable(&p.options.environment, v[0], v[1]); }
void set_exported(Parser& p, Values v) {
  const char* equals = std::strchr(v[0], '=');
  if (equals == v[0] || *v[0] == '\0') p.refuse("a variable needs a name: -x NAME=VALUE");
  if (equals != nullptr)
    p.variable(&p.app.environment, std::string(v[0], equals), equals + 1);
  else
    p.inherited_variable(v[0]);
}
void set_list(Parser& p, Values v) {
  const std::string list = v[0];
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    p.inherited_variable(list.substr(begin, end - begin));
    begin = end + 1;
  }
}
void set_universe(Parser& p, Values v) {
  p.options.universe = p.number(v[0], "ranks", 1, kMostRanks);
}
void set_unset(Parser& p, Values v) { p.options.unset.emplace_back(v[0]); }

// MPI lets a launcher start fewer ranks if necessary; mpirun always starts all.
void set_soft(Parser& p, Values v) { parse_soft(p, v[0]); }

void set_architecture(Parser& p, Values v) {
  utsname name{};
  ::uname(&name);
  const std::string wanted = v[0], machine = name.machine;
  const bool alias = machine == "x86_64" ? wanted == "amd64" || wanted == "x86-64"
                                         : machine == "aarch64" && wanted == "arm64";
  if (wanted != machine && !alias)
    p.refuse(strf("\"%s\" does not match this machine, %s", v[0], name.machine));
}

template <void add(std::vector<Host>&, const std::string&)>
void set_hosts(Parser& p, Values v) {
  try {
    add(p.options.hosts, v[0]);
  } catch (const Error& error) {
    p.refuse(error.what());
  }
}

void set_app_file(Parser& p, Values v) { p.app_file(v[0]); }
void set_bind(Parser& p, Values v) { parse_bind_to(p, v[0]); }
void set_map(Parser& p, Values v) { parse_map_by(p, v[0]); }
void set_rank_order(Parser& p, Values v) { parse_rank_by(p, v[0]); }
void set_oversubscribe(Parser& p, Values) { p.options.placing.may_oversubscribe = true; }
void set_no_oversubscribe(Parser& p, Values) { p.options.placing.may_oversubscribe = false; }

void set_output(Parser& p, Values v) {
  const std::string what = v[0];
  if (what.empty()) p.refuse("needs the name of a directory");
  if (what == "tag")
    p.options.tag_output = true;
  else if (what == "timestamp")
    p.options.timestamp_output = true;
  else
    p.options.output_directory = what.compare(0, 4, "dir=") == 0 ? what.substr(4) : what;
}

void set_input(Parser& p, Values v) {
  const std::string who = v[0];
  p.options.input = who == "all" ? Input::kAll : who == "none" ? Input::kNone : Input::kRank;
  if (p.options.input != Input::kRank) return;
  if (who.empty() || who.find_first_not_of("0123456789") != std::string::npos || who.size() > 6)
    p.refuse(strf("\"%s\" is neither a rank nor all nor none", v[0]));
  p.options.input_rank = std::atoi(v[0]);
}

void set_error_handler(Parser& p, Values v) {
  static const std::vector<std::string> kKnown = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                                  "mpi_errors_return"};
  for (const std::string& known : kKnown)
    if (known == v[0]) {
      p.options.environment.emplace_back("TERN_INITIAL_ERRHANDLER", known);
      return;
    }
  p.refuse(
      strf("\"%s\" is not one of mpi_errors_are_fatal, mpi_errors_abort, mpi_errors_return", v[0]));
}

void set_memory_kinds(Parser& p, Values v) {
  parse_memory_kinds(p, v[0]);
  p.options.environment.emplace_back("TERN_MEMORY_ALLOC_KINDS", v[0]);
}

// mpirun checks the parameter, to stop the job before the start, with a single message.
void set_parameter(Parser& p, Values v) {
  const char* equals = std::strchr(v[0], '=');
  if (equals == nullptr) p.refuse(strf("\"%s\" has no value: --set NAME=VALUE", v[0]));
  std::string name(v[0], equals);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.compare(0, 5, "TERN_") != 0) name.insert(0, "TERN_");
  try {
    Params().set(name, equals + 1);
  } catch (const Error& error) {
    p.refuse(error.what());
  }
  p.variable(&p.options.environment, name, equals + 1);
}

void set_checked(Parser& p, const char* name, const char* value) {
  try {
    Params().set(name, value);
  } catch (const Error& error) {
    p.refuse(error.what());
  }
  p.variable(&p.options.environment, name, value);
}
void set_profile(Parser& p, Values v) {
  if (v[0] != nullptr && *v[0] == '\0') p.refuse("needs the name of a file, or no '='");
  p.variable(&p.options.environment, "TERN_PROFILE", v[0] == nullptr ? "1" : v[0]);
}
void set_trace(Parser& p, Values v) {
  if (*v[0] == '\0') p.refuse("needs the name of a file");
  p.variable(&p.options.environment, "TERN_TRACE", v[0]);
}
void set_trace_buffer(Parser& p, Values v) { set_checked(p, "TERN_TRACE_BUFFER", v[0]); }

void survive(Parser& p) { p.variable(&p.options.environment, "TERN_FT", "1"); }
void set_recovery(Parser& p, Values) { survive(p); }

// The words of Open MPI.
void set_fault_tolerance(Parser& p, Values v) {
  const std::string_view how = v[0];
  const auto is_one_of = [how](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), how) != words.end();
  };
  if (is_one_of({"ulfm", "mpi", "yes", "true", "1"})) return survive(p);
  if (!is_one_of({"no", "false", "0", "none"}))
    p.refuse(strf("\"%s\" is not ulfm, mpi, yes or no", v[0]));
}

void set_timeout(Parser& p, Values v) { p.options.timeout_s = p.seconds(v[0]); }
void set_tag(Parser& p, Values) { p.options.tag_output = true; }
void set_timestamp(Parser& p, Values) { p.options.timestamp_output = true; }
void set_report(Parser& p, Values) { p.options.report_bindings = true; }
void set_quiet(Parser& p, Values) { p.options.quiet = true; }
void set_dry_run(Parser& p, Values) { p.options.dry_run = true; }
void set_help(Parser& p, Values) { p.options.help = true; }
void set_version(Parser& p, Values) { p.options.version = true; }
void set_as_root(Parser& p, Values) { p.options.as_root = true; }
void set_nothing(Parser&, Values) {}

void set_by_core(Parser& p, Values) { parse_map_by(p, "core"); }
void set_by_node(Parser& p, Values) { parse_map_by(p, "node"); }
void set_by_package(Parser& p, Values) { parse_map_by(p, "package"); }
void set_by_slot(Parser& p, Values) { parse_map_by(p, "slot"); }
void set_per_package(Parser& p, Values v) { parse_map_by(p, strf("ppr:%s:package", v[0])); }
void set_per_numa(Parser& p, Values v) { parse_map_by(p, strf("ppr:%s:numa", v[0])); }
void set_cores_each(Parser& p, Values v) { parse_map_by(p, strf("slot:PE=%s", v[0])); }
void set_bind_core(Parser& p, Values) { parse_bind_to(p, "core"); }
void set_bind_package(Parser& p, Values) { parse_bind_to(p, "package"); }
void set_bind_none(Parser& p, Values) { parse_bind_to(p, "none"); }

// clang-format off
constexpr OptionRow kRows[] = {
  {"", 0, "Programs and ranks:", nullptr, nullptr},
  {"n np c", 1, "-n N, -np N", "start N ranks of this program (default 1)", set_ranks},
  {"N ppn npernode perhost grr", 1, "-N N, -ppn N", "N ranks on each host", set_per_node},
  {"app file configfile", 1, "--app FILE, -file FILE",
   "read lines of options, program and arguments from a file", set_app_file},
  {"soft", 1, "-soft LIST", "acceptable numbers of ranks (n, a:b, a:b:c); all ranks always start", set_soft},
  {"arch", 1, "-arch NAME", "fail on other architectures (uname -m)", set_architecture},
  {"wdir wd", 1, "-wdir DIR", "start these ranks in DIR", set_directory},
  {"pset", 1, "--pset NAME", "add these ranks to the process set NAME, for MPI sessions",
   set_process_set},
  {"path", 1, "-path DIRS", "search these directories, separated by ':', before PATH", set_path},
  {"", 0, "Variables:", nullptr, nullptr},
  {"x", 1, "-x NAME[=VALUE]", "set a variable for these ranks (all others are inherited)", set_exported},
  {"env", 2, "-env NAME VALUE", "the same", set_pair},
  {"genv", 2, "-genv NAME VALUE", "set a variable for all ranks", set_pair_everywhere},
  {"envlist genvlist", 1, nullptr, nullptr, set_list},
  {"envall genvall", 0, nullptr, nullptr, set_nothing},
  {"unset-env", 1, "--unset-env NAME", "remove a variable for all ranks", set_unset},
  {"set", 1, "--set NAME=VALUE", "set a parameter of Tern, such as eager_limit=16k; see tern_info", set_parameter},
  {"", 0, "Hosts and binding:", nullptr, nullptr},
  {"host hosts H", 1, "-host A[:N],B...", "hosts, with the number of ranks on each", set_hosts<add_hosts>},
  {"hostfile machinefile f machine default-hostfile", 1, "--hostfile FILE, -f FILE", "the same from a file, one host per line",
   set_hosts<add_host_file>},
  {"bind-to binding bind", 1, "--bind-to WHAT",
   "share (an equal share of the cores; the default), core, hwthread, l3cache, numa, package, none", set_bind},
  {"map-by map", 1, "--map-by WHAT[:PE=N]",
   "round-robin over hwthread, core, l3cache, numa, package; or slot, node; ppr:N:WHAT: N ranks on each", set_map},
  {"rank-by", 1, "--rank-by WHAT", "order of rank numbers: slot, core, l3cache, numa, package", set_rank_order},
  {"oversubscribe", 0, "--oversubscribe", "more ranks than cores (always allowed)", set_oversubscribe},
  {"nooversubscribe", 0, nullptr, nullptr, set_no_oversubscribe},
  {"report-bindings", 0, "--report-bindings", "print the processors of each rank", set_report},
  {"dry-run", 0, "--dry-run", "print the plan and start nothing", set_dry_run},
  {"", 0, "Input and output:", nullptr, nullptr},
  {"stdin s", 1, "--stdin RANK|all|none", "receiver of standard input (default rank 0)", set_input},
  {"output output-filename", 1, "--output DIR", "write output to DIR/rank.N/stdout and stderr", set_output},
  {"tag-output l prepend-rank", 0, "--tag-output, -l", "prefix output lines with the rank", set_tag},
  {"timestamp timestamp-output", 0, "--timestamp", "prefix output lines with the time", set_timestamp},
  {"quiet q", 0, "-q, --quiet", "print errors only, no remarks", set_quiet},
  {"", 0, "The job:", nullptr, nullptr},
  {"profile", kOptional, "--profile[=FILE]", "print time in MPI and waits at the end; FILE: also as JSON", set_profile},
  {"trace", 1, "--trace FILE", "record every MPI call for tern_trace", set_trace},
  {"trace-buffer", 1, "--trace-buffer SIZE", "memory per thread for records on their way to the file (default 4m)",
   set_trace_buffer},
  {"timeout maxtime", 1, "--timeout SECONDS", "end the job after this time with exit code 124", set_timeout},
  {"usize", 1, "--usize N", "MPI_UNIVERSE_SIZE, the ranks that programs may start in all (default: the allowed processors)",
   set_universe},
  {"with-ft", 1, "--with-ft ulfm|no", "survive dead ranks (sets TERN_FT=1)", set_fault_tolerance},
  {"enable-recovery disable-auto-cleanup continuous", 0, "--enable-recovery", "the same as --with-ft ulfm", set_recovery},
  {"initial-errhandler", 1, "-initial-errhandler NAME",
   "mpi_errors_are_fatal (default), mpi_errors_abort, mpi_errors_return", set_error_handler},
  {"memory-alloc-kinds", 1, "-memory-alloc-kinds LIST", "memory kinds requested by the program: system,mpi,...",
   set_memory_kinds},
  {"version V", 0, "-V, --version", "print the version", set_version},
  {"help h", 0, "-h, --help", "print this", set_help},
  {"allow-run-as-root", 0, nullptr, nullptr, set_as_root},
  {"bycore", 0, nullptr, nullptr, set_by_core},
  {"bynode rr", 0, nullptr, nullptr, set_by_node},
  {"bysocket", 0, nullptr, nullptr, set_by_package},
  {"byslot", 0, nullptr, nullptr, set_by_slot},
  {"npersocket", 1, nullptr, nullptr, set_per_package},
  {"npernuma", 1, nullptr, nullptr, set_per_numa},
  {"cpus-per-proc cpus-per-rank cpus-per-pe", 1, nullptr, nullptr, set_cores_each},
  {"bind-to-core", 0, nullptr, nullptr, set_bind_core},
  {"bind-to-socket", 0, nullptr, nullptr, set_bind_package},
  {"bind-to-none", 0, nullptr, nullptr, set_bind_none},
};
// clang-format on

}  // namespace

OptionTable option_table() noexcept { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace tern::mpirun
