# SPDX-License-Identifier: Apache-2.0
# tern_trace reads invented traces with known waits: text, JSON, Chrome events, OTF2, two runs, a page in Chromium.
# timeout: 180
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
PATH=$PREFIX/bin:$PATH
"${CXX:-g++}" -std=c++20 -O1 -I"$TOP" -I"$TOP/src" "$TOP/tests/trace/write.cc" -o write || exit 1
./write late_sender late.trace && ./write in_time good.trace && ./write big big.trace 64 64000 || exit 1

check "the late sender has seconds, site and rank" \
  says 'late sender: 49.990 ms in 1 waits; rank 1 waited 49.990 ms, 47.4 % of the run' tern_trace late.trace
check "the cause is named" says 'cause  rank 0 (49.990 ms, 1 times) sent late' tern_trace late.trace
check "a cure is named" says 'cure   send earlier' tern_trace late.trace
check "the same program in time has no finding" says '^Findings: none' tern_trace good.trace
check "diff names the call and the difference" says '+0.050000 s .*MPI_Recv at ring.c:21' tern_trace diff good.trace late.trace
check "a rank alone" says '^run .* 30 calls' tern_trace late.trace --ranks=2
check "the JSON report is JSON" eval 'tern_trace late.trace --json | python3 -m json.tool >/dev/null'
check "a workload" says '^allreduce 8 4 0 - 980.000$' tern_trace late.trace --workload

check "Chrome's events" tern_trace late.trace --chrome=late.json
check "both ends of an arrow lie in slices" python3 "$TOP/tests/trace/arrows.py" late.json 40

head -c 3000 late.trace >torn.trace
check "a torn file names the omitted part" says 'torn.trace: the last block is torn; [0-9]* of 3000 bytes, from byte [0-9]* on, are omitted' tern_trace torn.trace
check "no trace" fails 2 'is no trace of Tern; mpirun --trace=FILE writes one' tern_trace write
check "no file" fails 2 'neither gone nor gone.0 exists' tern_trace gone
check "an unknown option" fails 2 'did you mean --html' tern_trace late.trace --htlm=a
check "an empty window names the run" fails 2 'the run has 4 ranks and 0.105 s' tern_trace late.trace --from=9

if tern_trace late.trace --otf2=archive 2>otf2.err; then
  check "an old folder is refused" fails 2 'archive exists' tern_trace late.trace --otf2=archive
  if python3=$(for p in python3 /usr/bin/python3; do "$p" -c 'import otf2' 2>/dev/null && echo "$p" && break; done) && [ -n "$python3" ]; then
    check "python3-otf2 counts the same calls and messages" prints '120 calls, 40 sends, 40 receives' \
      "$python3" "$TOP/tests/trace/count.py" archive/traces.otf2
    tern_trace big.trace --otf2=more
    check "nonblocking messages are counted" prints "$(tern_trace big.trace --json | python3 -c '
import json, sys; d = json.load(sys.stdin); print(d["calls"], "calls,", d["sends"], "sends,", d["receives"], "receives")')" \
      "$python3" "$TOP/tests/trace/count.py" more/traces.otf2
  else
    skip "python3-otf2" "python3-otf2 is not installed"
  fi
  if command -v otf2-print >/dev/null; then
    check "otf2-print counts the same messages" eval '[ "$(otf2-print archive/traces.otf2 | grep -c ^MPI_SEND)" = 40 ]'
  else
    skip "otf2-print" "otf2-tools is not installed"
  fi
else
  skip "OTF2" "this tern_trace was built without OTF2"
fi

tern_trace late.trace --html=late.html && tern_trace big.trace --html=big.html
check "the page needs no network" eval '! grep -E "(src|href)=.?(http|//)|@import|fetch\(" late.html'
check "a page has at most 16 MiB" eval '[ "$(stat -c %s big.html)" -le 16777216 ]'
if command -v chromium chromium-browser google-chrome >/dev/null; then
  check "the page shows the late sender, zooms, and a click shows the call" says '^late: shown' \
    python3 "$TOP/tests/trace/page.py" late.html late
  check "a page of 64 ranks paints" says '^first paint' python3 "$TOP/tests/trace/page.py" big.html paint 30
else
  skip "the page in a browser" "Chromium is not installed"
fi
totals
