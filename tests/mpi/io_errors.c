// SPDX-License-Identifier: Apache-2.0
// Error classes and error handlers of files. An error in one rank's arguments of a collective call
// reaches all ranks.
// ranks: 1 2 3
// timeout: 30
// hosts: no, all ranks share the files
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "io_folder.h"

static char folder[128], paths[8][256];
static int next_path;
static const char* in(const char* name) {
  char* const path = paths[next_path = (next_path + 1) % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int try_open(const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS)
    CHECK(file == MPI_FILE_NULL);
  else
    OK(MPI_File_close(&file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return code;
}
static MPI_File opened(const char* name, int amode) {
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, in(name), amode, MPI_INFO_NULL, &file));
  return file;
}
// names() checks that a text names the rank with the fault.
static void names(int code, int of) {
  char words[32];
  snprintf(words, sizeof words, "rank %d", of);
  if (strstr(error_text(code), words) == NULL)
    FAIL("the text \"%s\" does not name rank %d", error_text(code), of);
}

static void open_errors(void) {
  char longest[5000];
  FAILS(try_open(in("f"), 0), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_CREATE), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDONLY | MPI_MODE_WRONLY), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDWR | MPI_MODE_WRONLY), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDONLY | MPI_MODE_EXCL), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL), MPI_ERR_AMODE);
  FAILS(try_open(in("f"), MPI_MODE_RDWR | 1 << 20), MPI_ERR_AMODE);
  FAILS(try_open(in("missing"), MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
  FAILS(try_open(in("missing"), MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  FAILS(try_open(in("missing/f"), MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_NO_SUCH_FILE);
  FAILS(try_open(in("there"), MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL),
        MPI_ERR_FILE_EXISTS);
  FAILS(try_open(in("there/f"), MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_BAD_FILE);
  FAILS(try_open(folder, MPI_MODE_RDWR), MPI_ERR_BAD_FILE);
  FAILS(try_open(folder, MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
  FAILS(try_open(in("loop"), MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
  FAILS(try_open(in("fifo"), MPI_MODE_RDWR), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(try_open(in("fifo"), MPI_MODE_RDONLY), MPI_ERR_UNSUPPORTED_OPERATION);
  FAILS(try_open(in("fifo"), MPI_MODE_WRONLY | MPI_MODE_CREATE), MPI_ERR_UNSUPPORTED_OPERATION);
  memset(longest, 'x', sizeof longest);
  longest[300] = '\0';
  FAILS(try_open(longest, MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
  longest[300] = 'x', longest[sizeof longest - 1] = '\0';
  FAILS(try_open(longest, MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_BAD_FILE);
  FAILS(try_open("", MPI_MODE_RDONLY), MPI_ERR_BAD_FILE);
  if (geteuid() != 0) FAILS(try_open(in("secret"), MPI_MODE_RDONLY), MPI_ERR_ACCESS);
  if (size > 1) {
    FAILS(try_open(in("there"), rank == 1 ? MPI_MODE_RDWR : MPI_MODE_RDONLY), MPI_ERR_NOT_SAME);
    FAILS(try_open(in("there"), rank == 1 ? 0 : MPI_MODE_RDONLY), MPI_ERR_AMODE);
    const int code = try_open(in(rank == 1 ? "missing" : "there"), MPI_MODE_RDONLY);
    CHECK_EQ(class_of(code), MPI_ERR_NO_SUCH_FILE);
    names(code, 1);
  }
  MPI_File file;
  FAILS(MPI_File_open(MPI_COMM_NULL, in("f"), MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_COMM);
  FAILS(MPI_File_delete(in("missing"), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  FAILS(MPI_File_delete(in("there/f"), MPI_INFO_NULL), MPI_ERR_BAD_FILE);
}

// all_accesses() calls each access function, and expects the class.
static void all_accesses(MPI_File file, int writes, int error_class) {
  char buffer[8] = {0};
  MPI_Request request;
#define ACCESS(op)                                                                               \
  do {                                                                                           \
    FAILS(MPI_File_##op##_at(file, 0, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);     \
    FAILS(MPI_File_##op(file, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);             \
    FAILS(MPI_File_##op##_shared(file, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);    \
    FAILS(MPI_File_##op##_at_all(file, 0, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class); \
    FAILS(MPI_File_##op##_all(file, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);       \
    FAILS(MPI_File_##op##_ordered(file, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);   \
    FAILS(MPI_File_i##op##_at(file, 0, buffer, 4, MPI_BYTE, &request), error_class);             \
    FAILS(MPI_File_i##op(file, buffer, 4, MPI_BYTE, &request), error_class);                     \
    FAILS(MPI_File_i##op##_shared(file, buffer, 4, MPI_BYTE, &request), error_class);            \
    FAILS(MPI_File_##op##_c(file, buffer, 4, MPI_BYTE, MPI_STATUS_IGNORE), error_class);         \
  } while (0)
  if (writes)
    ACCESS(write);
  else
    ACCESS(read);
}
// With these calls, the error may come at the call or at the end.
static int code_of_iall(MPI_File file, int writes) {
  static char buffer[8];
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = writes ? MPI_File_iwrite_all(file, buffer, 4, MPI_BYTE, &request)
                          : MPI_File_iread_all(file, buffer, 4, MPI_BYTE, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int code_of_split(MPI_File file, int writes) {
  static char buffer[8];
  const int code = writes ? MPI_File_write_all_begin(file, buffer, 4, MPI_BYTE)
                          : MPI_File_read_all_begin(file, buffer, 4, MPI_BYTE);
  if (code != MPI_SUCCESS) return code;
  return writes ? MPI_File_write_all_end(file, buffer, MPI_STATUS_IGNORE)
                : MPI_File_read_all_end(file, buffer, MPI_STATUS_IGNORE);
}

static void access_errors(void) {
  MPI_File file = opened("there", MPI_MODE_RDONLY);
  all_accesses(file, 1, MPI_ERR_READ_ONLY);
  FAILS(code_of_iall(file, 1), MPI_ERR_READ_ONLY);
  FAILS(code_of_split(file, 1), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_set_size(file, 10), MPI_ERR_READ_ONLY);
  FAILS(MPI_File_preallocate(file, 10), MPI_ERR_READ_ONLY);
  OK(code_of_iall(file, 0));
  OK(code_of_split(file, 0));
  OK(MPI_File_close(&file));
  file = opened("there", MPI_MODE_WRONLY);
  all_accesses(file, 0, MPI_ERR_ACCESS);
  FAILS(code_of_iall(file, 0), MPI_ERR_ACCESS);
  FAILS(code_of_split(file, 0), MPI_ERR_ACCESS);
  OK(code_of_iall(file, 1));
  OK(MPI_File_close(&file));
}

static void sequential_errors(void) {
  MPI_File file = opened("there", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  MPI_Offset offset;
  MPI_Request request;
  char byte;
#define NOT_HERE(call) FAILS(call, MPI_ERR_UNSUPPORTED_OPERATION)
  NOT_HERE(MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  NOT_HERE(MPI_File_read(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  NOT_HERE(MPI_File_read_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  NOT_HERE(MPI_File_read_all(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  NOT_HERE(MPI_File_iread_at(file, 0, &byte, 1, MPI_BYTE, &request));
  NOT_HERE(MPI_File_iread(file, &byte, 1, MPI_BYTE, &request));
  NOT_HERE(code_of_iall(file, 0));
  NOT_HERE(code_of_split(file, 0));
  NOT_HERE(MPI_File_seek(file, 0, MPI_SEEK_SET));
  NOT_HERE(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  NOT_HERE(MPI_File_get_position(file, &offset));
  NOT_HERE(MPI_File_get_byte_offset(file, 0, &offset));
  FAILS(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  OK(MPI_File_read_shared(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_ordered(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQ(offset, 2 * size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native",
                       MPI_INFO_NULL));
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  OK(MPI_File_get_view(file, &offset, &etype, &filetype, datarep));
  CHECK_EQ(offset, 2 * size);
  OK(MPI_File_close(&file));
  file = opened("there", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  NOT_HERE(MPI_File_set_size(file, 100));
  NOT_HERE(MPI_File_preallocate(file, 100));
  OK(MPI_File_close(&file));
}

static void view_errors(void) {
  MPI_File file = opened("there", MPI_MODE_RDWR), reading = opened("there", MPI_MODE_RDONLY);
  const int ones[2] = {1, 1}, falls[2] = {4, 0}, overlaps[2] = {2, 1}, over[2] = {0, 1};
  const MPI_Aint negative[2] = {-4, 4};
  MPI_Datatype type, five;
#define VIEW(of, disp, etype, filetype) \
  MPI_File_set_view(of, disp, etype, filetype, "native", MPI_INFO_NULL)
  FAILS(VIEW(file, -1, MPI_BYTE, MPI_BYTE), MPI_ERR_ARG);
  FAILS(VIEW(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE), MPI_ERR_ARG);
  FAILS(VIEW(file, 0, MPI_DATATYPE_NULL, MPI_BYTE), MPI_ERR_TYPE);
  FAILS(VIEW(file, 0, MPI_BYTE, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
  FAILS(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "strange", MPI_INFO_NULL),
        MPI_ERR_UNSUPPORTED_DATAREP);
  OK(MPI_Type_contiguous(5, MPI_BYTE, &five));
  FAILS(VIEW(file, 0, five, five), MPI_ERR_TYPE);
  OK(MPI_Type_commit(&five));
  FAILS(VIEW(file, 0, MPI_INT, five), MPI_ERR_ARG);
  FAILS(VIEW(file, 0, MPI_INT, MPI_BYTE), MPI_ERR_ARG);
  OK(MPI_Type_free(&five));
  OK(MPI_Type_indexed(2, ones, falls, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  FAILS(VIEW(file, 0, MPI_INT, type), MPI_ERR_IO);
  FAILS(VIEW(reading, 0, MPI_INT, type), MPI_ERR_IO);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_indexed(2, overlaps, over, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  FAILS(VIEW(file, 0, MPI_INT, type), MPI_ERR_IO);
  OK(VIEW(reading, 0, MPI_INT, type));
  OK(MPI_Type_free(&type));
  OK(MPI_Type_create_hindexed(2, ones, negative, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  FAILS(VIEW(file, 0, MPI_INT, type), MPI_ERR_IO);
  FAILS(VIEW(file, 100, MPI_INT, type), MPI_ERR_IO);
  OK(MPI_Type_free(&type));
  // Many programs pass tiles that overlap, but write one tile.
  OK(MPI_Type_create_resized(MPI_INT, 0, 2, &type));
  OK(MPI_Type_commit(&type));
  OK(VIEW(file, 0, MPI_BYTE, type));
  OK(MPI_Type_free(&type));
  OK(MPI_File_close(&reading));
  OK(MPI_File_close(&file));
}

static void argument_errors(void) {
  MPI_File file = opened("there", MPI_MODE_RDWR), none = MPI_FILE_NULL;
  MPI_Offset offset = 0;
  MPI_Request request;
  MPI_Datatype raw;
  char bytes[8] = {0};
#define WRITE(...) MPI_File_write_at(__VA_ARGS__, MPI_STATUS_IGNORE)
  OK(MPI_Type_contiguous(2, MPI_BYTE, &raw));
  FAILS(WRITE(file, -1, bytes, 1, MPI_BYTE), MPI_ERR_ARG);
  FAILS(WRITE(file, 0, bytes, -1, MPI_BYTE), MPI_ERR_COUNT);
  FAILS(WRITE(file, 0, bytes, 1, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
  FAILS(WRITE(file, 0, bytes, 1, raw), MPI_ERR_TYPE);
  FAILS(WRITE(file, 0x7fffffffffffffffLL, bytes, 8, MPI_BYTE), MPI_ERR_ARG);
  FAILS(MPI_File_iwrite_at(file, -7, bytes, 1, MPI_BYTE, &request), MPI_ERR_ARG);
  FAILS(MPI_File_iwrite_at(file, 0, bytes, -7, MPI_BYTE, &request), MPI_ERR_COUNT);
  OK(MPI_Type_free(&raw));
  FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  FAILS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
  FAILS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  FAILS(MPI_File_seek_shared(file, 0, 12345), MPI_ERR_ARG);
  FAILS(MPI_File_get_byte_offset(file, -1, &offset), MPI_ERR_ARG);
  FAILS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
  FAILS(MPI_File_preallocate(file, -1), MPI_ERR_ARG);
  OK(VIEW(file, 0, MPI_INT, MPI_INT));
  FAILS(WRITE(file, 0, bytes, 3, MPI_BYTE), MPI_ERR_IO);
  FAILS(WRITE(file, 0x3fffffffffffffffLL, bytes, 1, MPI_INT), MPI_ERR_ARG);
  FAILS(MPI_File_get_byte_offset(file, 0x7fffffffffffffffLL, &offset), MPI_ERR_ARG);
  OK(VIEW(file, 0, MPI_BYTE, MPI_BYTE));
  OK(MPI_File_get_position(file, &offset));
  CHECK_EQ(offset, 0);
  FAILS(MPI_File_close(&none), MPI_ERR_FILE);
  FAILS(WRITE(MPI_FILE_NULL, 0, bytes, 1, MPI_BYTE), MPI_ERR_FILE);
  FAILS(MPI_File_get_size(MPI_FILE_NULL, &offset), MPI_ERR_FILE);
  FAILS(MPI_File_sync(MPI_FILE_NULL), MPI_ERR_FILE);
  if (size > 1) {
    FAILS(MPI_File_set_size(file, 8 + rank), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_preallocate(file, 8 + rank), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_seek_shared(file, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_seek_shared(file, 0, rank == 1 ? MPI_SEEK_CUR : MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    FAILS(MPI_File_set_atomicity(file, rank == 1), MPI_ERR_NOT_SAME);
  }
  OK(MPI_File_close(&file));
}

static void split_errors(void) {
  MPI_File file = opened("there", MPI_MODE_RDWR);
  char bytes[8] = {0}, other[8];
  MPI_Status status;
  FAILS(MPI_File_write_all_end(file, bytes, &status), MPI_ERR_OTHER);
  FAILS(MPI_File_read_ordered_end(file, bytes, &status), MPI_ERR_OTHER);
  OK(MPI_File_read_all_begin(file, bytes, 4, MPI_BYTE));
  FAILS(MPI_File_read_at_all_end(file, bytes, &status), MPI_ERR_OTHER);
  FAILS(MPI_File_write_all_end(file, bytes, &status), MPI_ERR_OTHER);
  FAILS(MPI_File_read_all_end(file, other, &status), MPI_ERR_BUFFER);
  FAILS(MPI_File_read_all_begin(file, other, 4, MPI_BYTE), MPI_ERR_OTHER);
  FAILS(MPI_File_write_at_all_begin(file, 0, other, 4, MPI_BYTE), MPI_ERR_OTHER);
  FAILS(MPI_File_write_all(file, other, 4, MPI_BYTE, &status), MPI_ERR_OTHER);
  FAILS(MPI_File_read_ordered(file, other, 4, MPI_BYTE, &status), MPI_ERR_OTHER);
  FAILS(code_of_iall(file, 1), MPI_ERR_OTHER);
  FAILS(MPI_File_close(&file), MPI_ERR_OTHER);
  OK(MPI_File_write_at(file, 8 + rank, bytes, 1, MPI_BYTE, &status));
  OK(MPI_File_read_all_end(file, bytes, &status));
  int count = 0;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, 4);
  FAILS(MPI_File_read_all_end(file, bytes, &status), MPI_ERR_OTHER);
  OK(MPI_File_write_all(file, bytes, 4, MPI_BYTE, &status));
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
}

// Rank `of` passes a bad argument: all ranks get the class, and the file serves further calls.
#define ALL_GET(call, error_class)                                                     \
  do {                                                                                 \
    const int got_ = (call);                                                           \
    if (class_of(got_) != (error_class)) FAIL("%s gives %s", #call, error_text(got_)); \
    if (rank != of) names(got_, of);                                                   \
    OK(MPI_Barrier(MPI_COMM_WORLD));                                                   \
    usable(file);                                                                      \
  } while (0)
static void usable(MPI_File file) {
  char bytes[4] = {1, 2, 3, 4}, got[4] = {0};
  MPI_Status status;
  int count = 0;
  OK(MPI_File_write_at_all(file, 4 * rank, bytes, 4, MPI_BYTE, &status));
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, 4);
  OK(MPI_File_read_at_all(file, 4 * rank, got, 4, MPI_BYTE, &status));
  CHECK(memcmp(bytes, got, 4) == 0);
}
static void errors_of_one(int of) {
  MPI_File file = opened("there", MPI_MODE_RDWR);
  char bytes[8] = {0};
  const int bad = rank == of;
  MPI_Datatype raw;
  OK(MPI_Type_contiguous(2, MPI_BYTE, &raw));
#define IGNORED MPI_STATUS_IGNORE
  ALL_GET(MPI_File_write_at_all(file, bad ? -1 : 0, bytes, 1, MPI_BYTE, IGNORED), MPI_ERR_ARG);
  ALL_GET(MPI_File_write_at_all(file, 0, bytes, bad ? -1 : 1, MPI_BYTE, IGNORED), MPI_ERR_COUNT);
  ALL_GET(MPI_File_read_at_all(file, 0, bytes, 1, bad ? raw : MPI_BYTE, IGNORED), MPI_ERR_TYPE);
  ALL_GET(MPI_File_read_all(file, bytes, 1, bad ? MPI_DATATYPE_NULL : MPI_BYTE, IGNORED),
          MPI_ERR_TYPE);
  ALL_GET(MPI_File_write_all(file, bytes, bad ? -3 : 0, MPI_BYTE, IGNORED), MPI_ERR_COUNT);
  ALL_GET(MPI_File_write_ordered(file, bytes, bad ? -3 : 1, MPI_BYTE, IGNORED), MPI_ERR_COUNT);
  ALL_GET(MPI_File_read_ordered(file, bytes, bad ? -3 : 1, MPI_BYTE, IGNORED), MPI_ERR_COUNT);
  ALL_GET(MPI_File_set_size(file, bad ? -1 : 100), MPI_ERR_ARG);
  ALL_GET(MPI_File_preallocate(file, bad ? -1 : 100), MPI_ERR_ARG);
  ALL_GET(MPI_File_seek_shared(file, bad ? -1 : 0, MPI_SEEK_SET), MPI_ERR_ARG);
  // Nonblocking and split calls: at the call, or at the end.
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_File_iwrite_all(file, bytes, bad ? -1 : 1, MPI_BYTE, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, IGNORED);
  ALL_GET(code, MPI_ERR_COUNT);
  code = MPI_File_iread_at_all(file, bad ? -1 : 0, bytes, 1, MPI_BYTE, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, IGNORED);
  ALL_GET(code, MPI_ERR_ARG);
  code = MPI_File_write_at_all_begin(file, bad ? -1 : 0, bytes, 1, MPI_BYTE);
  if (code == MPI_SUCCESS) code = MPI_File_write_at_all_end(file, bytes, IGNORED);
  ALL_GET(code, MPI_ERR_ARG);
  code = MPI_File_read_all_begin(file, bytes, 1, bad ? raw : MPI_BYTE);
  if (code == MPI_SUCCESS) code = MPI_File_read_all_end(file, bytes, IGNORED);
  ALL_GET(code, MPI_ERR_TYPE);
  OK(MPI_Type_free(&raw));
  OK(MPI_File_close(&file));
}

static MPI_File heard_file;
static int heard_class, heard;
static void hear(MPI_File* file, int* code, ...) {
  heard_file = *file;
  heard_class = class_of(*code);
  ++heard;
}
static void expect_heard(MPI_File file, int error_class, int line) {
  if (heard != 1 || heard_file != file || heard_class != error_class)
    FAIL("line %d: %d calls of the handler, the last with class %d and file %p, expected class %d",
         line, heard, heard_class, (void*)heard_file, error_class);
  heard = 0;
}
#define HEARS(call, file, error_class)         \
  do {                                         \
    FAILS(call, error_class);                  \
    expect_heard(file, error_class, __LINE__); \
  } while (0)

static void handlers(void) {
  static char bytes[1 << 20];
  MPI_Errhandler found, mine;
  MPI_Request request;
  MPI_Offset offset;
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  MPI_File file = opened("there", MPI_MODE_RDONLY);
  OK(MPI_File_get_errhandler(file, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(hear, &mine));
  OK(MPI_File_set_errhandler(file, mine));
  OK(MPI_File_get_errhandler(file, &found));
  CHECK(found == mine);
  OK(MPI_Errhandler_free(&found));
  HEARS(MPI_File_write(file, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE), file, MPI_ERR_READ_ONLY);
  HEARS(MPI_File_write_all(file, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE), file, MPI_ERR_READ_ONLY);
  HEARS(code_of_iall(file, 1), file, MPI_ERR_READ_ONLY);
  HEARS(MPI_File_seek(file, -1, MPI_SEEK_SET), file, MPI_ERR_ARG);
  HEARS(MPI_File_read(file, bytes, -1, MPI_BYTE, MPI_STATUS_IGNORE), file, MPI_ERR_COUNT);
  OK(MPI_File_call_errhandler(file, MPI_ERR_QUOTA));
  expect_heard(file, MPI_ERR_QUOTA, __LINE__);
  OK(MPI_File_close(&file));
  // A null file, and files opened later.
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  HEARS(try_open(in("missing"), MPI_MODE_RDONLY), MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE);
  HEARS(try_open(in("missing"), 0), MPI_FILE_NULL, MPI_ERR_AMODE);
  HEARS(MPI_File_delete(in("missing"), MPI_INFO_NULL), MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE);
  HEARS(MPI_File_get_size(MPI_FILE_NULL, &offset), MPI_FILE_NULL, MPI_ERR_FILE);
  OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_QUOTA));
  expect_heard(MPI_FILE_NULL, MPI_ERR_QUOTA, __LINE__);
  OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  OK(MPI_File_get_errhandler(file, &found));
  CHECK(found == mine);
  OK(MPI_Errhandler_free(&found));
  // Errors of requests go to the handler of the file.
  HEARS(MPI_File_write(file, bytes, 1, MPI_BYTE, MPI_STATUS_IGNORE), file, MPI_ERR_NO_SPACE);
  for (int bytes_now = 4; bytes_now <= (int)sizeof bytes; bytes_now *= 512) {
    MPI_Status statuses[2];
    MPI_Request both[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    OK(MPI_File_iwrite_at(file, 0, bytes, bytes_now, MPI_BYTE, &request));
    HEARS(MPI_Wait(&request, MPI_STATUS_IGNORE), file, MPI_ERR_NO_SPACE);
    OK(MPI_File_iwrite_all(file, bytes, bytes_now, MPI_BYTE, &request));
    HEARS(MPI_Wait(&request, MPI_STATUS_IGNORE), file, MPI_ERR_NO_SPACE);
    OK(MPI_File_iwrite_at(file, 0, bytes, bytes_now, MPI_BYTE, &both[1]));
    FAILS(MPI_Waitall(2, both, statuses), MPI_ERR_IN_STATUS);
    expect_heard(file, MPI_ERR_NO_SPACE, __LINE__);  // MPI-5.0 section 9.3: the status's code
    CHECK_EQ(class_of(statuses[1].MPI_ERROR), MPI_ERR_NO_SPACE);
    OK(MPI_File_write_all_begin(file, bytes, bytes_now, MPI_BYTE));
    HEARS(MPI_File_write_all_end(file, bytes, MPI_STATUS_IGNORE), file, MPI_ERR_NO_SPACE);
  }
  // Only the last rank writes.
  const int last = size - 1;
  const int code = MPI_File_write_all(file, bytes, rank == last, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_EQ(class_of(code), MPI_ERR_NO_SPACE);
  names(code, last);
  expect_heard(file, MPI_ERR_NO_SPACE, __LINE__);
  OK(MPI_File_sync(file));
  OK(MPI_File_close(&file));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  OK(MPI_Errhandler_free(&mine));
  CHECK_EQ(heard, 0);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  name_in_folder(folder, sizeof folder, "/tmp", "io_errors");
  if (rank == 0) {
    CHECK(mkdtemp(folder) != NULL);
    CHECK(mkfifo(in("fifo"), 0600) == 0);
    CHECK(symlink("loop", in("loop")) == 0);
    int fd = open(in("there"), O_CREAT | O_WRONLY, 0600);
    CHECK_EQ(write(fd, folder, sizeof folder), sizeof folder);
    close(fd);
    fd = open(in("secret"), O_CREAT | O_WRONLY, 0);
    close(fd);
  }
  OK(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD));
  open_errors();
  access_errors();
  sequential_errors();
  view_errors();
  argument_errors();
  split_errors();
  for (int of = 0; of < size && size > 1; ++of) errors_of_one(of);
  handlers();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const char* const made[] = {"fifo", "loop", "there", "secret"};
  for (int i = 0; i < 4 && rank == 0; ++i) CHECK(unlink(in(made[i])) == 0);
  if (rank == 0) CHECK(rmdir(folder) == 0);
  return end();
}
