# SPDX-License-Identifier: Apache-2.0
# TERN_EXPLAIN prints a line at the first message to a peer, a summary at the end, and each
# collective's algorithm once, as text or JSON. Parameters come from tern.conf.
# transport: sm, it reads what is said of shared memory
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat > talk.c <<'C'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size;
  char* block = calloc(1, 1 << 20);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; ++i) {
    if (rank == 0 && size > 1) MPI_Send(block, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 0 && size > 1) MPI_Send(block, 1 << 20, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(block, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Recv(block, 1 << 20, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  int x = 0;
  for (int i = 0; i < 5; ++i) MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  free(block);
  return 0;
}
C
"$MPICC" -o talk talk.c || exit 1
run() { "$MPIRUN" -n 2 "$@" ./talk 2>&1; }
once() { # once PATTERN COMMAND...: exactly one line matches
  local pattern=$1 text
  shift
  text=$("$@")
  [ "$(grep -c -e "$pattern" <<<"$text")" = 1 ] || { printf 'not once: "%s" in:\n%s\n' "$pattern" "$text"; return 1; }
}
check "no output without TERN_EXPLAIN" sh -c "[ -z \"\$('$MPIRUN' -n 2 ./talk 2>&1)\" ]"
check "the transport to a peer, with limits and reason" once \
  '\[rank 0\] to rank 1 by sm (shared memory: the same host): up to 63.8 KiB at once; larger messages' run -x TERN_EXPLAIN=1
check "the summary at the end" once \
  '\[rank 0\] sent to rank 1 by sm: .* messages at once .*, 3 messages announced (3 MiB)' run -x TERN_EXPLAIN=1
check "one line per algorithm" once 'allreduce of 4 bytes on 2 ranks: ' run -x TERN_EXPLAIN=1
check "the line has the limits of the run" once '\[rank 0\] to rank 1 .*: up to 1 KiB at once' \
  run -x TERN_EXPLAIN=1 -x TERN_EAGER_LIMIT=1k
json() {
  rm -f out.json
  run -x TERN_EXPLAIN=json:out.json | grep . && return 1
  python3 - <<'PY'
import json
lines = [json.loads(line) for line in open("out.json")]
peers = [l for l in lines if l["topic"] == "peer" and l["rank"] == 0]
assert len(peers) == 1 and peers[0]["peer"] == 1 and peers[0]["transport"] == "sm", peers
sums = [l for l in lines if l["topic"] == "traffic" and l["rank"] == 0]
assert len(sums) == 1 and sums[0]["announced"] == 3 and sums[0]["announced_bytes"] == 3 << 20, sums
assert any(l["topic"] == "collective" and l["operation"] == "allreduce" for l in lines), lines
PY
}
check "JSON lines, and no output on stderr" json
unopened() {
  local text
  text=$(run -x TERN_EXPLAIN=json:/nowhere/file)
  [ $? != 0 ] && grep -q 'TERN_EXPLAIN is "json:/nowhere/file", but the file cannot be opened' <<<"$text" ||
    { printf '%s\n' "$text"; return 1; }
}
check "the error names an unusable file" unopened

mkdir -p config/tern
printf '# of this user\nTERN_EXPLAIN = 1\n' > config/tern/tern.conf
check "the user's tern.conf" once '\[rank 0\] to rank 1 by sm' sh -c "XDG_CONFIG_HOME='$work/config' '$MPIRUN' -n 2 ./talk 2>&1"
check "the environment wins over tern.conf" sh -c \
  "[ -z \"\$(XDG_CONFIG_HOME='$work/config' TERN_EXPLAIN=0 '$MPIRUN' -n 2 ./talk 2>&1)\" ]"
printf 'TERN_SPIN = soon\n' > config/tern/tern.conf
check "one error per job for a wrong line" once 'tern.conf:1: TERN_SPIN is "soon"' \
  sh -c "XDG_CONFIG_HOME='$work/config' '$MPIRUN' -n 2 ./talk 2>&1"
check "one remark with the nearest name for an unknown name" once 'TERN_CHEK is not a parameter of Tern; did you mean TERN_CHECK?' \
  run -x TERN_CHEK=1
check "the remark without mpirun" once 'did you mean TERN_CHECK?' sh -c "TERN_CHEK=1 ./talk 2>&1"
totals
