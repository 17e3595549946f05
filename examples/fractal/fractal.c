/* SPDX-License-Identifier: Apache-2.0
 * The Mandelbrot set as a picture. Each rank computes a tile and writes the tile's pixels to their
 * places in one file; then each rank reads a band of rows, and checks every pixel.
 * Why: a view describes a rank's part of a field, so no rank gathers the whole picture, and the
 * file does not depend on the number of ranks.
 * ranks: 1 2 4 6
 * args: 320 200
 * expect-stdout: ^fractal-\d+\.ppm: 320 x 200 pixels, read back without an error
 * cflags: -O2 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  unsigned char red, green, blue;
} Pixel;

static int width, height;

/* Computes one pixel: the steps until the orbit of the point leaves a circle. */
static Pixel pixel_at(int x, int y) {
  enum { kMostSteps = 400 };
  const double a = -2.2 + 3.2 * x / width, b = (y - height / 2.0) * 3.2 / width;
  double re = 0, im = 0;
  int steps = 0;
  for (; steps < kMostSteps && re * re + im * im < 16; ++steps) {
    const double next = re * re - im * im + a;
    im = 2 * re * im + b;
    re = next;
  }
  if (steps == kMostSteps) return (Pixel){0, 0, 0};
  return (Pixel){(unsigned char)(steps * 5), (unsigned char)(steps * 9),
                 (unsigned char)(120 + steps * 3)};
}

/* A rectangle of the picture: {row, column}. */
typedef struct {
  int first[2], count[2];
} Part;

/* Cuts `length` into `parts` parts whose lengths differ by at most 1. */
static void cut(int length, int parts, int part, int* first, int* count) {
  *first = (int)((long long)length * part / parts);
  *count = (int)((long long)length * (part + 1) / parts) - *first;
}

static int pixels_in(const Part* part) { return part->count[0] * part->count[1]; }

/* From here on, `file` shows the part's pixels only, as if the pixels were contiguous. */
static void show(MPI_File file, MPI_Offset header, MPI_Datatype pixel, const Part* part) {
  const int all[2] = {height, width};
  MPI_Datatype place;
  if (pixels_in(part) == 0) { /* more ranks than rows or columns; a subarray is never empty */
    MPI_File_set_view(file, header, pixel, pixel, "native", MPI_INFO_NULL);
    return;
  }
  MPI_Type_create_subarray(2, all, part->count, part->first, MPI_ORDER_C, pixel, &place);
  MPI_Type_commit(&place);
  MPI_File_set_view(file, header, pixel, place, "native", MPI_INFO_NULL);
  MPI_Type_free(&place); /* the view keeps the type */
}

/* malloc(0) may return null: a part without pixels gets one. */
static Pixel* memory_for(const Part* part) {
  Pixel* const pixels = malloc(((size_t)pixels_in(part) + 1) * sizeof *pixels);
  if (pixels == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  return pixels;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  width = argc > 1 ? atoi(argv[1]) : 1600;
  height = argc > 2 ? atoi(argv[2]) : 1000;
  if (width < 1 || height < 1 || width > 30000 || height > 30000) {
    if (rank == 0) fprintf(stderr, "usage: fractal [WIDTH [HEIGHT]], each from 1 to 30000\n");
    MPI_Finalize();
    return 2;
  }

  /* The tile of this rank in a grid of ranks. */
  int grid[2] = {0, 0};
  Part tile;
  MPI_Dims_create(size, 2, grid);
  cut(height, grid[0], rank / grid[1], &tile.first[0], &tile.count[0]);
  cut(width, grid[1], rank % grid[1], &tile.first[1], &tile.count[1]);
  Pixel* const mine = memory_for(&tile);
  for (int y = 0; y < tile.count[0]; ++y)
    for (int x = 0; x < tile.count[1]; ++x)
      mine[y * tile.count[1] + x] = pixel_at(tile.first[1] + x, tile.first[0] + y);

  /* Errors of files return by default. Here the first error ends the program. */
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
  char name[64], header[64];
  snprintf(name, sizeof name, "fractal-%d.ppm", size);
  const int header_bytes = snprintf(header, sizeof header, "P6\n%d %d\n255\n", width, height);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 0); /* an older file may be longer */
  if (rank == 0) MPI_File_write_at(file, 0, header, header_bytes, MPI_CHAR, MPI_STATUS_IGNORE);

  MPI_Datatype pixel;
  MPI_Type_contiguous(sizeof(Pixel), MPI_BYTE, &pixel);
  MPI_Type_commit(&pixel);
  const double start = MPI_Wtime();
  show(file, header_bytes, pixel, &tile);
  MPI_File_write_all(file, mine, pixels_in(&tile), pixel, MPI_STATUS_IGNORE);
  const double seconds = MPI_Wtime() - start;

  /* Data of other ranks is visible after a flush by the writers and by the readers, in this order.
   * MPI_File_sync is collective, so each rank calls twice. */
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);

  /* The band of rows of this rank. */
  Part band = {{0, 0}, {0, width}};
  cut(height, size, rank, &band.first[0], &band.count[0]);
  Pixel* const read = memory_for(&band);
  MPI_Status status;
  int count, wrong = 0;
  show(file, header_bytes, pixel, &band);
  MPI_File_read_all(file, read, pixels_in(&band), pixel, &status);
  MPI_Get_count(&status, pixel, &count);
  if (count != pixels_in(&band)) ++wrong;
  for (int i = 0; i < count; ++i) {
    const Pixel want = pixel_at(i % width, band.first[0] + i / width);
    if (read[i].red != want.red || read[i].green != want.green || read[i].blue != want.blue)
      ++wrong;
  }
  MPI_File_close(&file);
  MPI_Type_free(&pixel);

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && wrong == 0)
    printf("%s: %d x %d pixels, read back without an error (written in %.1f ms by %d x %d ranks)\n",
           name, width, height, seconds * 1e3, grid[0], grid[1]);
  if (rank == 0 && wrong != 0) printf("%s: %d pixels are wrong\n", name, wrong);
  free(mine);
  free(read);
  MPI_Finalize();
  return wrong != 0;
}
