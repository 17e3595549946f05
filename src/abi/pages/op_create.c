// SPDX-License-Identifier: Apache-2.0
// A reduction with a user-defined operation: the product of complex numbers, stored as two doubles
// each.
// shows: Op_create Op_free Allreduce
// ranks: 4
// prints: the product is -4
#include <mpi.h>
#include <stdio.h>

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const double* a = in;
  double* b = inout;
  for (int i = 0; i < *count; ++i, a += 2, b += 2) {
    const double real = a[0] * b[0] - a[1] * b[1];
    b[1] = a[0] * b[1] + a[1] * b[0];
    b[0] = real;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype complex_number;
  MPI_Type_contiguous(2, MPI_DOUBLE, &complex_number);
  MPI_Type_commit(&complex_number);
  MPI_Op product;
  MPI_Op_create(multiply, 1, &product);  // 1: commutative
  const double mine[2] = {1, 1};         // 1 + i
  double result[2];
  MPI_Allreduce(mine, result, 1, complex_number, product, MPI_COMM_WORLD);
  if (rank == 0) printf("the product is %g\n", result[0]);
  MPI_Op_free(&product);
  MPI_Type_free(&complex_number);
  MPI_Finalize();
  return 0;
}
