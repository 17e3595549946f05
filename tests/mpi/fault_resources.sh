# SPDX-License-Identifier: Apache-2.0
# Little memory, few descriptors, full disks: every run succeeds, or ends within seconds with a
# message about the missing resource.
# timeout: 600
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
mounts=()
trap 'for at in "${mounts[@]}"; do umount "$at"; done; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >some.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  static char out[1 << 20], in[1 << 20];
  for (int bytes = 1; bytes <= 1 << 20; bytes *= 4) {
    out[bytes - 1] = (char)(rank + bytes);
    MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in[bytes - 1] != (char)(from + bytes)) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  enum { kMany = 2000 };
  static MPI_Request requests[kMany];
  for (int i = 0; i < kMany; ++i) MPI_Isend(out, 5000, MPI_CHAR, to, 2, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < kMany; ++i) MPI_Recv(in, 5000, MPI_CHAR, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Alltoall(out, 1000, MPI_CHAR, in, 1000, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Comm twice;
  MPI_Comm_dup(MPI_COMM_WORLD, &twice);
  MPI_Barrier(twice);
  MPI_Comm_free(&twice);
  MPI_Finalize();
  if (rank == 0 && sum == size * (size - 1) / 2) puts("all is fine");
  return 0;
}
END_OF_C
"$MPICC" -O1 some.c -o some || exit 1

judged=0 fine=0
judge() { # judge COMMAND...: success, or a message
  local code start=$SECONDS
  timeout -k 1 20 "$@" >out 2>err
  code=$?
  judged=$((judged + 1))
  if [ $code = 0 ] && grep -q 'all is fine' out; then
    fine=$((fine + 1))
    return 0
  fi
  printf 'exit %s after %s s: %s\n' "$code" $((SECONDS - start)) "$(head -c 2000 out err)"
  [ $code != 0 ] && [ $code != 124 ] && [ $code -lt 129 ] && [ $code != 137 ] &&
    ! grep -qE 'killed by signal|terminate called|broken invariant' err &&
    grep -qE '^(mpirun|\[(rank|tern).*\]|[^ ]*: error while loading|cannot allocate TLS|Error).*[a-z]{3}' err
}
sweep() { # sweep WHERE LIMIT VALUES...: `ulimit LIMIT VALUE` around mpirun, or around each rank
  local where=$1 limit=$2 value wrong=0
  shift 2
  fine=0
  for value in "$@"; do
    (ulimit -S $limit "$value" && /bin/true) 2>/dev/null || continue # too low for any program
    if [ "$where" = mpirun ]; then
      judge sh -c "ulimit -S $limit $value && exec \"\$@\"" sh "$MPIRUN" -n $ranks ./some
    else
      judge "$MPIRUN" -n $ranks sh -c "ulimit -S $limit $value && exec ./some"
    fi || { echo "WRONG: ulimit $limit $value around $where"; wrong=$((wrong + 1)); }
  done
  echo "$fine of $# succeeded"
  [ $wrong = 0 ]
}
few_and_enough() { sweep "$@" && [ "$fine" -gt 0 ] && [ "$fine" -lt $(($# - 2)) ]; } # the sweep crosses the border

# KiB, around each border of the library's needs, and far beyond.
step=$([ -n "${FULL:-}" ] && echo 500 || echo 2500)
memory=$(seq 5000 $step 40000; seq 50000 25000 150000; echo 400000)
ranks=3
check "ulimit -v of the ranks" few_and_enough rank -v $memory
check "ulimit -v of mpirun and ranks" few_and_enough mpirun -v $memory
check "ulimit -d of the ranks" sweep rank -d $(seq 2800 300 6000)
check "ulimit -n of the ranks" few_and_enough rank -n 3 4 5 6 7 8 9 10 12 16 32
check "ulimit -n of mpirun and ranks" sweep mpirun -n 4 5 6 7 8 10 12 14 16 18 20 24 28 32 64

check "ulimit -f of the ranks" few_and_enough rank -f 64 1024 4000000
check "ulimit -f of mpirun and ranks" sweep mpirun -f 64 1024 4000000
named() { # named PATTERN COMMAND...: fails with PATTERN
  local pattern=$1
  shift
  ! timeout 30 "$@" >out 2>err && cat err && grep -q -e "$pattern" err
}
check "the error has the limit and the cure" named 'ulimit -f allows [0-9]* KiB.*ulimit -f unlimited' sh -c 'ulimit -f 64; exec "$MPIRUN" -n 2 ./some'
check "a job above the limit is refused" named '^mpirun: 100 ranks need 308 descriptors in mpirun, but ulimit -Hn allows 64. Cure:' \
  sh -c 'ulimit -n 64; exec "$MPIRUN" -n 100 ./some'
check "a rank without CPU time" named 'killed by signal 24 .*see ulimit -t' \
  "$MPIRUN" -n 2 sh -c 'ulimit -S -t 1; while :; do :; done'
check "a rank above the file size limit" named 'killed by signal 25 .*see ulimit -f' \
  "$MPIRUN" -n 2 bash -c 'ulimit -S -f 1; exec head -c 100000 /dev/zero >too_much'

# Start-up needs no disk. A component without disk space prints an error.
on_full_disk() { # on_full_disk COMMAND...: TMPDIR and XDG_RUNTIME_DIR have no free byte
  mkdir -p full && mount -t tmpfs -o size=4k tmpfs full || return 1
  mounts=(full)
  head -c 4096 /dev/zero >full/fill
  judge env TMPDIR="$work/full" XDG_RUNTIME_DIR="$work/full" "$@"
  local answer=$?
  umount full && mounts=()
  return $answer
}
full_shm() { # a private, full /dev/shm
  judge unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero >/dev/shm/fill; exec "$@"' \
    sh "$MPIRUN" -n 3 ./some && [ "$fine" = 1 ]
}
full_output() {
  "$MPIRUN" -n 2 sh -c 'seq 1 100000' >/dev/full 2>err
  [ $? != 0 ] && grep -q "No space left" err
}
fine=0
if unshare -m true 2>/dev/null && mkdir -p try && mount -t tmpfs tmpfs try 2>/dev/null && umount try; then
  check "a full TMPDIR" on_full_disk "$MPIRUN" -n 3 ./some
  check "a full TMPDIR and PMIx" on_full_disk env TERN_BOOT=pmix "$MPIRUN" -n 3 ./some
  fine=0
  check "a full /dev/shm" full_shm
else
  skip "full disks" "needs root and its own mounts"
fi
check "output to a full disk" full_output
ranks=8
check "32 descriptors, 8 ranks" sweep rank -n 32
check "8 descriptors, 8 ranks" sweep rank -n 8

totals
