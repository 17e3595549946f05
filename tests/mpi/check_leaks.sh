# SPDX-License-Identifier: Apache-2.0
# TERN_CHECK=leaks prints leaked objects with their calls. TERN_CHECK=types names both sides, and
# must be equal on all ranks.
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat > leaky.c <<'C'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  const int leaks = atoi(argv[1]);
  int rank, x[4] = {0};
  MPI_Comm comm;
  MPI_Datatype type, dead;
  MPI_Group group;
  MPI_Datatype parameterised;  // owned by the library
  MPI_Info info;
  MPI_Win window;
  MPI_Request receives[2], send;
  MPI_Init(&argc, &argv);
  MPI_Type_create_f90_real(6, 30, &parameterised);
  MPI_Type_create_f90_complex(6, 30, &parameterised);
  MPI_Type_create_f90_integer(9, &parameterised);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_contiguous(2, MPI_INT, &dead);
  MPI_Type_free(&dead);
  MPI_Info_create(&info);
  MPI_Win_create(x, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int i = 0; i < 2; ++i) MPI_Irecv(x + i, 1, MPI_INT, rank, i + 1, comm, receives + i);
  MPI_Isend(x + 2, 1, MPI_INT, rank, 1, comm, &send);
  MPI_Send(x + 3, 1, MPI_INT, rank, 2, comm);
  MPI_Barrier(comm);
  if (!leaks) {
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Win_free(&window);
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
  }
  MPI_Finalize();
  return 0;
}
C
cat > differ.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, x[10] = {0};
  float y[10];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(x, 10, MPI_INT, 1, 3, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(y, 10, MPI_FLOAT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o leaky leaky.c && "$MPICC" -o differ differ.c || exit 1

leaks() { # leaks PATTERN...: the report contains all patterns
  local text
  text=$("$MPIRUN" -n 1 -x TERN_CHECK=leaks ./leaky 1 2>&1) || return 1
  for pattern; do
    grep -q -e "$pattern" <<<"$text" || { printf 'no "%s" in:\n%s\n' "$pattern" "$text"; return 1; }
  done
}
check "leaks by kind, with count, call and cure" leaks \
  '2 requests made by MPI_Irecv at .*leaky(.*0x.*); MPI_Wait' '1 request made by MPI_Isend' \
  '1 communicator made by MPI_Comm_dup' '1 datatype made by MPI_Type_vector' \
  '1 window made by MPI_Win_create at .*; MPI_Win_free is missing' \
  '1 group made by MPI_Comm_group' '1 info object made by MPI_Info_create .*MPI_Info_free is missing'
quiet() { [ -z "$("$MPIRUN" -n 2 -x TERN_CHECK=all ./leaky 0 2>&1)" ]; }
requests() { # requests of a leaked window are no leak
  ! "$MPIRUN" -n 2 -x TERN_CHECK=leaks ./leaky 1 2>&1 | grep -q "requests\\? made by MPI_Win"
}
check "pending requests of a window are no leak" requests
check "a clean program gets no report" quiet
check "no report without TERN_CHECK=leaks" sh -c "[ -z \"\$('$MPIRUN' -n 1 ./leaky 1 2>&1)\" ]"
names() {
  local text
  text=$("$MPIRUN" -n 2 -x TERN_CHECK=types ./differ 2>&1)
  [ $? != 0 ] && grep -q \
    'rank 1.*MPI_Recv: rank 0 sent 10 MPI_INT with tag 3, but the receive is for 10 MPI_FLOAT.*MPI_ERR_TYPE' <<<"$text" ||
    { printf '%s\n' "$text"; return 1; }
}
check "types: the error names both sides" names
disagrees() {
  local text
  text=$(timeout 20 "$MPIRUN" -n 1 -x TERN_CHECK=types ./differ : -n 1 ./differ 2>&1)
  [ $? != 0 ] && grep -q 'must be equal on all ranks' <<<"$text" || { printf '%s\n' "$text"; return 1; }
}
check "ranks with different settings get an error" disagrees
totals
