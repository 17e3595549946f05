// SPDX-License-Identifier: Apache-2.0
// Runs with known waits: tern_trace names kind, site, rank and seconds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "base/error.hpp"
#include "tests/trace/writer.hpp"
#include "tools/tern_trace/filter.hpp"
#include "tools/tern_trace/reader.hpp"
#include "tools/tern_trace/reports.hpp"

namespace tern::trace_tool {
namespace {

using trace_test::Rank;
using Ranks = std::vector<Rank>;

struct Report {
  std::unique_ptr<Trace> trace;
  std::unique_ptr<Analysis> analysis;

  [[nodiscard]] std::string site_of(const Finding& finding) const {
    return trace->site_name(analysis->places.at(finding.place).site);
  }
  [[nodiscard]] const Finding* find(Wait wait) const {
    for (const Finding& one : analysis->findings)
      if (one.wait == wait) return &one;
    return nullptr;
  }
};

std::string temporary() {
  std::string name = testing::TempDir() + "tern_trace_" + std::to_string(getpid());
  return name;
}

Report report_of(const std::vector<std::string>& contents, const Options& options = {}) {
  std::vector<std::string> names;
  for (size_t i = 0; i < contents.size(); ++i) {
    names.push_back(temporary() + "." + std::to_string(i));
    EXPECT_TRUE(trace_test::write_bytes(names.back(), contents[i]));
  }
  Report report;
  report.trace = open_trace(names);
  filter(report.trace.get(), options);
  report.analysis = std::make_unique<Analysis>(report.trace.get());
  analyse(report.analysis.get());
  for (const std::string& name : names) unlink(name.c_str());
  return report;
}

Report report_of(const Ranks& ranks, const Options& options = {}) {
  return report_of(std::vector<std::string>{trace_test::file_bytes(ranks)}, options);
}

Ranks make(int count) {
  Ranks ranks;
  for (int r = 0; r < count; ++r) ranks.emplace_back(r, count);
  return ranks;
}

void expect_finding(const Report& report, Wait wait, const std::string& site, uint32_t waits,
                    uint32_t causes, double ms) {
  const Finding* const found = report.find(wait);
  ASSERT_NE(found, nullptr) << text_report(*report.analysis);
  EXPECT_EQ(report.site_of(*found), site);
  EXPECT_EQ(report.trace->processes[found->worst.process].rank, static_cast<int>(waits));
  ASSERT_FALSE(found->causes.empty());
  EXPECT_EQ(report.trace->processes[found->causes[0].process].rank, static_cast<int>(causes));
  EXPECT_NEAR(found->worst.ns * 1e-6, ms, 0.05 * ms);
}

void expect_nothing(const Report& report) {
  EXPECT_TRUE(report.analysis->findings.empty()) << text_report(*report.analysis);
  EXPECT_TRUE(report.analysis->slow.empty());
}

Ranks late_sender(double late) {
  Ranks ranks = make(2);
  ranks[0].send(1, 3, 100, "a.c:1(f)", 100 + late, 100.01 + late);
  ranks[1].receive(0, 3, 100, "a.c:2(f)", 100, 100.02 + late);
  ranks[0].call("MPI_Finalize", "", 300, 301);
  ranks[1].call("MPI_Finalize", "", 300, 301);
  return ranks;
}

TEST(TraceWaits, LateSender) {
  const Report report = report_of(late_sender(50));
  expect_finding(report, Wait::kLateSender, "a.c:2(f)", 1, 0, 50);
  EXPECT_EQ(report.analysis->findings.size(), 1u);
  EXPECT_NE(text_report(*report.analysis).find("rank 0 (50.000 ms, 1 times) sent late"),
            std::string::npos)
      << text_report(*report.analysis);
  expect_nothing(report_of(late_sender(0)));
}

/// The receive is completed by a wait, after a message of another sender.
Ranks late_in_waitall(double late) {
  Ranks ranks = make(3);
  const uint32_t a = ranks[0].irecv(1, 1, "a.c:1(f)", 100, 100.001);
  const uint32_t b = ranks[0].irecv(trace::kAnyPeer, 1, "a.c:2(f)", 100.001, 100.002);
  ranks[0].wait("a.c:3(f)", 100.002, 100.1 + late);
  ranks[0].received(a, 1, 1, 8);
  ranks[0].received(b, 2, 1, 8, trace::kWildcard);
  ranks[1].send(0, 1, 8, "a.c:5(f)", 100.05 + late / 5, 100.06 + late / 5);
  ranks[2].send(0, 1, 8, "a.c:5(f)", 100.05 + late, 100.06 + late);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 400, 401);
  return ranks;
}

TEST(TraceWaits, LateSendersOfOneWait) {
  const Report report = report_of(late_in_waitall(50));
  expect_finding(report, Wait::kLateSender, "a.c:3(f)", 0, 2, 50);
  const Finding& found = *report.find(Wait::kLateSender);
  ASSERT_EQ(found.causes.size(), 2u);
  EXPECT_NEAR(found.causes[0].ns * 1e-6, 40, 2);
  EXPECT_NEAR(found.causes[1].ns * 1e-6, 10, 0.5);
  expect_nothing(report_of(late_in_waitall(0)));
}

Ranks late_receiver(double late, uint8_t flags = 0) {
  Ranks ranks = make(2);
  ranks[0].send(1, 3, 1 << 20, "a.c:1(f)", 100, 100.5 + late).flags |= flags;
  ranks[1].receive(0, 3, 1 << 20, "a.c:2(f)", 100 + late, 100.5 + late);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 300, 301);
  return ranks;
}

