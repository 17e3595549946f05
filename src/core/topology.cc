// SPDX-License-Identifier: Apache-2.0
// Topologies: grid arithmetic, and the lists of neighbours.
#include "core/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "mpi.h"

namespace tern::core {

int Cartesian::size() const noexcept {
  int product = 1;
  for (const int dim : dims) product *= dim;
  return product;
}

int Cartesian::rank_at(const int* coords) const noexcept {
  int rank = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int coord = coords[i];
    if (coord < 0 || coord >= dims[i]) {
      if (!periods[i]) return -1 - static_cast<int>(i);
      coord %= dims[i];
      if (coord < 0) coord += dims[i];
    }
    rank = rank * dims[i] + coord;
  }
  return rank;
}

void Cartesian::coords_of(int rank, int* coords) const noexcept {
  for (size_t i = dims.size(); i-- > 0;) {
    coords[i] = rank % dims[i];
    rank /= dims[i];
  }
}

int Cartesian::shifted(int rank, size_t dimension, long long steps) const noexcept {
  int stride = 1;
  for (size_t i = dimension + 1; i < dims.size(); ++i) stride *= dims[i];
  const int length = dims[dimension], coord = rank / stride % length;
  long long moved = coord + steps;
  if (moved < 0 || moved >= length) {
    if (!periods[dimension]) return MPI_PROC_NULL;
    moved %= length;
    if (moved < 0) moved += length;
  }
  return rank + static_cast<int>(moved - coord) * stride;
}

Topology::Topology(Shape shape, int rank) : shape_(std::move(shape)) {
  if (const Cartesian* grid = cartesian(); grid != nullptr) {
    for (size_t i = 0; i < grid->dimensions(); ++i)
      for (const int step : {-1, 1}) sources_.push_back(grid->shifted(rank, i, step));
    destinations_ = sources_;
  } else if (const Graph* drawn = graph(); drawn != nullptr) {
    sources_.assign(drawn->neighbors(rank), drawn->neighbors(rank) + drawn->degree(rank));
    destinations_ = sources_;
  } else {
    sources_ = edges()->sources;
    destinations_ = edges()->destinations;
  }
}

int Topology::kind() const noexcept {
  constexpr int kKinds[] = {MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH};
  return kKinds[shape_.index()];
}

namespace {

int floor_root(int n, int k) noexcept {
  const auto fits = [n, k](long long r) {
    long long power = 1;
    for (int i = 0; i < k; ++i)
      if ((power *= r) > n) return false;
    return true;
  };
  long long low = 1, high = n;
  while (low < high) {
    const long long middle = (low + high + 1) / 2;
    (fits(middle) ? low : high) = fits(middle) ? middle : middle - 1;
  }
  return static_cast<int>(low);
}

class Balance {
 public:
  Balance(int nodes, int count) : nodes_(nodes), current_(static_cast<size_t>(count), 1) {
    for (int d = 1; static_cast<long long>(d) * d <= nodes; ++d) {
      if (nodes % d != 0) continue;
      divisors_.push_back(d);
      if (d != nodes / d) divisors_.push_back(nodes / d);
    }
    std::sort(divisors_.begin(), divisors_.end());
    place(0, nodes, nodes);
  }
  [[nodiscard]] std::vector<int> best() const { return best_; }

 private:
  [[nodiscard]] static int spread(const std::vector<int>& dims) { return dims[0] - dims.back(); }

  /// faces() counts the links cut in all dimensions, the cost of a halo exchange.
  [[nodiscard]] int64_t faces(const std::vector<int>& dims) const {
    int64_t sum = 0;
    for (const int dim : dims) sum += nodes_ / dim;
    return sum;
  }
  [[nodiscard]] bool better() const {
    if (best_.empty() || spread(current_) != spread(best_))
      return best_.empty() || spread(current_) < spread(best_);
    if (current_.back() != best_.back()) return current_.back() > best_.back();
    return faces(current_) < faces(best_);
  }

  void place(size_t at, int left, int most) {
    const auto places = static_cast<int>(current_.size() - at);
    const int root = floor_root(left, places);
    // The smallest dimension is at most the root, so the root bounds the spread.
    if (at > 0 && !best_.empty() && current_[0] - root > spread(best_)) return;
    if (places == 1) {
      if (left > most) return;
      current_[at] = left;
      if (better()) best_ = current_;
      return;
    }
    for (auto next = std::lower_bound(divisors_.begin(), divisors_.end(), root);
         next != divisors_.end() && *next <= most && *next <= left; ++next) {
      if (left % *next != 0) continue;
      current_[at] = *next;
      place(at + 1, left / *next, *next);
    }
  }

  const int nodes_;
  std::vector<int> divisors_, current_, best_;
};

}  // namespace

std::vector<int> balanced_dims(int nodes, int count) { return Balance(nodes, count).best(); }

}  // namespace tern::core
