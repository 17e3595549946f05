# SPDX-License-Identifier: Apache-2.0
# The network profiles work: delays, losses, a rate, and an unplugged cable.
# messages: no
# launchers: slurm
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'kill $server; rm -rf "$work" "$log"' EXIT
probe=$TOP/tests/hosts/profiles.py
on_host h2 python3 "$probe" serve >"$work/server" &
server=$!
for _ in {1..50}; do grep -q up "$work/server" && break; sleep 0.1; done
# measure: sets least, largest (round trips in us), rate (MB/s) and late (datagrams out of order), from h1 to h2.
measure() {
  read -r least largest rate late < <(on_host h1 timeout "${1:-20}" python3 "$probe" h2)
  echo "round trips $least to $largest us, $rate MB/s, $late out of order"
  [ -n "$late" ]
}
# with PROFILE CONDITION: an arithmetic expression must hold in one of three measurements (cores may be busy).
with() { net all "$1" && { measure && (($2)); } || { measure && (($2)); } || { measure && (($2)); }; }
sent_again() { (on_host h1 awk '/^Tcp:/ { n = $13 } END { print n }' /proc/net/snmp); }
lost() { # at least one of more than 400 frames
  local before
  net all loss-1 || return
  before=$(sent_again)
  for _ in {1..5}; do
    measure || return
    echo "sent again: $before before, $(sent_again) now"
    [ "$(sent_again)" -gt "$before" ] && return
  done
  return 1
}
drawn() { net h2 down && ! measure 2 && net h2 up && measure; }
check "without a profile a round trip is short" with clear 'least < 200 && rate > 20 && late == 0'
check "delay-1ms: 1 ms each way" with delay-1ms 'least >= 2000 && least < 4000'
check "reorder: delays, and later frames overtake" with reorder 'largest >= 400 && late > 0'
check "loss-1: TCP sends again" lost
check "rate-100mbit: 12.5 MB/s" with rate-100mbit 'rate >= 8 && rate <= 13'
check "clear, again" with clear 'least < 200 && rate > 20'
check "a drawn cable, and its return" drawn
unknown() {
  local said
  said=$(net h1 delay) && return 1
  echo "$said"
  [[ $said == *"unknown profile delay; profiles are delay-1ms, "* ]]
}
check "an unknown profile is refused" unknown
totals