TEST(TraceWaits, LateReceiver) {
  for (const uint8_t flags : {uint8_t{0}, uint8_t{trace::kRendezvous}})
    expect_finding(report_of(late_receiver(50, flags)), Wait::kLateReceiver, "a.c:1(f)", 0, 1, 50);
  expect_nothing(report_of(late_receiver(0)));
}

/// An eager send completes in a wait for all; the late message of the other rank is the cause.
TEST(TraceWaits, AWaitForAllIsNoLateReceiver) {
  Ranks ranks = make(2);
  const uint32_t in = ranks[0].irecv(1, 1, "a.c:1(f)", 100, 100.001);
  const uint32_t out = ranks[0].isend(1, 1, 8, "a.c:2(f)", 100.001, 100.002);
  ranks[0].add(RecordKind::kWait, "MPI_Waitall", "a.c:3(f)", 100.002, 150.3);
  ranks[0].received(in, 1, 1, 8);
  ranks[0].sent(out);
  const uint32_t late = ranks[1].irecv(0, 1, "a.c:1(f)", 150, 150.001);
  ranks[1].send(0, 1, 8, "a.c:2(f)", 150.2, 150.21);
  ranks[1].wait("a.c:3(f)", 150.3, 150.4);
  ranks[1].received(late, 0, 1, 8);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 400, 401);
  const Report report = report_of(ranks);
  ASSERT_EQ(report.analysis->findings.size(), 1u);
  expect_finding(report, Wait::kLateSender, "a.c:3(f)", 0, 1, 50);
}

/// Rank 0 starts a large send and computes; the receiver cannot read its memory.
Ranks no_progress(double computes, bool single_copy) {
  Ranks ranks = make(2);
  const uint32_t request =
      ranks[0].isend(1, 3, 1 << 24, "a.c:1(f)", 100, 100.01, trace::kRendezvous);
  ranks[0].wait("a.c:2(f)", 100.01 + computes, 103 + computes);
  ranks[0].sent(request);
  ranks[1].receive(0, 3, 1 << 24, "a.c:3(f)", 100, single_copy ? 102 : 103 + computes);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 300, 301);
  return ranks;
}

TEST(TraceWaits, Progress) {
  const Report report = report_of(no_progress(50, false));
  expect_finding(report, Wait::kProgress, "a.c:3(f)", 1, 0, 50);
  EXPECT_NE(report.find(Wait::kProgress)->cure.find("TERN_PROGRESS=thread"), std::string::npos);
  expect_nothing(report_of(no_progress(50, true)));
  expect_nothing(report_of(no_progress(0, false)));
}

/// The receiver posts in time and computes; the sender waits.
TEST(TraceWaits, ProgressOfTheReceiver) {
  Ranks ranks = make(2);
  const uint32_t request = ranks[1].irecv(0, 3, "a.c:1(f)", 100, 100.01);
  ranks[1].wait("a.c:2(f)", 150, 151);
  ranks[1].received(request, 0, 3, 1 << 24, trace::kRendezvous);
  ranks[0].send(1, 3, 1 << 24, "a.c:3(f)", 101, 151).flags |= trace::kRendezvous;
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 300, 301);
  expect_finding(report_of(ranks), Wait::kProgress, "a.c:3(f)", 0, 1, 49);
}

