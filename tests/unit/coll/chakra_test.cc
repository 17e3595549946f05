// SPDX-License-Identifier: Apache-2.0
// Traces of Chakra: nodes by hand, order, meetings of ranks, wrong and random files.
#include "coll/laboratory/simulate/chakra.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>

#include "base/error.hpp"
#include "tests/fuzz/chakra.hpp"

namespace tern::coll {
namespace {

std::string varint(uint64_t value) {
  std::string made;
  for (; value >= 0x80; value >>= 7) made += static_cast<char>(value | 0x80);
  return made + static_cast<char>(value);
}
std::string number_field(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string bytes_field(uint32_t field, const std::string& bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string attribute(const std::string& name, const std::string& value) {
  return bytes_field(10, bytes_field(1, name) + value);
}
std::string message(const std::string& bytes) { return varint(bytes.size()) + bytes; }

struct Node {
  uint64_t id, kind;
  std::vector<uint64_t> after{};
  uint64_t duration = 0;
  std::string attributes{};
};

std::string trace_of(const std::vector<Node>& nodes) {
  std::string made = message(bytes_field(1, "0.0.4"));
  for (const Node& node : nodes) {
    std::string one = number_field(1, node.id) + bytes_field(2, "n") + number_field(3, node.kind);
    std::string packed;
    for (const uint64_t id : node.after) packed += varint(id);
    if (!packed.empty()) one += bytes_field(5, packed);
    if (node.duration != 0) one += number_field(7, node.duration);
    made += message(one + node.attributes);
  }
  return made;
}

std::string call(uint64_t type, uint64_t bytes, const std::string& group = "") {
  return attribute("comm_type", number_field(9, type)) +
         attribute("comm_size", number_field(9, bytes)) +
         (group.empty() ? "" : attribute("pg_name", bytes_field(29, group)));
}
std::string letter(const char* way, uint64_t peer, uint64_t bytes, uint64_t tag = 0) {
  return attribute(way, number_field(7, peer)) + attribute("comm_size", number_field(13, bytes)) +
         attribute("comm_tag", number_field(7, tag));
}

Workload met(const std::vector<std::vector<Node>>& ranks, const NamedGroups& groups = {}) {
  std::vector<std::vector<EtNode>> read;
  for (const auto& nodes : ranks) read.push_back(read_et(trace_of(nodes), "t"));
  return workload_of(std::move(read), groups);
}

template <class Work>
void expect_fault(const Work& work, const std::string& fault) {
  try {
    work();
    ADD_FAILURE() << "accepted instead of: " << fault;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(fault), std::string::npos) << error.what();
  }
}

TEST(Chakra, NodesAreRead) {
  const auto found = read_et(trace_of({{7, 4, {}, 12},
                                       {9, 7, {7}, 0, call(0, 4096, "dp")},
                                       {10, 5, {9, 7}, 0, letter("comm_dst", 3, 8, 2)}}),
                             "t");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].duration, 12);
  EXPECT_EQ(found[1].kind, EtNode::Kind::kCollective);
  EXPECT_EQ(found[1].comm_size, 4096);
  EXPECT_EQ(found[1].group, "dp");
  EXPECT_EQ(found[2].after, (std::vector<uint64_t>{9, 7}));
  EXPECT_EQ(found[2].target, 3);
  EXPECT_EQ(found[2].tag, 2);
  EXPECT_TRUE(read_et(message(""), "t").empty());
}

// All types of numbers in attributes; dependencies one by one; unknown fields.
TEST(Chakra, TypesOfNumbers) {
  const auto fixed = [](uint32_t field, uint32_t wire, uint64_t value, size_t bytes) {
    std::string made = varint(field << 3 | wire);
    for (size_t i = 0; i < bytes; ++i) made += static_cast<char>(value >> (8 * i));
    return made;
  };
  for (const std::string& value :
       {fixed(3, 1, std::bit_cast<uint64_t>(64.0), 8),
        fixed(5, 5, std::bit_cast<uint32_t>(64.0F), 4), number_field(7, 64), number_field(9, 64),
        number_field(11, 64), number_field(13, 64), number_field(15, 128), number_field(17, 128),
        fixed(19, 5, 64, 4), fixed(21, 1, 64, 8), fixed(23, 5, 64, 4), fixed(25, 1, 64, 8)}) {
    const std::string node = number_field(4, 3) + number_field(4, 5) + number_field(99, 1) +
                             attribute("comm_size", bytes_field(2, "words") + value);
    const auto found = read_et(message("") + message(node), "t");
    EXPECT_EQ(found.at(0).comm_size, 64);
    EXPECT_EQ(found.at(0).after, (std::vector<uint64_t>{3, 5}));
  }
}

TEST(Chakra, ComputationPrecedesCalls) {
  const std::vector<Node> nodes = {{1, 4, {}, 10},
                                   {2, 7, {1}, 99, call(0, 1000)},
                                   {3, 4, {2}, 5},
                                   {4, 7, {3}, 0, call(2, 64)},
                                   {5, 7, {4}, 0, call(6, 64)}};
  const Workload found = met({nodes, nodes});
  ASSERT_EQ(found.calls.size(), 3U);
  EXPECT_EQ(found.calls[0].collective, Collective::kAllreduce);
  EXPECT_EQ(found.calls[0].bytes, 1000);
  EXPECT_EQ(found.calls[0].gap, 10);
  EXPECT_EQ(found.calls[1].bytes, 64);
  EXPECT_EQ(found.calls[1].gap, 5);
  EXPECT_EQ(found.calls[2].collective, Collective::kAlltoall);
  EXPECT_EQ(found.calls[2].bytes, 32);
  EXPECT_EQ(found.groups_of(found.calls[0]), (Groups{{0, 1}}));
}

// Dependencies decide, not the file's order; dropped nodes do not count.
TEST(Chakra, DependenciesOrder) {
  const std::vector<Node> nodes = {{1, 7, {2, 9}, 0, call(0, 1)}, {2, 7, {}, 0, call(9, 0)}};
  const Workload found = met({nodes, nodes});
  EXPECT_EQ(found.calls.at(0).collective, Collective::kBarrier);
  EXPECT_EQ(found.calls.at(1).collective, Collective::kAllreduce);
}

TEST(Chakra, GroupsCallAtOnce) {
  std::vector<std::vector<Node>> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.push_back({{1, 7, {}, 0, call(0, 100, r < 2 ? "low" : "high")},
                     {2, 7, {1}, 0, call(0, 100, r % 2 == 0 ? "even" : "odd")}});
  const Workload found =
      met(ranks, {{"low", {0, 1}}, {"high", {2, 3}}, {"even", {0, 2}}, {"odd", {1, 3}}});
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(found.groups_of(found.calls[0]), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(found.groups_of(found.calls[1]), (Groups{{0, 2}, {1, 3}}));
}

TEST(Chakra, MessagesAreBcastsOfTwo) {
  const Workload found = met(
      {{{1, 5, {}, 0, letter("comm_dst", 1, 64, 3)}, {2, 6, {1}, 0, letter("comm_src", 1, 8)}},
       {{1, 5, {}, 0, letter("comm_dst", 0, 8)}, {2, 6, {1}, 0, letter("comm_src", 0, 64, 3)}}});
  ASSERT_EQ(found.calls.size(), 2U);
  for (const WorkloadCall& one : found.calls) {
    EXPECT_EQ(one.collective, Collective::kBcast);
    EXPECT_EQ(found.groups_of(one), one.bytes == 64 ? (Groups{{0, 1}}) : (Groups{{1, 0}}));
  }
}

TEST(Chakra, WrongTracesAreSaid) {
  const auto read = [](const std::string& bytes) { (void)read_et(bytes, "t"); };
  expect_fault([&] { read(""); }, "empty");
  expect_fault([&] { read("\x1f\x8b\x08"); }, "compressed by gzip");
  expect_fault([&] { read("\x05zz"); }, "5 bytes are announced, but 2 follow");
  expect_fault([&] { read(std::string(11, '\xff')); }, "more than 64 bits");
  expect_fault([&] { read(message("") + message(varint(1 << 3 | 3))); }, "wire type 3");
  expect_fault([&] { read(message("") + message(varint(2))); }, "field's number is wrong");
  expect_fault([&] { read(message("") + message(bytes_field(1, "x"))); },
               "wire type 2 instead of 0");
  expect_fault([&] { read(message("") + message(number_field(3, 8))); }, "kind 8");
  expect_fault([&] { read(message("") + message(bytes_field(2, std::string(5000, 'x')))); },
               "a string of 5000 bytes");
  expect_fault(
      [&] {
        read(trace_of({{1, 7, {}, 0, attribute("comm_size", number_field(9, ~0ULL))}}));
      },
      "a comm_size of -1");
  expect_fault(
      [&] {
        read(trace_of({{1, 7, {}, 0, attribute("comm_type", bytes_field(29, "x"))}}));
      },
      "a number is needed");
}

TEST(Chakra, ComputationBeforeAGroupOfOneIsKept) {
  const NamedGroups groups = {{"a", {0}}, {"b", {1}}};
  const auto nodes = [](const char* own) {
    return std::vector<Node>{
        {1, 4, {}, 100}, {2, 7, {1}, 0, call(0, 1024, own)}, {3, 7, {2}, 0, call(0, 2048)}};
  };
  const Workload found = met({nodes("a"), nodes("b")}, groups);
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].bytes, 2048);
  EXPECT_EQ(found.calls[0].gap, 100);
}

