// SPDX-License-Identifier: Apache-2.0
// Runs the random programs of a range of seeds. Each rank writes the record of each operation into
// a file.
//
// usage: driver FIRST LAST OUT [--only OP] [--kind NAME] [--verbose] [--threads] [--falsify]
// [--hang] Lines of OUT.RANK: "SEED.OP HASH NAME", and behind "~" real values with the bounds of
// their errors, or "- why" for a skipped operation. "SEED begins" and "SEED ends" enclose a
// program.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "buffer.hpp"
#include "communicator.hpp"
#include "step.hpp"

namespace {

Options read(int argc, char** argv) {
  Options options;
  if (argc < 4) {
    std::fprintf(stderr, "usage: driver FIRST LAST OUT [options]\n");
    std::exit(2);
  }
  options.first = std::strtoull(argv[1], nullptr, 10);
  options.last = std::strtoull(argv[2], nullptr, 10);
  options.out = argv[3];
  for (int i = 4; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--only" && more) {
      options.only = std::atoi(argv[++i]);
    } else if (word == "--kind" && more) {
      options.kind = argv[++i];
    } else if (word == "--verbose") {
      options.verbose = true;
    } else if (word == "--threads") {
      options.threads = true;
    } else if (word == "--falsify") {
      options.falsify = true;
    } else if (word == "--hang") {
      options.hang = true;
    } else {
      std::fprintf(stderr, "driver: unknown option %s\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

class Programs {
 public:
  Programs(const Options& options, FILE* file, bool threads) : options_(options), file_(file) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    for (const Operation* list : {kPointToPoint, kRequests, kCollectives, kInter, kNeighbors,
                                  kWindows, kTypes, kObjects, kErrors, kThreads}) {
      for (; list->name; ++list) {
        if (options.kind && std::strcmp(options.kind, list->name) != 0) continue;
        if (list->run == kThreads[0].run && !threads) continue;
        for (int i = 0; i < list->weight; ++i) operations_.push_back(list);
      }
    }
  }

  void run(uint64_t seed) {
    std::fprintf(file_, "%llu begins\n", number(seed));
    std::fflush(file_);
    Random shape(mixed(seed, 77));
    Step making(seed, 999, MPI_COMM_WORLD, options_.verbose ? file_ : nullptr);
    making.prefix = std::to_string(seed) + ".comm";
    Communicator communicator(making);
    line(making, seed, "comm", "make_comm");
    const int length = shape.between(4, 12);
    for (int i = 0; i < length; ++i) {
      const Operation& one =
          *operations_[static_cast<size_t>(shape.below(static_cast<int>(operations_.size())))];
      if (options_.only >= 0 && options_.only != i) continue;
      if (communicator.comm == MPI_COMM_NULL) continue;
      Step step(seed, i, communicator.comm, options_.verbose ? file_ : nullptr);
      step.prefix = std::to_string(seed) + "." + std::to_string(i);
      step.say("%s on rank %d of %d", one.name, step.rank, step.size);
      was_given_less();
      one.run(step);
      if (was_given_less()) step.skip("less than was asked for");
      if (options_.falsify && seed == options_.first && rank_ == size_ - 1) step.falsify();
      if (options_.hang && seed == options_.first && rank_ == 0) pause();
      line(step, seed, std::to_string(i).c_str(), one.name);
    }
    communicator.free();
    MPI_Barrier(MPI_COMM_WORLD);
    std::fprintf(file_, "%llu ends\n", number(seed));
  }

 private:
  static unsigned long long number(uint64_t value) { return value; }

  void line(const Step& step, uint64_t seed, const char* op, const char* name) {
    if (!step.skipped().empty()) {
      std::fprintf(file_, "%llu.%s - %s: %s\n", number(seed), op, name, step.skipped().c_str());
    } else {
      std::fprintf(file_, "%llu.%s %016llx %s%s%s\n", number(seed), op, number(step.hash()), name,
                   step.reals().empty() ? "" : " ~", step.reals().c_str());
    }
    std::fflush(file_);
  }

  const Options& options_;
  FILE* file_;
  int rank_ = 0, size_ = 1;
  std::vector<const Operation*> operations_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read(argc, argv);
  int provided = MPI_THREAD_SINGLE;
  if (options.threads) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* file = std::fopen((options.out + "." + std::to_string(rank)).c_str(), "w");
  if (!file) {
    std::perror(options.out.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  {
    Programs programs(options, file, provided == MPI_THREAD_MULTIPLE);
    for (uint64_t seed = options.first; seed <= options.last; ++seed) programs.run(seed);
  }
  std::fclose(file);
  MPI_Finalize();
  return 0;
}