/// 20 steps of 10 ms; rank `slow` computes longer.
Ranks steps(int slow, double longer) {
  Ranks ranks = make(4);
  double start = 0;
  for (int step = 0; step < 20; ++step) {
    const double last = start + 10 + longer;
    for (int r = 0; r < 4; ++r) {
      const bool is_slow = r == (slow < 0 ? step % 4 : slow);
      ranks[static_cast<size_t>(r)].collective("MPI_Allreduce", "a.c:9(f)",
                                               is_slow ? last : start + 10, last + 0.01);
    }
    start = last + 0.01;
  }
  return ranks;
}

TEST(TraceWaits, SlowRank) {
  const Report report = report_of(steps(2, 5));
  const Finding* const found = report.find(Wait::kCollective);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(report.site_of(*found), "a.c:9(f)");
  EXPECT_NEAR(found->ns * 1e-6, 3 * 20 * 5, 15);
  ASSERT_EQ(found->causes.size(), 1u);
  EXPECT_EQ(found->causes[0].process, 2u);
  EXPECT_EQ(found->causes[0].times, 60u);
  ASSERT_EQ(report.analysis->slow.size(), 1u);
  EXPECT_EQ(report.analysis->slow[0].process, 2u);
  EXPECT_NEAR(report.analysis->slow[0].ns - report.analysis->slow[0].median, 95e6, 6e6);
  expect_nothing(report_of(steps(2, 0)));
}

TEST(TraceWaits, ImbalanceNamesEveryLastRank) {
  const Report report = report_of(steps(-1, 5));
  const Finding* const found = report.find(Wait::kCollective);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->causes.size(), 4u);
  EXPECT_TRUE(report.analysis->slow.empty());
}

TEST(TraceWaits, ASlowCollectiveMayHaveAnotherAlgorithm) {
  for (const double takes : {0.1, 30.0}) {
    Ranks ranks = make(2);
    ranks[0].collective("MPI_Allreduce", "a.c:1(f)", 10, 30 + takes, 1 << 20);
    ranks[1].collective("MPI_Allreduce", "a.c:1(f)", 30, 30 + takes, 1 << 20);
    const Report report = report_of(ranks);
    expect_finding(report, Wait::kCollective, "a.c:1(f)", 0, 1, 20);
    const std::string& cure = report.find(Wait::kCollective)->cure;
    EXPECT_EQ(cure.find("another algorithm") != std::string::npos, takes > 1) << cure;
  }
}

TEST(TraceWaits, RootsOfCollectives) {
  Ranks ranks = make(3);
  for (int r = 0; r < 3; ++r) {
    const double late = r == 1 ? 30 : 0;
    ranks[static_cast<size_t>(r)].collective("MPI_Bcast", "a.c:1(f)", 10 + late, 40.1, 8, 1);
    ranks[static_cast<size_t>(r)].collective("MPI_Reduce", "a.c:2(f)", 50 + (r == 2 ? 20 : 0),
                                             r == 0 ? 70.1 : 70.01, 8, 0);
  }
  const Report report = report_of(ranks);
  ASSERT_EQ(report.analysis->findings.size(), 2u);
  EXPECT_NEAR(report.analysis->findings[0].ns * 1e-6, 60, 1);
  EXPECT_EQ(report.analysis->findings[0].causes[0].process, 1u);
  EXPECT_NEAR(report.analysis->findings[1].ns * 1e-6, 20, 1);
  EXPECT_EQ(report.analysis->findings[1].worst.process, 0u);
}

TEST(TraceWaits, NonblockingCollective) {
  Ranks ranks = make(2);
  for (int r = 0; r < 2; ++r) {
    Rank& rank = ranks[static_cast<size_t>(r)];
    Record& start = rank.add(RecordKind::kCollectiveStart, "MPI_Iallreduce", "a.c:1(f)",
                             10 + r * 40, 10.1 + r * 40);
    start.number = 1;
    start.request = 5;
    rank.wait("a.c:2(f)", 20 + r * 31, 52);
    Record& done = rank.add(RecordKind::kCollectiveDone, "MPI_Wait", "", 20 + r * 31, 52);
    done.request = 5;
  }
  expect_finding(report_of(ranks), Wait::kCollective, "a.c:2(f)", 0, 1, 30);
}