TEST(Chakra, ComputationBeforeASendPrecedesTheMessage) {
  const Workload found = met({{{1, 4, {}, 50}, {2, 5, {1}, 0, letter("comm_dst", 1, 9)}},
                              {{1, 6, {}, 0, letter("comm_src", 0, 9)}}},
                             {});
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].gap, 50);
}

TEST(Chakra, DependenciesAreLimited) {
  const std::string packed(kMostEtDependencies + 1, '\1');
  expect_fault([&] { (void)read_et(message("") + message(bytes_field(5, packed)), "t"); },
               "dependencies");
}

TEST(Chakra, WrongMeetingsAreSaid) {
  const std::vector<Node> one = {{1, 7, {}, 0, call(0, 100)}};
  const NamedGroups groups = {{"both", {0, 1}}, {"far", {0, 7}}, {"other", {1}}};
  const auto fault = [&](const std::vector<std::vector<Node>>& ranks, const std::string& words) {
    expect_fault([&] { (void)met(ranks, groups); }, words);
  };
  fault({one, {}}, "rank 0, node 1 (n): never meets");
  fault({one, {{1, 7, {}, 0, call(0, 200)}}}, "with 200 bytes meets rank 0's");
  fault({one, {{1, 7, {}, 0, call(2, 100)}}}, "type 2");
  fault({one, {{1, 7, {}, 0, call(10, 100)}}}, "comm_type 10");
  fault({{{1, 7, {}, 0, call(0, 1, "none")}}, {}}, "the group \"none\" is unknown");
  fault({{{1, 7, {}, 0, call(0, 1, "far")}}, {}}, "a rank without a trace");
  fault({{{1, 7, {}, 0, call(0, 1, "other")}}, {}}, "the rank is not in the group");
  fault({{{1, 4, {2}}, {2, 4, {1}}}, {}}, "node 1 is in or behind a cycle");
  fault({{{1, 4}, {1, 4}}, {}}, "node 1 is there twice");
  fault({{{1, 5, {}, 0, letter("comm_dst", 2, 1)}}, {}}, "a message with rank 2 of 2");
  fault({{{1, 6, {}, 0, letter("comm_src", 1, 1)}}, {}}, "never meets");
}

