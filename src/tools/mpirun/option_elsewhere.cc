// SPDX-License-Identifier: Apache-2.0
// Options of other launchers. Those whose absence changes no result are taken and said to have no
// effect, so that other launchers' scripts run; those that would be a silent surprise are refused,
// with what to do instead. A word that means the same here is no row of these tables, but a name in
// option_table.cc.
#include <iterator>

#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

struct Answer {
  const char* names;
  const char* text;  // follows the option as typed
};

// clang-format off
constexpr WithoutEffect kWithoutEffect[] = {
  // Open MPI and PRRTE
  {"mca gmca omca pmixmca gpmixmca prtemca", 2,
   "it sets parameters of Open MPI; Tern's are set by --set NAME=VALUE (tern_info lists them)"},
  {"am", 1, "it names a file of Open MPI's parameters; Tern's are set by --set NAME=VALUE (tern_info lists them)"},
  {"display", 1, "--dry-run prints what would be started where, --report-bindings the processors"},
  {"display-map display-devel-map display-allocation display-topo do-not-resolve", 0,
   "--dry-run prints what would be started where, --report-bindings the processors"},
  {"use-hwthread-cpus use-hwthreads", 0,
   "more ranks than cores need no switch, and --map-by hwthread --bind-to hwthread gives each rank a hardware thread"},
  {"prefix", 1, "Tern's programs and libraries are found where they were linked"},
  {"noprefix", 0, "Tern's programs and libraries are found where they were linked"},
  {"verbose v d debug-devel debug-daemons debug-daemons-file leave-session-attached", 0,
   "TERN_EXPLAIN=1 (-x TERN_EXPLAIN=1) says what is chosen and why, --dry-run what is started"},
  {"stream-buffering", 1, "output goes on line by line (for the program's own buffers: stdbuf)"},
  {"report-child-jobs-separately disable-recovery", 0, "the first rank that fails ends the job and gives the exit code"},
  {"report-state-on-timeout get-stack-traces", 0,
   "--timeout and kill -QUIT of mpirun say what each rank waits for"},
  {"forward-signals", 1, "INT, TERM, HUP, USR1, USR2, TSTP and CONT are passed on"},
  {"personality", 1, "it chooses among the manners of another launcher"},
  {"tree-spawn novm no-ready-msg", 0, "it belongs to the daemons of another launcher; Tern's mpirun has none"},
  {"show-progress", 0, "ranks of one machine start at once"},
  {"gpu-support", 1, "GPU memory works without a switch"},
  // MPICH's hydra and those made from it
  {"bootstrap bootstrap-exec bootstrap-exec-args launcher launcher-exec launcher-exec-args rmk", 1,
   "it chooses how another launcher reaches other hosts; Tern's mpirun hands such jobs to srun or prterun"},
  {"iface interface nic", 1, "ranks of one host talk through shared memory"},
  {"topolib", 1, "hwloc reads the machine"},
  {"membind", 1, "memory is the kernel's choice, near the core that first writes it; see --bind-to and numactl"},
  {"print-rank-map", 0, "--report-bindings and --dry-run say where ranks go"},
  {"print-all-exitcodes", 0, "the first rank that fails is named with its exit code"},
  {"enable-auto-cleanup", 0, "a rank that fails ends the job"},
  {"enable-x disable-x", 0, "ranks inherit DISPLAY with the whole environment"},
  {"demux localhost port-range branch-count", 1, "it belongs to MPICH's hydra; there is nothing like it to set here"},
  {"pmi-port disable-hostname-propagation enable-hostname-propagation", 0,
   "it belongs to MPICH's hydra; there is nothing like it to set here"},
};

constexpr Answer kElsewhere[] = {
  // Open MPI and PRRTE
  {"rankfile rf", "is not known here; --map-by, --rank-by and --bind-to say where ranks go, and a section "
                  "between ':' may be started by taskset"},
  {"cpu-set cpu-list cpulist", "is not known here; start mpirun itself by taskset -c LIST"},
  {"nolocal", "is not known here; name the hosts that are wanted: -host A,B"},
  {"tune", "names a file of Open MPI's parameters and variables; Tern's parameters are set by --set NAME=VALUE, variables by -x"},
  {"do-not-launch", "is not known here; --dry-run prints what would be started where"},
  {"preload-binary preload-files preload-files-dest-dir set-cwd-to-session-dir",
   "is for hosts without a common file system; Tern's programs and libraries are found where they were linked"},
  {"debug tv debugger debug-verbose", "is not known here; a debugger starts or attaches to mpirun itself (MPIR_proctable): "
                                      "gdb -p PID"},
  {"stop-on-exec stop-in-init stop-in-app", "is not known here; set MPIR_being_debugged to 1 in mpirun by a debugger"},
  {"xterm", "is not known here; start one of each rank: mpirun -n 4 xterm -e ./program"},
  {"xml xml-file parsable parseable", "is not known here; --output DIR keeps the streams of ranks apart"},
  {"merge-stderr-to-stdout", "is not known here; use the shell: mpirun ... 2>&1"},
  {"index-argv-by-rank", "is not known here; the program finds its rank in OMPI_COMM_WORLD_RANK"},
  {"report-pid report-uri", "is not known here; the shell knows mpirun's pid: $!"},
  {"enable-recovery max-restarts continuous",
   "is not known here: the first rank that fails ends the job"},
  {"runtime-options rtos dvm-uri dvm ompi-server server-wait-time",
   "belongs to the daemons of another launcher; Tern's mpirun has none"},
  {"pass-environment-variables", "is not needed: ranks inherit the whole environment"},
  // MPICH's hydra and those made from it
  {"outfile-pattern errfile-pattern outfile errfile", "is not known here; --output DIR writes DIR/rank.N/stdout and stderr"},
  {"prepend-pattern", "is not known here; -l begins each line with its rank, --timestamp with the time"},
  {"genvnone envnone", "is not known here; clear it yourself: env -i PATH=\"$PATH\" mpirun ... (or --unset-env NAME)"},
  {"genvexcl envexcl", "is not known here; use --unset-env NAME"},
  {"order-nodes skip-launch-node", "is not known here; name the hosts in the order that is wanted: -host A,B"},
  {"disable-auto-cleanup", "is not known here: a job's processes never outlive mpirun"},
  {"info usize nameserver bootstrap-exec-fork rsh",
   "belongs to MPICH's hydra; there is nothing like it to set here"},
  {"ckpointlib ckpoint-prefix ckpoint-num ckpoint-interval ckpoint-preserve ckpoint-last ckpoint",
   "is not known here: there are no checkpoints"},
  {"gpus-per-proc gpu-subdevs-per-proc",
   "is not known here; a wrapper sets CUDA_VISIBLE_DEVICES from OMPI_COMM_WORLD_LOCAL_RANK (man mpirun)"},
  {"profile", "is not known here; start a profiler of each rank: mpirun -n 4 perf record ./program"},
  {"gtool gtoolfile", "is not known here; put the tool before the program, in a section of its own between ':'"},
  // srun
  {"ntasks", "is srun's; use -n"},
  {"ntasks-per-node", "is srun's; use -N"},
  {"cpus-per-task", "is srun's; use --map-by slot:PE=N"},
  {"cpu-bind cpu_bind", "is srun's; use --bind-to"},
  {"label", "is srun's; use -l"},
  {"chdir D", "is srun's; use -wdir"},
  {"nodelist w", "is srun's; use -host"},
  {"mpi", "is srun's; mpirun uses it where it starts srun"},
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
