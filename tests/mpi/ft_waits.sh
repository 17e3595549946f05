# SPDX-License-Identifier: Apache-2.0
# Every wait ends when a member dies, or when another rank revokes the communicator. Each row is a
# job of four ranks. ROWS selects rows.
# timeout: 300
# sanitizers: no, processes are killed
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
"$MPICC" -x c -I"$TOP/tests/mpi" -o waits "$TOP/tests/mpi/ft_waits.inc" || exit 1
for row in ${ROWS:-$(./waits)}; do
  for how in dead revoked; do
    case $how,$row in revoked,win* | revoked,file* | revoked,half* | revoked,intercomm* | dead,proc_null | \
      dead,*dup | dead,create | dead,cart_create | dead,dist_graph) continue ;; esac
    case $row in *_messages) export TERN_TEST=rma=messages ;; *) unset TERN_TEST ;; esac
    check "$row, $how" says '^ended after' timeout 30 "$MPIRUN" --with-ft ulfm -n 4 ./waits "$row" $how
  done
done
totals
