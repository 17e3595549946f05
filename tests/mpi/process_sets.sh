# SPDX-License-Identifier: Apache-2.0
# Process sets of mpirun's --pset and of a PMIx server (prterun): lists, communicators,
# MPI_Comm_split_type.
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work

cat >sets.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static MPI_Comm from_set(MPI_Session session, const char* name) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank;
  MPI_Group_from_session_pset(session, name, &group);
  MPI_Group_rank(group, &rank);
  if (rank != MPI_UNDEFINED)
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  return comm;
}
static int parts_of(MPI_Comm world, const char* name) { /* returns the size of this rank's part */
  MPI_Info info;
  MPI_Comm part;
  int size = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_pset_name", name);
  MPI_Comm_split_type(world, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part);
  if (part != MPI_COMM_NULL) {
    MPI_Comm_size(part, &size);
    MPI_Comm_free(&part);
  }
  MPI_Info_free(&info);
  return size;
}
int main(int argc, char** argv) {
  MPI_Session session;
  int sets, rank, own = 0;
  char line[512] = "";
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm world = from_set(session, "mpi://WORLD");
  MPI_Comm_rank(world, &rank);
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  for (int i = 2; i < sets; ++i) {
    char name[64], value[16] = "";
    int length = sizeof name, there, one = 1, sum = 0, place = -1, buffer = sizeof value;
    MPI_Info info;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    if (length != (int)strlen(name) + 1) abort();
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get_string(info, "mpi_size", &buffer, value, &there);
    MPI_Info_free(&info);
    MPI_Comm comm = from_set(session, name);
    if (comm != MPI_COMM_NULL) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
      if (sum != atoi(value)) abort();
      MPI_Comm_rank(comm, &place);
      MPI_Comm_free(&comm);
    }
    sprintf(line + strlen(line), " %s:%d/%s", name, place, value);
  }
  own = argc > 1 ? parts_of(world, argv[1]) : 0;
  MPI_Comm_free(&world);
  MPI_Session_finalize(&session);
  printf("%d%s, part %d\n", rank, line, own);
  return 0;
}
END
"$MPICC" -Wall -Wextra sets.c -o sets || exit 1

two=$'0 ocean:0/2 all:0/3 air:-1/1, part 2\n1 ocean:1/2 all:1/3 air:-1/1, part 2\n2 ocean:-1/2 all:2/3 air:0/1, part 1'
check "overlapping sets of two programs" prints "$two" \
  "$MPIRUN" -n 2 --pset ocean --pset all ./sets ocean : -n 1 --pset all --pset air ./sets AIR
check "one set of two programs" prints $'0 all:0/2, part 1\n1 all:1/2, part 0' \
  "$MPIRUN" -n 1 --pset all ./sets mpi://SELF : -n 1 --pset all ./sets nothing
check "parts of overlapping sets stay apart" prints $'0 a:0/2 b:0/2, part 1\n1 a:1/2 b:1/2, part 1' \
  "$MPIRUN" -n 1 --pset a --pset b ./sets a : -n 1 --pset a --pset b ./sets b
check "no sets" prints "0, part 1" "$MPIRUN" -n 1 ./sets mpi://WORLD
check "no sets without a launcher" prints "0, part 0" ./sets
check "a name of the standard is refused" sh -c "! '$MPIRUN' -n 1 --pset mpi://WORLD ./sets 2>&1 | grep -v 'begins with mpi://'"
if command -v prterun >/dev/null; then
  two_of_prterun=$'0 ocean:0/2 air:-1/1, part 2\n1 ocean:1/2 air:-1/1, part 2\n2 ocean:-1/2 air:0/1, part 1'
  check "sets of prterun" prints "$two_of_prterun" prterun --map-by :OVERSUBSCRIBE -n 2 --pset ocean ./sets ocean : \
    -n 1 --pset air ./sets air
else
  skip "sets of prterun" "no prterun in PATH"
fi
totals
