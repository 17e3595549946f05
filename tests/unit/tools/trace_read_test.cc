// SPDX-License-Identifier: Apache-2.0
// Torn, damaged and hostile trace files: never a crash, and a sentence for each omitted part.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/error.hpp"
#include "tests/trace/writer.hpp"
#include "tools/tern_trace/filter.hpp"
#include "tools/tern_trace/reader.hpp"
#include "tools/tern_trace/reports.hpp"
#include "tools/tern_trace/symbols.hpp"

namespace tern::trace_tool {
namespace {

using trace_test::Rank;

class TraceRead : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : names_) unlink(name.c_str());
  }
  std::string file(const std::string& bytes, const std::string& end = "") {
    const std::string name =
        testing::TempDir() + "tern_trace_read_" + std::to_string(getpid()) + end;
    EXPECT_TRUE(trace_test::write_bytes(name, bytes));
    names_.push_back(name);
    return name;
  }
  std::string refusal(const std::string& name) {
    try {
      (void)open_trace({name});
    } catch (const Error& error) {
      return error.what();
    }
    return "(taken)";
  }

  std::vector<std::string> names_;
};

std::vector<Rank> some_ranks() {
  std::vector<Rank> ranks;
  for (int r = 0; r < 2; ++r) {
    ranks.emplace_back(r, 2);
    Rank& rank = ranks.back();
    rank.line("label\t1\tsolve");
    rank.line("clock\t5\t7\t9");
    rank.line("clock\t5000000\t9\t9");
    rank.add(RecordKind::kRegionBegin, "MPIX_Trace_begin", "", 0, 0).site = 1;
    const uint32_t request = rank.irecv(1 - r, 4, "a.c:1(f);a.c:9(main)", 1, 2);
    rank.send(1 - r, 4, 64, "a.c:2(f)", 3, 4).flags |= trace::kRendezvous;
    rank.wait("a.c:3(f)", 5, 6);
    rank.received(request, 1 - r, 4, 64);
    rank.add(RecordKind::kEpoch, "MPI_Win_lock", "a.c:4(f)", 6, 7).peer = 0;
    rank.add(RecordKind::kEpoch, "MPI_Win_unlock", "a.c:4(f)", 7, 8).peer = 0;
    rank.add(RecordKind::kEpoch, "MPI_Win_fence", "a.c:4(f)", 8, 9);
    rank.add(RecordKind::kFile, "MPI_File_write", "a.c:5(f)", 9, 10).bytes = 100;
    rank.collective("MPI_Allreduce", "a.c:6(f)", 11, 12);
    rank.add(RecordKind::kRegionEnd, "MPIX_Trace_end", "", 13, 13).site = 1;
    rank.call("MPI_Finalize", "", 14, 15);
    rank.line("end\t12\t0\tfinalised");
  }
  return ranks;
}

std::string all_reports(const std::string& name) {
  const std::unique_ptr<Trace> trace = open_trace({name});
  Analysis analysis(trace.get());
  analyse(&analysis);
  return text_report(analysis) + json_report(analysis) + workload(&analysis) + page(&analysis) +
         diff_report(analysis, analysis);
}

TEST_F(TraceRead, NoTrace) {
  EXPECT_NE(refusal("/nonexistent/trace").find("neither /nonexistent/trace nor"),
            std::string::npos);
  EXPECT_NE(refusal(file("")).find("is no trace of Tern"), std::string::npos);
  EXPECT_NE(refusal(file("an elf, perhaps, but longer than a head")).find("is no trace"),
            std::string::npos);
  EXPECT_NE(refusal("/tmp").find("is no file"), std::string::npos);
  std::string newer = trace_test::file_bytes(some_ranks());
  newer[8] = 9;
  EXPECT_NE(refusal(file(newer)).find("has format 9, this tern_trace reads format 1"),
            std::string::npos);
  std::string swapped = trace_test::file_bytes(some_ranks());
  std::swap(swapped[12], swapped[15]);
  EXPECT_NE(refusal(file(swapped)).find("other byte order"), std::string::npos);
}

TEST_F(TraceRead, NumberedFilesOfOneName) {
  std::vector<Rank> ranks = some_ranks();
  const std::string name = file(trace_test::file_bytes({ranks[0]}), ".0");
  (void)file(trace_test::file_bytes({ranks[1]}), ".1");
  const std::unique_ptr<Trace> trace = open_trace({name.substr(0, name.size() - 2)});
  EXPECT_EQ(trace->processes.size(), 2u);
  EXPECT_TRUE(trace->remarks.empty());
  Analysis analysis(trace.get());
  analyse(&analysis);
  EXPECT_EQ(analysis.matching.messages.size(), 2u);
}

TEST_F(TraceRead, EveryLengthOfATornFile) {
  const std::string whole = trace_test::file_bytes(some_ranks());
  for (size_t length = 0; length < whole.size(); length += 5) {
    const std::string name = file(whole.substr(0, length));
    if (length < sizeof(trace::FileHead)) {
      EXPECT_NE(refusal(name), "(taken)");
      continue;
    }
    const std::unique_ptr<Trace> trace = open_trace({name});
    Analysis analysis(trace.get());
    analyse(&analysis);
    const std::string text = text_report(analysis);
    EXPECT_EQ(text.find("the last block is torn; ") == std::string::npos, trace->remarks.empty())
        << length;
  }
}

