// SPDX-License-Identifier: Apache-2.0
// The folder of a test's files: IO_FOLDER, or the folder of the test.
#ifndef TERN_TESTS_IO_FOLDER_H
#define TERN_TESTS_IO_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

static inline void name_in_folder(char* to, size_t bytes, const char* otherwise, const char* word) {
  const char* const folder = getenv("IO_FOLDER");
  snprintf(to, bytes, "%s/%s.XXXXXX", folder != NULL ? folder : otherwise, word);
}

#endif
