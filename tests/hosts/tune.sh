# SPDX-License-Identifier: Apache-2.0
# tern_coll tune over hosts: finds the hosts, measures the network between them, and writes lines for several hosts.
# timeout: 120
# launchers: prte
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
tune() { limit=60 job "$1" "$PREFIX/bin/tern_coll" tune "$2" --output="$work/table"; }
# within and between: us and MB/s. Either link may be slower on busy cores, so the network's counter decides: the model's
# figures need 40 MiB from each end.
sent() { on_host h1 awk '$1 == "eth0:" { print $10 }' /proc/net/dev; }
figures_are_of_links() {
  local before after
  before=$(sent)
  tune 2x2 barrier || return
  after=$(sent)
  echo "$((after - before)) bytes were sent"
  [ $((after - before)) -gt 40000000 ] &&
    [ "$(grep -cE '^(within|between) [0-9]*[.1-9][0-9]* [0-9]*[1-9][0-9]* ' table)" = 2 ]
}
takes_table() {
  "$MPICC" -O1 -I"$TOP/tests/mpi" -o rows -x c "$TOP/tests/mpi/coll_rows.inc" || return
  limit=60 job "$1" env TERN_COLL_TABLE="$work/table" ./rows
}
check "a barrier on 2 hosts of 2, and figures of both links" figures_are_of_links
check "its table names the hosts" grep -q "2 hosts of 2 ranks" table
check "and times of rows that know hosts" grep -q '^# barrier 0:.* two_level [0-9.]* us' table
check "but of none that needs one memory" fails 1 '' grep -q '[ =]flat' table
check "with a line for several hosts" grep -q '^barrier .* many_hosts$' table
check "the library takes it" takes_table 2x2
check "hosts of one rank have no levels" tune 2x1 barrier
check "and no line for several hosts" fails 1 '' grep -q 'many_hosts' table
totals