/// Both ranks have started; rank 1 computes before its wait.
TEST(TraceWaits, ProgressOfANonblockingCollective) {
  Ranks ranks = make(2);
  for (int r = 0; r < 2; ++r) {
    Rank& rank = ranks[static_cast<size_t>(r)];
    Record& start = rank.add(RecordKind::kCollectiveStart, "MPI_Iallreduce", "a.c:1(f)", 10, 10.1);
    start.number = 1;
    start.request = 5;
    rank.wait("a.c:2(f)", r == 0 ? 11 : 50, 50.1);
    rank.add(RecordKind::kCollectiveDone, "MPI_Wait", "", r == 0 ? 11 : 50, 50.1).request = 5;
  }
  expect_finding(report_of(ranks), Wait::kProgress, "a.c:2(f)", 0, 1, 39);
}

TEST(TraceWaits, EarlyFinish) {
  Ranks ranks = make(2);
  for (int r = 0; r < 2; ++r) {
    ranks[static_cast<size_t>(r)].call("MPI_Init", "a.c:1(f)", 0, 1);
    ranks[static_cast<size_t>(r)].call("MPI_Finalize", "a.c:9(f)", 100 + 40 * r, 141);
  }
  expect_finding(report_of(ranks), Wait::kEarlyFinish, "a.c:9(f)", 0, 1, 40);
}

TEST(TraceWaits, FencesAndLocks) {
  Ranks ranks = make(3);
  for (int r = 0; r < 3; ++r)
    ranks[static_cast<size_t>(r)].add(RecordKind::kEpoch, "MPI_Win_fence", "a.c:1(f)",
                                      r == 2 ? 40 : 10, 40.1);
  ranks[0].add(RecordKind::kEpoch, "MPI_Win_lock", "a.c:2(f)", 50, 50.1).peer = 2;
  ranks[0].add(RecordKind::kEpoch, "MPI_Win_unlock", "a.c:3(f)", 90, 90.1).peer = 2;
  ranks[1].add(RecordKind::kEpoch, "MPI_Win_lock", "a.c:2(f)", 55, 90.2).peer = 2;
  ranks[1].add(RecordKind::kEpoch, "MPI_Win_unlock", "a.c:3(f)", 91, 91.1).peer = 2;
  const Report report = report_of(ranks);
  expect_finding(report, Wait::kFence, "a.c:1(f)", 0, 2, 30);
  expect_finding(report, Wait::kLock, "a.c:2(f)", 1, 0, 35);
}

TEST(TraceWaits, DeviceStreams) {
  Ranks ranks = make(2);
  for (int r = 0; r < 2; ++r) {
    Rank& rank = ranks[static_cast<size_t>(r)];
    Record& start =
        rank.add(RecordKind::kCollectiveStart, "MPIX_Allreduce_enqueue", "a.c:1(f)", 10, 10.1);
    start.number = 1;
    start.request = 9;
    rank.call("MPI_Finalize", "", 200, 201);
    rank.add(RecordKind::kDevice, "MPIX_Allreduce_enqueue", "", 20 + 60 * r, 81).request = 9;
  }
  expect_finding(report_of(ranks), Wait::kDevice, "a.c:1(f)", 0, 1, 60);
}

// Rank 0 computes 10 ms and sends, rank 1 computes 5 ms more after the message and sends, rank 2
// computes 7 ms after its message: by hand 10 + 5 + 7 ms of computation, two messages of 1 ms,
// and 1 ms from the last MPI_Finalize to the end.
TEST(TraceWaits, CriticalPathOfAChain) {
  Ranks ranks = make(3);
  for (Rank& rank : ranks) rank.call("MPI_Init", "a.c:0(f)", 0, 1);
  ranks[0].send(1, 1, 8, "a.c:1(f)", 11, 11.5);
  ranks[1].receive(0, 1, 8, "a.c:2(f)", 2, 12);
  ranks[1].send(2, 1, 8, "a.c:3(f)", 17, 17.5);
  ranks[2].receive(1, 1, 8, "a.c:4(f)", 3, 18);
  ranks[2].call("MPI_Finalize", "a.c:9(f)", 25, 26);
  ranks[1].call("MPI_Finalize", "a.c:9(f)", 20, 26);
  ranks[0].call("MPI_Finalize", "a.c:9(f)", 20, 26);
  const Report report = report_of(ranks);
  const Path& path = report.analysis->path;
  EXPECT_NEAR(path.compute * 1e-6, 22, 0.001);
  EXPECT_NEAR(path.transfer * 1e-6, 3, 0.001);
  EXPECT_NEAR((path.compute + path.mpi + path.transfer) * 1e-6, 26, 0.001);
  EXPECT_NEAR(path.compute_by_rank.at(0) * 1e-6, 10, 0.001);
  EXPECT_NEAR(path.compute_by_rank.at(1) * 1e-6, 5, 0.001);
  EXPECT_NEAR(path.compute_by_rank.at(2) * 1e-6, 7, 0.001);
  EXPECT_TRUE(std::is_sorted(path.parts.begin(), path.parts.end(),
                             [](const auto& a, const auto& b) { return a.begin < b.begin; }));
}

