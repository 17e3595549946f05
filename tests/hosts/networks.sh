# SPDX-License-Identifier: Apache-2.0
# Networks that users have: interfaces that lead nowhere, container bridges, IPv6, names, firewalls, two rails, and
# links that fail. A job runs, or ends within TERN_NET_TIMEOUT (3 s) plus 5 s with the name of the lost rank.
# launchers: prte
# timeout: 600
# full: yes
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'undo; rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
export TERN_NET_TIMEOUT=3s
used="h1 h2"

inside() { on_host "$1" sh -c "$2"; } # inside HOST LINE

# with LINE UNDO: changes both hosts; $n is the number of the host. `undo` takes the changes back.
undoing=''
with() {
  undoing="$2"
  local host
  for host in $used; do (inside "$host" "n=${host#h}; $1") || return; done
}
undo() {
  local host
  for host in $used; do (inside "$host" "$undoing") >/dev/null 2>&1; done
  net h2 up 2>/dev/null
  undoing=''
}

# runs WORD=VALUE...: a job of 2x2 ranks talks for a second, and ends well.
runs() {
  local got=0
  limit=60 job 2x2 env "$@" ./talks 1 >out 2>&1 || got=$?
  cat out
  echo "exit $got"
  [ $got = 0 ] && grep -q "^talked" out
}
# wanted NAME: all tests, or those whose name has the words ONLY.
wanted() { [[ $1 = *"${ONLY:-}"* ]]; }
# good NAME LINE UNDO WORD=VALUE...: the job runs in the changed network.
good() {
  local name=$1
  wanted "$name" || return 0
  if with "$2" "$3"; then check "$name" runs "${@:4}"; else skip "$name" "cannot make this network here"; fi
  undo
}

# ended_in_time [RANKS]: each of the first RANKS (4) ranks has told of a lost rank of the other host, in [T, T+5 s], and
# the library has named it.
ended_in_time() {
  awk -v ranks="${1:-4}" '
    function fault(text) { print text; bad = 1 }
    /^\[rank [0-9]+\] rank [0-9]+ on h[12] is lost: / { named[$2 + 0, $4] = 1 }
    /^rank [0-9]+ lost [0-9]+ after/ {
      told[$2] = 1
      pair[$2, $4] = 1
      if (int($2 / 2) == int($4 / 2)) fault("a rank of the same host is lost")
      if ($6 < 3 || $6 > 8) fault("after " $6 " s, expected 3 to 8")
    }
    END {
      for (i = 0; i < ranks; ++i) if (!told[i]) fault("rank " i " says nothing")
      for (two in pair) if (!named[two]) fault("not named: ranks " two)
      exit bad
    }' out
}

# talk SECONDS GRACE: starts a job in the background; returns once the job talks, or after 20 s.
talk() {
  local i
  limit=60 job 2x2 ./talks "$@" >out 2>&1 &
  for ((i = 0; i < 200; i++)); do grep -q begins out && break; sleep 0.1; done
  sleep 0.5
  grep -q begins out
}

# cut SECONDS: unplugs the cable of h2 for so long while a job talks for 8 s.
cut() {
  local i begin
  talk 8 7
  begin=$(date +%s%N)
  net h2 down
  sleep "$1"
  net h2 up
  echo "cut for $((($(date +%s%N) - begin) / 1000000)) ms" >>out
  wait $!
  i=$?
  cat out
  echo "exit $i"
  return $i
}

end_job() {
  local host
  pkill -KILL -x prterun
  for host in $used; do (inside "$host" 'pkill -KILL "talks|prted"') 2>/dev/null; done
  net h2 up
  wait 2>/dev/null
}
# after BREAK CONDITION...: a job talks, BREAK breaks h2, and CONDITION looks at the output `out` once ranks 0 and 1 have told of a loss,
# or the job has ended, within 12 s; $seconds then passed. No process remains on h1.
after() {
  local i begin
  talk 50 2 && begin=$(date +%s%N) && "$1" || { end_job; cat out; echo "the job did not begin, or nothing could be broken"; return 1; }
  for ((i = 0; i < 60; i++)); do
    [ "$(grep -o "^rank [01] lost" out | sort -u | wc -l)" = 2 ] || ! kill -0 $! 2>/dev/null && break
    sleep 0.2
  done
  seconds=$((($(date +%s%N) - begin) / 1000000000))
  # A rank looks for two seconds more at the others, and lets them report for two seconds.
  for ((i = 0; i < 35; i++)); do left=$(inside h1 'pgrep -x talks') || break; sleep 0.2; done
  end_job
  cat out
  [ -z "$left" ] || { echo "left on h1: $left"; return 1; }
  "${@:2}"
}
rank_killed() { (inside h2 'kill -9 $(pgrep -x talks | head -n 1)'); }
# prted stays: its end would end the agent, and prterun then ends the job at once, as with no real host.
host_killed() { net h2 down && (inside h2 'pkill -KILL -x talks'); }
host_frozen() { net h2 down && (inside h2 'pkill -STOP "talks|prted"'); }
told_in_5_s() { echo "$seconds s" && [ "$seconds" -le 5 ]; }

