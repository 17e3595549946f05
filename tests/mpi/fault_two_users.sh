# SPDX-License-Identifier: Apache-2.0
# Another user of the machine can neither attach to, read or write a running job, nor guess names of
# files.
# timeout: 120
. "$TOP/tests/verdicts.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null || ! setpriv --reuid=65534 --regid=65534 --clear-groups true; then
  skip "two users" "needs root and setpriv"
  totals
fi
work=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill "$job" 2>/dev/null; rm -rf "$work" "$log"' EXIT
chmod 711 "$work"
cd "$work" || exit 1
mkdir tmp && chmod 1777 tmp
export TMPDIR=$work/tmp
cat >wait.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fclose(fopen("ready", "w"));
  sleep(60);
  MPI_Finalize();
  return 0;
}
END_OF_C
"$MPICC" wait.c -o wait || exit 1
other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
start() { # start VARIABLE=VALUE...: starts the job; `pids` has its processes
  local i
  rm -f ready
  env "$@" "$MPIRUN" -n 2 ./wait >out 2>err &
  job=$!
  for ((i = 0; i < 200; i++)); do [ -e ready ] && break; sleep 0.05; done
  [ -e ready ] || { cat err; return 1; }
  pids=("$job" $(pgrep -P "$job"))
  [ ${#pids[@]} -ge 4 ] # mpirun, the guard, two ranks
}
stop() {
  kill "$job"
  wait "$job"
  job=
} 2>/dev/null
cannot_open_anything() {
  local pid path opened=0 tried=0
  for pid in "${pids[@]}"; do
    for path in "/proc/$pid/mem" "/proc/$pid/environ" "/proc/$pid/maps" $(ls -d /proc/"$pid"/fd/*); do
      tried=$((tried + 1))
      if other sh -c 'exec 3<"$1"' sh "$path" 2>/dev/null || other sh -c 'exec 3>>"$1"' sh "$path" 2>/dev/null; then
        echo "another user opens $path ($(readlink "$path"))"
        opened=$((opened + 1))
      fi
    done
  done
  [ $opened = 0 ] && [ $tried -gt 20 ]
}
cannot_signal() { ! other kill -0 "$job" 2>/dev/null && ! other kill -0 "${pids[-1]}" 2>/dev/null; }
no_memory_by_name() {
  local pid
  for pid in "${pids[@]}"; do
    ! ls -l "/proc/$pid/fd" | grep -E '/dev/shm/|/tmp/[^ ]*tern' || return 1
  done
}
no_secret_in_command_lines() {
  local pid
  for pid in "${pids[@]}"; do tr '\0' ' ' <"/proc/$pid/cmdline" | grep -E 'TERN_BOOT|PMIX|uri|tcp4' && return 1; done
  return 0
}
folders_are_closed() { # mode 0700, 16 random bytes in the name, unreadable for others
  local folder
  folder=$(ls -d tmp/tern-mpirun.*) || return 1
  [ "$(stat -c %a "$folder")" = 700 ] && [[ $folder =~ \.[0-9a-f]{32}$ ]] && ! other ls "$folder" 2>/dev/null
}
pmix_port() { tr '\0' '\n' <"/proc/${pids[-1]}/environ" | sed -n 's/^PMIX_SERVER_URI4=.*:\([0-9]*\)$/\1/p'; }
door_is_closed() { # the PMIx port closes other users' connections without an answer
  local port
  port=$(pmix_port)
  [ -n "$port" ] || return 1
  other timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/$1; printf "hello hello hello" >&3; head -c 1 <&3 | wc -c' x "$port" \
    >answer 2>/dev/null
  [ $? != 124 ] && [ "$(cat answer)" != 1 ] && ! ls -d tmp/tern-mpirun.* 2>/dev/null # no server started
}

# The other user binds a rank's port on another address of the host, next to the rank's connection
# in the kernel's table, and sends data before the close, so the kernel lists root as the owner.
cannot_borrow_a_port() {
  other python3 - "$(pmix_port)" <<'END_OF_PYTHON'
import os, socket, sys
door = ('127.0.0.1', int(sys.argv[1]))
ports = []
for line in open('/proc/net/tcp'):
    fields = line.split()
    if fields[2].endswith(':%04X' % door[1]) and fields[3] == '01':
        ports.append(int(fields[1].split(':')[1], 16))
print('the ranks have ports', ports)
let_in = 0
for port in ports:
    for last in range(2, 7):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(('127.0.0.%d' % last, port))
        one.settimeout(1)
        one.connect(door)
        try:
            one.sendall(b'hello')
            let_in += one.recv(1) != b''
        except socket.timeout:
            let_in += 1
        except OSError:
            pass
        one.close()
print('let in', let_in, 'times')
sys.exit(let_in != 0 or len(ports) < 2)
END_OF_PYTHON
}

# libpmix waits for the first bytes of each connection, and a silent connection would block all
# others.
listening_ports() { # ports of mpirun
  python3 - "$job" <<'END_OF_PYTHON'
import os, sys
own = '/proc/%s/fd/' % sys.argv[1]
sockets = {os.readlink(own + name)[8:-1] for name in os.listdir(own) if os.readlink(own + name).startswith('socket:')}
for fields in map(str.split, open('/proc/net/tcp')):
    if fields[3] == '0A' and fields[9] in sockets:
        print(int(fields[1].split(':')[1], 16))
END_OF_PYTHON
}
is_there() { # is_there PATTERN: within 10 seconds
  local i
  for ((i = 0; i < 200; i++)); do compgen -G "$1" >/dev/null && return; sleep 0.05; done
  false
}
silence_keeps_no_rank_out() {
  local ports stranger answer=0
  rm -f ready
  TERN_BOOT=pmix "$MPIRUN" -n 2 sh -c '[ $PMIX_RANK = 0 ] || while [ ! -e go ]; do sleep 0.05; done; exec ./wait' &
  job=$!
  is_there "tmp/tern-mpirun.*" || return 1
  ports=$(listening_ports)
  [ "$(wc -w <<<"$ports")" = 2 ] || return 1
  setpriv --reuid=65534 --regid=65534 --clear-groups bash -c 'for port; do exec {fd}<>/dev/tcp/127.0.0.1/$port; done; exec sleep 30' bash $ports &
  stranger=$!
  sleep 0.5
  touch go
  is_there ready || answer=1
  kill $stranger
  return $answer
}

check "a job runs" start A=b
check "another user cannot open descriptors, memory and environment" cannot_open_anything
check "another user cannot signal the job" cannot_signal
check "the shared memory has no name" no_memory_by_name
check "TMPDIR is empty" sh -c '! ls tmp | grep -v ^tmp'
check "no secret in command lines" no_secret_in_command_lines
check "the PMIx port rejects other users" door_is_closed
stop
check "a job with a PMIx server runs" start TERN_BOOT=pmix
check "another user cannot open anything of a job with a PMIx server" cannot_open_anything
check "the server's folder is private, with a random name" folders_are_closed
check "the PMIx port checks addresses" cannot_borrow_a_port
check "no secret in command lines with a PMIx server" no_secret_in_command_lines
stop
check "silent connections of another user block no rank" silence_keeps_no_rank_out
stop
totals
