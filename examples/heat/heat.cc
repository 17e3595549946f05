// SPDX-License-Identifier: Apache-2.0
// The heat equation on a plate: each rank has a rectangle, neighbours exchange borders by derived
// datatypes while inner cells are computed, and rank 0 writes a PNG of the end.
// Why: the pattern of most simulations, complete and small; every number of ranks gives the same
// bits.
// ranks: 1 2 3 4 7
// args: --size 120x80 --steps 200
// expect-stdout: 120 x 80 cells, 200 steps
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "grid.hpp"
#include "png.hpp"

namespace {

constexpr double kShare = 0.2;  // of the difference to each neighbour, a step; stable below 0.25
constexpr int kStepsPerLook = 50;
constexpr int kWrongUse = 2;
constexpr int kColours = 48;  // few enough to show the lines of equal temperature

constexpr const char* kUsage =
    "usage: heat [--size WIDTHxHEIGHT] [--steps N] [--output FILE]\n"
    "  --size WIDTHxHEIGHT  cells of the plate (480x320)\n"
    "  --steps N            steps of time (2000)\n"
    "  --output FILE        where the picture goes (heat.png)\n";

struct Options {
  Plate plate{480, 320};
  int steps = 2000;
  std::string output = "heat.png";
  bool help = false;
};

// ---- options -----------------------------------------------------------------------------------

int number(const std::string& text, const char* what, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < least || value > most)
    throw std::runtime_error(std::string(what) + " is \"" + text + "\", but it must be a number " +
                             "from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(value);
}

Plate plate_from(const std::string& text) {
  const size_t x = text.find('x');
  if (x == std::string::npos)
    throw std::runtime_error("--size is \"" + text + "\", but it must be like 480x320");
  return {number(text.substr(0, x), "the width of --size", 1, 32768),
          number(text.substr(x + 1), "the height of --size", 1, 32768)};
}

Options options_from(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    const bool known = word == "--size" || word == "--steps" || word == "--output";
    if (!known) throw std::runtime_error("there is no option " + word + "; --help lists them");
    if (++i == count) throw std::runtime_error(word + " needs a value; --help says which");
    if (word == "--size") options.plate = plate_from(words[i]);
    if (word == "--steps") options.steps = number(words[i], "--steps", 0, 1000000000);
    if (word == "--output") options.output = words[i];
  }
  return options;
}

// ---- the plate ---------------------------------------------------------------------------------

constexpr const char* kLetters[] = {"#.....#..#####...#####",  //
                                    "##...##..#....#....#..",  //
                                    "#.#.#.#..#....#....#..",  //
                                    "#..#..#..#####.....#..",  //
                                    "#.....#..#.........#..",  //
                                    "#.....#..#.........#..",  //
                                    "#.....#..#.......#####"};
constexpr int kLettersWide = 22, kLettersHigh = 7, kMargin = 5;

// Whether a cell belongs to the hot wires, which spell MPI.
bool is_hot(const Plate& plate, int x, int y) {
  const long long column = static_cast<long long>(x) * (kLettersWide + 2 * kMargin) / plate.width;
  const long long row = static_cast<long long>(y) * (kLettersHigh + 2 * kMargin) / plate.height;
  const long long i = row - kMargin, j = column - kMargin;
  return i >= 0 && i < kLettersHigh && j >= 0 && j < kLettersWide && kLetters[i][j] == '#';
}

