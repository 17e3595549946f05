# SPDX-License-Identifier: Apache-2.0
# mpirun -host h1:2,h2:2 by prterun over ssh: a real sshd on each host, with keys and ssh settings in a home folder of the test.
# All hosts have this home folder, as on a cluster.
# launchers: prte
# messages: no
# timeout: 300
. "$TOP/tests/verdicts.sh"
. "$TOP/tests/hosts/hosts.sh"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) && command -v ssh ssh-keygen >/dev/null ||
  { echo "ssh or sshd is not installed here (openssh-client, openssh-server)"; exit 77; }
work=$(mktemp -d)
servers=()
finish() {
  [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null
  wait
  umount /etc/passwd
  rm -rf "$work" "$log"
}
trap finish EXIT
cd "$work" || exit 1
chmod 755 .
unset SLURM_JOB_ID SLURM_CONF # else mpirun takes srun
export TERN_PRTE=$PRTE

cat >hello.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// Adds up the ranks; prints host, rank, sum, folder, and the variables named by the arguments.
int main(int argc, char** argv) {
  int rank, length, sum;
  char host[MPI_MAX_PROCESSOR_NAME], line[2000], folder[1000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(host, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  snprintf(line, sizeof line, "%s %d %d %s", host, rank, sum, strrchr(getcwd(folder, sizeof folder), '/') + 1);
  for (int i = 1; i < argc; ++i) {
    const char* value = getenv(argv[i]);
    snprintf(line + strlen(line), sizeof line - strlen(line), " %s=%s", argv[i], value ? value : "(unset)");
  }
  puts(line);
  MPI_Finalize();
  return argc > 1 && !strcmp(argv[1], "fails") && rank == 3 ? 7 : 0;
}
END

# Debian's ssh reads the home folder from passwd, not from HOME.
settings() {
  mkdir -p home/.ssh /run/sshd && chmod 700 home/.ssh &&
    ssh-keygen -q -t ed25519 -N '' -f home/.ssh/id_ed25519 &&
    cp home/.ssh/id_ed25519.pub home/.ssh/authorized_keys &&
    printf '%s\n' "StrictHostKeyChecking no" "UserKnownHostsFile /dev/null" "LogLevel ERROR" "BatchMode yes" \
      "Host second" "HostName h2" >home/.ssh/config &&
    sed "s|^\(root:.*:\)[^:]*:\([^:]*\)$|\1$work/home:\2|" /etc/passwd >passwd &&
    mount --bind passwd /etc/passwd
}
serve() { # serve HOST: starts its sshd
  local host=$1 tries
  [ -e "$host.key" ] || ssh-keygen -q -t ed25519 -N '' -f "$host.key" || return
  mkdir -p "$host.tmp"
  # Hosts of this machine share /tmp, with names of PRRTE made of pids.
  printf '%s\n' "HostKey $work/$host.key" "PidFile none" "UsePAM no" "SetEnv TMPDIR=$work/$host.tmp" >"$host.conf"
  on_host "$host" sh -c 'mount --bind "$1/passwd" /etc/passwd; exec "$2" -D -e -f "$1/$3.conf"' sh "$work" "$sshd" "$host" \
    >"$host.log" 2>&1 </dev/null &
  servers+=($!)
  for ((tries = 0; tries < 100; tries++)); do
    grep -q listening "$host.log" && return
    sleep 0.05
  done
  cat "$host.log"
  return 1
}

remote() { (export HOME=$work/home; cd "${folder:-.}" && timeout -k 5 60 "$MPIRUN" --allow-run-as-root "$@" </dev/null); }
expected() { # expected SUM WORDS LINE...: each line is HOST RANK
  local sum=$1 words=$2
  shift 2
  printf "%s $sum ${folder:-${work##*/}}$words\n" "$@"
}
four="$(expected 6 '' 'h1 0' 'h1 1' 'h2 2' 'h2 3')"

# fails_soon SECONDS PATTERN COMMAND...: an error that matches, in time
fails_soon() {
  local most=$1 pattern=$2 start=$SECONDS got=0
  shift 2
  "$@" >out 2>&1 || got=$?
  cat out
  echo "exit $got after $((SECONDS - start)) s"
  [ $got != 0 ] && [ $got != 124 ] && [ $got != 137 ] && [ $((SECONDS - start)) -le "$most" ] && grep -q -e "$pattern" out
}
without() { # without HIDDEN HOST COMMAND...: this folder is empty on the host
  local hidden=$1 host=$2 got=0
  shift 2
  (on_host "$host" mount -t tmpfs tmpfs "$hidden") || return
  "$@" || got=$?
  (on_host "$host" umount -l "$hidden") && return $got
}
key_refused() {
  mv home/.ssh/authorized_keys refused
  fails_soon 20 'root@h[12]: Permission denied' remote -host h1:1,h2:1 ./hello
  local got=$?
  mv refused home/.ssh/authorized_keys
  return $got
}

check "ssh settings" settings
check "sshd on h1" serve h1
check "sshd on h2" serve h2
check "mpicc" "$MPICC" hello.c -o hello
mkdir sub
printf 'h1 slots=2\nh2 slots=2 # the second\n' >hostfile
check "README's line" prints "$four" remote -host h1:2,h2:2 -n 4 ./hello
check "from the first host" prints "$four" on_host h1 sh -c 'mount --bind "$1/passwd" /etc/passwd; shift; exec "$@"' sh "$work" \
  env HOME="$work/home" TMPDIR="$work/h1.tmp" timeout -k 5 60 "$MPIRUN" --allow-run-as-root -host h1:2,h2:2 -n 4 ./hello
check "a hostfile" prints "$four" remote --hostfile hostfile -n 4 ./hello
check "a name of ~/.ssh/config" prints "$(expected 1 '' 'h1 0' 'h2 1')" remote -host h1:1,second:1 -n 2 ./hello
check "more ranks than cores" prints "$(expected 6 '' 'h1 0' 'h1 1' 'h1 2' 'h2 3')" remote -host h1:3,h2:1 -n 4 ./hello
check "more ranks than slots" prints "$(expected 3 '' 'h1 0' 'h1 1' 'h2 2')" remote -host h1:1,h2:1 -n 3 ./hello
check "two programs, the second with a variable" prints "$(expected 1 ' W=(unset)' 'h1 0'; expected 1 ' W=a b' 'h2 1')" \
  remote -host h1:1,h2:1 -n 1 ./hello W : -n 1 -x 'W=a b' ./hello W
export TEXT=$'a b;c,d="e"' LD_LIBRARY_PATH=/nowhere/lib
check "the environment" prints "$(expected 1 " TEXT=$TEXT LD_LIBRARY_PATH=/nowhere/lib PMIX_PREFIX=(unset) PRTE_PREFIX=(unset)" 'h1 0' 'h2 1')" \
  remote -host h1:1,h2:1 ./hello TEXT LD_LIBRARY_PATH PMIX_PREFIX PRTE_PREFIX
unset TEXT LD_LIBRARY_PATH
check "PRTE's libraries are not in the ranks' path" prints "$(expected 1 ' LD_LIBRARY_PATH=' 'h1 0' 'h2 1')" \
  remote -host h1:1,h2:1 ./hello LD_LIBRARY_PATH
folder=sub check "the folder of mpirun" prints "$(folder=sub expected 1 '' 'h1 0' 'h2 1')" env folder=sub bash -c "$(declare -f remote)"'; remote "$@"' \
  remote -host h1:1,h2:1 ../hello
check "the exit code of a rank on the second host" fails 7 '' remote -host h1:2,h2:2 -n 4 ./hello fails

check "root without the option" fails_soon 5 'option to your command line' "$MPIRUN" -host h1:1,h2:1 ./hello
check "a wrong name of a host" fails_soon 20 'hostname h77' remote -host h1:1,h77:1 ./hello
check "a refused key" key_refused
check "a host without sshd" fails_soon 20 'host h3 port 22: Connection refused' remote -host h1:1,h3:1 ./hello
check "a host without prterun" without "$PRTE" h2 fails_soon 20 "$PRTE/bin/prted: " remote -host h1:1,h2:1 ./hello
check "a host without Tern" without "$PREFIX/lib" h2 fails_soon 20 'shared libraries: libmpi_abi' remote -host h1:1,h2:1 ./hello
check "a missing program" fails_soon 20 'Executable: ./missing' remote -host h1:1,h2:1 ./missing
check "README's line, again" prints "$four" remote -host h1:2,h2:2 -n 4 ./hello
totals
