// SPDX-License-Identifier: Apache-2.0
// Entries by hand: procedures with other parameters than in C, and conversions of values beyond a
// cast.

void FORT(pcontrol)(const int* level) { CALL(Pcontrol)(*level); }

// Strings of info objects and process sets: lengths of Fortran exclude the null character.
void FORT(info_get)(const int* info, const char* key, const int* valuelen, char* value, int* flag,
                    int* ierror, size_t key_length, size_t value_length) {
  FORT_STRIPPED(key_c, key, key_length);
  const int length = *valuelen < MPI_MAX_INFO_VAL ? *valuelen : MPI_MAX_INFO_VAL - 1;
  char value_c[MPI_MAX_INFO_VAL] = "";
  *flag = 0;
  const int code = CALL(Info_get)(fort_Info(*info), key_c, length, value_c, flag);
  if (code == MPI_SUCCESS && *flag) fort_pad(value, value_length, value_c);
  fort_set(ierror, code);
}

void FORT(info_get_string)(const int* info, const char* key, int* buflen, char* value, int* flag,
                           int* ierror, size_t key_length, size_t value_length) {
  FORT_STRIPPED(key_c, key, key_length);
  char value_c[MPI_MAX_INFO_VAL] = "";
  int length = *buflen >= MPI_MAX_INFO_VAL ? MPI_MAX_INFO_VAL : *buflen > 0 ? *buflen + 1 : *buflen;
  *flag = 0;
  const int code = CALL(Info_get_string)(fort_Info(*info), key_c, &length, value_c, flag);
  if (code == MPI_SUCCESS && *flag) {
    if (*buflen > 0) fort_pad(value, value_length, value_c);
    *buflen = length - 1;
  }
  fort_set(ierror, code);
}

void FORT(session_get_nth_pset)(const int* session, const int* info, const int* n, int* pset_len,
                                char* pset_name, int* ierror, size_t name_length) {
  char name_c[MPI_MAX_PSET_NAME_LEN] = "";
  int length = *pset_len >= MPI_MAX_PSET_NAME_LEN ? MPI_MAX_PSET_NAME_LEN
               : *pset_len > 0                    ? *pset_len + 1
                                                  : *pset_len;
  const int code =
      CALL(Session_get_nth_pset)(fort_Session(*session), fort_Info(*info), *n, &length, name_c);
  if (code == MPI_SUCCESS) {
    if (*pset_len > 0) fort_pad(pset_name, name_length, name_c);
    *pset_len = length - 1;
  }
  fort_set(ierror, code);
}

// Strings of C from `n` strings of `length` characters, `step` strings apart. If n < 0, a blank
// string is the end.
static char** FORT(strings)(const char* text, size_t length, long n, long step) {
  long count = 0;
  while (n < 0 ? fort_trimmed(text + (size_t)(count * step) * length, length) > 0 : count < n)
    ++count;
  char** made = fort_allocate(count + 1, sizeof *made + length + 1);
  char* at = (char*)(made + count + 1);
  for (long i = 0; i < count; ++i, at += length + 1) {
    size_t size = length;
    const char* one = fort_stripped(text + (size_t)(i * step) * length, &size);
    fort_copy_string(at, one, size);
    made[i] = at;
  }
  return made;
}

static int FORT(at_root)(int root, MPI_Comm comm) {
  int rank = MPI_UNDEFINED, inter = 0;
  if (CALL(Comm_test_inter)(comm, &inter) != MPI_SUCCESS) return 0;
  if (inter) return root == MPI_ROOT;
  return CALL(Comm_rank)(comm, &rank) == MPI_SUCCESS && rank == root;
}

void FORT(comm_spawn)(const char* command, const char* argv, const int* maxprocs, const int* info,
                      const int* root, const int* comm, int* intercomm, int* errcodes, int* ierror,
                      size_t command_length, size_t argv_length) {
  const MPI_Comm comm_c = fort_Comm(*comm);
  const int here = FORT(at_root)(*root, comm_c);
  FORT_STRIPPED(command_c, command, here ? command_length : 0);
  char** argv_c __attribute__((cleanup(fort_release))) = NULL;
  if (here && fort_address(argv)) argv_c = FORT(strings)(argv, argv_length, -1, 1);
  MPI_Comm made = MPI_COMM_NULL;
  const int code = CALL(Comm_spawn)(command_c, argv_c, here ? *maxprocs : 0,
                                    here ? fort_Info(*info) : MPI_INFO_NULL, *root, comm_c, &made,
                                    fort_address(errcodes));
  if (code == MPI_SUCCESS) *intercomm = fort_Comm_int(made);
  fort_set(ierror, code);
}

