# SPDX-License-Identifier: Apache-2.0
# Under a profiler (NVTX_INJECTION64_PATH) each MPI call is an NVTX range of the domain "MPI", also after an error handler's jump.
# timeout: 60
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
# A tool: prints the ranges of each thread. Numbers and layouts are those of NVTX 3.
cat >tool.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef void (*Function)(void);
struct Callbacks { size_t size; int (*functions)(int, Function***, unsigned*); };
struct Version { size_t size; uint32_t version, reserved; void (*set)(uint32_t); };
struct Attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const char* message;
};
static __thread int depth;
static char domain_[16];
static void* create(const char* name) { snprintf(domain_, sizeof domain_, "%s", name); return domain_; }
static int push(void* domain, const struct Attributes* what) {
  if (what->version != 3 || what->size != 48 || what->message_type != 1) return -1;
  printf("%s %s at %d\n", (char*)domain, what->message, depth);
  return depth++;
}
static int pop(void* domain) { (void)domain; return depth-- - 1; }
static void report(void) { printf("depth %d\n", depth); }
__attribute__((destructor)) static void end(void) { report(); fflush(stdout); }
int InitializeInjectionNvtx2(const void* (*table)(uint32_t)) {
  const struct Callbacks* const callbacks = table(1);
  const struct Version* const version = table(3);
  Function** functions;
  unsigned size;
  if (table(9) != NULL || version->version != 3 || callbacks->size < sizeof *callbacks) return 0;
  version->set(3);
  if (callbacks->functions(99, &functions, &size) != 0) return 0;
  if (callbacks->functions(1, &functions, &size) != 1 || size < 16 || functions[9] == NULL) return 0;
  if (callbacks->functions(5, &functions, &size) != 1 || size < 16) return 0;
#ifndef LAME
  *functions[12] = (Function)create;
  *functions[4] = (Function)push;
  *functions[5] = (Function)pop;
#endif
  return 1;
}
C
cat >program.c <<'C'
#include <mpi.h>
#include <setjmp.h>
#include <stddef.h>
static jmp_buf landing;
static void jump(MPI_Comm* comm, int* code, ...) { (void)comm; longjmp(landing, *code); }
int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int word = 0;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Pcontrol(1);
  MPI_Comm_create_errhandler(jump, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  if (setjmp(landing) == 0) MPI_Send(&word, 1, MPI_INT, 7, 1, MPI_COMM_SELF);
  MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &word, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
C
"${CC:-cc}" -shared -fPIC -o tool.so tool.c && "${CC:-cc}" -DLAME -shared -fPIC -o lame.so tool.c &&
  "$MPICC" -o program program.c || exit 1
under() { NVTX_INJECTION64_PATH=$work/$1 "$MPIRUN" "${@:2}" -n 1 ./program; }
expected='MPI MPI_Barrier at 0
MPI MPI_Send at 0
MPI MPI_Sendrecv at 0
MPI MPI_Finalize at 0
depth 0'
only_ranges() { under "$@" | grep -v '^MPI MPI_Init'; }
check "each call is a range" prints "$expected" only_ranges tool.so
check "beside a trace and a profile" prints "$expected" only_ranges tool.so --trace=both.trace --profile=both.json
check "the trace has the calls too" python3 "$TOP/tests/mpi/trace.py" both.trace 'len(of(0, "MPI_Barrier")) == 1'
check "without a profiler, no range" prints "" "$MPIRUN" -n 1 ./program
check "a missing tool is named" fails 0 'MPI calls get no NVTX ranges: .*none.so' under none.so
check "a tool without domains is named" fails 0 'takes no ranges of domains' under lame.so
totals
