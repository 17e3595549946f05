# SPDX-License-Identifier: Apache-2.0
# MPI_T has the names of tests/lint/interface.d/tools, and TERN_EXPLAIN=json:FILE the fields of
# tests/lint/interface.d/explain. See: tern_abi(7), tests/lint/interface.
# transport: sm, the job explains shared memory
. "$TOP/tests/verdicts.sh"
lists=$TOP/tests/lint/interface.d
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >names.c <<'C'
#include <mpi.h>
#include <stdio.h>
#define EACH(count, call)                                                \
  for (int i = 0, n = 256, num = (count(&num), num); i < num; ++i, n = 256) \
    if (call == MPI_SUCCESS)
int main(void) {
  static const char* const classes[] = {"state", "level", "size", "percentage", "highwatermark",
                                        "lowwatermark", "counter", "aggregate", "timer", "generic"};
  char name[256];
  int provided, class;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  EACH(MPI_T_cvar_get_num, MPI_T_cvar_get_info(i, name, &n, 0, 0, 0, 0, 0, 0, 0))
    printf("control %s\n", name);
  EACH(MPI_T_pvar_get_num, MPI_T_pvar_get_info(i, name, &n, 0, &class, 0, 0, 0, 0, 0, 0, 0, 0))
    printf("%s %s\n", classes[class - MPI_T_PVAR_CLASS_STATE], name);
  EACH(MPI_T_category_get_num, MPI_T_category_get_info(i, name, &n, 0, 0, 0, 0, 0))
    printf("category %s\n", name);
  EACH(MPI_T_event_get_num, MPI_T_event_get_info(i, name, &n, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    printf("event %s\n", name);
  return MPI_T_finalize();
}
C
cat >talk.c <<'C'
#include <mpi.h>
int main(void) {
  static char block[1 << 20];
  int rank;
  MPI_Comm dup;
  MPI_Win window;
  MPI_File file;
  void* memory;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  if (rank == 0) MPI_Send(block, sizeof block, MPI_BYTE, 1, 0, dup);
  if (rank == 1) MPI_Recv(block, sizeof block, MPI_BYTE, 0, 0, dup, MPI_STATUS_IGNORE);
  MPI_Bcast(block, sizeof block, MPI_BYTE, 0, dup);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, dup, &memory, &window);
  MPI_Win_free(&window);
  MPI_File_open(dup, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * 100, block, 100, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Comm_free(&dup);
  return MPI_Finalize();
}
C
"$MPICC" -o names names.c && "$MPICC" -o talk talk.c || exit 1

# same LIST FILE: compares the lines of FILE with the list.
same() {
  local line lines
  lines=$(grep -v '^#' "$lists/$1" | sort)
  while read -r line; do
    printf '"%s" is missing, and tools that use the name fail: restore the name, or remove this line from tests/lint/interface.d/%s\n' "$line" "$1"
  done < <(comm -23 <(printf '%s\n' "$lines") <(sort "$2"))
  while read -r line; do
    printf '"%s" is new: add this line to tests/lint/interface.d/%s\n' "$line" "$1"
  done < <(comm -13 <(printf '%s\n' "$lines") <(sort "$2"))
  [ "$lines" = "$(sort "$2")" ]
}
./names >tools || exit 1
check "variables, categories and events have the names of the list" same tools tools

explained() {
  "$MPIRUN" -n 2 -x TERN_EXPLAIN=json:out.json ./talk || return 1
  python3 - "$lists/explain" <<'PY'
import json, sys
rows = [line.split(":") for line in open(sys.argv[1]) if line[0] != "#"]
known = {topic: {*fields.split(), "rank", "topic", "text"} for topic, fields in rows}
lines = [json.loads(line) for line in open("out.json")]
wrong = {f"{line['topic']} has {sorted(line.keys() - known.get(line['topic'], set()))}, which the list lacks"
         for line in lines if line.keys() - known.get(line["topic"], set())}
topics = {line["topic"] for line in lines}
print("\n".join(wrong), "topics:", sorted(topics))
sys.exit(bool(wrong) or not {"peer", "traffic", "collective", "window", "file", "file_transfer"} <= topics)
PY
}
check "explanations have the topics and fields of the list" explained
totals