void FORT(comm_spawn_multiple)(const int* count, const char* commands, const char* argv,
                               const int* maxprocs, const int* info, const int* root,
                               const int* comm, int* intercomm, int* errcodes, int* ierror,
                               size_t command_length, size_t argv_length) {
  const MPI_Comm comm_c = fort_Comm(*comm);
  const int n = FORT(at_root)(*root, comm_c) ? *count : 0;
  char** commands_c __attribute__((cleanup(fort_release))) =
      FORT(strings)(commands, command_length, n, 1);
  FORT_ARRAY(char**, argv_c, n);
  FORT_ARRAY(MPI_Info, info_c, n);
  const int with_argv = fort_address(argv) != NULL;
  for (int i = 0; i < n; ++i) {
    info_c[i] = fort_Info(info[i]);
    argv_c[i] =
        with_argv ? FORT(strings)(argv + (size_t)i * argv_length, argv_length, -1, n) : NULL;
  }
  MPI_Comm made = MPI_COMM_NULL;
  const int code =
      CALL(Comm_spawn_multiple)(n, commands_c, with_argv ? argv_c : MPI_ARGVS_NULL, maxprocs,
                                info_c, *root, comm_c, &made, fort_address(errcodes));
  for (int i = 0; i < n; ++i) free(argv_c[i]);
  if (code == MPI_SUCCESS) *intercomm = fort_Comm_int(made);
  fort_set(ierror, code);
}

// Operations and error handlers.
void FORT(op_create)(fort_procedure* user_fn, const int* commute, int* op, int* ierror) {
  MPI_Op made = MPI_OP_NULL;
  MPI_User_function* const function = (MPI_User_function*)fort_callback(kFortOp, user_fn);
  const int code = function ? CALL(Op_create)(function, *commute != 0, &made) : MPI_ERR_NO_MEM;
  if (code == MPI_SUCCESS) *op = fort_Op_int(made);
  fort_set(ierror, code);
}

void FORT(op_create_c)(fort_procedure* user_fn, const int* commute, int* op, int* ierror) {
  MPI_Op made = MPI_OP_NULL;
  MPI_User_function_c* const function = (MPI_User_function_c*)fort_callback(kFortOpLarge, user_fn);
  const int code = function ? CALL(Op_create_c)(function, *commute != 0, &made) : MPI_ERR_NO_MEM;
  if (code == MPI_SUCCESS) *op = fort_Op_int(made);
  fort_set(ierror, code);
}