# each_time NAME WORD...: TIMES times.
each_time() {
  local turn
  wanted "$1" || return 0
  for ((turn = 1; turn <= ${TIMES:-1}; turn++)); do check "$1$([ "${TIMES:-1}" = 1 ] || echo ", $turn of $TIMES")" "${@:2}"; done
}
survives() { cut 1.5 && grep -q "^talked" out; }
ends() { ! cut 12 && ended_in_time; }

# A firewall drops connections between the hosts to ports outside 20000-20099.
firewall='nft add table inet tern && nft add chain inet tern in "{ type filter hook input priority 0; }" &&
  nft add rule inet tern in ip saddr 10.77.0.1-10.77.0.9 tcp flags "& (syn | ack) == syn" tcp dport != 20000-20099 drop'
open_ports=(UCX_TCP_PORT_RANGE=20000-20099)
for provider in TCP NET; do open_ports+=("FI_${provider}_PORT_LOW_RANGE=20000" "FI_${provider}_PORT_HIGH_RANGE=20099"); done
closed() {
  local got=0
  limit=60 job 2x2 ./talks 1 8 >out 2>&1 || got=$?
  cat out
  echo "exit $got"
  [ $got != 0 ] && ended_in_time
}

check "mpicc" "$MPICC" "$TOP/tests/rdma/talks.c" -o talks
dead='ip link add X type veth peer name X-end && ip link set X-end up && ip link set X up'
bridge() { echo "ip link add $1 type bridge && ip addr add $2 dev $1 && ip link set $1 up"; } # bridge NAME ADDRESS
good "docker0 twins" "$(bridge docker0 172.17.0.1/16)" 'ip link del docker0'
good "docker0 twins with containers" "$(bridge docker0 172.17.0.1/16) && ${dead//X/veth0} && ip link set veth0 master docker0" \
  'ip link del docker0; ip link del veth0'
good "virbr0" "$(bridge virbr0 192.168.122.1/24)" 'ip link del virbr0'
good "an interface without carrier" 'ip link add eth1 type veth peer name other && ip addr add 10.88.0.$n/24 dev eth1 &&
  ip link set eth1 up' 'ip link del eth1'
good "eth1 leads nowhere, own subnet" "${dead//X/eth1} && ip addr add 10.91.\$n.1/24 dev eth1" 'ip link del eth1'
good "eth1 leads nowhere, on one host" "[ \$n = 2 ] || { ${dead//X/eth1} && ip addr add 10.91.\$n.1/24 dev eth1; }" \
  'ip link del eth1'
good "a0 leads nowhere, named before eth0" "${dead//X/a0} && ip addr add 10.91.\$n.1/24 dev a0" 'ip link del a0'
good "names that do not resolve" 'echo 127.0.0.1 localhost >/run/tmp/names.$n && mount --bind /run/tmp/names.$n /etc/hosts' \
  'umount /etc/hosts'

# A second network, eth2.
ip link add rail type bridge && ip link set rail up
for host in $used; do
  ip link add "$host-2" type veth peer name eth2 netns "$(cat "$hosts_dir/$host.pid")" && ip link set "$host-2" master rail up
done
no_address='ip addr flush dev eth2; ip link set eth2 down'
good "two rails" 'ip addr add 10.78.0.$n/24 dev eth2 && ip link set eth2 up && sleep 0.2' "$no_address"
# prterun itself needs IPv4.
good "IPv6 only" 'echo 0 >/proc/sys/net/ipv6/conf/eth2/accept_dad && ip link set eth2 up &&
  ip addr add fd00:77::$n/64 dev eth2 && sleep 0.2' "$no_address" UCX_NET_DEVICES=eth2 FI_TCP_IFACE=eth2 FI_NET_IFACE=eth2
for host in $used; do ip link del "$host-2"; done
ip link del rail

if ! command -v nft >/dev/null; then
  skip "a firewall" "nft is not installed (package nftables)"
else
  good "a firewall, with a range of ports" "$firewall" 'nft delete table inet tern' "${open_ports[@]}"
  if wanted "a firewall"; then
    with "$firewall" 'nft delete table inet tern' && check "a firewall" closed
    undo
  fi
fi
! wanted "a link down for half of the timeout" || check "a link down for half of the timeout" survives
! wanted "a link down for ever" || check "a link down for ever" ends
each_time "a killed rank" after rank_killed told_in_5_s
each_time "a killed host" after host_killed ended_in_time 2
each_time "a frozen host" after host_frozen ended_in_time 2
totals