// A rank's rectangle with a ring of cells of the neighbours or the cold edge.
class Part {
 public:
  Part(const Plate& plate, Span rows, Span columns)
      : rows_(rows.count), columns_(columns.count), now_(cells(), 0.0), next_(cells(), 0.0) {
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < columns_; ++j)
        if (is_hot(plate, columns.first + j, rows.first + i)) hot_.push_back(index(i, j));
    heat(now_);
  }

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int stride() const { return columns_ + 2; }
  // Row -1 and column -1 are the ring.
  [[nodiscard]] double* at(int i, int j) { return &now_[index(i, j)]; }

  // The next state of rows [top, bottom) and columns [left, right).
  void compute(int top, int bottom, int left, int right) {
    const size_t down = static_cast<size_t>(stride());
    for (int i = top; i < bottom; ++i)
      for (size_t c = index(i, left), end = c + static_cast<size_t>(std::max(0, right - left));
           c < end; ++c) {
        const double around = (now_[c - down] + now_[c + down]) + (now_[c - 1] + now_[c + 1]);
        next_[c] = now_[c] + kShare * (around - 4 * now_[c]);
      }
  }
  // Inner cells, which need no neighbour, and border cells.
  void compute_inside() { compute(1, rows_ - 1, 1, columns_ - 1); }
  void compute_border() {
    compute(0, 1, 0, columns_);
    if (rows_ > 1) compute(rows_ - 1, rows_, 0, columns_);
    compute(1, rows_ - 1, 0, 1);
    if (columns_ > 1) compute(1, rows_ - 1, columns_ - 1, columns_);
  }
  void step() {
    heat(next_);
    now_.swap(next_);
  }
  // The largest change of the last step.
  [[nodiscard]] double change() const {
    double most = 0;
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < columns_; ++j)
        most = std::max(most, std::abs(now_[index(i, j)] - next_[index(i, j)]));
    return most;
  }
  // Colours 0 (cold) to kColours - 1 (hot), row by row.
  [[nodiscard]] png::Bytes colours() const {
    png::Bytes bytes;
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < columns_; ++j)
        bytes.push_back(static_cast<uint8_t>(std::lround((kColours - 1) * now_[index(i, j)])));
    return bytes;
  }

 private:
  [[nodiscard]] size_t cells() const {
    return static_cast<size_t>(rows_ + 2) * static_cast<size_t>(columns_ + 2);
  }
  [[nodiscard]] size_t index(int i, int j) const {
    return static_cast<size_t>(i + 1) * static_cast<size_t>(stride()) + static_cast<size_t>(j + 1);
  }
  void heat(std::vector<double>& state) const {
    for (const size_t cell : hot_) state[cell] = 1;
  }

  int rows_, columns_;
  std::vector<double> now_, next_;
  std::vector<size_t> hot_;
};

// ---- messages ----------------------------------------------------------------------------------

// Borders to the four neighbours: a row is contiguous, a column a vector with the stride of a row.
class Halo {
 public:
  Halo(const Grid& grid, const Part& part) : grid_(grid) {
    MPI_Type_contiguous(part.columns(), MPI_DOUBLE, &row_);
    MPI_Type_vector(part.rows(), 1, part.stride(), MPI_DOUBLE, &column_);
    MPI_Type_commit(&row_);
    MPI_Type_commit(&column_);
  }
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;
  ~Halo() {
    MPI_Type_free(&row_);
    MPI_Type_free(&column_);
  }

  void start(Part& part) {
    const int last_row = part.rows() - 1, last_column = part.columns() - 1;
    swap(part.at(0, 0), part.at(-1, 0), row_, grid_.up, 0);
    swap(part.at(last_row, 0), part.at(last_row + 1, 0), row_, grid_.down, 2);
    swap(part.at(0, 0), part.at(0, -1), column_, grid_.left, 4);
    swap(part.at(0, last_column), part.at(0, last_column + 1), column_, grid_.right, 6);
  }
  void finish() { MPI_Waitall(8, requests_, MPI_STATUSES_IGNORE); }

 private:
  void swap(const double* mine, double* theirs, MPI_Datatype type, int neighbour, int slot) {
    MPI_Irecv(theirs, 1, type, neighbour, 0, MPI_COMM_WORLD, &requests_[slot]);
    MPI_Isend(mine, 1, type, neighbour, 0, MPI_COMM_WORLD, &requests_[slot + 1]);
  }

  const Grid& grid_;
  MPI_Datatype row_ = MPI_DATATYPE_NULL, column_ = MPI_DATATYPE_NULL;
  MPI_Request requests_[8];
};

