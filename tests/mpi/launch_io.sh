# SPDX-License-Identifier: Apache-2.0
# mpirun's streams with much data: no loss, no mixing, no change, no hang.
# timeout: 300
. "$TOP/tests/verdicts.sh"
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1

head -c 100000000 /dev/urandom >bytes
sum=$(md5sum <bytes)
small=$(head -c 20000000 bytes | md5sum)
zero='[ $PMIX_RANK != 0 ] ||'

# Much through one rank
check "100 MB from a pipe through rank 0 to a pipe" prints "$sum" \
  sh -c "cat bytes | '$MPIRUN' -n 3 sh -c '$zero cat' | md5sum"
check "100 MB from a file through rank 0 to a file" prints "$sum" \
  sh -c "'$MPIRUN' -n 3 sh -c '$zero cat' <bytes >copy; md5sum <copy"
check "100 MB through a job of one rank" prints "$sum" sh -c "cat bytes | '$MPIRUN' -n 1 cat | md5sum"
check "100 MB to stderr" prints "$sum" sh -c "'$MPIRUN' -n 2 sh -c '$zero cat bytes >&2' 2>&1 >/dev/null | md5sum"
rm -f copy

# All ranks at once: 50 MB each, a million lines
check "50 MB of each of four ranks at once, whole lines" \
  prints $'1000000 line of rank 0 with enough text to make it 50 bytes\n1000000 line of rank 1 with enough text to make it 50 bytes\n1000000 line of rank 2 with enough text to make it 50 bytes\n1000000 line of rank 3 with enough text to make it 50 bytes' \
  sh -c "'$MPIRUN' -n 4 sh -c 'yes \"line of rank \$PMIX_RANK with enough text to make it 50 bytes\" | head -n 1000000' |
    awk '{ seen[\$0]++ } END { for (line in seen) print seen[line], line }'"
check "tags on all of them" prints $'300000 [0] x\n300000 [1] x' \
  sh -c "'$MPIRUN' -l -n 2 sh -c 'yes x | head -n 300000' | awk '{ seen[\$0]++ } END { for (line in seen) print seen[line], line }'"
check "both streams of all ranks, with late readers" prints $'2000000 e\n2000000 o' sh -c "
  mkfifo errors; (sleep 0.5; wc -l <errors | sed 's/$/ e/') &
  '$MPIRUN' -n 2 sh -c 'yes o | head -n 1000000; yes e | head -n 1000000 >&2' 2>errors | (sleep 1; wc -l | sed 's/$/ o/'); wait"
check "escape sequences and zeros pass through" prints "$(printf 'a\033[31mred\033[0m\r\n\0b\377\n' | md5sum)" \
  sh -c "'$MPIRUN' -n 2 sh -c '$zero printf \"a\\033[31mred\\033[0m\\r\\n\\0b\\377\\n\"' | md5sum"

# --stdin
check "--stdin all from a pipe" prints "$small"$'\n'"$small"$'\n'"$small" \
  sh -c "head -c 20000000 bytes | '$MPIRUN' --stdin all -n 3 md5sum"
check "--stdin all from a file" prints "$sum"$'\n'"$sum" sh -c "'$MPIRUN' --stdin all -n 2 md5sum <bytes"
check "--stdin all from the middle of a file" prints $'rest\nrest' \
  sh -c "printf 'first\nrest\n' >lines; (read -r x; '$MPIRUN' --stdin all -n 2 cat) <lines"
check "--stdin all with a reader that ends early" prints $'20000000\n5' \
  sh -c "head -c 20000000 bytes | '$MPIRUN' --stdin all -n 2 sh -c 'if [ \$PMIX_RANK = 1 ]; then head -c 5 | wc -c; else wc -c; fi'"
check "--stdin all with a slow reader" prints "$small"$'\n'"$small" \
  sh -c "head -c 20000000 bytes | '$MPIRUN' --stdin all -n 2 sh -c '[ \$PMIX_RANK = 0 ] || sleep 0.5; md5sum'"
check "--stdin all, more than the buffer, one slow reader" prints "$sum"$'\n'"$sum" \
  sh -c "cat bytes | '$MPIRUN' --stdin all -n 2 sh -c '[ \$PMIX_RANK = 0 ] || sleep 1; md5sum'"
