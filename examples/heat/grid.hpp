// SPDX-License-Identifier: Apache-2.0
// The ranks of a communicator as a grid, each with a part of a plate of cells.
// Why: an explicit version of MPI_Dims_create, MPI_Cart_coords and MPI_Cart_shift.
#pragma once

#include <mpi.h>

/// Cells [first, first + count) of one direction.
struct Span {
  int first = 0, count = 0;
};

/// Part `index` of `parts` nearly equal ones.
inline Span part_of(int cells, int parts, int index) {
  const auto start = [&](int i) {
    return static_cast<int>(static_cast<long long>(cells) * i / parts);
  };
  return {start(index), start(index + 1) - start(index)};
}

struct Plate {
  int width = 0, height = 0;
};

struct Grid {
  int rows = 0, columns = 0;  // 0: too few cells for the ranks
  int row = 0, column = 0;    // of the calling rank
  int up = MPI_PROC_NULL, down = MPI_PROC_NULL, left = MPI_PROC_NULL, right = MPI_PROC_NULL;

  /// The grid with the shortest inner borders, to keep messages small.
  static Grid over(const Plate& plate, int ranks, int rank) {
    Grid grid;
    long long shortest = 0;
    for (int rows = 1; rows <= ranks; ++rows) {
      const int columns = ranks / rows;
      if (rows * columns != ranks || rows > plate.height || columns > plate.width) continue;
      const long long border = (rows - 1LL) * plate.width + (columns - 1LL) * plate.height;
      if (grid.rows != 0 && border >= shortest) continue;
      shortest = border;
      grid.rows = rows;
      grid.columns = columns;
    }
    if (grid.rows != 0) grid.stand_at(rank);
    return grid;
  }

  [[nodiscard]] Span rows_of(const Plate& plate, int rank) const {
    return part_of(plate.height, rows, rank / columns);
  }
  [[nodiscard]] Span columns_of(const Plate& plate, int rank) const {
    return part_of(plate.width, columns, rank % columns);
  }

 private:
  void stand_at(int rank) {
    row = rank / columns;
    column = rank % columns;
    up = at(row - 1, column);
    down = at(row + 1, column);
    left = at(row, column - 1);
    right = at(row, column + 1);
  }
  [[nodiscard]] int at(int r, int c) const {
    return r < 0 || r >= rows || c < 0 || c >= columns ? MPI_PROC_NULL : r * columns + c;
  }
};