// Gathers all parts into one picture on rank 0 by subarray types.
png::Bytes gather(const Plate& plate, const Grid& grid, const Part& part, int rank) {
  const png::Bytes mine = part.colours();
  MPI_Request sent;
  MPI_Isend(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, 0, 1, MPI_COMM_WORLD, &sent);
  png::Bytes picture;
  if (rank == 0)
    picture.resize(static_cast<size_t>(plate.width) * static_cast<size_t>(plate.height));
  for (int from = 0; rank == 0 && from < grid.rows * grid.columns; ++from) {
    const Span rows = grid.rows_of(plate, from), columns = grid.columns_of(plate, from);
    const int whole[] = {plate.height, plate.width}, piece[] = {rows.count, columns.count};
    const int place[] = {rows.first, columns.first};
    MPI_Datatype type;
    MPI_Type_create_subarray(2, whole, piece, place, MPI_ORDER_C, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Recv(picture.data(), 1, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return picture;
}

// ---- progress and messages ---------------------------------------------------------------------

class ProgressBar {
 public:
  ProgressBar(bool wanted, int steps) : steps_(steps), on_(wanted && ::isatty(2) != 0) {}
  ~ProgressBar() {
    if (on_) std::fputs("\r\033[K", stderr);
  }
  void show(int step, double change) const {
    constexpr int kWide = 40;
    if (!on_) return;
    const int done = static_cast<int>(static_cast<long long>(kWide) * step / std::max(1, steps_));
    std::fprintf(stderr, "\r[%.*s%*s] %d of %d, largest change %.1e ", done,
                 "########################################", kWide - done, "", step, steps_,
                 change);
  }

 private:
  int steps_;
  bool on_;
};

// From dark blue over violet, red and yellow to white.
png::Palette palette() {
  constexpr png::Colour kMarks[] = {{8, 10, 40},   {60, 20, 110},  {150, 30, 110},
                                    {225, 75, 60}, {250, 165, 40}, {255, 250, 220}};
  constexpr int kLast = static_cast<int>(std::size(kMarks)) - 1;
  png::Palette colours{};
  for (int i = 0; i < kColours; ++i) {
    const int place = i * kLast, mark = std::min(place / (kColours - 1), kLast - 1);
    const int beyond = place - mark * (kColours - 1);
    const auto mix = [&](uint8_t from, uint8_t to) {
      return static_cast<uint8_t>(from + (to - from) * beyond / (kColours - 1));
    };
    const png::Colour &a = kMarks[mark], &b = kMarks[mark + 1];
    colours[static_cast<size_t>(i)] = {mix(a.red, b.red), mix(a.green, b.green),
                                       mix(a.blue, b.blue)};
  }
  return colours;
}

// The largest change of the last step over all ranks. A maximum does not depend on order.
double run(const Options& options, const Grid& grid, Part& part, int rank) {
  Halo halo(grid, part);
  const ProgressBar bar(rank == 0, options.steps);
  double change = 0;
  for (int step = 1; step <= options.steps; ++step) {
    halo.start(part);
    part.compute_inside();
    halo.finish();
    part.compute_border();
    part.step();
    if (step % kStepsPerLook != 0 && step != options.steps) continue;
    const double mine = part.change();
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bar.show(step, change);
  }
  return change;
}

// Opened before the work, so that a wrong path fails early. All ranks learn the result.
FILE* open_output(const std::string& path, int rank) {
  FILE* file = rank == 0 ? std::fopen(path.c_str(), "wb") : nullptr;
  int error = rank == 0 && file == nullptr ? errno : 0;
  MPI_Bcast(&error, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (error != 0) throw std::runtime_error("cannot write " + path + ": " + std::strerror(error));
  return file;
}

void write_picture(FILE* file, const png::Bytes& picture, const Options& options) {
  const png::Bytes bytes =
      png::encode(picture, options.plate.width, options.plate.height, palette());
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (std::fclose(file) != 0 || !whole)
    throw std::runtime_error("cannot write " + options.output + ": " + std::strerror(errno));
}

void simulate(const Options& options, int rank, int size) {
  const Plate& plate = options.plate;
  const Grid grid = Grid::over(plate, size, rank);
  if (grid.rows == 0)
    throw std::runtime_error("a plate of " + std::to_string(plate.width) + " x " +
                             std::to_string(plate.height) + " cells cannot be divided among " +
                             std::to_string(size) + " ranks; take a larger --size");
  FILE* file = open_output(options.output, rank);
  Part part(plate, grid.rows_of(plate, rank), grid.columns_of(plate, rank));
  const double start = MPI_Wtime();
  const double change = run(options, grid, part, rank);
  const double seconds = MPI_Wtime() - start;
  const png::Bytes picture = gather(plate, grid, part, rank);
  if (rank != 0) return;
  write_picture(file, picture, options);
  std::printf(
      "%d x %d cells, %d steps on %d x %d ranks: %.2f s, the last step changed at most %.1e;"
      " the picture is in %s\n",
      plate.width, plate.height, options.steps, grid.columns, grid.rows, seconds, change,
      options.output.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    const Options options = options_from(argc, argv);
    if (!options.help)
      simulate(options, rank, size);
    else if (rank == 0)
      std::fputs(kUsage, stdout);
  } catch (const std::runtime_error& error) {  // on all ranks, except rank 0's write errors
    if (rank == 0) std::fprintf(stderr, "heat: %s\n", error.what());
    status = kWrongUse;
  }
  MPI_Finalize();
  return status;
}
