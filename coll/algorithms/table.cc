// SPDX-License-Identifier: Apache-2.0
// The table of collective algorithms. In formulas lg is rounded up, g is the number of ranks of a
// host; copies within a rank count, a leaf's messages do not.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"
#include "coll/emitters.hpp"

namespace tern::coll {
namespace {

using enum Collective;
using S = Shape;
constexpr size_t kKi = 1024;

double lg(double p) { return std::ceil(std::log2(p)); }
double log4(double p) { return std::ceil(std::log2(p) / 2); }
/// fan() is the cost of one level of a 4-nomial tree, in sends: p - 1 below four ranks, else 2.5
/// of at most 3.
double fan(double p) { return p < 4 ? p - 1 : 2.5; }
double pow2(double p) { return floor_power(static_cast<int32_t>(p)); }
double per_host(S s) { return std::ceil(s.p / s.hosts); }
double folds(double p) { return pow2(p) == p ? 0 : 1; }

/// Without pipelining, the critical path equals the busiest rank's work.
Cost plain(double rounds, double bytes, double reduced = 0, double copied = 0) {
  return {{rounds, bytes, rounds, bytes, reduced, copied}, {}};
}
/// A pipelined cost is the first chunk's path, and a rank's work for each chunk.
Cost piped(Work way) { return {way, {}}; }

Cost tree(double depth, double fan, double n) {
  return piped({depth * fan, depth * fan * n, depth * fan, depth * fan * n});
}
Cost tree_sum(double depth, double fan, double n) {
  return piped({depth * fan, depth * fan * n, 1, n, depth * fan * n, n});
}
/// flat() is the cost of an algorithm in shared memory, where every rank writes its own slots and
/// reads slots of other ranks. `read` counts slots of other ranks, at least a cache line each.
Cost flat(double epochs, double read, double copied, double reduced = 0) {
  return {{epochs, 0, 0, 0, reduced, copied, 1, read}, {}};
}
Cost flat_all(S s, double epochs, double copied, double reduced = 0) {
  return flat(epochs, epochs * (s.p - 1), copied, reduced);
}
Cost flat_domains(S s, double epochs, double copied, double reduced = 0) {
  return flat(epochs, 2 * std::sqrt(s.p), copied, reduced * 2 * std::sqrt(s.p));
}
Work chained(S s, double reduced) {
  const double slice = s.n / per_host(s);
  return {s.hosts - 1, (s.hosts - 1) * slice, 1, slice, reduced, 0, per_host(s)};
}
/// Two hosts exchange, a power of two of hosts halves and doubles, other numbers of hosts use a
/// ring.
double sliced_rounds(double hosts) {
  if (hosts == 2) return 1;
  return folds(hosts) == 0 ? 2 * lg(hosts) : 2 * (hosts - 1);
}
Cost levels(Work between, Work within) { return {between, within}; }
/// by_file() counts a message per peer: the table does not know the rounds of a plan.
Cost by_file(Shape s) { return plain(s.p, s.n); }

// clang-format off
constexpr Algorithm kTable[] = {
  {kBarrier, "dissemination", barrier_dissemination, kAnything, 0, "lg p; 0",
   [](S s) { return plain(lg(s.p), 0); }, "Hensgen et al. 1988", FlatMethod::kNone, kRotates},
  {kBarrier, "tree", barrier_tree, kAnything, 0, "2 log4 p; 0",
   [](S s) { return plain(2 * fan(s.p) * log4(s.p), 0); }, "Mellor-Crummey, Scott 1991"},
  {kBarrier, "two_level", barrier_two_level, kLevels, 0, "lg q between hosts, 2 lg g within; 0",
   [](S s) { return levels({lg(s.hosts)}, {2 * lg(per_host(s))}); }, ""},
  {kBarrier, "flat", nullptr, kShared, 0, "1; 0",
   [](S s) { return flat_all(s, 1, 0); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kBarrier, "flat_two_level", nullptr, kShared, 0, "3; 0",
   [](S s) { return flat_domains(s, 3, 0); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kBcast, "binomial", bcast_binomial, kAnything, 128 * kKi, "lg p; n lg p",
   [](S s) { return tree(lg(s.p), 1, s.n); }, "Johnsson, Ho 1989"},
  {kBcast, "knomial", bcast_knomial, kAnything, 128 * kKi, "3 log4 p; 3 n log4 p",
   [](S s) { return tree(log4(s.p), fan(s.p), s.n); }, "Johnsson, Ho 1989"},
  {kBcast, "two_level", bcast_two_level, kLevels, 128 * kKi, "lg q between hosts, lg g within; n of each",
   [](S s) { return levels(tree(lg(s.hosts), 1, s.n).far, tree(lg(per_host(s)), 1, s.n).far); }, "Karonis et al. 2000"},
  {kBcast, "chain", bcast_chain, kAnything, 128 * kKi, "p - 1 + chunks; n",
   [](S s) { return piped({s.p - 1, (s.p - 1) * s.n, 1, s.n}); }, "Watts, van de Geijn 1995"},
  {kBcast, "double_tree", bcast_double_tree, kAnything, 64 * kKi, "2 lg p + chunks; n",
   [](S s) { return piped({2 * lg(s.p), lg(s.p) * s.n, 2, s.n, 0, 0, 2}); }, "Sanders, Speck, Traff 2009"},
  {kBcast, "linear", bcast_linear, kAnything, 0, "p - 1; n (p - 1)",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1)); }, "", FlatMethod::kNone, kOneHop | kBySwitch},
  {kBcast, "scatter_allgather", bcast_scatter_allgather, kAnything, 0, "lg p + p - 1; 2 n",
   [](S s) { return plain(lg(s.p) + s.p - 1, 2 * s.n * (s.p - 1) / s.p); }, "Barnett et al. 1994", FlatMethod::kNone, kTwoHops},
  {kBcast, "sliced", bcast_sliced, kLevels | kEqualHosts, 128 * kKi, "q - 1 between hosts, 2 g within; n / g between, 2 n within",
   [](S s) { const double g = per_host(s);
             return levels(chained(s, 0), {2 * (g - 1), 2 * s.n * (g - 1) / g, 2 * (g - 1), 2 * s.n * (g - 1) / g}); }, "Traff, Hunold 2020"},
  {kBcast, "bine", bcast_bine, kAnything, 128 * kKi, "lg p; n lg p, nearer than binomial",
   [](S s) { return tree(lg(s.p), 1, s.n); }, "De Sensi et al. 2025"},
  {kBcast, "forest", bcast_forest, kPlan, 256 * kKi, "depth + chunks; n",
   [](S s) { return piped({4, 4 * s.n, 4, s.n}); }, "Zhao et al. 2024"},
  {kBcast, "flat", nullptr, kShared, 0, "1; n",
   [](S s) { return flat(1, 1, 2 * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kBcast, "flat_two_level", nullptr, kShared, 0, "2; 2 n",
   [](S s) { return flat(2, 2, 4 * s.n); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kGather, "binomial", gather_binomial, kEqualBlocks, 0, "lg p; n / 2",
   [](S s) { return plain(lg(s.p), s.n, 0, s.n / s.p); }, "Chan et al. 2007"},
  {kGather, "knomial", gather_knomial, kEqualBlocks, 0, "3 log4 p; n / 4",
   [](S s) { return plain(fan(s.p) * log4(s.p), s.n, 0, s.n / s.p); }, "Chan et al. 2007"},
  {kGather, "two_level", gather_two_level, kLevels | kEqualBlocks, 0, "lg q between hosts, lg g within; n / 2",
   [](S s) { return levels({lg(s.hosts), s.n, 0, 0}, {lg(per_host(s)), s.n / s.hosts, 0, 0}); }, "Karonis et al. 2000"},
  {kGather, "linear", gather_linear, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n, 0, s.n / s.p); }, "", FlatMethod::kNone, kOneHop},
  {kGather, "flat", nullptr, kShared | kEqualBlocks, 0, "1; n",
   [](S s) { return flat_all(s, 1, 2 * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kScatter, "binomial", scatter_binomial, kEqualBlocks, 0, "lg p; n / 2",
   [](S s) { return plain(lg(s.p), s.n, 0, s.n / s.p); }, "Chan et al. 2007"},
  {kScatter, "knomial", scatter_knomial, kEqualBlocks, 0, "3 log4 p; n / 4",
   [](S s) { return plain(fan(s.p) * log4(s.p), s.n, 0, s.n / s.p); }, "Chan et al. 2007"},
  {kScatter, "two_level", scatter_two_level, kLevels | kEqualBlocks, 0, "lg q between hosts, lg g within; n / 2",
   [](S s) { return levels({lg(s.hosts), s.n, 0, 0}, {lg(per_host(s)), s.n / s.hosts, 0, 0}); }, "Karonis et al. 2000"},
  {kScatter, "linear", scatter_linear, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n, 0, s.n / s.p); }, "", FlatMethod::kNone, kOneHop},
  {kScatter, "flat", nullptr, kShared | kEqualBlocks, 0, "1; n",
   [](S s) { return flat(1, 1, s.n + s.n / s.p); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kAllgather, "bruck", allgather_bruck, kEqualBlocks, 0, "lg p; n",
   [](S s) { return plain(lg(s.p), s.n * (s.p - 1) / s.p, 0, s.n); }, "Bruck et al. 1997"},
  {kAllgather, "linear", allgather_linear, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "", FlatMethod::kNone, kOneHop | kBySwitch | kRotates},
  {kAllgather, "neighbor_exchange", allgather_neighbor_exchange, kEqualBlocks | kEvenRanks, 0, "p / 2; n",
   [](S s) { return plain(s.p / 2, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Chen et al. 2005", FlatMethod::kNone, kRotates},
  {kAllgather, "recursive_doubling", allgather_recursive_doubling, kEqualBlocks | kPowerOfTwo, 0, "lg p; n",
   [](S s) { return plain(lg(s.p), s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Thakur et al. 2005", FlatMethod::kNone, kXors},
  {kAllgather, "ring", allgather_ring, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Chan et al. 2007", FlatMethod::kNone, kRotates},
  {kAllgather, "two_level", allgather_two_level, kLevels | kEqualBlocks, 0, "lg q between hosts, g + lg g within; n + n lg g",
   [](S s) { return levels({lg(s.hosts), s.n * (s.hosts - 1) / s.hosts, lg(s.hosts), s.n},
                           {per_host(s) + lg(per_host(s)), s.n * lg(per_host(s)), 0, 0}); }, "Traff 2006"},
  {kAllgather, "sliced", allgather_sliced, kLevels | kEqualHosts, 256 * kKi, "q - 1 between hosts, q (g - 1) within; n / g between, n within",
   [](S s) { const double g = per_host(s);
             const double away = s.n / g * (s.hosts - 1) / s.hosts;
             return levels({s.hosts - 1, away, s.hosts - 1, away, 0, 0, s.p},
                           {s.hosts * (g - 1), s.n * (g - 1) / g, s.hosts * (g - 1), s.n * (g - 1) / g, 0, s.n / s.p}); }, "Traff, Hunold 2020"},
  {kAllgather, "bine", allgather_bine, kAnything, 0, "lg p; n, most to near ranks",
   [](S s) { const double idle = folds(s.p);
             return plain(lg(s.p) + (s.p - 1) / 2 + 2 * idle, s.n * (s.p - 1) / s.p * (1 + idle), 0, s.n / s.p); }, "De Sensi et al. 2025", FlatMethod::kNone, kRotatesPowers},
  {kAllgather, "pat", allgather_pat, kAnything, 0, "lg p, of p - 1 messages; n, most to near ranks",
   [](S s) { return plain(lg(s.p) + (s.p - 1) / 2, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Jeaugey 2025"},
  {kAllgather, "file", follow_file, kPlan, 32 * kKi, "of the file", by_file, ""},
  {kAllgather, "forest", allgather_forest, kPlan, 64 * kKi, "depth + chunks; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Zhao et al. 2024"},
  {kAllgather, "flat", nullptr, kShared | kEqualBlocks, 0, "1; n",
   [](S s) { return flat_all(s, 1, s.n + s.n / s.p); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kAllgather, "flat_direct", nullptr, kShared | kEqualBlocks, 0, "2; n",
   [](S s) { return flat_all(s, 2, s.n); }, "", FlatMethod::kDirect},
  {kAlltoall, "bruck", alltoall_bruck, kEqualBlocks, 0, "lg p; n / 2 lg p",
   [](S s) { return plain(lg(s.p), s.n / 2 * lg(s.p), 0, s.n * (1 + lg(s.p))); }, "Bruck et al. 1997", FlatMethod::kNone, kRotates},
  {kAlltoall, "linear", alltoall_linear, kAnything, 0, "p - 1; n",
   [](S s) { return plain((s.p - 1) * 0.8, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "", FlatMethod::kNone, kOneHop | kRotates},
  {kAlltoall, "pairwise", alltoall_pairwise, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, 0, s.n / s.p); }, "Thakur et al. 2005", FlatMethod::kNone, kRotates},
  {kAlltoall, "two_level", alltoall_two_level, kLevels | kEqualHosts | kEqualBlocks, 0, "q - 1 between hosts, g - 1 within; 2 n",
   [](S s) { return levels({s.hosts - 1, s.n * (s.hosts - 1) / s.hosts, 0, 0},
                           {per_host(s) - 1, s.n, 0, 0, 0, 2 * s.n}); }, "Traff, Rougier 2014"},
  {kAlltoall, "file", follow_file, kPlan | kEqualBlocks, 32 * kKi, "of the file", by_file, ""},
  {kAlltoall, "flat", nullptr, kShared | kEqualBlocks, 0, "1; n",
   [](S s) { return flat_all(s, 1, 2 * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kAlltoall, "flat_direct", nullptr, kShared | kEqualBlocks, 0, "2; n",
   [](S s) { return flat_all(s, 2, s.n); }, "", FlatMethod::kDirect},
  {kReduce, "binomial", reduce_binomial, kCommutative, 256 * kKi, "lg p; n",
   [](S s) { return tree_sum(lg(s.p), 1, s.n); }, "Thakur et al. 2005"},
  {kReduce, "knomial", reduce_knomial, kCommutative, 256 * kKi, "3 log4 p; n",
   [](S s) { return tree_sum(log4(s.p), fan(s.p), s.n); }, "Thakur et al. 2005"},
  {kReduce, "binomial_ordered", reduce_binomial_ordered, kAnything, 256 * kKi, "lg p + 1; n",
   [](S s) { return tree_sum(lg(s.p) + 1, 1, s.n); }, "Thakur et al. 2005"},
  {kReduce, "two_level", reduce_two_level, kCommutative | kLevels, 256 * kKi, "lg q between hosts, lg g within; n",
   [](S s) { return levels(tree_sum(lg(s.hosts), 1, s.n).far, tree_sum(lg(per_host(s)), 1, s.n).far); }, "Karonis et al. 2000"},
  {kReduce, "chain", reduce_chain, kAnything, 128 * kKi, "p - 1 + chunks; n",
   [](S s) { return piped({s.p - 1, (s.p - 1) * s.n, 1, s.n, 2 * s.n}); }, "Watts, van de Geijn 1995"},
  {kReduce, "double_tree", reduce_double_tree, kCommutative, 64 * kKi, "2 lg p + chunks; n",
   [](S s) { return piped({2 * lg(s.p), lg(s.p) * s.n, 2, s.n, 2 * s.n, 0, 2}); }, "Sanders, Speck, Traff 2009"},
  {kReduce, "scatter_gather", reduce_scatter_gather, kAnything, 256 * kKi, "lg p + 1; 2 n",
   [](S s) { return piped({2 * lg(s.p), 2 * s.n, 2 * lg(s.p), 2 * s.n, s.n * (1 + folds(s.p)), 0, pow2(s.p)}); }, "Rabenseifner 2004"},
  {kReduce, "sliced", reduce_sliced, kCommutative | kLevels | kEqualHosts, 128 * kKi, "q - 1 between hosts, g within; n / g between, n within",
   [](S s) { const double g = per_host(s);
             return levels(chained(s, s.n / g), {g, s.n, g, s.n, s.n * (g - 1) / g, s.n / g}); }, "Traff, Hunold 2020"},
  {kReduce, "linear", reduce_linear, kAnything, 128 * kKi, "p - 1, of 1 hop; p n",
   [](S s) { return piped({s.p - 1, s.n * (s.p - 1), s.p - 1, s.n * (s.p - 1), s.n * (s.p - 1), s.n}); }, "", FlatMethod::kNone, kOneHop | kRankOrder},
  {kReduce, "bine", reduce_bine, kCommutative, 256 * kKi, "lg p; n, nearer than binomial",
   [](S s) { return tree_sum(lg(s.p), 1, s.n); }, "De Sensi et al. 2025"},
  {kReduce, "forest", reduce_forest, kCommutative | kPlan, 256 * kKi, "depth + chunks; n",
   [](S s) { return piped({4, 4 * s.n, 4, s.n, s.n}); }, "Zhao et al. 2024"},
  {kReduce, "flat", nullptr, kShared, 0, "1; p n",
   [](S s) { return flat_all(s, 1, s.n, s.p * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kReduce, "flat_sliced", nullptr, kShared, 0, "2; 3 n",
   [](S s) { return flat_all(s, 2, 2 * s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kSliced},
  {kReduce, "flat_direct", nullptr, kShared, 0, "3; 2 n",
   [](S s) { return flat_all(s, 3, 2 * s.n, s.n); }, "", FlatMethod::kDirect},
  {kReduce, "flat_two_level", nullptr, kShared, 0, "2; 2 n sqrt p",
   [](S s) { return flat_domains(s, 2, s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kAllreduce, "recursive_doubling", allreduce_recursive_doubling, kAnything, 256 * kKi, "lg p; n lg p",
   [](S s) { const double k = lg(s.p) + folds(s.p);
             return piped({k, k * s.n, k, k * s.n, k * s.n, 0}); }, "Thakur et al. 2005", FlatMethod::kNone, kXors},
  {kAllreduce, "rabenseifner", allreduce_rabenseifner, kAnything, 256 * kKi, "2 lg p; 2 n",
   [](S s) { const double k = 2 * lg(s.p), more = 2 * folds(s.p);
             return piped({k, (2 + more) * s.n, k, (2 + more) * s.n, s.n * (1 + folds(s.p)), s.n / s.p, pow2(s.p)}); }, "Rabenseifner 2004", FlatMethod::kNone, kXors},
  {kAllreduce, "ring", allreduce_ring, kCommutative, 128 * kKi, "2 (p - 1); 2 n",
   [](S s) { return piped({2 * (s.p - 1), 2 * s.n * (s.p - 1) / s.p, 2 * (s.p - 1), 2 * s.n, s.n, 0, s.p}); }, "Patarasuk, Yuan 2009", FlatMethod::kNone, kRotates},
  {kAllreduce, "tree", allreduce_tree, kAnything, 256 * kKi, "2 lg p; n lg p",
   [](S s) { return piped({2 * lg(s.p), 2 * lg(s.p) * s.n, lg(s.p), lg(s.p) * s.n, lg(s.p) * s.n, s.n}); }, ""},
  {kAllreduce, "double_tree", allreduce_double_tree, kCommutative, 64 * kKi, "4 lg p + chunks; 2 n",
   [](S s) { return piped({4 * lg(s.p), 2 * lg(s.p) * s.n, 4, 2 * s.n, 2 * s.n, 0, 2}); }, "Sanders, Speck, Traff 2009"},
  {kAllreduce, "two_level", allreduce_two_level, kCommutative | kLevels, 256 * kKi, "lg q between hosts, 2 lg g within; n of each",
   [](S s) { const double k = lg(s.hosts) + folds(s.hosts), g = lg(per_host(s));
             return levels({k, k * s.n, k, k * s.n, k * s.n, 0}, {2 * g, 2 * g * s.n, g, g * s.n, g * s.n, 0}); }, "Karonis et al. 2000"},
  {kAllreduce, "sliced", allreduce_sliced, kCommutative | kLevels | kEqualHosts, 128 * kKi, "2 lg q between hosts, 2 g within; 2 n / g between, 2 n within",
   [](S s) { const double g = per_host(s), k = sliced_rounds(s.hosts), away = 2 * s.n / g * (s.hosts - 1) / s.hosts;
             return levels({k, away, k, away, s.n / g, 0, g * (s.hosts == 2 ? 1 : s.hosts)},
                           {2 * (g - 1), 2 * s.n * (g - 1) / g, 2 * (g - 1), 2 * s.n * (g - 1) / g, s.n * (g - 1) / g, 0}); }, "Traff, Hunold 2020", FlatMethod::kNone, kSlices},
  {kAllreduce, "one_shot", allreduce_one_shot, kAnything, 128 * kKi, "p - 1, of 1 hop; p n",
   [](S s) { return piped({s.p - 1, s.n * (s.p - 1), s.p - 1, s.n * (s.p - 1), s.n * (s.p - 1), s.n}); }, "Shah et al. 2025", FlatMethod::kNone, kOneHop | kRankOrder},
  {kAllreduce, "two_shot", allreduce_two_shot, kAnything, 128 * kKi, "2 (p - 1), of 2 hops; 2 n",
   [](S s) { return piped({2 * (s.p - 1), 2 * s.n * (s.p - 1) / s.p, 2 * (s.p - 1), 2 * s.n, s.n, s.n / s.p, s.p}); }, "Cowan et al. 2023", FlatMethod::kNone, kTwoHops | kRankOrder | kBySwitch},
  {kAllreduce, "swing", allreduce_swing, kCommutative, 256 * kKi, "2 lg p; 2 n, most to near ranks",
   [](S s) { const double k = 2 * lg(s.p) + (s.p - 1) / 4, more = 2 * folds(s.p);
             return piped({k, (2 + more) * s.n, k, (2 + more) * s.n, s.n * (1 + folds(s.p)), s.n / s.p, pow2(s.p)}); }, "De Sensi et al. 2024"},
  {kAllreduce, "by_levels", allreduce_by_levels, kCommutative | kLevels | kEqualGroups, 128 * kKi, "2 (q - 1) between hosts, 2 g within; 2 n / g between, 2 n within",
   [](S s) { const double g = per_host(s), away = 2 * s.n / g * (s.hosts - 1) / s.hosts;
             return levels({2 * (s.hosts - 1), away, 2 * (s.hosts - 1), away, s.n / g, 0, s.hosts == 2 ? g : s.p},
                           {2 * (g - 1), 2 * s.n * (g - 1) / g, 2 * (g - 1), 2 * s.n * (g - 1) / g, s.n * (g - 1) / g, 0}); }, "Cho et al. 2019"},
  {kAllreduce, "file", follow_file, kPlan | kCommutative, 32 * kKi, "of the file", by_file, ""},
  {kAllreduce, "forest", allreduce_forest, kCommutative | kPlan, 64 * kKi, "2 depth + chunks; 2 n",
   [](S s) { return piped({2 * (s.p - 1), 2 * s.n * (s.p - 1) / s.p, 2 * (s.p - 1), 2 * s.n, s.n, 0, s.p}); }, "Zhao et al. 2024"},
  {kAllreduce, "flat", nullptr, kShared, 0, "1; p n",
   [](S s) { return flat_all(s, 1, s.n, s.p * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kAllreduce, "flat_sliced", nullptr, kShared, 0, "2; 3 n",
   [](S s) { return flat_all(s, 2, 2 * s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kSliced},
  {kAllreduce, "flat_direct", nullptr, kShared, 0, "3; 2 n",
   [](S s) { return flat_all(s, 3, 2 * s.n, s.n); }, "", FlatMethod::kDirect},
  {kAllreduce, "flat_two_level", nullptr, kShared, 0, "3; 2 n sqrt p",
   [](S s) { return flat_domains(s, 3, 4 * s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kReduceScatter, "pairwise", reduce_scatter_pairwise, kCommutative, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, s.n, s.n / s.p); }, "Thakur et al. 2005", FlatMethod::kNone, kRotates},
  {kReduceScatter, "recursive_halving", reduce_scatter_recursive_halving, kCommutative, 0, "lg p; n",
   [](S s) { return plain(lg(s.p) + folds(s.p), s.n * (1 + 2 * folds(s.p)), s.n * (2 + folds(s.p)), s.n / s.p); }, "Thakur et al. 2005", FlatMethod::kNone, kXors},
  {kReduceScatter, "two_level", reduce_scatter_two_level, kCommutative | kLevels, 0, "q - 1 between hosts, lg g within; n + n lg g",
   [](S s) { const double g = lg(per_host(s));
             return levels({s.hosts - 1, s.n, s.hosts - 1, s.n, s.n, 0}, {2 * g, g * s.n + s.n / s.hosts, g, g * s.n, g * s.n, 0}); }, ""},
  {kReduceScatter, "two_level_halving", reduce_scatter_two_level_halving, kCommutative | kLevels, 0, "lg q between hosts, lg g within; n + n lg g",
   [](S s) { const double g = lg(per_host(s)), folded = folds(s.hosts);
             return levels({lg(s.hosts) + folded, s.n * (1 + folded), lg(s.hosts) + folded, s.n, s.n, 0},
                           {2 * g, g * s.n + s.n / s.hosts, g, g * s.n, g * s.n, 0}); }, "Thakur et al. 2005"},
  {kReduceScatter, "ordered", reduce_scatter_ordered, kAnything, 0, "p - 1; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, s.n * 1.5, s.n / s.p); }, "", FlatMethod::kNone, kOneHop | kRankOrder | kBySwitch},
  {kReduceScatter, "sliced", reduce_scatter_sliced, kCommutative | kLevels | kEqualHosts, 256 * kKi, "q - 1 between hosts, q (g - 1) within; n / g between, n within",
   [](S s) { const double g = per_host(s);
             const double away = s.n / g * (s.hosts - 1) / s.hosts;
             return levels({s.hosts - 1, away, s.hosts - 1, away, s.n / g, 0, s.p},
                           {s.hosts * (g - 1), s.n * (g - 1) / g, s.hosts * (g - 1), s.n * (g - 1) / g, s.n * (g - 1) / g, 0}); }, "Traff, Hunold 2020"},
  {kReduceScatter, "bine", reduce_scatter_bine, kCommutative, 0, "lg p; n, most to near ranks",
   [](S s) { return plain(lg(s.p) + (s.p - 1) / 4 + 2 * folds(s.p), s.n * (1 + 2 * folds(s.p)), s.n * (2 + folds(s.p)), s.n / s.p); }, "De Sensi et al. 2025"},
  {kReduceScatter, "pat", reduce_scatter_pat, kCommutative, 0, "lg p, of p - 1 messages; n, most to near ranks",
   [](S s) { return plain(lg(s.p) + (s.p - 1) / 2, s.n * (s.p - 1) / s.p, s.n, 0); }, "Jeaugey 2025"},
  {kReduceScatter, "file", follow_file, kPlan | kCommutative, 32 * kKi, "of the file", by_file, ""},
  {kReduceScatter, "forest", reduce_scatter_forest, kCommutative | kPlan, 64 * kKi, "depth + chunks; n",
   [](S s) { return plain(s.p - 1, s.n * (s.p - 1) / s.p, s.n, s.n / s.p); }, "Zhao et al. 2024"},
  {kReduceScatter, "flat", nullptr, kShared, 0, "1; 2 n",
   [](S s) { return flat_all(s, 1, s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kReduceScatter, "flat_direct", nullptr, kShared, 0, "2; n",
   [](S s) { return flat_all(s, 2, s.n, s.n); }, "", FlatMethod::kDirect},
  {kScan, "recursive_doubling", scan_recursive_doubling, kAnything, 256 * kKi, "lg p; n lg p",
   [](S s) { return piped({lg(s.p), lg(s.p) * s.n, lg(s.p), lg(s.p) * s.n, lg(s.p) * s.n, s.n}); }, "Hillis, Steele 1986"},
  {kScan, "linear", scan_linear, kAnything, 128 * kKi, "p - 1 + chunks; n",
   [](S s) { return piped({s.p - 1, (s.p - 1) * s.n, 1, s.n, 2 * s.n, 0}); }, ""},
  {kScan, "one_shot", scan_one_shot, kAnything, 128 * kKi, "p - 1, of 1 hop; p n",
   [](S s) { return piped({s.p - 1, s.n * (s.p - 1), s.p - 1, s.n * (s.p - 1), s.n * (s.p - 1), 0}); }, "Shah et al. 2025", FlatMethod::kNone, kOneHop | kRankOrder},
  {kScan, "two_level", scan_two_level, kLevels | kHostsInOrder, 256 * kKi, "lg q between hosts, 2 lg g within; n of each",
   [](S s) { const double k = lg(s.hosts), g = lg(per_host(s));
             return levels({k, k * s.n, k, k * s.n, 2 * k * s.n, s.n}, {2 * g, 2 * g * s.n, 2 * g, 2 * g * s.n, (g + 1) * s.n, s.n}); }, "Sanders, Traff 2006"},
  {kScan, "flat", nullptr, kShared, 0, "1; p n",
   [](S s) { return flat_all(s, 1, s.n, s.p * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kScan, "flat_two_level", nullptr, kShared, 0, "2; 2 n sqrt p",
   [](S s) { return flat_domains(s, 2, s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kExscan, "recursive_doubling", exscan_recursive_doubling, kAnything, 256 * kKi, "lg p; n lg p",
   [](S s) { return piped({lg(s.p), lg(s.p) * s.n, lg(s.p), lg(s.p) * s.n, 2 * lg(s.p) * s.n, s.n}); }, "Hillis, Steele 1986"},
  {kExscan, "linear", exscan_linear, kAnything, 128 * kKi, "p - 1 + chunks; n",
   [](S s) { return piped({s.p - 1, (s.p - 1) * s.n, 1, s.n, 2 * s.n, s.n}); }, ""},
  {kExscan, "one_shot", exscan_one_shot, kAnything, 128 * kKi, "p - 1, of 1 hop; p n",
   [](S s) { return piped({s.p - 1, s.n * (s.p - 1), s.p - 1, s.n * (s.p - 1), s.n * (s.p - 1), 0}); }, "Shah et al. 2025", FlatMethod::kNone, kOneHop | kRankOrder},
  {kExscan, "two_level", exscan_two_level, kLevels | kHostsInOrder, 256 * kKi, "lg q between hosts, 2 lg g within; n of each",
   [](S s) { const double k = lg(s.hosts), g = lg(per_host(s));
             return levels({k, k * s.n, k, k * s.n, 2 * k * s.n, s.n}, {2 * g, 2 * g * s.n, 2 * g, 2 * g * s.n, (g + 1) * s.n, s.n}); }, "Sanders, Traff 2006"},
  {kExscan, "flat", nullptr, kShared, 0, "1; p n",
   [](S s) { return flat_all(s, 1, s.n, s.p * s.n); }, "Graham, Shipman 2008", FlatMethod::kWhole},
  {kExscan, "flat_two_level", nullptr, kShared, 0, "2; 2 n sqrt p",
   [](S s) { return flat_domains(s, 2, s.n, s.n); }, "Graham, Shipman 2008", FlatMethod::kTwoLevel},
  {kNeighborAllgather, "linear", neighbor_allgather_linear, kAnything, 0, "1; n of d neighbours",
   [](S s) { return plain(1, s.n / s.p); }, "Hoefler, Traff 2009"},
  {kNeighborAlltoall, "linear", neighbor_alltoall_linear, kAnything, 0, "1; n of d neighbours",
   [](S s) { return plain(1, s.n / s.p); }, "Hoefler, Traff 2009"},
};
constexpr Algorithm kBetween[] = {
  {kBarrier, "between_groups", between_barrier, kAnything, 0, "lg p + 1 + lg q; 0",
   [](S s) { return plain(2 * lg(s.p) + 1, 0); }, ""},
  {kBcast, "between_groups", between_bcast, kAnything, 128 * kKi, "1 + lg q; n lg q",
   [](S s) { return tree(1 + lg(s.p), 1, s.n); }, ""},
  {kGather, "between_groups", between_gather, kAnything, 0, "q; n",
   [](S s) { return plain(s.p, s.n); }, ""},
  {kScatter, "between_groups", between_scatter, kAnything, 0, "q; n",
   [](S s) { return plain(s.p, s.n); }, ""},
  {kAllgather, "between_groups", between_allgather, kAnything, 0, "q; n",
   [](S s) { return plain(s.p, s.n); }, ""},
  {kAlltoall, "between_groups", between_alltoall, kAnything, 0, "q; n",
   [](S s) { return plain(s.p, s.n); }, ""},
  {kReduce, "between_groups", between_reduce, kAnything, 256 * kKi, "lg q + 1; n",
   [](S s) { return tree_sum(lg(s.p) + 1, 1, s.n); }, ""},
  {kAllreduce, "between_groups", between_allreduce, kAnything, 256 * kKi, "lg p + 1 + lg q; n lg p",
   [](S s) { return tree_sum(2 * lg(s.p) + 1, 1, s.n); }, ""},
  {kReduceScatter, "between_groups", between_reduce_scatter, kAnything, 0, "lg p + q; n lg p",
   [](S s) { return plain(lg(s.p) + s.p, s.n * (2 + lg(s.p)), s.n * lg(s.p), s.n / s.p); }, ""},
};
// clang-format on

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return kTable; }

std::span<const Algorithm> between_algorithms() noexcept { return kBetween; }

const Algorithm* between_groups(Collective collective) noexcept {
  for (const Algorithm& row : kBetween)
    if (row.collective == collective) return &row;
  return nullptr;
}

std::span<const Algorithm> global_algorithms() noexcept {
  return {std::begin(kTable), std::find_if(std::begin(kTable), std::end(kTable),
                                           [](auto& row) { return neighborly(row.collective); })};
}

std::span<const Algorithm> algorithms(Collective collective) noexcept {
  const auto is_other = [&](const Algorithm& row) { return row.collective != collective; };
  const auto* const first = std::find_if_not(std::begin(kTable), std::end(kTable), is_other);
  return {first, std::find_if(first, std::end(kTable), is_other)};
}

const Algorithm* find_algorithm(Collective collective, const char* name) noexcept {
  for (const Algorithm& row : algorithms(collective))
    if (std::strcmp(row.name, name) == 0) return &row;
  return nullptr;
}

bool serves(const Algorithm& algorithm, int32_t ranks, const Levels* levels,
            const Plan* plan) noexcept {
  const auto needs = [&](Limit limit) { return (algorithm.limits & limit) != 0; };
  if (!has_schedule(algorithm)) return false;
  if (needs(kPowerOfTwo) && floor_power(ranks) != ranks) return false;
  if (needs(kEvenRanks) && ranks % 2 != 0) return false;
  if (needs(kLevels) && levels == nullptr) return false;
  if (needs(kPlan) && (plan == nullptr || std::strcmp(plan->row(), algorithm.name) != 0 ||
                       plan->ranks() != ranks || !plan->serves(algorithm.collective)))
    return false;
  if (needs(kHostsInOrder) && !levels->hosts_in_order()) return false;
  if (needs(kEqualGroups) && !levels->equal_groups()) return false;
  return !needs(kEqualHosts) || levels->equal_hosts();
}

Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root,
               const Levels* levels, const Plan* plan) {
  TERN_ASSERT((algorithm.limits & kPlan) == 0 || serves(algorithm, ranks, levels, plan));
  Builder builder(algorithm.collective, algorithm.name, ranks, rank, root, levels, {}, 0, plan);
  algorithm.emit(builder);
  Schedule schedule = builder.finish();
  if ((algorithm.limits & kEqualBlocks) != 0) schedule.uniform = true;
  return schedule;
}

Schedule build_between(const Algorithm& algorithm, int32_t ranks, int32_t others, int32_t rank,
                       int32_t root) {
  Builder builder(algorithm.collective, algorithm.name, ranks, rank, root, nullptr, {}, others);
  algorithm.emit(builder);
  return builder.finish();
}

Schedule build(const Algorithm& algorithm, int32_t ranks, int32_t rank,
               std::shared_ptr<const Neighbors> neighbors) {
  Builder builder(algorithm.collective, algorithm.name, ranks, rank, 0, nullptr,
                  std::move(neighbors));
  algorithm.emit(builder);
  return builder.finish();
}

}  // namespace tern::coll
