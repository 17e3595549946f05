# SPDX-License-Identifier: Apache-2.0
# A member of a session's communicator never starts MPI: the job ends with the rank's name.
# timeout: 60
# waits: yes
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >never.c <<'END_OF_C'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  if (atoi(getenv("PMIX_RANK")) == 1) return sleep(atoi(getenv("LATE")));
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  return 0;
}
END_OF_C
"$MPICC" never.c -o never || exit 1
check "the error names an ended member" fails 1 'rank 1 has ended and never called MPI_Init, where rank 0 waits for it' \
  env LATE=0 timeout 20 "$MPIRUN" -n 2 ./never
check "the report names a late member" fails 124 'rank 0.*MPI_Comm_create_from_group.*waits for rank 1 to initialise MPI' \
  env LATE=30 timeout 20 "$MPIRUN" -n 2 --timeout 2 ./never
totals
