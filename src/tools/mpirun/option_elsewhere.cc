// SPDX-License-Identifier: Apache-2.0
// Options of other launchers. Options without influence on results are accepted with a remark.
// Other options are refused, with a replacement. Synonyms of mpirun's own options are names in
// option_table.cc.
#include <iterator>

#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

struct Answer {
  const char* names;
  const char* text;
};

// clang-format off
constexpr WithoutEffect kWithoutEffect[] = {
  // Open MPI and PRRTE
  {"mca gmca omca pmixmca gpmixmca prtemca", 2,
   "this sets Open MPI's parameters; set Tern's by --set NAME=VALUE (tern_info lists them)"},
  {"am", 1, "this names a file of Open MPI's parameters; set Tern's by --set NAME=VALUE (tern_info lists them)"},
  {"display", 1, "--dry-run prints ranks and places, --report-bindings the processors"},
  {"display-map display-devel-map display-allocation display-topo do-not-resolve", 0,
   "--dry-run prints ranks and places, --report-bindings the processors"},
  {"use-hwthread-cpus use-hwthreads", 0,
   "more ranks than cores need no option; --map-by hwthread --bind-to hwthread gives each rank a hardware thread"},
  {"prefix", 1, "Tern's programs and libraries are found where they were linked"},
  {"noprefix", 0, "Tern's programs and libraries are found where they were linked"},
  {"verbose v d debug-devel debug-daemons debug-daemons-file leave-session-attached", 0,
   "-x TERN_EXPLAIN=1 prints choices and reasons, --dry-run the plan"},
  {"stream-buffering", 1, "output passes line by line (use stdbuf for the program's own buffers)"},
  {"report-child-jobs-separately disable-recovery", 0, "the first failed rank ends the job and gives the exit code"},
  {"report-state-on-timeout get-stack-traces", 0,
   "--timeout and kill -QUIT of mpirun print the awaited ranks"},
  {"forward-signals", 1, "INT, TERM, HUP, USR1, USR2, TSTP and CONT are forwarded"},
  {"personality", 1, "this selects another launcher's command line"},
  {"tree-spawn novm no-ready-msg", 0, "this concerns another launcher's daemons; Tern's mpirun has none"},
  {"show-progress", 0, "ranks of one machine start at once"},
  {"gpu-support", 1, "GPU memory needs no option"},
  // MPICH's Hydra and derivatives
  {"bootstrap bootstrap-exec bootstrap-exec-args launcher launcher-exec launcher-exec-args rmk", 1,
   "this selects how another launcher reaches hosts; Tern's mpirun uses srun or prterun"},
  {"iface interface nic", 1, "ranks of a host use shared memory"},
  {"nameserver", 1, "MPI_Publish_name needs no server: names are files of this user, in TERN_NAMES"},
  {"topolib", 1, "hwloc reads the machine"},
  {"membind", 1, "the kernel places memory near the core that first writes; see --bind-to and numactl"},
  {"print-rank-map", 0, "--report-bindings and --dry-run print the places of ranks"},
  {"print-all-exitcodes", 0, "the message of the first failed rank has its exit code"},
  {"enable-auto-cleanup", 0, "a failed rank ends the job"},
  {"enable-x disable-x", 0, "ranks inherit DISPLAY with the whole environment"},
  {"demux localhost port-range branch-count", 1, "this belongs to MPICH's Hydra and has no equivalent here"},
  {"pmi-port disable-hostname-propagation enable-hostname-propagation", 0,
   "this belongs to MPICH's Hydra and has no equivalent here"},
};

constexpr Answer kElsewhere[] = {
  {"rankfile rf", "is not supported; use --map-by, --rank-by and --bind-to, or start a section by "
                  "taskset"},
  {"cpu-set cpu-list cpulist", "is not supported; start mpirun itself by taskset -c LIST"},
  {"nolocal", "is not supported; name the hosts: -host A,B"},
  {"tune", "names a file of Open MPI's parameters and variables; set Tern's parameters by --set NAME=VALUE, variables by -x"},
  {"do-not-launch", "is not supported; --dry-run prints the plan"},
  {"preload-binary preload-files preload-files-dest-dir set-cwd-to-session-dir",
   "is not supported; all hosts need a common file system"},
  {"debug tv debugger debug-verbose", "is not supported; debuggers start mpirun or attach to mpirun (MPIR_proctable): "
                                      "gdb -p PID"},
  {"stop-on-exec stop-in-init stop-in-app", "is not supported; set MPIR_being_debugged to 1 in mpirun by a debugger"},
  {"xterm", "is not supported; start a terminal per rank: mpirun -n 4 xterm -e ./program"},
  {"xml xml-file parsable parseable", "is not supported; --output DIR separates the streams of ranks"},
  {"merge-stderr-to-stdout", "is not supported; use the shell: mpirun ... 2>&1"},
  {"index-argv-by-rank", "is not supported; OMPI_COMM_WORLD_RANK has the program's rank"},
  {"report-pid report-uri", "is not supported; the shell has mpirun's pid: $!"},
  {"max-restarts", "is not supported: mpirun starts no rank again; programs call MPI_Comm_spawn"},
  {"runtime-options rtos dvm-uri dvm ompi-server server-wait-time",
   "concerns another launcher's daemons; Tern's mpirun has none"},
  {"pass-environment-variables", "is not needed: ranks inherit the whole environment"},
  {"outfile-pattern errfile-pattern outfile errfile", "is not supported; --output DIR writes DIR/rank.N/stdout and stderr"},
  {"prepend-pattern", "is not supported; -l prefixes lines with the rank, --timestamp with the time"},
  {"genvnone envnone", "is not supported; clear the environment: env -i PATH=\"$PATH\" mpirun ... (or --unset-env NAME)"},
  {"genvexcl envexcl", "is not supported; use --unset-env NAME"},
  {"order-nodes skip-launch-node", "is not supported; name the hosts in order: -host A,B"},
  {"info bootstrap-exec-fork rsh",
   "belongs to MPICH's Hydra and has no equivalent here"},
  {"ckpointlib ckpoint-prefix ckpoint-num ckpoint-interval ckpoint-preserve ckpoint-last ckpoint",
   "is not supported: there are no checkpoints"},
  {"gpus-per-proc gpu-subdevs-per-proc",
   "is not supported; set CUDA_VISIBLE_DEVICES from OMPI_COMM_WORLD_LOCAL_RANK in a wrapper (man mpirun)"},
  {"gtool gtoolfile", "is not supported; put the tool before the program, in a separate section between ':'"},
  // srun
  {"ntasks", "is srun's; use -n"},
  {"ntasks-per-node", "is srun's; use -N"},
  {"cpus-per-task", "is srun's; use --map-by slot:PE=N"},
  {"cpu-bind cpu_bind", "is srun's; use --bind-to"},
  {"label", "is srun's; use -l"},
  {"chdir D", "is srun's; use -wdir"},
  {"nodelist w", "is srun's; use -host"},
  {"mpi", "is srun's; mpirun passes --mpi=pmix to srun"},
};
// clang-format on

}  // namespace

const WithoutEffect* option_without_effect(const std::string& name) noexcept {
  for (const WithoutEffect& row : kWithoutEffect)
    if (names_contain(row.names, name)) return &row;
  return nullptr;
}

const char* answer_to_elsewhere(const std::string& name) noexcept {
  for (const Answer& answer : kElsewhere)
    if (names_contain(answer.names, name)) return answer.text;
  return nullptr;
}

}  // namespace tern::mpirun
