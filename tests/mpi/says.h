// SPDX-License-Identifier: Apache-2.0
// SAYS: a call that must fail with a class, and a text that starts with the function and contains
// the words.
#ifndef TERN_TESTS_SAYS_H
#define TERN_TESTS_SAYS_H

#include "check.h"

static void says(const char* call, int code, int error_class, const char* words) {
  char text[MPI_MAX_ERROR_STRING], start[64];
  int length = 0;
  CHECK_EQ(class_of(code), error_class);
  OK(MPI_Error_string(code, text, &length));
  snprintf(start, sizeof start, "%s: ", call);
  if (strncmp(text, start, strlen(start)) != 0 || strstr(text, words) == NULL)
    FAIL("the text of %s is \"%s\", expected \"%s\" in it", call, text, words);
  CHECK_EQ((long)strlen(text), length);
}
#define SAYS(call, arguments, error_class, words) \
  says("MPI_" #call, MPI_##call arguments, MPI_##error_class, words)

static UNUSED void let_errors_return(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

#endif