TEST_F(TraceRead, TheTornPartIsNamed) {
  const std::string whole = trace_test::file_bytes(some_ranks());
  const std::unique_ptr<Trace> trace = open_trace({file(whole.substr(0, whole.size() - 8))});
  EXPECT_EQ(trace->processes.size(), 2u);
  EXPECT_GT(trace->records, 0u);
  ASSERT_EQ(trace->remarks.size(), 1u);
  EXPECT_NE(trace->remarks[0].find("are omitted"), std::string::npos);
}

TEST_F(TraceRead, UnknownBlocksAndLinesAreSkipped) {
  std::string bytes = trace_test::file_bytes(some_ranks());
  trace_test::append_block(&bytes, static_cast<trace::BlockKind>(77), 0, 0, "12345678", 8);
  const std::string lines = "novel\t1\t2\n\n\n\n\n\n\n";
  trace_test::append_block(&bytes, trace::BlockKind::kDefinitions, 0, 0, lines.data(), 16);
  const std::unique_ptr<Trace> trace = open_trace({file(bytes)});
  EXPECT_TRUE(trace->remarks.empty()) << trace->remarks[0];
}

TEST_F(TraceRead, DamagedRecordsAreCounted) {
  std::vector<Rank> ranks = some_ranks();
  ranks[0].call("MPI_Barrier", "", 20, 19);
  ranks[0].call("MPI_Barrier", "", 20, 21).kind = static_cast<RecordKind>(99);
  ranks[0].call("MPI_Barrier", "", 20, 21).bytes = INT64_MIN;
  ranks[0].call("MPI_Barrier", "", 22, 23);
  const std::unique_ptr<Trace> trace = open_trace({file(trace_test::file_bytes(ranks))});
  EXPECT_EQ(trace->damaged, 3u);
  EXPECT_EQ(trace->lanes[0].spans.size(), 2u);
}

/// Changes bytes, numbers and lengths at random places; no report crashes.
TEST_F(TraceRead, RandomMutations) {
  const std::string whole = trace_test::file_bytes(some_ranks());
  const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, 1LL << 60, 255, 1LL << 32};
  const char* const more = std::getenv("TRACE_SEEDS");
  const unsigned seeds = more == nullptr ? 400 : static_cast<unsigned>(std::atoi(more));
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(seed);
    std::string bytes = whole;
    for (auto changes = 1 + random() % 6; changes > 0; --changes) {
      const size_t at = sizeof(trace::FileHead) + random() % (bytes.size() - 40);
      if (random() % 2 == 0)
        bytes[at] = static_cast<char>(random());
      else
        std::memcpy(&bytes[at & ~size_t{7}], &edges[random() % std::size(edges)], 8);
    }
    const std::string name = file(bytes);
    try {
      EXPECT_GT(all_reports(name).size(), 0u);
    } catch (const Error& error) {
      EXPECT_GT(std::strlen(error.what()), 10u);
    }
  }
}

TEST(TraceSymbols, LinesOfAddr2line) {
  const std::vector<std::string> frames =
      frames_of("step\n/home/a/late.c:17 (discriminator 3)\n??\n??:0\nmain\n??:?\n", 3);
  EXPECT_EQ(frames, (std::vector<std::string>{"late.c:17(step)", "", "main"}));
  EXPECT_TRUE(frames_of("step\n", 1).empty());
  EXPECT_TRUE(frames_of("", 1).empty());
}

TEST_F(TraceRead, FramesOfMissingModulesStay) {
  std::vector<Rank> ranks = some_ranks();
  ranks[0].call("MPI_Barrier", "/nowhere/a.out+0x12;-e+0x13;b.c:1(f)", 20, 21);
  const std::unique_ptr<Trace> trace = open_trace({file(trace_test::file_bytes(ranks))});
  resolve_sites(trace.get());
  bool found = false;
  for (uint32_t i = 0; i < trace->names.sites.size(); ++i)
    found |= trace->names.sites.text(i) == "/nowhere/a.out+0x12;-e+0x13;b.c:1(f)";
  EXPECT_TRUE(found);
  trace->names.sites = Names();
  (void)trace->names.sites.number("/a/b/c.c:1(f);/d/e.c:2(main)");
  EXPECT_EQ(trace->site_name(0), "c.c:1(f)");
}

TEST_F(TraceRead, MembersOfTwoWorlds) {
  std::vector<Rank> ranks = some_ranks();
  ranks[0].comm(5, "mixed", "1,wff:3,0");
  const std::unique_ptr<Trace> trace = open_trace({file(trace_test::file_bytes(ranks))});
  const Comm comm = trace->processes[0].comms.at(5);
  EXPECT_EQ(trace->lists[comm.members].processes, (std::vector<uint32_t>{1, Trace::kUnknown, 0}));
  ranks[1].comm(6, "0123-ff", "0-1");
  const std::unique_ptr<Trace> hashed = open_trace({file(trace_test::file_bytes(ranks))});
  EXPECT_EQ(hashed->world_of_hash.at("ff"), "w");
}

TEST_F(TraceRead, LongRangesOfMembersEnd) {
  std::vector<Rank> ranks = some_ranks();
  ranks[0].comm(3, "many", "0-2147483647");
  ranks[0].comm(4, "odd", "5-1,,w,w:,-3,99999999999");
  const std::unique_ptr<Trace> trace = open_trace({file(trace_test::file_bytes(ranks))});
  ASSERT_EQ(trace->remarks.size(), 1u);
  EXPECT_NE(trace->remarks[0].find("too many members"), std::string::npos);
}

}  // namespace
}  // namespace tern::trace_tool