check "--stdin all when no rank reads" sh -c "cat bytes | timeout 60 '$MPIRUN' --stdin all -n 2 true"
check "--stdin all of nothing" prints $'0\n0' "$MPIRUN" --stdin all -n 2 wc -c </dev/null
check "--stdin 1" prints $'0 0\n1 3' sh -c "printf abc | '$MPIRUN' --stdin 1 -n 2 sh -c 'echo \$PMIX_RANK \$(wc -c)'"
check "--stdin none" prints $'0\n0' sh -c "printf abc | '$MPIRUN' --stdin none -n 2 wc -c"
check "--stdin of a missing rank" fails 2 '"2" is not a rank; this job has ranks 0..1' "$MPIRUN" --stdin 2 -n 2 true
check "a closed stdin is empty" prints $'0\n0' sh -c "'$MPIRUN' -n 2 wc -c <&-"
if command -v script >/dev/null; then
  check "a terminal's lines reach all ranks" test 2 = "$(
    (sleep 0.5; echo typed; sleep 0.5; printf '\004'; sleep 0.3) |
      script -qec "'$MPIRUN' --stdin all -n 2 sh -c 'read x; echo got \$x'" /dev/null | grep -c 'got typed')"
else
  skip "a terminal's lines reach all ranks" "no script(1)"
fi

# --output, --timestamp
check "--output" prints '' "$MPIRUN" --output out/deep -n 2 sh -c 'echo $PMIX_RANK; echo e$PMIX_RANK >&2'
check "files of --output" prints $'0\n1\ne0\ne1' cat out/deep/rank.0/stdout out/deep/rank.1/stdout out/deep/rank.0/stderr out/deep/rank.1/stderr
check "100 MB to files" prints "$sum"$'\n'"$sum" sh -c "'$MPIRUN' --output out -n 2 cat bytes; md5sum <out/rank.0/stdout; md5sum <out/rank.1/stdout"
rm -rf out
check "files with tags" prints $'[0] x\n[1] x' sh -c "'$MPIRUN' --output out -l -n 2 echo x; cat out/rank.?/stdout"
check "a second run begins anew" prints 1 sh -c "'$MPIRUN' --output out -n 1 echo x; wc -l <out/rank.0/stdout"
check "--output below a file" fails 1 'cannot make the folder bytes.x: Not a directory' "$MPIRUN" --output bytes/x -n 2 true
check "--output onto a folder" sh -c "mkdir -p o2/rank.0/stdout; ! '$MPIRUN' --output o2 -n 1 true 2>err && grep -q 'cannot write o2/rank.0/stdout: Is a directory' err"
stamp='^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}'
check "--timestamp" sh -c "'$MPIRUN' --timestamp -n 2 echo abc | grep -cE '$stamp abc\$' | grep -qx 2"
check "--timestamp and tags" sh -c "'$MPIRUN' --timestamp -l -n 2 echo abc | grep -cE '$stamp \[[01]\] abc\$' | grep -qx 2"

# Signals, seen by the program
caught() { # caught SIGNAL CODE: all three ranks catch SIGNAL and exit normally
  local i got
  rm -f up.*
  env --default-signal=INT "$MPIRUN" -n 3 sh -c "trap 'echo caught; exit 0' $1; : >up.\$PMIX_RANK; while :; do sleep 0.05; done" >out.txt 2>err.txt &
  local job=$!
  for ((i = 0; i < 200; i++)); do [ "$(ls up.* 2>/dev/null | wc -l)" = 3 ] && break; sleep 0.05; done
  kill "-$1" "$job"
  wait "$job"
  got=$?
  printf 'exit %s, %s %s\n' "$got" "$(cat out.txt)" "$(cat err.txt)"
  [ "$(grep -c caught out.txt)" = 3 ] && [ "$got" = "$2" ]
}
check "SIGUSR1 reaches all" caught USR1 0
check "SIGUSR2 reaches all" caught USR2 0
check "SIGINT reaches all" caught INT 130
check "SIGTERM reaches all" caught TERM 143
totals
