# SPDX-License-Identifier: Apache-2.0
# Options, environment, input and output of mpirun.
# timeout: 240
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
mkdir folder

variables='echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $MPI_LOCALRANKID $PMIX_RANK'

# Options
check "-n" prints $'a\na\na' "$MPIRUN" -n 3 echo a
check "-np" prints $'a\na' "$MPIRUN" -np 2 echo a
check "one rank without -n" prints a "$MPIRUN" echo a
check "options behind the program belong to the program" prints -n "$MPIRUN" -n 1 printf '%s\n' -n
check "more ranks than cores need no switch" prints 40 sh -c "'$MPIRUN' -n 40 echo a | wc -l"
check "--oversubscribe is accepted" prints a "$MPIRUN" --oversubscribe -n 1 echo a
check "--version" prints "$("$MPIRUN" --version)" "$MPIRUN" -V
check "--version names Tern" grep -q 'Tern MPI' <("$MPIRUN" --version)
check "--help" grep -q -e '--bind-to' <("$MPIRUN" --help)
check "mpiexec is mpirun" prints a "$(dirname "$MPIRUN")/mpiexec" -n 1 echo a
check "an unknown option names the nearest" fails 2 'did you mean --tag-output' "$MPIRUN" --tag-outptu -n 1 true
check "another launcher's option is refused by name" fails 2 'Open MPI' "$MPIRUN" --tune file -n 1 true
check "a wrong number is refused" fails 2 '"many"' "$MPIRUN" -n many true
check "no program" fails 2 'no program' "$MPIRUN" -n 2

# Sections, environment, folders
check "sections after ':'" prints $'a 0/3 0 0 0\nb 1/3 1 1 1\nb 2/3 2 2 2' \
  "$MPIRUN" -n 1 sh -c "printf 'a '; $variables" : -n 2 sh -c "printf 'b '; $variables"
check "-x NAME=VALUE" prints "a b" "$MPIRUN" -x "V=a b" -n 1 sh -c 'echo "$V"'
check "-x NAME" prints here env V=here "$MPIRUN" -x V -n 1 sh -c 'echo $V'
check "-x of an unset variable" fails 2 'is not set here' env -u V "$MPIRUN" -x V -n 1 true
check "-env applies to its section" prints $'\nx' "$MPIRUN" -n 1 -env V x sh -c 'echo $V' : -n 1 sh -c 'echo $V'
check "-genv applies to all ranks" prints $'x\nx' "$MPIRUN" -genv V x -n 1 sh -c 'echo $V' : -n 1 sh -c 'echo $V'
check "a variable replaces the inherited one" prints 1 env V=old "$MPIRUN" -x V=new -n 1 sh -c 'env | grep -c ^V='
check "-wdir" prints $'folder\nfolder' "$MPIRUN" -wdir folder -n 2 sh -c 'basename "$PWD"'
printf '#!/bin/sh\necho started\n' >folder/starter && chmod +x folder/starter
check "a program relative to -wdir" prints started "$MPIRUN" -wdir folder -n 1 ./starter
check "mpirun inside another job starts afresh" prints 0/1 \
  "$MPIRUN" -n 1 "$MPIRUN" -n 1 sh -c 'echo $PMIX_RANK/$OMPI_COMM_WORLD_SIZE'

# Programs that cannot start
printf 'no script' >folder/plain
printf '#!/nowhere/shell\n' >folder/orphan && chmod +x folder/orphan
printf 'true\n' >folder/headless && chmod +x folder/headless
check "a missing program" fails 127 'cannot start ./nope: No such file' "$MPIRUN" -n 2 ./nope
check "a missing program of the PATH" fails 127 'no such program in PATH' "$MPIRUN" -n 2 no-such-program
check "a program in the folder, not in PATH" fails 127 'did you mean ./starter' sh -c "cd folder && '$MPIRUN' -n 2 starter"
check "a program without execute permission" fails 127 'chmod +x' "$MPIRUN" -n 2 folder/plain
check "a missing interpreter" fails 127 'cannot start rank 0 on host.*the interpreter /nowhere/shell does not' "$MPIRUN" -n 2 folder/orphan
printf '#!/bin/sh\r\ntrue\r\n' >folder/dos && chmod +x folder/dos
check "DOS line ends" fails 127 'DOS line ends' "$MPIRUN" -n 2 folder/dos
printf '\177ELF and no more' >folder/cut && chmod +x folder/cut
check "a truncated program" fails 126 'for another machine, or cut off' "$MPIRUN" -n 2 folder/cut
printf 'int main(void) { return 0; }\n' >folder/other.c && gcc folder/other.c -o folder/other -Wl,--dynamic-linker=/nowhere/loader
check "a missing loader" fails 127 'the loader /nowhere/loader does not' "$MPIRUN" -n 2 folder/other
gcc folder/other.c -o folder/unloaded -Wl,--no-as-needed -L"$PREFIX/lib" -l:libmpi_abi.so.1
check "a missing library" fails 127 "ldd ./unloaded.*libmpi_abi.so.1 is in $PREFIX/lib" sh -c "cd folder && unset LD_LIBRARY_PATH && '$MPIRUN' -n 2 ./unloaded"
check "a script without #!" fails 126 '#! line' "$MPIRUN" -n 2 folder/headless
check "a missing folder" fails 127 'nofolder' "$MPIRUN" -wdir nofolder -n 2 true
check "a folder as program" fails 127 'not a file' "$MPIRUN" -n 2 ./folder

