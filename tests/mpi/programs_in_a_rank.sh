# SPDX-License-Identifier: Apache-2.0
# Ranks are scripts with several MPI programs. The n-th program of a rank connects to the n-th
# program of the other ranks. Concurrent programs, or a program without peers, end the job with a
# message.
# timeout: 200
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >world.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, mine = argv[1][0], his = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &his, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  printf("%s %s %d/%d\n", his == mine ? "ok" : "MIXED", argv[1], rank, size);
  fflush(stdout);
  if (argc > 2) system(argv[2]);
  MPI_Finalize();
  return 0;
}
END_OF_C
cat >session.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm world;
  int rank, size, mine = argv[1][0], his = 0;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  if (argc > 2) usleep((useconds_t)atoi(argv[2]));
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
  printf("made %s\n", argv[1]);
  fflush(stdout);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 1, &his, 1, MPI_INT, (rank + size - 1) % size, 1, world,
               MPI_STATUS_IGNORE);
  printf("%s %s %d/%d\n", his == mine ? "ok" : "MIXED", argv[1], rank, size);
  MPI_Group_free(&group);
  MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
  return 0;
}
END_OF_C
"$MPICC" world.c -o world && "$MPICC" session.c -o session || exit 1

run() { timeout 20 "$MPIRUN" "$@" >out 2>&1; }
has() { grep -q -e "$1" out || { cat out; return 1; }; }
lacks() { ! grep -e "$1" out; }
ok_from() { [ "$(grep -c "^ok $1 [0-9]*/$2\$" out)" = "$2" ] || { cat out; return 1; }; }

in_turn() { # in_turn PROGRAM RANKS: three programs, at different times per rank
  local turn
  for turn in 1 2 3 4 5 6 7 8; do
    run -n "$2" sh -c "./$1 a; [ \$PMIX_RANK = $((turn % 2)) ] || sleep 0.$((turn % 3)); ./$1 b; ./$1 c" || { cat out; return 1; }
    ok_from a "$2" && ok_from b "$2" && ok_from c "$2" || return 1
  done
}
fails() { # fails PATTERN ARGUMENTS...: within seconds
  local pattern=$1 code
  shift
  run "$@"
  code=$?
  [ $code != 0 ] && [ $code != 124 ] && has "$pattern" && lacks MIXED
}
at_once() { # at_once PROGRAM LASTING: LASTING keeps both programs running at once
  local turn
  for turn in $(seq 12); do
    fails 'two MPI programs run in one rank at the same time, '"$1"' (pid [0-9]*) and '"$1"' (pid [0-9]*)' \
      -n 2 sh -c "./$1 a '$2' & ./$1 b '$2'; wait" || return 1
    lacks '/1$' || return 1
  done
}
beside() { # a child of a rank is a world of one
  run -n 2 ./world a "./world c" && ok_from a 2 && [ "$(grep -c '^ok c 0/1$' out)" = 2 ] || { cat out; return 1; }
}
on_request() { # two programs at once, each a world of one
  run -n 2 sh -c "TERN_BOOT=singleton ./world a & TERN_BOOT=singleton ./world b; wait" &&
    [ "$(grep -c '^ok [ab] 0/1$' out)" = 4 ] || { cat out; return 1; }
}

check "consecutive worlds" in_turn world 2
check "consecutive sessions" in_turn session 3
check "a second world of a single rank" fails 'rank 0 has ended and runs no further MPI program, where rank 1 waits' \
  -n 2 sh -c './world a; [ $PMIX_RANK = 0 ] || exec ./world b'
check "a second session of a single rank" fails 'rank 0 has ended' \
  -n 2 sh -c './session a; [ $PMIX_RANK = 0 ] || { sleep 0.3; exec ./session b; }'
check "no communicator with an ended rank" lacks '^made b'
check "a rank already in its next program" fails 'rank 0 is at MPI program number 3, but this is number 2 of rank 1' \
  -n 2 sh -c './session a; [ $PMIX_RANK = 0 ] && { timeout -s KILL 1 ./session b; ./session c; } || { sleep 2; exec ./session b; }'
check "two concurrent worlds" at_once world 'sleep 0.3'
check "two concurrent sessions" at_once session 300000
check "two concurrent programs, one by exec" fails 'two MPI programs run in one rank at the same time' \
  -n 2 sh -c './world a "sleep 2" & sleep 0.5; exec ./world b'
check "a child of a rank" beside
check "concurrent worlds of one, on request" on_request
totals
