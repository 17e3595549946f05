// SPDX-License-Identifier: Apache-2.0
// Options of other launchers that would be a silent surprise if guessed at, and what to do instead.
// A word that means the same here is no row of this table, but a name in option_table.cc.
#include <iterator>

#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

struct Answer {
  const char* names;
  const char* text;  // follows the option as typed
};

// clang-format off
constexpr Answer kElsewhere[] = {
  // Open MPI and PRRTE
  {"mca gmca omca pmixmca gpmixmca prtemca am tune",
   "is Open MPI's way to set parameters; Tern's are set by --set NAME=VALUE (tern_info lists them)"},
  {"rankfile rf", "is not known here; --map-by, --rank-by and --bind-to say where ranks go, and a section "
                  "between ':' may be started by taskset"},
  {"display display-map display-devel-map display-allocation display-topo do-not-launch do-not-resolve",
   "is not known here; --dry-run prints what would be started where, --report-bindings the processors"},
  {"cpus-per-proc cpus-per-rank cpus-per-pe", "is not known here; use --map-by slot:PE=N"},
  {"npersocket", "is not known here; use --map-by ppr:N:package"},
  {"npernuma", "is not known here; use --map-by ppr:N:numa"},
  {"bycore", "is not known here; use --map-by core"},
  {"byslot", "is not known here; use --map-by slot"},
  {"bynode", "is not known here; use --map-by node"},
  {"bysocket", "is not known here; use --map-by package"},
  {"bind-to-core", "is not known here; use --bind-to core"},
  {"bind-to-socket", "is not known here; use --bind-to package"},
  {"bind-to-none", "is not known here; use --bind-to none"},
  {"cpu-set cpu-list cpulist", "is not known here; start mpirun itself by taskset -c LIST"},
  {"use-hwthread-cpus use-hwthreads", "is not known here; use --map-by hwthread --bind-to hwthread"},
  {"nolocal", "is not known here; name the hosts that are wanted: -host A,B"},
  {"default-hostfile", "is not known here; use --hostfile FILE"},
  {"prefix noprefix preload-binary preload-files preload-files-dest-dir set-cwd-to-session-dir",
   "is for hosts without a common file system; Tern's programs and libraries are found where they were linked"},
  {"verbose v d debug-devel debug-daemons debug-daemons-file leave-session-attached",
   "is not known here; TERN_EXPLAIN=1 (-x TERN_EXPLAIN=1) says what is chosen and why, --dry-run what is started"},
  {"debug tv debugger debug-verbose", "is not known here; a debugger starts or attaches to mpirun itself (MPIR_proctable): "
                                      "gdb -p PID"},
  {"stop-on-exec stop-in-init stop-in-app", "is not known here; set MPIR_being_debugged to 1 in mpirun by a debugger"},
  {"xterm", "is not known here; start one of each rank: mpirun -n 4 xterm -e ./program"},
  {"xml xml-file parsable parseable", "is not known here; --output DIR keeps the streams of ranks apart"},
  {"merge-stderr-to-stdout", "is not known here; use the shell: mpirun ... 2>&1"},
  {"stream-buffering", "is not known here; output goes on line by line (for the program's own buffers: stdbuf)"},
  {"index-argv-by-rank", "is not known here; the program finds its rank in OMPI_COMM_WORLD_RANK"},
  {"report-pid report-uri report-child-jobs-separately", "is not known here; the shell knows mpirun's pid: $!"},
  {"report-state-on-timeout get-stack-traces",
   "is not known here; --timeout and kill -QUIT of mpirun say what each rank waits for"},
  {"forward-signals", "is not needed: INT, TERM, HUP, USR1, USR2, TSTP and CONT are passed on"},
  {"enable-recovery max-restarts disable-recovery continuous",
   "is not known here: the first rank that fails ends the job"},
  {"personality runtime-options rtos dvm-uri dvm ompi-server server-wait-time tree-spawn novm no-ready-msg",
   "belongs to the daemons of another launcher; Tern's mpirun has none"},
  {"pass-environment-variables", "is not needed: ranks inherit the whole environment"},
  {"show-progress", "is not known here"},
  {"gpu-support", "is not known here"},
  // MPICH's hydra and those made from it
  {"outfile-pattern errfile-pattern outfile errfile", "is not known here; --output DIR writes DIR/rank.N/stdout and stderr"},
  {"prepend-pattern", "is not known here; -l begins each line with its rank, --timestamp with the time"},
  {"bootstrap bootstrap-exec bootstrap-exec-args bootstrap-exec-fork launcher launcher-exec launcher-exec-args rsh rmk",
   "chooses how another launcher reaches other hosts; Tern's mpirun hands such jobs to srun or prterun"},
  {"iface interface nic", "is not known here; ranks of one host talk through shared memory"},
  {"genvnone envnone", "is not known here; clear it yourself: env -i PATH=\"$PATH\" mpirun ... (or --unset-env NAME)"},
  {"genvexcl envexcl", "is not known here; use --unset-env NAME"},
  {"binding bind", "is not known here; use --bind-to"},
  {"map", "is not known here; use --map-by"},
  {"topolib membind", "is not known here; use --bind-to; hwloc reads the machine"},
  {"rr", "is not known here; use --map-by node"},
  {"grr", "is not known here; use -ppn"},
  {"order-nodes skip-launch-node", "is not known here; name the hosts in the order that is wanted: -host A,B"},
  {"print-rank-map", "is not known here; use --report-bindings or --dry-run"},
  {"print-all-exitcodes", "is not known here; the first rank that fails is named with its exit code"},
  {"disable-auto-cleanup enable-x disable-x", "is not known here: a job's processes never outlive mpirun"},
  {"demux info usize nameserver pmi-port disable-hostname-propagation localhost port-range branch-count",
   "belongs to MPICH's hydra; there is nothing like it to set here"},
  {"ckpointlib ckpoint-prefix ckpoint-num ckpoint-interval ckpoint-preserve ckpoint-last ckpoint",
   "is not known here: there are no checkpoints"},
  {"gpus-per-proc gpu-subdevs-per-proc",
   "is not known here; a wrapper sets CUDA_VISIBLE_DEVICES from OMPI_COMM_WORLD_LOCAL_RANK (man mpirun)"},
  {"profile", "is not known here; start a profiler of each rank: mpirun -n 4 perf record ./program"},
  {"gtool gtoolfile", "is not known here; put the tool before the program, in a section of its own between ':'"},
  {"maxtime", "is not known here; use --timeout SECONDS"},
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

const char* answer_to_elsewhere(const std::string& name) noexcept {
  for (const Answer& answer : kElsewhere)
    if (names_contain(answer.names, name)) return answer.text;
  return nullptr;
}

}  // namespace tern::mpirun
