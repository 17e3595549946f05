// SPDX-License-Identifier: Apache-2.0
// tern_coll verify: proves schedules for ranges of ranks, roots and machines.
#include "coll/laboratory/verify/verify.hpp"

#include "base/error.hpp"
#include "tools/tern_coll/commands.hpp"

namespace tern::coll_tool {
namespace {

/// Steps and blocks of a proof that runs all ranks: about 1.5 GB.
constexpr int64_t kMostProved = 20'000'000;
constexpr int32_t kAlwaysWhole = 2048;  // ranks

struct Tally {
  int shapes = 0, faults = 0, too_large = 0, sampled = 0;
  int64_t messages = 0;
};

void count(const coll::Proof& proof, const std::string& shape, Tally* tally) {
  ++tally->shapes;
  tally->messages += proof.messages;
  if (proof.holds()) return;
  ++tally->faults;
  std::fprintf(stderr, "%s: %s\n", shape.c_str(), proof.fault.c_str());
}

struct Edges {
  const char* words;
  bool (*has)(int32_t ranks, int32_t from, int32_t to);
};
constexpr Edges kEdges[] = {
    {"all mapped", [](int32_t, int32_t, int32_t) { return true; }},
    {"halves mapped", [](int32_t n, int32_t a, int32_t b) { return (a < n / 2) == (b < n / 2); }},
    {"even and odd mapped", [](int32_t, int32_t a, int32_t b) { return a % 2 == b % 2; }},
    {"all but one mapped",
     [](int32_t n, int32_t a, int32_t b) { return a != n / 2 && b != n / 2; }}};

std::vector<int32_t> roots_of(const Options& options, const coll::Algorithm& row, int32_t ranks) {
  if (!coll::rooted(row.collective)) return {0};
  if (options.root >= 0) return {options.root % ranks};
  if (ranks > 9) return {0, 1, ranks / 2, ranks - 1};
  std::vector<int32_t> roots;
  for (int32_t root = 0; root < ranks; ++root) roots.push_back(root);
  return roots;
}

/// By classes where all ranks together are too large.
void prove_on_host(const coll::Algorithm& row, int32_t ranks, int32_t root,
                   const coll::Levels* levels, const coll::Plan* plan, const std::string& shape,
                   Tally* tally) {
  if (ranks <= kAlwaysWhole || plan != nullptr ||
      coll::proof_size(row, ranks, root, levels, kMostProved) < kMostProved)
    return count(coll::verify(row, ranks, root, levels, plan), shape, tally);
  const coll::ClassProof found = coll::verify_by_classes(row, ranks, root, levels);
  const std::string name =
      strf("%s %s, %s", coll::name_of(row.collective), row.name, shape.c_str());
  if (found.ran == 0) {
    ++tally->too_large;
    std::printf("  %s: not proved: too large, and %s\n", name.c_str(), found.reason.c_str());
    return;
  }
  if (found.proof.holds() && found.checked < ranks) {
    ++tally->sampled;
    std::printf("  %s: sampled, not proved: %d of %d schedules were compared\n", name.c_str(),
                found.checked, ranks);
    return;
  }
  count(found.proof, shape, tally);
  if (found.proof.holds())
    std::printf(
        "  %s: by classes: %d rank%s ran for all, %d schedules (all) are renamed ones; not the "
        "order of operands\n",
        name.c_str(), found.ran, found.ran == 1 ? "" : "s", found.checked);
}

void prove(const Options& options, const coll::Algorithm& row, int32_t ranks,
           const coll::Levels* levels, const coll::Plan* plan, Tally* tally) {
  if (!coll::serves(row, ranks, levels, plan)) return;
  const std::string on = levels == nullptr ? "" : ", " + levels->text();
  for (const int32_t root : roots_of(options, row, ranks)) {
    const std::string shape = strf("%d ranks, root %d%s", ranks, root, on.c_str());
    if (!options.stream) {
      prove_on_host(row, ranks, root, levels, plan, shape, tally);
      continue;
    }
    for (const Edges& edges : kEdges) {
      const auto mapped = [&](int32_t from, int32_t to) { return edges.has(ranks, from, to); };
      count(coll::verify_lowered(row, ranks, root, levels, mapped, plan),
            shape + ", " + edges.words, tally);
    }
  }
}

void prove_neighborhood(const coll::Algorithm& row, const std::string& word, int32_t ranks,
                        Tally* tally) {
  count(coll::verify(row, neighbors_of(word, ranks)), strf("%d ranks, %s", ranks, word.c_str()),
        tally);
}

bool is_between(const coll::Algorithm& row) { return coll::between_groups(row.collective) == &row; }

bool lowered(const coll::Algorithm& row) {
  return !coll::neighborly(row.collective) && !is_between(row);
}

/// Proves groups of `ranks`, against about as many, one, and twice as many.
void prove_between(const coll::Algorithm& row, int32_t ranks, Tally* tally) {
  const int32_t root = coll::rooted(row.collective) ? ranks - 1 : -1;
  for (const int32_t others : {1, ranks, ranks + 1, 2 * ranks}) {
    count(coll::verify_between(row, ranks, others, root), strf("%d and %d ranks", ranks, others),
          tally);
  }
}

std::vector<const coll::Algorithm*> provable_rows(const Options& options) {
  std::vector<const coll::Algorithm*> rows;
  const bool only = options.algorithm == coll::between_algorithms()[0].name;
  if (!only) rows = rows_of(options);
  for (const coll::Algorithm& row : coll::between_algorithms())
    if ((only || options.algorithm.empty()) &&
        (options.collective.empty() || options.collective == coll::name_of(row.collective)))
      rows.push_back(&row);
  return rows;
}

// Without --levels or --neighbors, two-level algorithms are tried on several machines and
// neighbourhoods on several topologies.
void prove_row(const Options& options, const coll::Algorithm& row, int32_t ranks,
               const coll::Plan* plan, Tally* tally) {
  if (options.stream && !lowered(row)) return;
  if (coll::neighborly(row.collective)) {
    for (const char* word : {"ring", "grid", "torus", "random", "dense"})
      if (options.neighbors.empty() || options.neighbors == word)
        prove_neighborhood(row, word, ranks, tally);
    return;
  }
  if (is_between(row)) return prove_between(row, ranks, tally);
  coll::Levels levels;
  const coll::Levels* given = levels_of(options, ranks, &levels);
  if ((row.limits & coll::kLevels) == 0 || given != nullptr)
    return prove(options, row, ranks, given, plan, tally);
  for (const std::vector<int32_t>& sizes : {std::vector<int32_t>{2}, {4}, {8, 2}}) {
    levels = coll::Levels::from_sizes(ranks, sizes);
    if (!levels.empty()) prove(options, row, ranks, &levels, plan, tally);
  }
}

}  // namespace

int verify(const Options& options) {
  Tally all;
  if (!options.neighbors.empty()) (void)neighbors_of(options.neighbors, 1);
  for (const coll::Algorithm* row : provable_rows(options)) {
    Tally tally;
    int32_t least = options.least_ranks == 0 ? 1 : options.least_ranks;
    int32_t most = options.most_ranks == 0 ? 32 : options.most_ranks;
    const std::shared_ptr<const coll::Plan> plan = plan_of(options, *row);
    if (plan != nullptr && options.most_ranks == 0) least = most = plan->ranks();
    for (int32_t ranks = least; ranks <= most; ++ranks)
      prove_row(options, *row, ranks, plan.get(), &tally);
    const char* verdict = !coll::has_schedule(*row)                             ? "no schedule"
                          : options.stream && !lowered(*row)                    ? "not lowered"
                          : tally.faults != 0                                   ? "WRONG"
                          : (row->limits & coll::kPlan) != 0 && plan == nullptr ? "no topology"
                          : tally.sampled > 0   ? "sampled, not proved"
                          : tally.too_large > 0 ? "too large"
                          : tally.shapes == 0   ? "serves none"
                                                : "proved";
    std::printf("%-11s %s %s: %d shapes of %d to %d ranks, %lld messages\n", verdict,
                coll::name_of(row->collective), row->name, tally.shapes, least, most,
                static_cast<long long>(tally.messages));
    all.faults += tally.faults;
    all.shapes += tally.shapes;
    all.too_large += tally.too_large + tally.sampled;
  }
  std::printf("%d shapes, %d wrong\n", all.shapes, all.faults);
  return all.faults == 0 && all.too_large == 0 ? 0 : 1;
}

}  // namespace tern::coll_tool