TEST(TraceWaits, Overlap) {
  Ranks ranks = make(2);
  const uint32_t request = ranks[0].irecv(1, 1, "a.c:1(f)", 10, 11);
  ranks[0].call("MPI_Test", "a.c:2(f)", 20, 22);
  ranks[0].wait("a.c:3(f)", 29, 30);
  ranks[0].received(request, 1, 1, 8);
  ranks[1].send(0, 1, 8, "a.c:4(f)", 10, 11);
  const Report report = report_of(ranks);
  ASSERT_EQ(report.analysis->overlap.size(), 1u);
  const Overlap& overlap = report.analysis->overlap.begin()->second;
  EXPECT_EQ(overlap.operations, 1u);
  EXPECT_NEAR(overlap.flight * 1e-6, 20, 0.01);
  EXPECT_NEAR(overlap.inside * 1e-6, 4, 0.01);
}

TEST(TraceWaits, CommunicatorsAreApart) {
  Ranks ranks = make(4);
  for (Rank& rank : ranks)
    rank.comm(2, rank.rank() % 2 == 0 ? "even" : "odd", rank.rank() % 2 == 0 ? "0,2" : "1,3");
  for (Rank& rank : ranks) rank.on(2);
  ranks[0].send(1, 1, 8, "a.c:1(f)", 60, 60.1);
  ranks[2].receive(0, 1, 8, "a.c:2(f)", 10, 60.2);
  ranks[1].send(1, 1, 8, "a.c:1(f)", 10, 10.1);
  ranks[3].receive(0, 1, 8, "a.c:2(f)", 10, 10.2);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 100, 101);
  const Report report = report_of(ranks);
  EXPECT_EQ(report.analysis->matching.messages.size(), 2u);
  expect_finding(report, Wait::kLateSender, "a.c:2(f)", 2, 0, 50);
}

TEST(TraceWaits, InterCommunicators) {
  Ranks ranks = make(4);
  for (Rank& rank : ranks) {
    const bool low = rank.rank() < 2;
    rank.comm(2, "between", low ? "0-1" : "2-3", low ? "2-3" : "0-1");
    rank.on(2, trace::kStranger);
  }
  ranks[1].send(1, 1, 8, "a.c:1(f)", 60, 60.1);
  ranks[3].receive(1, 1, 8, "a.c:2(f)", 10, 60.2);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 100, 101);
  const Report report = report_of(ranks);
  EXPECT_EQ(report.analysis->matching.messages.size(), 1u);
  expect_finding(report, Wait::kLateSender, "a.c:2(f)", 3, 1, 50);
}

/// The parent's world is "0", the children's "1"; each names the other by a hash.
TEST(TraceWaits, StrangersOfTwoWorlds) {
  Ranks ranks;
  for (int world = 0; world < 2; ++world)
    for (int r = 0; r < 2; ++r) {
      ranks.emplace_back(r, 2, "node1", world == 0 ? "0" : "1");
      ranks.back().comm(2, "9303ff", "0-1", world == 0 ? "wbeef:0-1" : "wcafe:0-1");
      ranks.back().on(2, trace::kStranger);
    }
  ranks[0].send(1, 1, 8, "a.c:1(f)", 60, 60.1);
  ranks[3].receive(0, 1, 8, "a.c:2(f)", 10, 60.2);
  for (Rank& rank : ranks) rank.call("MPI_Finalize", "", 100, 101);
  const Report report = report_of(ranks);
  EXPECT_EQ(report.analysis->matching.messages.size(), 1u);
  expect_finding(report, Wait::kLateSender, "a.c:2(f)", 1, 0, 50);
  EXPECT_NE(text_report(*report.analysis).find("rank 1 of w1 waited"), std::string::npos);
}

TEST(TraceWaits, LostRecordsDoNotShiftTheNumbers) {
  Ranks ranks = make(2);
  ranks[0].lost = 3;
  for (int i = 0; i < 4; ++i) {
    Record& send = ranks[0].send(1, 1, 8, "a.c:1(f)", 10 + i, 10.1 + i);
    if (i == 0) send.number = 0;
    ranks[1].receive(0, 1, 8, "a.c:2(f)", 10 + i, 10.2 + i);
  }
  const Report report = report_of(ranks);
  EXPECT_EQ(report.analysis->matching.messages.size(), 3u);
  EXPECT_EQ(report.analysis->matching.lonely_receives, 1u);
  EXPECT_NE(text_report(*report.analysis).find("3 records were lost"), std::string::npos);
}

