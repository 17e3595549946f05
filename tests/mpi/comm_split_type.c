// SPDX-License-Identifier: Apache-2.0
// Communicators by hardware, on a synthetic machine of hwloc: two packages of two cores.
//
// ranks: 1 2 4
// hosts: no, the machine that hwloc makes up is one host with four cores
// env: "HWLOC_SYNTHETIC=pack:2 numa:1 l3:1 core:2 pu:1"
#include "check.h"

static MPI_Comm made;

static int split_with(MPI_Comm comm, int type, const char* key, const char* value) {
  MPI_Info info = MPI_INFO_NULL;
  if (key != NULL) {
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
  }
  const int code = MPI_Comm_split_type(comm, type, 0, info, &made);
  if (key != NULL) OK(MPI_Info_free(&info));
  return code;
}

static void check_made(int n, int first) {
  int members, me, lowest;
  CHECK(made != MPI_COMM_NULL);
  OK(MPI_Comm_size(made, &members));
  CHECK_EQ(members, n);
  OK(MPI_Comm_rank(made, &me));
  CHECK_EQ(me, rank - first);
  OK(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, made));
  CHECK_EQ(lowest, first);
  OK(MPI_Comm_free(&made));
}

static void check_hint(const char* expected) {
  MPI_Info info;
  char value[64] = "";
  int length = sizeof value, flag = 0;
  OK(MPI_Comm_get_info(made, &info));
  OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag));
  if (!flag || strcmp(value, expected) != 0) FAIL("the hint is \"%s\", not %s", value, expected);
  OK(MPI_Info_free(&info));
}

static void guided(void) {
  const int package = rank / 2, in_package = size < 2 ? 1 : 2;
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, NULL, NULL));
  check_made(size, 0);
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type",
                "mpi_shared_memory"));
  check_made(size, 0);
  const char* names[] = {"hwloc://Package", "Package", "hwloc://numanode", "L3Cache"};
  for (int i = 0; i < 4; ++i) {
    OK(split_with(MPI_COMM_WORLD, i % 2 ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_RESOURCE_GUIDED,
                  "mpi_hw_resource_type", names[i]));
    if (i == 0) check_hint("hwloc://Package");
    check_made(in_package, 2 * package);
  }
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://Core"));
  check_made(1, rank);
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "no such thing"));
  CHECK(made == MPI_COMM_NULL);
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, NULL, NULL));
  CHECK(made == MPI_COMM_NULL);
}

static void by_sets(void) {
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"));
  check_made(size, 0);
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF"));
  check_made(1, rank);
  OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "none"));
  CHECK(made == MPI_COMM_NULL);
}

static void unguided(void) {
  const int package = rank / 2;
  if (size == 4) {
    OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL));
    check_hint("hwloc://Package");
    const MPI_Comm pair = made;
    OK(split_with(pair, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL));
    check_hint("hwloc://Core");
    const MPI_Comm alone = made;
    OK(split_with(alone, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL));
    CHECK(made == MPI_COMM_NULL);
    made = alone;
    check_made(1, rank);
    made = pair;
    check_made(2, 2 * package);
  } else if (size == 1) {
    OK(split_with(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL));
    CHECK(made == MPI_COMM_NULL);
  }
}

// Ranks with MPI_UNDEFINED do not know the type of the others.
static void undefined_among(void) {
  static const int types[] = {MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_SHARED,
                              MPI_COMM_TYPE_HW_UNGUIDED, MPI_UNDEFINED};
  for (int i = 0; i < 4; ++i) {
    const int type = rank == size - 1 && size > 1 ? MPI_UNDEFINED : types[i];
    OK(split_with(MPI_COMM_WORLD, type, NULL, NULL));
    if (type == MPI_UNDEFINED || (type == MPI_COMM_TYPE_HW_UNGUIDED && size < 4))
      CHECK(made == MPI_COMM_NULL);
    else if (type == MPI_COMM_TYPE_SHARED)
      check_made(size == 1 ? 1 : size - 1, 0);
    else
      check_made(rank < 2 ? 2 : 1, rank < 2 ? 0 : 2);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    check_made(size, 0);
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made));
    check_made(size, 0);
  }
}

static void tells(void) {
  MPI_Info info;
  char value[64] = "";
  int length = sizeof value, flag = 0;
  OK(MPI_Info_create(&info));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &made));
  OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag));
  CHECK_EQ(flag, made != MPI_COMM_NULL);
  if (flag) CHECK(strcmp(value, size == 4 ? "hwloc://Package" : "hwloc://Core") == 0);
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_ENV, &made));
  OK(MPI_Info_get_string(MPI_INFO_ENV, "mpi_hw_resource_type", &length, value, &flag));
  CHECK_EQ(flag, 0);
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
}

static void hardware(void) {
  MPI_Info info;
  const char* keys[] = {"hwloc://Machine", "hwloc://Package", "hwloc://NUMANode",
                        "hwloc://L3Cache", "hwloc://Core",    "hwloc://PU"};
  OK(MPI_Get_hw_resource_info(&info));
  for (int i = 0; i < 6; ++i) {
    char value[16] = "";
    int length = sizeof value, flag = 0;
    OK(MPI_Info_get_string(info, keys[i], &length, value, &flag));
    if (!flag || strcmp(value, "true") != 0) FAIL("%s is \"%s\"", keys[i], value);
  }
  OK(MPI_Info_free(&info));
}

static void wrong(void) {
  MPI_Info info;
  FAILS(split_with(MPI_COMM_WORLD, 4711, NULL, NULL), MPI_ERR_ARG);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Core"));
  OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
  FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made),
        MPI_ERR_INFO);
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  guided();
  by_sets();
  unguided();
  undefined_among();
  tells();
  hardware();
  wrong();
  return end();
}