# Binding. overload-allowed: other jobs of the machine do not matter.
cores=$(nproc)
mask='grep Cpus_allowed_list /proc/self/status | cut -f2'
check "--report-bindings names each rank" \
  sh -c "[ \$('$MPIRUN' --report-bindings -n 2 true 2>&1 | grep -c '^mpirun: rank [01]: ') = 2 ]"
check "--bind-to none" prints "$(eval "$mask")" "$MPIRUN" --bind-to none -n 1 sh -c "$mask"
check "ranks beyond the cores are not bound" \
  prints "$(eval "$mask")" sh -c "'$MPIRUN' -n $((cores + 1)) sh -c '$mask' | uniq"
if [ "$cores" -ge 2 ]; then
  check "two ranks share no core" sh -c "[ \$('$MPIRUN' --bind-to share:overload-allowed -n 2 sh -c '$mask' | sort -u | wc -l) = 2 ]"
  check "--bind-to core" sh -c "'$MPIRUN' --bind-to core -n 2 sh -c '$mask' | sort -u | grep -c . | grep -q 2"
else
  skip "binding of two ranks" "one core"
fi

# Output
check "--tag-output" prints $'[0] a\n[0] b\n[1] a\n[1] b' "$MPIRUN" --tag-output -n 2 printf 'a\nb\n'
check "-l" prints '[0] x' "$MPIRUN" -l -n 1 echo x
long='i=0; while [ $i -lt 300 ]; do printf "%s" "$PMIX_RANK $PMIX_RANK $PMIX_RANK "; echo "$PMIX_RANK end"; i=$((i+1)); done'
check "lines of ranks are never mixed" prints $'    300 0 0 0 0 end\n    300 1 1 1 1 end\n    300 2 2 2 2 end' \
  sh -c "'$MPIRUN' -n 3 sh -c '$long' | sort | uniq -c"
check "an unfinished last line stays unchanged" prints 3 sh -c "'$MPIRUN' -n 1 printf abc | wc -c"
check "two unfinished lines stay apart" prints $'abc\nabc' "$MPIRUN" -n 2 printf abc
check "stdout and stderr stay apart" prints out sh -c "'$MPIRUN' -n 2 sh -c 'echo out; echo err >&2' 2>/dev/null | uniq"
head -c 10000000 /dev/urandom >bytes
sum=$(md5sum <bytes)
one='if [ $PMIX_RANK = 0 ]; then'
check "10 MB of stdout, byte for byte" prints "$sum" sh -c "'$MPIRUN' -n 2 sh -c '$one cat bytes; fi' | md5sum"
check "a slow reader loses nothing" prints "$sum" \
  sh -c "'$MPIRUN' -n 2 sh -c '$one cat bytes; fi' | (sleep 0.5; md5sum)"
check "a closed stdout ends the job" timeout 30 sh -c "'$MPIRUN' -n 2 yes | head -n 3 >/dev/null"
check "a full disk ends the job with an error" fails 1 'No space left' timeout 30 sh -c "'$MPIRUN' -n 2 yes 3>&1 >/dev/full"

# Input
check "10 MB of stdin to rank 0, from a file" prints "$sum" "$MPIRUN" -n 3 sh -c "$one md5sum; fi" <bytes
check "10 MB of stdin to rank 0, from a pipe" prints "$sum" \
  sh -c "cat bytes | '$MPIRUN' -n 3 sh -c '$one md5sum; fi'"
check "the others' stdin is empty" prints $'0\n0\n3' "$MPIRUN" -n 3 sh -c 'wc -c' <<<"ab"
check "unread input stays for the next program" prints 'rest' \
  sh -c "printf 'first\nrest\n' | (read x; '$MPIRUN' -n 2 true; cat)"
if command -v script >/dev/null; then
  check "a terminal's lines reach rank 0" grep -q 'got typed' <(
    (sleep 0.3; echo typed; sleep 0.3; printf '\004'; sleep 0.2) |
      script -qec "'$MPIRUN' -n 2 sh -c '[ \$PMIX_RANK = 1 ] || { read x; echo got \$x; }'" /dev/null)
else
  skip "a terminal's lines reach rank 0" "no script(1)"
fi
totals
