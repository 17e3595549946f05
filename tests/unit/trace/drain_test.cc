// SPDX-License-Identifier: Apache-2.0
// Drain and TraceFile: whole blocks, lost records of an overrun ring, open calls of a killed
// process.
#include "trace/drain.hpp"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "trace/lines.hpp"

namespace tern::trace {
namespace {

std::string path_here() { return strf("drain_test.%d", ::getpid()); }

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The area of a process with a ring of 64 records.
struct FakeProcess {
  AreaSizes sizes = ring_sizes(1);
  std::unique_ptr<std::byte[]> memory{new std::byte[sizes.bytes()]()};
  Area area{memory.get(), sizes};
  FakeProcess() {
    area.head().pid = 7;
    area.head().threads = 1;
  }
  void write(int64_t time) {
    ThreadHead& head = area.thread(0);
    Record record{};
    record.begin = record.end = time;
    area.ring(0)[head.written % sizes.ring_records] = record;
    ++head.written;
  }
  void define(const std::string& text) {
    std::memcpy(area.definitions() + area.head().definitions, text.data(), text.size());
    area.head().definitions += text.size();
  }
};

struct Found {
  std::string lines;
  std::vector<Record> records;
  uint64_t lost = 0;
};

Found read(const std::string& path) {
  const std::string data = content(path);
  Found found;
  for (size_t at = sizeof(FileHead); at + sizeof(BlockHead) <= data.size();) {
    BlockHead head;
    std::memcpy(&head, data.data() + at, sizeof head);
    EXPECT_EQ(head.magic, kBlockMagic);
    EXPECT_EQ(head.bytes % 8, 0u);
    at += sizeof head;
    found.lost += head.lost;
    if (head.kind == BlockKind::kDefinitions) found.lines += data.substr(at, head.bytes);
    for (size_t i = 0; head.kind == BlockKind::kRecords && i < head.bytes; i += sizeof(Record)) {
      found.records.emplace_back();
      std::memcpy(&found.records.back(), data.data() + at + i, sizeof(Record));
    }
    at += head.bytes;
  }
  return found;
}

TEST(Drain, WritesDefinitionsAndRecordsOnce) {
  TraceFile file(path_here());
  FakeProcess process;
  Drain drain(file, process.area, {0, 3, 4, "host", "./a b"});
  process.define(line({"site", "1", "a\tb"}));
  process.write(10);
  EXPECT_EQ(drain.run(), 1u);
  EXPECT_EQ(drain.run(), 0u);
  process.write(11);
  drain.finish("finalised", false);
  drain.finish("again", false);
  const Found found = read(path_here());
  ::remove(path_here().c_str());
  ASSERT_EQ(found.records.size(), 2u);
  EXPECT_EQ(found.records[1].end, 11);
  EXPECT_NE(found.lines.find("process\t0\t3\t4\thost\t7\t./a b\n"), std::string::npos)
      << found.lines;
  EXPECT_NE(found.lines.find("site\t1\ta\\tb\n"), std::string::npos);
  EXPECT_NE(found.lines.find("end\t2\t0\tfinalised\t0\n"), std::string::npos);
  EXPECT_EQ(found.lines.find("again"), std::string::npos);
}

TEST(Drain, TakesPassingLinesAroundTheEndOfTheirMemory) {
  TraceFile file(path_here());
  FakeProcess process;
  Drain drain(file, process.area, {});
  AreaHead& head = process.area.head();
  std::string all;
  for (int i = 0; all.size() < kPassingBytes * 2; ++i) {
    const std::string text = line({"comm", std::to_string(i), std::string(999, 'k')});
    for (const char c : text) process.area.passing()[head.passing++ % kPassingBytes] = c;
    all += text;
    if (i % 100 == 0) drain.run();
  }
  head.lost_lines = 3;
  drain.finish("finalised", false);
  EXPECT_EQ(head.passed, head.passing);
  std::string lines = read(path_here()).lines;
  ::remove(path_here().c_str());
  EXPECT_NE(lines.find("end\t0\t0\tfinalised\t3\n"), std::string::npos);
  std::string found;
  for (const std::string& text : split(lines, '\n'))
    if (text.starts_with("comm")) found += text + "\n";
  EXPECT_EQ(found == all, true);
}

TEST(TraceFile, LeavesTheFileOfAnotherProcessAlone) {
  TraceFile first(path_here());
  TraceFile second(path_here());  // a lock is of the open file, also within a process
  const std::string own = strf("%s.%d", path_here().c_str(), ::getpid());
  EXPECT_EQ(second.take_complaint(),
            "the trace " + path_here() + " is in use by another process; this one writes " + own);
  EXPECT_EQ(first.take_complaint(), "");
  const Record record{};
  first.records(0, 0, 0, &record, 1);
  EXPECT_EQ(read(path_here()).records.size(), 1u);
  EXPECT_EQ(read(own).records.size(), 0u);
  ::remove(own.c_str());
  first = {};
  TraceFile third(path_here());
  EXPECT_EQ(read(path_here()).records.size(), 0u);
  ::remove(path_here().c_str());
}

TEST(Drain, AnOverrunRingLosesItsOldestRecords) {
  TraceFile file(path_here());
  FakeProcess process;
  Drain drain(file, process.area, {});
  for (int i = 0; i < 200; ++i) process.write(i);
  drain.finish("exit 1", false);
  const Found found = read(path_here());
  ::remove(path_here().c_str());
  // The place after the last written record may be in work, so its record counts as lost.
  ASSERT_EQ(found.records.size(), 63u);
  EXPECT_EQ(found.lost, 137u);
  EXPECT_EQ(found.records.front().end, 137);
  EXPECT_EQ(found.records.back().end, 199);
  EXPECT_NE(found.lines.find("end\t63\t137\texit 1\t0\n"), std::string::npos) << found.lines;
}

TEST(Drain, DrawsTheOpenCallOfAKilledProcess) {
  TraceFile file(path_here());
  FakeProcess process;
  Drain drain(file, process.area, {});
  process.area.thread(0).open.function = 9;
  process.area.thread(0).open.begin = 5;
  drain.finish("killed by signal 9", true);
  const Found found = read(path_here());
  ::remove(path_here().c_str());
  ASSERT_EQ(found.records.size(), 1u);
  EXPECT_EQ(found.records[0].function, 9);
  EXPECT_EQ(found.records[0].begin, 5);
  EXPECT_GT(found.records[0].end, 5);
  EXPECT_EQ(found.records[0].flags, kOpenAtEnd);
}

TEST(Drain, AProcessThatNeverRecordedLeavesNothing) {
  TraceFile file(path_here());
  FakeProcess process;
  process.area.head().pid = 0;
  Drain drain(file, process.area, {});
  EXPECT_EQ(drain.run(), 0u);
  drain.finish("exit 0", false);
  EXPECT_EQ(content(path_here()).size(), sizeof(FileHead));
  ::remove(path_here().c_str());
}

TEST(TraceFile, AFullDiskKeepsWholeBlocksAndComplainsOnce) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  TraceFile file(path_here());
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Record records[10] = {};
  for (int i = 0; i < 3; ++i) file.records(0, 0, 0, records, 10);
  const std::string complaint = file.take_complaint();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(complaint, "cannot write the trace " + path_here() +
                           ": File too large. The trace ends here, and the job goes on");
  EXPECT_EQ(file.take_complaint(), "");
  EXPECT_EQ(read(path_here()).records.size(), 10u);
  ::remove(path_here().c_str());
}

TEST(TraceFile, RefusesAPathThatCannotBeMade) { EXPECT_THROW(TraceFile("/none/file"), Error); }

}  // namespace
}  // namespace tern::trace
