#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The waiting kernels with 1 to 8 ranks in one process: random calls by each wire, with and without
# graphs, all bytes compared, on one device, on weakly ordered memory, and on four devices with
# multicast memory.
# timeout: 600
# configurations: 1
# queues: many, the ranks are streams of one process
set -eu
test=$TREE/tests/gpu/kernels/kernels_test
[ -x "$test" ] || { echo "$test is missing: make -C $TREE driver-built"; exit 1; }
rounds=300
[ -z "$FULL" ] || rounds=10000
if [ "$GPU_TWIN" = gpu ]; then
  # After 200 seconds it prints the options for the rest.
  exec "$test" --rounds 100000 --seconds 200 --bytes 1024 --scratch 32768
fi
export SOFTCUDA_PROCESSORS=32
"$test" --rounds "$rounds" --devices 1 --patience 30
SOFTCUDA_WEAK=on "$test" --seed 2 --rounds $((rounds / 20)) --devices 1 --patience 30
SOFTCUDA_WEAK=on SOFTCUDA_DEVICES=4 SOFTCUDA_MULTICAST=on "$test" --seed 3 --rounds $((rounds / 10)) --patience 30
