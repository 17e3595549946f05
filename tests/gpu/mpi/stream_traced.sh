#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A trace has the run of each enqueued collective on its stream: after the call, until the last rank has come.
# configurations: 2-apart
# alone: yes
set -eu
[ "$GPU_TWIN" = soft ] || { echo "the program is linked with the software driver"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >program.cc <<'C'
#include <unistd.h>

#include "stream.hpp"

using namespace tern::test;

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    Vector<int> data(1000);
    data.put(on.queue);
    OK(MPIX_Barrier_enqueue(on.comm));
    on.sync();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) usleep(200000);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 1000, MPI_INT, MPI_SUM, on.comm));
    on.sync();
  }
  return end();
}
C
"$MPICXX" -std=c++20 -O1 -I"$TOP" -I"$TOP/src" -I"$TOP/tests/gpu/mpi" program.cc -o program -L"$TREE/tests/softcuda" \
  -Wl,--no-as-needed -lcuda -ldl
"$MPIRUN" --trace=run.trace -n 2 ./program
python3 "$TOP/tests/mpi/trace.py" run.trace \
  'all(len(of(rank, "MPIX_Allreduce_enqueue", "device")) == len(of(rank, "MPIX_Allreduce_enqueue", "collective_start")) == 1 for rank in (0, 1))'
python3 "$TOP/tests/mpi/trace.py" run.trace \
  'all(of(rank, f, "device")[0].request == of(rank, f, "collective_start")[0].request != 0 for rank in (0, 1) for f in ("MPIX_Allreduce_enqueue", "MPIX_Barrier_enqueue"))'
# Rank 0 waits on the stream, not in the call.
python3 "$TOP/tests/mpi/trace.py" run.trace \
  'of(0, "MPIX_Allreduce_enqueue", "device")[0].seconds > 0.19 > 0.1 > of(1, "MPIX_Allreduce_enqueue", "device")[0].seconds and of(0, "MPIX_Allreduce_enqueue", "collective_start")[0].seconds < 0.1'
"$PREFIX/bin/tern_trace" run.trace --json >report.json
python3 - <<'PY'
import json
found = [one for one in json.load(open("report.json"))["findings"] if one["wait"] == "device"]
assert len(found) == 1 and found[0]["function"] == "MPIX_Allreduce_enqueue" and found[0]["rank"] == "0", found
assert found[0]["causes"][0]["rank"] == "1" and 0.19 < found[0]["seconds"] < 0.4, found
PY
