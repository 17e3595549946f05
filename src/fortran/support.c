// SPDX-License-Identifier: Apache-2.0
// Sentinels, temporary arrays, strings and lengths of arrays for the Fortran entries.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran/fort.h"

struct fort_sentinels mpifort_sentinels_;
#include "fortran/compared.inc"

void* fort_sentinel(const void* address) {
  const struct fort_sentinels* s = &mpifort_sentinels_;
  const struct {
    const void* here;
    uintptr_t constant;
  } known[] = {{&s->in_place, (uintptr_t)MPI_IN_PLACE},
               {&s->buffer_automatic, (uintptr_t)MPI_BUFFER_AUTOMATIC},
               {&s->unweighted, (uintptr_t)MPI_UNWEIGHTED},
               {&s->weights_empty, (uintptr_t)MPI_WEIGHTS_EMPTY}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (address == known[i].here) return (void*)known[i].constant;
  return NULL;  // MPI_BOTTOM, MPI_STATUS_IGNORE, MPI_ERRCODES_IGNORE, ...: 0 in C
}

void fort_release(void* array) { free(*(void**)array); }

void* fort_allocate(long count, size_t size) {
  void* const made = calloc((size_t)count, size);
  if (made) return made;
  fprintf(stderr, "MPI (Fortran): no memory for an array of %ld elements of %zu bytes\n", count,
          size);
  abort();
}

size_t fort_trimmed(const char* text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return length;
}

const char* fort_stripped(const char* text, size_t* length) {
  *length = fort_trimmed(text, *length);
  for (; *length > 0 && *text == ' '; --*length) ++text;
  return text;
}

void fort_copy_string(char* to, const char* text, size_t length) {
  memcpy(to, text, length);
  to[length] = '\0';
}

void fort_pad(char* to, size_t length, const char* text) {
  const size_t size = strlen(text);
  memcpy(to, text, size < length ? size : length);
  if (size < length) memset(to + size, ' ', length - size);
}

int fort_peers(MPI_Comm comm) {
  int inter = 0, size = 0;
  if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
  const int code = inter ? PMPI_Comm_remote_size(comm, &size) : PMPI_Comm_size(comm, &size);
  return code == MPI_SUCCESS ? size : 0;
}

int fort_cart_dims(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, dims = 0;
  if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || kind != MPI_CART) return 0;
  return PMPI_Cartdim_get(comm, &dims) == MPI_SUCCESS ? dims : 0;
}

static int neighbors(MPI_Comm comm, int out) {
  int kind = MPI_UNDEFINED, rank = 0, degree[2] = {0, 0}, weighted = 0;
  if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return 0;
  if (kind == MPI_CART) return 2 * fort_cart_dims(comm);
  if (kind == MPI_DIST_GRAPH)
    PMPI_Dist_graph_neighbors_count(comm, &degree[0], &degree[1], &weighted);
  if (kind == MPI_GRAPH && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS) {
    PMPI_Graph_neighbors_count(comm, rank, &degree[0]);
    degree[1] = degree[0];
  }
  return degree[out];
}

int fort_indegree(MPI_Comm comm) { return neighbors(comm, 0); }
int fort_outdegree(MPI_Comm comm) { return neighbors(comm, 1); }