#define FORT_HANDLER(lower, Upper)                                                                 \
  void FORT(lower##_create_errhandler)(fort_procedure * procedure, int* errhandler, int* ierror) { \
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                     \
    MPI_##Upper##_errhandler_function* const function = fort_callback(kFort##Upper, procedure);    \
    const int code = function ? CALL(Upper##_create_errhandler)(function, &made) : MPI_ERR_NO_MEM; \
    if (code == MPI_SUCCESS) *errhandler = fort_Errhandler_int(made);                              \
    fort_set(ierror, code);                                                                        \
  }
FORT_HANDLER(comm, Comm)
FORT_HANDLER(file, File)
FORT_HANDLER(session, Session)
FORT_HANDLER(win, Win)
#undef FORT_HANDLER

// Attributes.
#define FORT_ATTRIBUTE(lower, Upper, type)                                                      \
  void FORT(lower##_create_keyval)(fort_procedure * copy, fort_procedure * remove, int* keyval, \
                                   const MPI_Aint* state, int* ierror) {                        \
    struct fort_keyval* const k = fort_keyval(copy, remove, *state, 0);                         \
    fort_set(ierror,                                                                            \
             CALL(Upper##_create_keyval)(fort_copy_##lower, fort_remove_##lower, keyval, k));   \
  }                                                                                             \
  void FORT(lower##_set_attr)(const int* handle, const int* keyval, const MPI_Aint* value,      \
                              int* ierror) {                                                    \
    void* const box = fort_box(*value);                                                         \
    const int code = CALL(Upper##_set_attr)(fort_##Upper(*handle), *keyval, box);               \
    if (code != MPI_SUCCESS) fort_unbox(box);                                                   \
    fort_set(ierror, code);                                                                     \
  }                                                                                             \
  void FORT(lower##_get_attr)(const int* handle, const int* keyval, MPI_Aint* value, int* flag, \
                              int* ierror) {                                                    \
    void* found = NULL;                                                                         \
    *flag = 0;                                                                                  \
    const int code = CALL(Upper##_get_attr)(fort_##Upper(*handle), *keyval, &found, flag);      \
    if (code == MPI_SUCCESS && *flag) *value = fort_attribute(*keyval, found);                  \
    *flag = *flag != 0;                                                                         \
    fort_set(ierror, code);                                                                     \
  }
FORT_ATTRIBUTE(comm, Comm, MPI_Comm)
FORT_ATTRIBUTE(type, Type, MPI_Datatype)
FORT_ATTRIBUTE(win, Win, MPI_Win)
#undef FORT_ATTRIBUTE

void FORT(keyval_create)(fort_procedure* copy, fort_procedure* remove, int* keyval,
                         const int* state, int* ierror) {
  struct fort_keyval* const k = fort_keyval(copy, remove, *state, 1);
  fort_set(ierror, CALL(Comm_create_keyval)(fort_copy_comm, fort_remove_comm, keyval, k));
}

void FORT(attr_put)(const int* comm, const int* keyval, const int* value, int* ierror) {
  const MPI_Aint wide = *value;
  FORT(comm_set_attr)(comm, keyval, &wide, ierror);
}

void FORT(attr_get)(const int* comm, const int* keyval, int* value, int* flag, int* ierror) {
  MPI_Aint wide = *value;
  FORT(comm_get_attr)(comm, keyval, &wide, flag, ierror);
  if (*flag) *value = (int)wide;
}

void FORT(grequest_start)(fort_procedure* query, fort_procedure* release, fort_procedure* cancel,
                          MPI_Aint* state, int* request, int* ierror) {
  struct fort_grequest* const g = fort_allocate(1, sizeof *g);
  *g = (struct fort_grequest){query, release, cancel, state};
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = CALL(Grequest_start)(fort_query, fort_free, fort_cancel, g, &made);
  if (code == MPI_SUCCESS) *request = fort_Request_int(made);
  fort_set(ierror, code);
}

// Registrations and their states last until the program ends.
#define FORT_DATAREP(suffix, type)                                                              \
  void FORT(register_datarep##suffix)(const char* name, fort_procedure* read,                   \
                                      fort_procedure* write, fort_procedure* extent,            \
                                      const MPI_Aint* state, int* ierror, size_t name_length) { \
    FORT_STRING(name_c, name, name_length);                                                     \
    struct fort_datarep* const d = fort_allocate(1, sizeof *d);                                 \
    *d = (struct fort_datarep){read, write, extent, *state};                                    \
    const int plain_read = read == mpi_conversion_fn_null##suffix##_;                           \
    const int plain_write = write == mpi_conversion_fn_null##suffix##_;                         \
    fort_set(ierror, CALL(Register_datarep##suffix)(                                            \
                         name_c, plain_read ? (type*)0 : fort_read##suffix,                     \
                         plain_write ? (type*)0 : fort_write##suffix, fort_extent, d));         \
  }
FORT_DATAREP(, MPI_Datarep_conversion_function)
FORT_DATAREP(_c, MPI_Datarep_conversion_function_c)
#undef FORT_DATAREP

// Procedures of Fortran alone.
void FORT(f_sync_reg)(const void* buf) { (void)buf; }
void FORT(sizeof_f08ts)(const struct fort_array* x, int* size, int* ierror) {
  struct fort_array room;
  *size = (int)fort_normal(x, &room)->element;
  fort_set(ierror, MPI_SUCCESS);
}
void FORT(status_f2f08)(const int* f_status, MPI_Status* f08_status, int* ierror) {
  memcpy(f08_status, f_status, sizeof *f08_status);
  fort_set(ierror, MPI_SUCCESS);
}
void FORT(status_f082f)(const MPI_Status* f08_status, int* f_status, int* ierror) {
  memcpy(f_status, f08_status, sizeof *f08_status);
  fort_set(ierror, MPI_SUCCESS);
}
