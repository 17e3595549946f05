# SPDX-License-Identifier: Apache-2.0
"""Fixed parts of the program written by abi_errors.py: the check, the wrong handles, live objects."""

KINDS = {'MPI_Comm': 'comm', 'MPI_Datatype': 'type', 'MPI_Group': 'group', 'MPI_Op': 'op',
         'MPI_Errhandler': 'errhandler', 'MPI_Info': 'info', 'MPI_Session': 'session',
         'MPI_Request': 'request', 'MPI_Message': 'message', 'MPI_Win': 'win', 'MPI_File': 'file', 'MPIX_Stream': 'stream'}

HEAD = '''#include <mpix.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_none, k_comm, k_type, k_group, k_op, k_errhandler, k_info, k_session, k_request, k_message,
       k_win, k_file, k_stream };
enum { k_most = 128 };
static uintptr_t bad_words[k_most];  /* valid for at most one kind; may be the kind's null handle */
static int right_kind[k_most], is_null[k_most], bad_count, wrong, calls;
static int comm_key, type_key, stale_key;
static char room[1 << 16];
static MPI_Session session;
static MPI_Win window;
static MPI_File file;
static MPIX_Stream stream;
static MPI_Datatype uncommitted;
static MPI_Info info;
static MPI_Request partitioned;
static MPI_Message message;

static void word(const void* value, int kind, int null) {
  bad_words[bad_count] = (uintptr_t)value;
  right_kind[bad_count] = kind;
  is_null[bad_count++] = null;
}
/* Returns 1 if word i is invalid for a parameter of this kind. */
static int wrong_for(int i, int kind, int null_is_right) {
  return right_kind[i] != kind || (is_null[i] && !null_is_right);
}
/* The form of word i in an error text. The text names null handles. */
static const char* shown(int i) {
  static char text[32];
  if (is_null[i]) return "";
  snprintf(text, sizeof text, "%#lx", (unsigned long)bad_words[i]);
  return text;
}
/* A key for another kind of object. */
static int other_key(const char* call) { return strstr(call, "Type_") != NULL ? comm_key : type_key; }

static void complain(const char* call, const char* parameter, int want, int code, const char* text) {
  ++wrong;
  printf("%s with a wrong %s: code %d, expected class %d: %s\\n", call, parameter, code, want, text);
}
static void expect(const char* call, const char* parameter, const char* value, int want, int code) {
  char text[MPI_MAX_ERROR_STRING], start[80];
  int found = -1, length = 0;
  ++calls;
  MPI_Error_class(code, &found);
  MPI_Error_string(code, text, &length);
  snprintf(start, sizeof start, "%s: ", call);
  if (found != want || strncmp(text, start, strlen(start)) != 0 || strstr(text + strlen(start), parameter) == NULL ||
      (value != NULL && strstr(text, value) == NULL))
    complain(call, parameter, want, code, text);
  memset(room, 0, sizeof room);
}

static void nothing(void) {}
static void add(void* in, void* inout, int* len, MPI_Datatype* type) { (void)in; (void)inout; (void)len; (void)type; }
static void hear(MPI_Comm* comm, int* code, ...) { (void)comm; (void)code; }
static int query(void* state, MPI_Status* status) { (void)state; (void)status; return MPI_SUCCESS; }
static int let_go(void* state) { (void)state; return MPI_SUCCESS; }
static int cancel(void* state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }

/* Handles of constants, of live and freed objects of each kind, and near misses. */
#define CONSTANT(handle, kind) word(handle, kind, 0)
#define NULL_HANDLE(handle, kind) word(handle, kind, 1)
#define LIVE(handle, kind)                                         \\
  do {                                                             \\
    const uintptr_t it = (uintptr_t)(handle);                      \\
    word((void*)it, kind, 0);                                      \\
    word((void*)(it ^ 1 << 20), k_none, 0);                        \\
    word((void*)(it + ((uintptr_t)1 << 32)), k_none, 0);           \\
    word((void*)(it & 0x7fffffff), k_none, 0);                     \\
  } while (0)

static void constants(void) {
  static const uintptr_t garbage[] = {0, 1, 0x3ff, 0x400, 0xfff, 0x1000, 0x7fffffff, 0x80000000, 0xdeadbeef,
                                      0x123456789abcdef0, ~(uintptr_t)0, ~(uintptr_t)0 << 12};
  for (size_t i = 0; i < sizeof garbage / sizeof *garbage; ++i) word((void*)garbage[i], k_none, 0);
  word(room, k_none, 0);
  NULL_HANDLE(MPI_COMM_NULL, k_comm);
  NULL_HANDLE(MPI_DATATYPE_NULL, k_type);
  NULL_HANDLE(MPI_GROUP_NULL, k_group);
  NULL_HANDLE(MPI_OP_NULL, k_op);
  NULL_HANDLE(MPI_ERRHANDLER_NULL, k_errhandler);
  NULL_HANDLE(MPI_INFO_NULL, k_info);
  NULL_HANDLE(MPI_SESSION_NULL, k_session);
  NULL_HANDLE(MPI_REQUEST_NULL, k_request);
  NULL_HANDLE(MPI_MESSAGE_NULL, k_message);
  CONSTANT(MPI_MESSAGE_NO_PROC, k_message);
  CONSTANT(MPI_COMM_WORLD, k_comm);
  CONSTANT(MPI_INT, k_type);
  CONSTANT(MPI_GROUP_EMPTY, k_group);
  CONSTANT(MPI_MAX, k_op);
  CONSTANT(MPI_ERRORS_RETURN, k_errhandler);
  CONSTANT(MPI_INFO_ENV, k_info);
  NULL_HANDLE(MPI_WIN_NULL, k_win);
  NULL_HANDLE(MPI_FILE_NULL, k_file);
  NULL_HANDLE(MPIX_STREAM_NULL, k_stream);
}

static void live(const char* name) {
  static int sent;
  MPI_Comm comm;
  MPI_Group group;
  MPI_Op op;
  MPI_Errhandler errhandler;
  MPI_Request request;
  int flag = 0;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Type_contiguous(3, MPI_INT, &uncommitted);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Op_create(add, 1, &op);
  MPI_Comm_create_errhandler(hear, &errhandler);
  MPI_Info_create(&info);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Grequest_start(query, let_go, cancel, NULL, &request);
  MPI_Psend_init(&sent, 1, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_INFO_NULL, &partitioned);
  MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
  while (!flag) MPI_Improbe(0, 7, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
  MPI_Win_create(&sent, sizeof sent, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != 0) exit(4);
  LIVE(comm, k_comm);
  LIVE(uncommitted, k_type);
  LIVE(group, k_group);
  LIVE(op, k_op);
  LIVE(errhandler, k_errhandler);
  LIVE(info, k_info);
  LIVE(session, k_session);
  LIVE(request, k_request);
  LIVE(message, k_message);
  LIVE(window, k_win);
  LIVE(file, k_file);
  MPIX_Stream_create(MPI_INFO_NULL, &stream);
  LIVE(stream, k_stream);
}

#define STALE(type, make, end)                          \\
  do {                                                  \\
    type made, kept;                                    \\
    if (make != MPI_SUCCESS) exit(2);                   \\
    kept = made;                                        \\
    if (end != MPI_SUCCESS) exit(3);                    \\
    word((void*)kept, k_none, 0);                       \\
  } while (0)

static void stale(const char* name) {
  static int value;
  STALE(MPI_Comm, MPI_Comm_dup(MPI_COMM_SELF, &made), MPI_Comm_free(&made));
  STALE(MPI_Datatype, MPI_Type_contiguous(2, MPI_INT, &made), MPI_Type_free(&made));
  STALE(MPI_Group, MPI_Comm_group(MPI_COMM_WORLD, &made), MPI_Group_free(&made));
  STALE(MPI_Op, MPI_Op_create(add, 1, &made), MPI_Op_free(&made));
  STALE(MPI_Errhandler, MPI_Comm_create_errhandler(hear, &made), MPI_Errhandler_free(&made));
  STALE(MPI_Info, MPI_Info_create(&made), MPI_Info_free(&made));
  STALE(MPI_Session, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_Session_finalize(&made));
  STALE(MPI_Win, MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &made), MPI_Win_free(&made));
  STALE(MPI_File, MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &made), MPI_File_close(&made));
  STALE(MPIX_Stream, MPIX_Stream_create(MPI_INFO_NULL, &made), MPIX_Stream_free(&made));
  STALE(MPI_Request, MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made),
        MPI_Wait(&made, MPI_STATUS_IGNORE));
  STALE(MPI_Request, MPI_Send_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &made), MPI_Request_free(&made));
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &stale_key, NULL);
  int freed = stale_key;
  MPI_Comm_free_keyval(&freed);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
}
'''

TAIL = '''
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  constants();
  char name[4096];
  snprintf(name, sizeof name, "%%s.data", argv[0]);
  live(name);
  stale(name);
%s
  tools_early();
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, (int*)room) != 0 || MPI_T_pvar_session_create(&tool_session) != 0) return 4;
  tools_late();
  printf("%%d calls with wrong arguments, %%d wrong answers\\n", calls, wrong);
  return wrong != 0 || calls == 0;
}'''