TEST(Chakra, GroupsAreRead) {
  EXPECT_EQ(parse_named_groups(" { \"a\" : [ 0 , 2 ] ,\n\"b\":[1]} ", "g"),
            (NamedGroups{{"a", {0, 2}}, {"b", {1}}}));
  EXPECT_TRUE(parse_named_groups("{}", "g").empty());
  for (const char* wrong :
       {"", "{", "[]", "{\"a\":[]}", "{\"a\":[0,0]}", "{\"a\":[-1]}", "{\"a\":[1.5]}", "{\"a\":[1]",
        "{\"a\":[1]}}", "{\"a\\n\":[1]}", "{\"a\":[1],\"a\":[2]}", "{\"a\":[1],}", "{\"a:[1]}",
        "{\"a\":[9999999]}"})
    EXPECT_THROW((void)parse_named_groups(wrong, "g"), Error) << wrong;
}

TEST(Chakra, FilesOfARankEach) {
  std::string folder = "/tmp/tern-chakra-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::vector<Node> nodes = {{1, 7, {}, 0, call(0, 8, "g")}};
  for (int r = 0; r < 3; ++r)
    std::ofstream(folder + "/t." + std::to_string(r) + ".et") << trace_of(nodes);
  std::ofstream(folder + "/groups") << "{\"g\": [0, 1, 2]}";
  const Workload found = load_chakra(folder + "/t.0.et", folder + "/groups");
  EXPECT_EQ(found.groups_of(found.calls.at(0)), (Groups{{0, 1, 2}}));
  expect_fault([&] { (void)load_chakra(folder + "/t.0.et", ""); }, folder + "/t.*.et: rank 0");
  EXPECT_THROW((void)load_chakra(folder + "/t.1.et", ""), Error);
  EXPECT_THROW((void)load_chakra(folder + "/u.0.et", ""), Error);
  for (const char* name : {"/t.0.et", "/t.1.et", "/t.2.et", "/groups"})
    (void)::unlink((folder + name).c_str());
  (void)::rmdir(folder.c_str());
}

TEST(Chakra, DamagedTraces) {
  std::minstd_rand random(11);
  const std::string traces[] = {trace_of({{1, 4, {}, 10},
                                          {2, 7, {1}, 0, call(0, 1000, "pair")},
                                          {3, 7, {2}, 0, call(2, 64)},
                                          {4, 5, {}, 0, letter("comm_dst", 1, 9)}}),
                                trace_of({{1, 7, {}, 0, call(0, 1000, "pair")},
                                          {2, 7, {}, 0, call(2, 64)},
                                          {3, 6, {1}, 0, letter("comm_src", 0, 9)}})};
  for (int i = 0; i < 20000; ++i) {
    std::string input;
    for (const std::string& trace : traces) {
      input += static_cast<char>(trace.size());
      input += static_cast<char>(trace.size() >> 8);
    }
    input += traces[0] + traces[1] + "{\"pair\":[0,1]}";
    for (auto n = random() % 6; n > 0; --n)
      input[random() % input.size()] = static_cast<char>(random() % 256);
    fuzz::drive_chakra(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace tern::coll
