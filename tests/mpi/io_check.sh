# SPDX-License-Identifier: Apache-2.0
# TERN_CHECK for files: leaks names open files and requests, collective compares the calls of the
# ranks, files finds bytes that two ranks write in one collective call.
# timeout: 300
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >wrong.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kMost = 1 << 16 };
static int data[4 * kMost];
static int rank, size, odd, errors;
static MPI_File fh;
static const char* what;
static int is(const char* name) { return !strcmp(what, name); }
static void say(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class;
  if (code == MPI_SUCCESS) return;
  ++errors;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  printf("rank %d%s: %s\n", rank, class == MPI_ERR_NOT_SAME ? "" : " (another class)", text);
}
static void wait_for(int code, MPI_Request* request) {
  say(code);
  if (code == MPI_SUCCESS) say(MPI_Wait(request, MPI_STATUS_IGNORE));
}
static void view(int first, int block, int stride, MPI_Datatype etype) {
  MPI_Datatype some, tile;
  MPI_Type_contiguous(block, MPI_INT, &some);
  MPI_Type_create_resized(some, 0, stride * 4, &tile);
  MPI_Type_commit(&tile);
  say(MPI_File_set_view(fh, first * 4, etype, tile, "native", MPI_INFO_NULL));
  MPI_Type_free(&some);
  MPI_Type_free(&tile);
}
static void differ(void) {
  MPI_Request request;
  if (is("read_write"))
    say(odd ? MPI_File_read_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE)
            : MPI_File_write_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
  if (is("set_view")) {
    if (odd) view(0, 1, 1, MPI_INT);
    if (!odd) say(MPI_File_write_at_all(fh, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE));
  }
  if (is("set_info"))
    say(odd ? MPI_File_set_info(fh, MPI_INFO_NULL) : MPI_File_set_atomicity(fh, 0));
  if (is("etype")) view(0, 2, 2, odd ? MPI_DOUBLE : MPI_INT);
  if (is("datarep"))
    say(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, odd ? "external32" : "native", MPI_INFO_NULL));
  if (is("size")) say(odd ? MPI_File_preallocate(fh, 64) : MPI_File_set_size(fh, 64));
  if (is("sync"))
    say(odd ? MPI_File_sync(fh) : MPI_File_set_atomicity(fh, 0));
  if (is("nonblocking"))
    wait_for(odd ? MPI_File_iread_at_all(fh, 0, data, 4, MPI_INT, &request)
                 : MPI_File_iwrite_at_all(fh, 0, data, 4, MPI_INT, &request),
             &request);
  if (is("split")) {
    say(odd ? MPI_File_write_all_begin(fh, data, 4, MPI_INT)
            : MPI_File_write_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
    if (odd) say(MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE));
  }
  if (is("ordered")) {
    view(0, 1, odd ? 2 : 1, MPI_INT);
    say(MPI_File_write_ordered(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE));
  }
  if (is("close")) {
    if (odd) say(MPI_File_close(&fh));
    if (!odd) say(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  }
}
static void agree(void) {
  MPI_Request request;
  const int before = errors;
  view(rank, 1, size, MPI_INT);
  say(odd ? MPI_File_write_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE)
          : MPI_File_write_all_c(fh, data, 3, MPI_INT, MPI_STATUS_IGNORE));
  wait_for(MPI_File_iwrite_all(fh, data, odd, MPI_INT, &request), &request);
  say(MPI_File_write_at_all_begin(fh, 0, data, 2, MPI_INT));
  say(MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE));
  view(0, 1, 1, MPI_INT);
  say(MPI_File_seek_shared(fh, 3, MPI_SEEK_SET));
  say(MPI_File_write_ordered(fh, data, rank, MPI_INT, MPI_STATUS_IGNORE));
  say(MPI_File_set_atomicity(fh, 0));
  say(MPI_File_set_info(fh, MPI_INFO_NULL));
  if (errors != before) return;
  // A rank refuses its arguments: all ranks get an error, and the file stays usable.
  if (MPI_File_read_all(fh, data, odd ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS) ++errors;
  if (MPI_File_set_view(fh, 0, odd ? MPI_DATATYPE_NULL : MPI_INT, MPI_INT, "native",
                        MPI_INFO_NULL) == MPI_SUCCESS)
    ++errors;
  if (MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "unknown", MPI_INFO_NULL) == MPI_SUCCESS) ++errors;
  view(0, 1, 1, MPI_INT);
  say(MPI_File_sync(fh));
}
static void write_blocks(void) {
  MPI_Request request;
  const int count = is("many") ? kMost : 100;
  MPI_File_set_size(fh, 0);
  // "apart", "many": rank r has ints r, r + size, ...; the last rank's view is shifted by one block
  // of rank 0 at int 7 * size.
  view(rank, 1, size, MPI_INT);
  if (is("overlap") || is("many") || is("atomic") || is("later")) {
    MPI_Datatype tile;
    int places[2] = {size - 1, 7 * size};
    if (odd && size > 1) {
      MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &tile);
      MPI_Type_commit(&tile);
      say(MPI_File_set_view(fh, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
      MPI_Type_free(&tile);
    }
  }
  const int mine = is("apart") || !odd ? count : 2;
  if (is("atomic")) MPI_File_set_atomicity(fh, 1);
  if (is("later"))
    wait_for(MPI_File_iwrite_at_all(fh, 0, data, mine, MPI_INT, &request), &request);
  else if (is("tiles")) {
    // The tiles of one rank rise only within a tile; all ranks write the same bytes.
    MPI_Datatype two, tile;
    MPI_Type_vector(2, 1, 4, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 8, &tile);
    MPI_Type_commit(&tile);
    say(MPI_File_set_view(fh, 0, MPI_INT, tile, "native", MPI_INFO_NULL));
    MPI_File_write_all(fh, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Type_free(&two);
    MPI_Type_free(&tile);
  } else {
    say(MPI_File_write_at_all(fh, 0, data, mine, MPI_INT, MPI_STATUS_IGNORE));
    say(MPI_File_write_at_all(fh, 0, data, mine, MPI_INT, MPI_STATUS_IGNORE));
  }
}
static void leave(void) {
  MPI_Request request[3];
  for (int i = 0; i < 2; ++i) MPI_File_iwrite_at(fh, i, data, 1, MPI_INT, request + i);
  MPI_File_iwrite_all(fh, data, 1, MPI_INT, request + 2);
  if (is("leak_split")) MPI_File_write_all_begin(fh, data, 1, MPI_INT);
  if (is("leak_none")) MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
  if (is("leak_close") || is("leak_none")) MPI_File_close(&fh);
}
int main(int argc, char** argv) {
  what = argv[1];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  odd = rank == size - 1;
  MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  if (!strncmp(what, "leak", 4)) {
    leave();
  } else {
    if (is("right")) agree();
    differ();
    if (is("apart") || is("overlap") || is("many") || is("atomic") || is("later") || is("tiles"))
      write_blocks();
    if (fh != MPI_FILE_NULL) MPI_File_close(&fh);
  }
  printf("rank %d of %d has %d errors\n", rank, size, errors);
  MPI_Finalize();
  return 0;
}
C
"$MPICC" -o wrong wrong.c || exit 1
transport=auto
run() { # run CHECK MODE RANKS: prints, and returns mpirun's status
  rm -f file
  timeout 30 "$MPIRUN" -n "$3" -x TERN_CHECK="$1" -x TERN_TRANSPORT="$transport" ./wrong "$2" file 2>&1
}
says() { # says CHECK MODE RANKS PATTERN...: lines match all patterns
  local text
  text=$(run "$1" "$2" "$3") || { printf '%s\nexit %s\n' "$text" $?; return 1; }
  for pattern in "${@:4}"; do
    grep -q -e "$pattern" <<<"$text" || { printf 'no "%s" in:\n%s\n' "$pattern" "$text"; return 1; }
  done
}
quiet() { # quiet CHECK MODE RANKS: each rank has no error, and prints nothing else
  local text
  text=$(run "$1" "$2" "$3") && [ "$(grep -c 'has 0 errors' <<<"$text")" = "$3" ] &&
    [ "$(wc -l <<<"$text")" = "$3" ] || { printf '%s\n' "$text"; return 1; }
}
lines() { # lines NUMBER PATTERN CHECK MODE RANKS
  local text
  text=$(run "${@:3}") && [ "$(grep -c -e "$2" <<<"$text")" = "$1" ] || { printf '%s\n' "$text"; return 1; }
}

check "leaks: requests at MPI_File_close" says leaks leak_close 2 \
  'not freed until MPI_File_close of file: 2 requests made by MPI_File_iwrite_at at .*wrong(.*0x.*); MPI_Wait' \
  'not freed until MPI_File_close of file: 1 request made by MPI_File_iwrite_all at ' \
  'not freed until MPI ended: 2 requests made by MPI_File_iwrite_at at '
check "leaks: an open file and its requests" says leaks leak_open 2 \
  'file is still open when MPI ends, opened at .*wrong(.*0x.*); MPI_File_close is missing' \
  'not freed until MPI ended: 2 requests made by MPI_File_iwrite_at at '
check "leaks: a split collective call" says leaks leak_split 2 \
  '1 request made by MPI_File_write_all_begin at .*; MPI_File_write_all_end is missing'
check "leaks: a clean program" quiet leaks leak_none 2
check "leaks: only on demand" lines 0 'not freed' 1 leak_close 2

# Every rank gets the same sentence with both calls.
named() { # named MODE CALL OTHER: rank 0 calls CALL, the last rank calls OTHER
  lines "$n" "rank [0-9]*: MPI_File_[a-z_]*: rank 0 calls $2, but rank $last calls $3, as the same collective call of file (TERN_CHECK=collective)" \
    collective "$1" "$n"
}
for n in 2 3 5; do
  last=$((n - 1))
  check "write_all and read_all, $n ranks" named read_write MPI_File_write_all MPI_File_read_all
  check "write_at_all and set_view, $n ranks" named set_view MPI_File_write_at_all \
    'MPI_File_set_view with etypes of 4 bytes in native'
  check "set_atomicity and set_info, $n ranks" named set_info MPI_File_set_atomicity MPI_File_set_info
  check "etypes, $n ranks" named etype 'MPI_File_set_view with etypes of 4 bytes in native' \
    'MPI_File_set_view with etypes of 8 bytes in native'
  check "representations, $n ranks" named datarep 'MPI_File_set_view with etypes of 4 bytes in native' \
    'MPI_File_set_view with etypes of 4 bytes in external32'
  check "set_size and preallocate, $n ranks" named size MPI_File_set_size MPI_File_preallocate
  check "set_atomicity and sync, $n ranks" named sync MPI_File_set_atomicity MPI_File_sync
  check "split and blocking, $n ranks" named split MPI_File_write_all MPI_File_write_all_begin
  check "views of ordered calls, $n ranks" named ordered \
    'MPI_File_write_ordered in a view of 4 of each 4 bytes from byte 0 on, in etypes of 4' \
    'MPI_File_write_ordered in a view of 4 of each 8 bytes from byte 0 on, in etypes of 4'
  check "close and seek_shared, $n ranks" named close MPI_File_seek_shared MPI_File_close
  check "nonblocking, $n ranks" lines "$n" "MPI_Wait: rank 0 calls MPI_File_iwrite_at_all, but rank $last calls MPI_File_iread_at_all, as" \
    collective nonblocking "$n"
  check "equal calls, $n ranks" quiet all right "$n"
done
check "other calls: only on demand" quiet 1 read_write 2

overlap() { # overlap MODE: one line names rank 0, the last rank, and the byte
  lines 1 "ranks 0 and $last both write byte $((28 * n)) of file in MPI_File_[a-z_]* at .*wrong(.*0x.*), so its value is undefined; write separate bytes, or set atomic mode (TERN_CHECK=files)" \
    files "$1" "$n"
}
for n in 2 3 5; do
  last=$((n - 1))
  for mode in overlap many later; do
    check "overlapping writes, $mode, $n ranks" overlap $mode
    check "the same writes unchecked, $mode, $n ranks" quiet 1 $mode "$n"
  done
  check "overlapping tiles, $n ranks" lines $last 'ranks 0 and [0-9]* both write byte 0 of file in MPI_File_write_all' files tiles "$n"
  for mode in apart atomic; do
    check "writes that do not overlap, $mode, $n ranks" quiet files $mode "$n"
  done
done

# Each rank counts as a host.
transport=ofi n=3 last=2
check "several hosts: read_write" named read_write MPI_File_write_all MPI_File_read_all
check "several hosts: close" named close MPI_File_seek_shared MPI_File_close
check "several hosts: equal calls" quiet all right 3
for mode in overlap many later; do check "several hosts: $mode" overlap $mode; done
check "several hosts: apart" quiet files apart 3
totals
