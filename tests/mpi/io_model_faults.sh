# SPDX-License-Identifier: Apache-2.0
# The random model of files (io_model.c) finds wrong system calls: a changed hole, an ignored short
# write, a write at another place, a lost write, and a count that is too large.
# timeout: 120
# hosts: no, all ranks share the file
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
"$MPICC" -O1 -I"$TOP/tests/mpi" "$TOP/tests/mpi/io_model.c" -o io_model || exit 1
cc -O1 -w -shared -fPIC -x c "$TOP/tests/mpi/io_faults_shim.inc" -o shim.so -ldl || exit 1
model() { # model WAY FAULT
  env -u FULL TERN_IO="$1" FAULT="$2" FAULT_RANK=0 FAULT_FILE=io_model. TMPDIR="$work" timeout 60 \
    "$MPIRUN" -n 3 env LD_PRELOAD="$work/shim.so" ./io_model 300 1 "$work" 2>&1
}
finds() { # finds WAY FAULT
  local got status=0
  got=$(model "$@") || status=$?
  printf 'exit %s: %s\n' "$status" "$got"
  [ "$status" = 1 ] && grep -q '^again: io_model 300 1' <<<"$got"
}
ways="mapped exchange"
[ -z "${FULL:-}" ] || ways="plain mapped exchange"
for way in $ways; do
  at=25
  [ $way = exchange ] && at=33  # a call whose faults later calls do not repair
  check "the model passes with a harmless shim, $way" model $way ""
  check "no mapping, $way" model $way "mmap 0 EOPNOTSUPP"
  check "no pages for a mapping, $way" model $way "populate 0 EIO"
  check "short calls are harmless, $way" model $way "any 0 short"
  check "a changed hole, $way" finds $way "pwrite $at spill"
  check "an ignored short write, $way" finds $way "pwrite $at lost"
  check "a write 4 bytes behind its place, $way" finds $way "pwrite $at moved"
  check "a lost write, $way" finds $way "pwrite $at dropped"
  check "counts that ignore the end of the file, $way" finds $way "pread 0 more"
done
totals
