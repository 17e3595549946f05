// SPDX-License-Identifier: Apache-2.0
// A struct is sent directly from memory, including the padding between fields. The type is resized
// to the size of the struct, so arrays of structs can be sent.
// shows: Type_create_struct Get_address Aint_diff Type_create_resized Type_commit Type_free
// shows: Type_size Type_get_extent
// ranks: 2
// prints: a particle has 9 bytes of data and takes 16
// prints: rank 1 has b at 2.5
#include <mpi.h>
#include <stdio.h>

struct Particle {
  char kind;
  double place;
};

static MPI_Datatype make_type(void) {
  struct Particle one;
  MPI_Aint begin, kind, place;
  MPI_Get_address(&one, &begin);
  MPI_Get_address(&one.kind, &kind);
  MPI_Get_address(&one.place, &place);
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {MPI_Aint_diff(kind, begin), MPI_Aint_diff(place, begin)};
  const MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype fields, whole;
  MPI_Type_create_struct(2, lengths, places, types, &fields);
  MPI_Type_create_resized(fields, 0, sizeof one, &whole);
  MPI_Type_free(&fields);
  MPI_Type_commit(&whole);
  return whole;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype particle = make_type();
  struct Particle all[2] = {{'a', 1.5}, {'b', 2.5}};
  if (rank == 0) {
    MPI_Aint lower, extent;
    MPI_Type_size(particle, &bytes);
    MPI_Type_get_extent(particle, &lower, &extent);
    printf("a particle has %d bytes of data and takes %ld\n", bytes, (long)extent);
    MPI_Send(all, 2, particle, 1, 0, MPI_COMM_WORLD);
  } else {
    struct Particle got[2];
    MPI_Recv(got, 2, particle, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("rank 1 has %c at %g\n", got[1].kind, got[1].place);
  }
  MPI_Type_free(&particle);
  MPI_Finalize();
  return 0;
}
