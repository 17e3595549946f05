// SPDX-License-Identifier: Apache-2.0
// Lines of earlier jobs in selection: hostile files, candidates of trials, eviction of trial
// schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "coll/coll.hpp"
#include "coll/comm_state.hpp"
#include "coll/engine/cache.hpp"
#include "coll/select/contest.hpp"
#include "tests/fuzz/learnt.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

TEST(LearntLines, RandomFiles) {
  static constexpr const char* kWords[] = {
      "allreduce", "bcast", "alltoall", "ring",     "flat",       "linear",  "any",      "2",
      "..64k",     "1..8",  "model",    "one_host", "many_hosts", "streams", "wire",     "ll",
      "\n",        "\n",    "# 1 us,",  "rounds",   "within",     "0.7",     "any order"};
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 3; ++i) text += static_cast<char>(random());
    while (text.size() < 90) {
      text += random() % 20 == 0 ? std::string(1, static_cast<char>(random()))
                                 : kWords[random() % std::size(kWords)];
      text += random() % 8 == 0 ? "\n" : " ";
    }
    fuzz::drive_learnt(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
}

/// Timed is a comment of a table by tern_coll tune: "# bcast 8k: flat 4.6 us, ring 4.0 us".
struct Timed {
  Collective collective;
  size_t bytes;
  std::map<const Algorithm*, double> times;
};

std::vector<Timed> read_times(const std::string& file) {
  std::vector<Timed> all;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("# ", 0) != 0 || colon == std::string::npos) continue;
    std::istringstream head(line.substr(2, colon - 2)), rest(line.substr(colon + 2));
    std::string name, bytes, row, unit;
    head >> name >> bytes;
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (name != name_of(collective)) continue;
      Timed timed{collective, static_cast<size_t>(parse_size(bytes, "bytes")), {}};
      double time = 0;
      while (rest >> row >> time >> unit)
        if (const Algorithm* const found = find_algorithm(collective, row.c_str()))
          timed.times[found] = time;
      all.push_back(std::move(timed));
    }
  }
  return all;
}

/// loss() is the best candidate's time, divided by the best time of all rows with the same bits.
double loss(const Selector& selector, const Timed& timed, int ranks, bool any_order) {
  Question question{timed.collective, ranks, timed.bytes};
  question.shared = question.single_copy = true;
  question.any_order = any_order;
  const Algorithm& own = *selector.choose(question, nullptr).algorithm;
  std::vector<const Algorithm*> rows = selector.candidates(question, own);
  rows.resize(std::min(rows.size(), size_t{Contest::kMostRows}));
  double best = 1e9, of_candidates = 1e9;
  for (const auto& [row, time] : timed.times) {
    if (!can(*row, question) || !same_bits(*row, own, question)) continue;
    best = std::min(best, time);
    if (std::find(rows.begin(), rows.end(), row) != rows.end())
      of_candidates = std::min(of_candidates, time);
  }
  return of_candidates / best;
}

TEST(Candidates, HaveTheWinnerForNineKeysOfTen) {
  constexpr double kResolution = 1.08;
  Selector selector;
  selector.configure(Params{});
  for (const int ranks : {2, 4})
    for (const bool any_order : {true, false}) {
      const std::vector<Timed> all = read_times(strf("%s/%d_ranks", TERN_TIMES, ranks));
      ASSERT_GE(all.size(), 80U);
      size_t among = 0;
      std::string missing;
      for (const Timed& timed : all) {
        const double lost = loss(selector, timed, ranks, any_order);
        if (lost <= kResolution)
          ++among;
        else
          missing += strf("\n%s %zu: %.2f", name_of(timed.collective), timed.bytes, lost);
      }
      RecordProperty(strf("%d_ranks_%d", ranks, any_order ? 1 : 0), static_cast<int>(among));
      EXPECT_GE(static_cast<double>(among), 0.9 * static_cast<double>(all.size()))
          << ranks << " ranks, " << (any_order ? "any order" : "in order") << ": " << among
          << " of " << all.size() << missing;
      EXPECT_LE(missing.size(), all.size() * 4);
    }
}

TEST(Trail, OtherRowsOnARankAreAnErrorOnAllRanks) {
  test::World(3, {{"TERN_COLL_TUNE", "learn"}}).run([](core::Process& process) {
    int data = 0, code = MPI_SUCCESS, calls = 0;
    Operation operation{};
    operation.collective = Collective::kBcast;
    operation.communicator = process.world;
    operation.output = {&data, 1, &core::predefined_type(process, MPI_INT)};
    for (; calls < 1000 && code == MPI_SUCCESS; ++calls) {
      if (calls == 50 && process.world_rank == 1)
        static_cast<CommState&>(*process.world->coll).memo.tuning->follow(0, 1);
      code = process.channel(0).coll->run(operation);
    }
    EXPECT_NE(code, MPI_SUCCESS);
    const std::string said = take_last_error().text;
    EXPECT_NE(said.find("other algorithms than rank"), std::string::npos) << said;
    EXPECT_GT(calls, 50);
  });
}

TEST(Cache, TrialsEvictSchedulesOfTrialsAlone) {
  const Algorithm& usual = *find_algorithm(Collective::kAllreduce, "ring");
  const Algorithm& tried = *find_algorithm(Collective::kAlltoall, "pairwise");
  ScheduleCache cache;
  const auto of = [&](const Algorithm& row) {
    const auto all = cache.algorithms();
    return std::count(all.begin(), all.end(), &row);
  };
  int32_t rank = 0;
  const size_t one = cache.get(usual, 300, rank, 0).schedule.steps.size();
  while (cache.steps() + 2 * one <= ScheduleCache::kMostSteps)
    (void)cache.get(usual, 300, ++rank, 0);
  const auto before = of(usual);
  cache.set_trial(true);
  for (int32_t i = 0; i < 10; ++i) {
    const size_t room =
        ScheduleCache::kMostSteps - std::min(cache.steps(), ScheduleCache::kMostSteps);
    EXPECT_GT(cache.get(tried, 2000, i, 0).schedule.steps.size(), room) << "even a single schedule";
  }
  cache.set_trial(false);
  EXPECT_EQ(of(usual), before);
  EXPECT_EQ(of(tried), 1);
  (void)cache.get(usual, 299, 0, 0);
  EXPECT_EQ(of(usual), before + 1) << "trial schedules leave first";
}

}  // namespace
}  // namespace tern::coll
