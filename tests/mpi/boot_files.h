// SPDX-License-Identifier: Apache-2.0
// MPIX_Boot over files of one directory.
#ifndef TERN_TESTS_BOOT_FILES_H
#define TERN_TESTS_BOOT_FILES_H

#include <dirent.h>

#include "boot.h"

static char directory[] = "/tmp/tern-boot-XXXXXX";
static int requests, fences, ended;
static int patience_ms = 30000;
static MPIX_Boot files;

static void file_name(char* name, size_t room, int of, const char* key) {
  snprintf(name, room, "%s/%d-%s", directory, of, key);
}

static int file_put(void* context, const char* key, const void* value, int bytes) {
  char name[512], fresh[540];
  CHECK(context == &files);
  ++requests;
  file_name(name, sizeof name, files.rank, key);
  // A test gives one rank to two processes, so the file's name has the process number.
  snprintf(fresh, sizeof fresh, "%s.%d", name, (int)getpid());
  FILE* file = fopen(fresh, "w");
  if (file == NULL) return MPI_ERR_NO_SPACE;
  CHECK(fwrite(value, 1, (size_t)bytes, file) == (size_t)bytes);
  CHECK(fclose(file) == 0 && rename(fresh, name) == 0);
  return MPI_SUCCESS;
}

static int file_get(void* context, int of, const char* key, void* value, int room, int* bytes) {
  char name[512];
  FILE* file = NULL;
  CHECK(context == &files);
  ++requests;
  file_name(name, sizeof name, of, key);
  for (int waited = 0; (file = fopen(name, "r")) == NULL; ++waited) {
    if (waited >= patience_ms) return MPI_ERR_NO_SUCH_FILE;
    sleep_ms(1);
  }
  fseek(file, 0, SEEK_END);
  *bytes = (int)ftell(file);
  rewind(file);
  if (*bytes <= room) CHECK(fread(value, 1, (size_t)*bytes, file) == (size_t)*bytes);
  fclose(file);
  return *bytes <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

static int file_fence(void* context) {
  char key[128];
  CHECK(context == &files);
  snprintf(key, sizeof key, "%s.fence%d", files.job, fences++);
  int code = file_put(context, key, "", 0), bytes;
  for (int of = 0; of < files.size && code == MPI_SUCCESS; ++of)
    code = file_get(context, of, key, NULL, 0, &bytes);
  return code;
}

static void file_abort(void* context, int code, const char* text) {
  char value[256];
  snprintf(value, sizeof value, "%d %s", code, text);
  file_put(context, "aborted", value, (int)strlen(value));
}

static void file_done(void* context) {
  CHECK(context == &files);
  ++ended;
}

static UNUSED const MPIX_Boot* files_boot(int me, int members, const char* job) {
  fences = requests = 0;
  files = (MPIX_Boot){.version = MPIX_BOOT_VERSION,
                      .rank = me,
                      .size = members,
                      .job = job,
                      .host = "",
                      .context = &files,
                      .put = file_put,
                      .get = file_get,
                      .fence = file_fence,
                      .abort = file_abort,
                      .done = file_done};
  return &files;
}

static UNUSED void make_directory(void) { CHECK(mkdtemp(directory) != NULL); }

static UNUSED void remove_directory(void) {
  char name[512];
  DIR* open = opendir(directory);
  CHECK(open != NULL);
  for (const struct dirent* entry = readdir(open); entry != NULL; entry = readdir(open)) {
    snprintf(name, sizeof name, "%s/%s", directory, entry->d_name);
    unlink(name);
  }
  closedir(open);
  CHECK(rmdir(directory) == 0);
}

#endif