/// Two hosts whose clocks differ by 7 s, one runs 50 ppm fast; a run of 100 s.
TEST(TraceWaits, ClocksOfTwoHosts) {
  std::vector<std::string> files;
  for (int r = 0; r < 2; ++r) {
    Ranks ranks;
    ranks.emplace_back(r, 2, r == 0 ? "one" : "two");
    Rank& rank = ranks[0];
    if (r == 1) {
      rank.clock(-7'000'000'000, -5e-5);
      for (const int64_t s : {0, 100}) {
        const int64_t job = s * 1'000'000'000;
        const int64_t local = job + 7'000'000'000 + job / 20'000;
        rank.line("clock\t" + std::to_string(local) + '\t' + std::to_string(job - local) +
                  "\t1500");
      }
      rank.receive(0, 1, 8, "a.c:2(f)", 50'000, 53'000.1);
    } else {
      rank.send(1, 1, 8, "a.c:1(f)", 53'000, 53'000.05);
    }
    rank.call("MPI_Finalize", "", 99'000, 99'001);
    files.push_back(trace_test::file_bytes(ranks));
  }
  const Report report = report_of(files);
  expect_finding(report, Wait::kLateSender, "a.c:2(f)", 1, 0, 3000);
  const Finding& found = *report.find(Wait::kLateSender);
  EXPECT_NEAR(found.ns, 3e9, 10'000);
  EXPECT_NE(text_report(*report.analysis).find("agree within 1.500 us"), std::string::npos);
}

TEST(TraceWaits, Filters) {
  Ranks ranks = late_sender(50);
  Options options;
  options.ranks = {{1, 1}};
  EXPECT_EQ(report_of(ranks, options).analysis->calls, 2u);
  options.ranks.clear();
  options.from = 0.1;
  EXPECT_EQ(report_of(ranks, options).analysis->calls, 2u);
  options.to = 0.15;
  EXPECT_THROW((void)report_of(ranks, options), Error);

  ranks = make(1);
  ranks[0].line("label\t4\tsolve");
  ranks[0].call("MPI_Barrier", "", 1, 2);
  ranks[0].add(RecordKind::kRegionBegin, "MPIX_Trace_begin", "", 3, 3).site = 4;
  ranks[0].call("MPI_Barrier", "", 4, 5);
  ranks[0].add(RecordKind::kRegionEnd, "MPIX_Trace_end", "", 6, 6).site = 4;
  ranks[0].call("MPI_Barrier", "", 7, 8);
  Options region;
  region.region = "solve";
  EXPECT_EQ(report_of(ranks, region).analysis->calls, 1u);
}

TEST(TraceWaits, WorkloadHasSizesAndGaps) {
  Ranks ranks = make(2);
  for (Rank& rank : ranks) {
    rank.collective("MPI_Barrier", "a.c:1(f)", 1, 2, -1);
    rank.collective("MPI_Bcast", "a.c:2(f)", 5, 6, 4096, 1);
    rank.collective("MPI_Iallreduce", "a.c:3(f)", 6.5, 7, 64);
  }
  const Report report = report_of(ranks);
  const std::string text = workload(report.analysis.get());
  EXPECT_NE(text.find("barrier 0 2 0 - 0.000\nbcast 4096 2 0 1 3000.000\n"
                      "allreduce 64 2 0 - 500.000\n"),
            std::string::npos)
      << text;
}

TEST(TraceWaits, DiffNamesTheSiteAndTheSeconds) {
  const Report before = report_of(late_sender(0)), after = report_of(late_sender(50));
  const std::string text = diff_report(*before.analysis, *after.analysis);
  EXPECT_NE(text.find("+0.050000 s"), std::string::npos) << text;
  EXPECT_NE(text.find("MPI_Recv at a.c:2(f)"), std::string::npos) << text;
  EXPECT_NE(text.find("late sender: rank 0 sent late"), std::string::npos) << text;
  const std::string same = diff_report(*before.analysis, *before.analysis);
  EXPECT_NE(same.find("neither run has a finding"), std::string::npos) << same;
}

}  // namespace
}  // namespace tern::trace_tool
