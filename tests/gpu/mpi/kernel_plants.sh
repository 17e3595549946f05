#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels_test detects every fault of tests/gpu/kernels/plants.cc, by wrong data or an endless wait,
# and reports no fault without a planted one.
# timeout: 600
# configurations: 1
# queues: many, the ranks are streams of one process
set -eu
[ "$GPU_TWIN" = soft ] || { echo "faults are planted in the kernels for the host alone"; exit 77; }
export SOFTCUDA_KERNELS=$TREE/tests/gpu/libplanted.so SOFTCUDA_PROCESSORS=32 SOFTCUDA_WEAK=on
export TERN_TEST=cuda_kernels=$SOFTCUDA_KERNELS

# run PLANT WIRE ROUNDS: returns the status, sets $said. Several passes per call (--bytes) reveal
# stale reads. With 3 ranks each wait ends within 3 seconds, even on a busy machine.
run() {
  local status=0
  said=$(KERNELS_PLANT=$1 "$TREE/tests/gpu/kernels/kernels_test" --wire "$2" --rounds "$3" --bytes 64 --ranks 3 --patience 3 2>&1) || status=$?
  return $status
}
devices() { export SOFTCUDA_DEVICES=$1 SOFTCUDA_MULTICAST=$2; }

missed=0
for wire in ll ll128 bulk simple exchange multimem; do
  if [ $wire = multimem ]; then devices 4 on; else devices 1 off; fi
  run none $wire 10 || { echo "$wire: without a fault: $said"; exit 1; }
  case $wire in
    ll | ll128) plants="flag reuse" ;;
    bulk) plants="flag release reuse" ;;
    multimem) plants="flag release acquire" ;;
    *) plants="flag reuse release acquire" ;;
  esac
  [ -n "$FULL" ] || plants=${plants#* } plants=${plants%% *} # the second of each wire
  for plant in $plants; do
    if run "$plant" $wire 400; then
      echo "$wire: the fault \"$plant\" was not found: $said"
      missed=$((missed + 1))
    elif ! found=$(grep -oE 'round [0-9]+: (WRONG DATA|TIME OUT|GIVEN UP)' <<<"$said"); then
      echo "$wire, $plant: no verdict: $said"
      missed=$((missed + 1))
    else
      echo "$wire, $plant: $found"
    fi
  done
done
[ $missed = 0 ]
