// SPDX-License-Identifier: Apache-2.0
// A data representation with inverted bytes, and the portable representation of the standard.
// shows: Register_datarep File_get_type_extent
// ranks: 1
// prints: in the file: fe ff ff ff
// prints: read: 1
// prints: external32: 00 00 00 01
// prints: a long has 4 bytes in external32
#include <mpi.h>
#include <stdio.h>

// A real function asks `type` for the kind of the items. Here all items are integers.
static int invert(void* to, const void* from, int count) {
  for (int i = 0; i < count; ++i) ((unsigned*)to)[i] = ~((const unsigned*)from)[i];
  return MPI_SUCCESS;
}
static int from_file(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                     void* state) {
  (void)type, (void)state;
  return invert((unsigned*)buffer + position, file, count);  // `position` items lie in front
}
static int to_file(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                   void* state) {
  (void)type, (void)state;
  return invert(file, (unsigned*)buffer + position, count);
}
static int bytes_in_file(MPI_Datatype type, MPI_Aint* bytes, void* state) {
  MPI_Aint lower;
  (void)state;
  return MPI_Type_get_extent(type, &lower, bytes);
}

static void show(const char* what, MPI_File file) {
  unsigned char bytes[4];
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE);
  printf("%s: %02x %02x %02x %02x\n", what, bytes[0], bytes[1], bytes[2], bytes[3]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Register_datarep("inverted", from_file, to_file, bytes_in_file, NULL);
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "register_datarep.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  int number = 1;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "inverted", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  number = 0;
  MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  show("in the file", file);
  printf("read: %d\n", number);

  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Aint bytes;
  MPI_File_get_type_extent(file, MPI_LONG, &bytes);
  show("external32", file);
  printf("a long has %d bytes in external32\n", (int)bytes);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
