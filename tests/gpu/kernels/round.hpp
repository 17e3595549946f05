// SPDX-License-Identifier: Apache-2.0
// Rounds: random calls on a random number of ranks, in a row or as a graph with replays between
// other calls. Seed and number determine a round. Lifetime: of the program. Threads: one.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/kernels/call.hpp"
#include "tests/gpu/kernels/random.hpp"
#include "tests/gpu/kernels/ranks.hpp"

namespace tern::kernels_test {

struct Options {
  uint64_t seed = 1;
  int64_t rounds = 300, first = 0;
  double seconds = 0;  // 0: no limit
  double timeout = 10;
  int devices = 0;                // 0: all
  int ranks = 0;                  // 0: any
  size_t scratch = 0, bytes = 0;  // per rank; largest buffer; 0: by driver
  int column = -1;                // -1: any
  std::string line;               // empty: any
};

class Arena {
 public:
  Arena(Machine& machine, size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  [[nodiscard]] std::byte* at(int rank, Place place, bool original) const noexcept {
    return reinterpret_cast<std::byte*>(
        all_[static_cast<size_t>(rank)][static_cast<size_t>(place * 2 + (original ? 1 : 0))]);
  }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  Machine& machine_;
  const size_t bytes_;
  std::vector<std::array<CUdeviceptr, 2 * kPlaces>> all_;
};

class Batch {
 public:
  Batch(Ranks& ranks, Arena& arena, size_t offset);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// add() returns an empty string if the call was added.
  [[nodiscard]] std::string add(const Shape& shape);
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  void bring(uint64_t salt);
  void restore(int rank);
  void put(int rank);
  [[nodiscard]] Call& call(size_t i) noexcept { return *calls_[i]; }
  [[nodiscard]] size_t size() const noexcept { return calls_.size(); }
  /// check() requires idle streams and returns the first difference.
  [[nodiscard]] std::string check();
  [[nodiscard]] std::string in_words() const;
  [[nodiscard]] size_t end() const noexcept;

 private:
  [[nodiscard]] std::string difference(int rank, Place place, const unsigned char* found);

  Ranks& ranks_;
  Arena& arena_;
  const size_t offset_;
  std::vector<Images> images_;
  std::vector<std::unique_ptr<Call>> calls_;
};

struct Table {
  std::array<std::array<int64_t, kColumns>, kLines.size()> calls{};
  std::array<std::array<std::string, kColumns>, kLines.size()> why;
  int64_t graphs = 0, replays = 0;
  void print() const;
  [[nodiscard]] int missed() const;
};

class Rounds {
 public:
  Rounds(Machine& machine, const Options& options);
  ~Rounds();
  [[nodiscard]] std::string run(int64_t round);
  [[nodiscard]] const std::string& in_words() const noexcept { return words_; }
  [[nodiscard]] const Table& table() const noexcept { return table_; }
  [[nodiscard]] Ranks& ranks(int count);
  [[nodiscard]] Arena& arena() noexcept { return arena_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  [[nodiscard]] int draw_ranks(Random* random) const;
  void add_calls(Random* random, size_t count, Ranks& ranks, Batch* batch);
  [[nodiscard]] Shape draw(Random* random, Ranks& ranks) const;
  [[nodiscard]] int64_t draw_count(Random* random, const Shape& shape, Ranks& ranks) const;
  [[nodiscard]] std::string run_in_a_row(Random* random, Ranks& ranks, Batch* batch);
  [[nodiscard]] std::string run_graph(Random* random, Ranks& ranks, Batch* batch, Batch* other);
  void pause(Random* random) const;

  Machine& machine_;
  const Options options_;
  Arena arena_;
  std::map<int, std::unique_ptr<Ranks>> ranks_;
  Table table_;
  std::string words_;
};

/// Rank 0's kernel names the late rank 1, then a timeout or the host ends the kernel. Returns an
/// empty string on success.
[[nodiscard]] std::string check_late_ranks(Machine& machine, const Options& options);

void print_times(Rounds& rounds);

/// row_for() returns null if no algorithm serves the cell.
[[nodiscard]] const coll::Algorithm* row_for(const Shape& shape, int ranks, Random* random);

}  // namespace tern::kernels_test
