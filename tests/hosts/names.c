// SPDX-License-Identifier: Apache-2.0
// Each rank knows its host without a message: MPI_Get_processor_name returns the host, and ranks
// are placed in blocks.
//
// shapes: 1x2 2x1 2x2 3x2
// messages: no
#include <unistd.h>

#include "../mpi/check.h"

int main(int argc, char** argv) {
  char host[256], name[MPI_MAX_PROCESSOR_NAME], expected[32];
  int length;
  begin(&argc, &argv);
  CHECK(gethostname(host, sizeof host) == 0);
  OK(MPI_Get_processor_name(name, &length));
  CHECK(strcmp(name, host) == 0);
  CHECK_EQ(length, strlen(host));
  const int hosts = atoi(getenv("SHAPE")), each = size / hosts;
  CHECK_EQ(size, hosts * each);
  snprintf(expected, sizeof expected, "h%d", rank / each + 1);
  if (strcmp(host, expected) != 0) FAIL("the host is %s, expected %s", host, expected);
  return end();
}
