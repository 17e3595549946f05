// SPDX-License-Identifier: Apache-2.0
// Parameters from the environment: units, ranges, errors.
#include "base/params.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace tern {
namespace {

struct Read {
  Params params;
  std::vector<std::string> complaints;
};

Read read(const std::vector<const char*>& lines) {
  std::vector<const char*> environment = lines;
  environment.push_back(nullptr);
  Read result;
  result.params = Params::from(environment.data(), &result.complaints);
  return result;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Params, UnitsOfSizesAndTimes) {
  const Read got = read({"TERN_EAGER_LIMIT=16k", "TERN_SPIN=2ms", "TERN_CHECK=0", "HOME=/root"});
  EXPECT_TRUE(got.complaints.empty());
  EXPECT_EQ(got.params.eager_limit, 16384);
  EXPECT_EQ(got.params.spin, 2000);
  EXPECT_EQ(got.params.check, "0");
  EXPECT_FALSE(got.params.checks("types"));
}

TEST(Params, AWrongValueIsNamedAndLeavesTheOthersAlone) {
  const Read got =
      read({"TERN_SPIN=soon", "TERN_EXPLAIN=1", "TERN_CHECK=maybe", "TERN_TEST=sm_ring=1"});
  ASSERT_EQ(got.complaints.size(), 3U);
  EXPECT_TRUE(has(got.complaints[0], "TERN_SPIN is \"soon\"")) << got.complaints[0];
  EXPECT_TRUE(has(got.complaints[0], "its default, 0, is used")) << got.complaints[0];
  EXPECT_TRUE(has(got.complaints[1], "TERN_CHECK is \"maybe\"")) << got.complaints[1];
  EXPECT_TRUE(has(got.complaints[2], "between 4096 and 1048576")) << got.complaints[2];
  EXPECT_EQ(got.params.explain, "1");
  EXPECT_EQ(got.params.check, "1");
  EXPECT_EQ(got.params.sm_ring_bytes, Params().sm_ring_bytes);
}

TEST(Params, AnUnknownNameGetsTheNearestOrTheWholeList) {
  const Read got = read({"TERN_CHEK=0", "TERN_QUICKSTEP=fine", "TERN_CC=clang"});
  ASSERT_EQ(got.complaints.size(), 2U);
  EXPECT_TRUE(has(got.complaints[0], "did you mean TERN_CHECK?")) << got.complaints[0];
  for (const ParamRow& row : Params::rows())
    EXPECT_TRUE(has(got.complaints[1], row.name)) << got.complaints[1];
}

TEST(Params, SetAndGetByName) {
  Params params;
  params.set("TERN_TEST.sm_fragments", "4");
  EXPECT_EQ(params.get("TERN_TEST.sm_fragments"), "4");
  EXPECT_THROW(params.set("TERN_TEST.sm_fragments", "4 chickens"), Error);
  EXPECT_THROW(params.set("TERN_TEST.sm_fragments", ""), Error);
  EXPECT_THROW(params.set("TERN_SM_FRAGMENT_COUNT_OF_ALL", "4"), Error);
  EXPECT_THROW((void)params.get("NOTHING"), Error);
}

uint32_t hash_with(const std::string& name, const std::string& value) {
  Params params;
  params.set(name, value);
  return params.shared_hash();
}

TEST(Params, AGroupSetsItsParts) {
  const Read got = read({"TERN_COLL=allreduce=ring,neighbor_alltoall=linear,bcast=chain",
                         "TERN_TEST=rma=copied,cuda_kernels=/a,b,sm_ring=8k"});
  EXPECT_TRUE(got.complaints.empty());
  EXPECT_EQ(got.params.coll_allreduce, "ring");
  EXPECT_EQ(got.params.coll, "bcast=chain,neighbor_alltoall=linear,allreduce=ring");
  EXPECT_EQ(got.params.get("TERN_COLL"), got.params.coll);
  EXPECT_EQ(got.params.get("TERN_COLL.bcast"), "chain");
  EXPECT_EQ(got.params.source("TERN_COLL"), "environment");
  EXPECT_EQ(got.params.rma, WindowAccess::kCopied);
  EXPECT_EQ(got.params.cuda_kernels, "/a,b");
  EXPECT_EQ(got.params.sm_ring_bytes, 8192);
}

TEST(Params, SourcesOfAGroupAddUp) {
  Params params;
  params.take_file("coll = allreduce=ring,bcast=chain\n", "conf", nullptr);
  const char* const environment[] = {"TERN_COLL=bcast=auto,reduce=linear", nullptr};
  params.take_environment(environment, nullptr);
  EXPECT_EQ(params.coll, "reduce=linear,allreduce=ring");
  EXPECT_EQ(params.source("TERN_COLL.allreduce"), "conf:1");
}

TEST(Params, AWrongPartIsNamedAndLeavesTheOthersAlone) {
  const Read got = read({"TERN_COLL=allreduce=rinng,bcast=chain,redcue=linear", "TERN_TEST=rma"});
  ASSERT_EQ(got.complaints.size(), 3U);
  EXPECT_TRUE(has(got.complaints[0], "allreduce in TERN_COLL is \"rinng\", but it must be one of"))
      << got.complaints[0];
  EXPECT_TRUE(has(got.complaints[0], "; did you mean ring?; its default, auto, is used"))
      << got.complaints[0];
  EXPECT_EQ(got.complaints[1], "TERN_COLL has no part \"redcue\"; did you mean reduce?");
  EXPECT_EQ(
      got.complaints[2],
      "TERN_TEST is \"rma\", but it must be NAME=VALUE pairs with commas, such as rma=copied");
  EXPECT_EQ(got.params.coll, "bcast=chain");
}

TEST(Params, AnOldNameIsAcceptedWithARemark) {
  const Read got = read({"TERN_ALLREDUCE=ring", "TERN_GPU_PATIENCE=2s", "TERN_SM_RING=8k"});
  ASSERT_EQ(got.complaints.size(), 3U);
  EXPECT_EQ(got.complaints[0],
            "TERN_ALLREDUCE is an old name, which the next release refuses; set "
            "TERN_COLL=\"allreduce=ring\"");
  EXPECT_EQ(got.complaints[1],
            "TERN_GPU_PATIENCE is an old name, which the next release refuses; set "
            "TERN_GPU_TIMEOUT=2s");
  EXPECT_EQ(got.complaints[2],
            "TERN_SM_RING is an old name, which the next release refuses; set "
            "TERN_TEST=\"sm_ring=8k\" (for tests only)");
  EXPECT_EQ(got.params.coll, "allreduce=ring");
  EXPECT_EQ(got.params.gpu_timeout, 2000000);
  EXPECT_EQ(got.params.sm_ring_bytes, 8192);
  Params params;
  params.set("TERN_BCAST", "chain");
  EXPECT_EQ(params.coll, "bcast=chain");
  EXPECT_TRUE(has(read({"TERN_ALLREDUCE=rign"}).complaints.at(0), "allreduce in TERN_COLL is"));
}

TEST(Params, APresentNameOverridesAnOldOneInAnyOrder) {
  for (const std::vector<const char*>& lines :
       {std::vector<const char*>{"TERN_COLL=allreduce=tree", "TERN_ALLREDUCE=ring"},
        std::vector<const char*>{"TERN_ALLREDUCE=ring", "TERN_COLL=allreduce=tree"}})
    EXPECT_EQ(read(lines).params.coll, "allreduce=tree");
}

TEST(Params, AFilesOldNameIsShownAsALineOfAFile) {
  std::vector<std::string> complaints;
  Params().take_file("bcast = chain\n", "conf", &complaints);
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_TRUE(has(complaints[0], "set TERN_COLL = bcast=chain")) << complaints[0];
}

TEST(Params, AGroupWithoutPartsHasNoDefaultInTheComplaint) {
  const Read got = read({"TERN_COLL=ring"});
  ASSERT_EQ(got.complaints.size(), 1U);
  EXPECT_FALSE(has(got.complaints[0], "is used")) << got.complaints[0];
  EXPECT_EQ(read({"TERN_COLL="}).params.source("TERN_COLL"), "default");
}

TEST(Params, NeighborAlgorithmsMayDiffer) {
  EXPECT_EQ(hash_with("TERN_COLL", "neighbor_alltoall=linear"), Params().shared_hash());
  EXPECT_NE(hash_with("TERN_COLL", "allreduce=ring"), Params().shared_hash());
}

TEST(Params, RowsAreForUsers) {
  const std::vector<ParamRow> rows = Params::rows();
  EXPECT_EQ(rows.size(), 46U);  // 25, three of the topology, two of measured collectives, five of
                                // files, seven of networks, three of profile and trace
  for (const ParamRow& row : rows) {
    EXPECT_EQ(std::string(row.name).find('.'), std::string::npos) << row.name;
    EXPECT_NE(std::string(row.meaning), "") << row.name;
  }
}

TEST(Params, WordsAreOneOrSomeOfThoseInTheTable) {
  Params params;
  params.set("TERN_CHECK", "types,leaks");
  EXPECT_TRUE(params.checks("types"));
  params.set("TERN_CHECK", "all");
  EXPECT_TRUE(params.checks("leaks"));
  params.set("TERN_EXPLAIN", "json:/tmp/a,b");
  EXPECT_EQ(params.explain, "json:/tmp/a,b");
  params.set("TERN_HANG", "2min");
  EXPECT_EQ(params.hang, 120000000);
  EXPECT_EQ(params.get("TERN_HANG"), "120");
  params.set("TERN_HANG", "1500ms");
  EXPECT_EQ(params.get("TERN_HANG"), "1500ms");
  params.set("TERN_TRACE", "a,b");
  EXPECT_EQ(params.trace, "a,b");
  params.set("TERN_TRACE_BUFFER", "64k");
  EXPECT_EQ(params.trace_buffer, 65536);
  EXPECT_THROW(params.set("TERN_TRACE_BUFFER", "1k"), Error);
  for (const char* wrong : {"", "types,", "types leaks", "Types"})
    EXPECT_THROW(params.set("TERN_CHECK", wrong), Error) << wrong;
  for (const char* wrong : {"json:", "2", "0,1"})
    EXPECT_THROW(params.set("TERN_EXPLAIN", wrong), Error) << wrong;
  try {
    params.set("TERN_SM_SINGLE_COPY", "triple");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "TERN_SM_SINGLE_COPY is \"triple\", but it must be one of auto, pipeline, pull, both");
  }
}

template <class Value>
void expect_words(const std::string& name, Value Params::*field,
                  const std::vector<std::pair<const char*, Value>>& all) {
  Params params;
  std::string words;
  for (const auto& [word, value] : all) {
    params.set(name, word);
    EXPECT_EQ(params.*field, value) << name << " " << word;
    EXPECT_EQ(params.get(name), word);
    words += (words.empty() ? "" : "|") + std::string(word);
  }
  for (const ParamRow& row : Params::rows())
    if (row.name == name) {
      EXPECT_EQ(row.range.words, words);
    }
}

TEST(Params, AWordOfAnEnumIsTheValueOfItsPlace) {
  expect_words<SingleCopy>("TERN_SM_SINGLE_COPY", &Params::sm_single_copy,
                           {{"auto", SingleCopy::kAuto},
                            {"pipeline", SingleCopy::kPipeline},
                            {"pull", SingleCopy::kPull},
                            {"both", SingleCopy::kBoth}});
  expect_words<SharedReduction>(
      "TERN_TEST.cuda_reduce", &Params::cuda_reduce,
      {{"slices", SharedReduction::kSlices}, {"leader", SharedReduction::kLeader}});
  expect_words<DescriptorWay>("TERN_TEST.cuda_ipc_descriptors", &Params::cuda_ipc_descriptors,
                              {{"auto", DescriptorWay::kAuto},
                               {"pidfd", DescriptorWay::kPidfd},
                               {"socket", DescriptorWay::kSocket}});
  expect_words<GpuEngine>("TERN_GPU_ENGINE", &Params::gpu_engine,
                          {{"auto", GpuEngine::kAuto},
                           {"stream", GpuEngine::kStream},
                           {"kernel", GpuEngine::kKernel},
                           {"host", GpuEngine::kHost}});
  expect_words<Wire>("TERN_GPU_WIRE", &Params::gpu_wire,
                     {{"auto", Wire::kAuto},
                      {"simple", Wire::kSimple},
                      {"ll", Wire::kLl},
                      {"ll128", Wire::kLl128},
                      {"bulk", Wire::kBulk},
                      {"multimem", Wire::kMultimem}});
  expect_words<GpuMulticast>("TERN_TEST.gpu_multicast", &Params::gpu_multicast,
                             {{"auto", GpuMulticast::kAuto}, {"off", GpuMulticast::kOff}});
  expect_words<ProgressBy>("TERN_PROGRESS", &Params::progress,
                           {{"auto", ProgressBy::kAuto},
                            {"calls", ProgressBy::kCalls},
                            {"thread", ProgressBy::kThread}});
  expect_words<WindowAccess>("TERN_TEST.rma", &Params::rma,
                             {{"auto", WindowAccess::kAuto},
                              {"copied", WindowAccess::kCopied},
                              {"messages", WindowAccess::kMessages},
                              {"network", WindowAccess::kNetwork}});
  expect_words<InitialHandler>("TERN_INITIAL_ERRHANDLER", &Params::initial_errhandler,
                               {{"mpi_errors_are_fatal", InitialHandler::kFatal},
                                {"mpi_errors_abort", InitialHandler::kAbort},
                                {"mpi_errors_return", InitialHandler::kReturn}});
}

std::vector<std::string> values_of(const ParamRow& row) {
  if (row.is_number()) {
    const char* unit = std::string(row.kind) == "Seconds" ? "ms" : "";
    return {std::to_string(row.range.least) + unit, std::to_string(row.range.least + 1) + unit};
  }
  if (std::string(row.kind) == "NumberOr")
    return {std::to_string(row.range.least), std::to_string(row.range.most)};
  if (std::string(row.name) == "TERN_COLL") return {"allreduce=ring", "bcast=chain"};
  if (row.range.words == nullptr) return {"some", "other"};
  const std::string words = row.range.words;
  const size_t first = words.find('|');
  return {words.substr(0, first), words.substr(first + 1, words.find('|', first + 1) - first - 1)};
}

TEST(Params, WhatIsSharedCountsInTheHashAndNothingElseDoes) {
  const uint32_t plain = Params().shared_hash();
  std::vector<uint32_t> hashes{plain};
  for (const ParamRow& row : Params::rows()) {
    if (row.sharing.words != nullptr) continue;
    for (const std::string& value : values_of(row)) {
      Params params;
      params.set(row.name, value);
      const bool is_shared = row.sharing.shared || std::string(row.name) == "TERN_COLL";
      const bool counts = is_shared && params.get(row.name) != row.standard;
      if (counts) {
        EXPECT_EQ(std::count(hashes.begin(), hashes.end(), params.shared_hash()), 0) << row.name;
        hashes.push_back(params.shared_hash());
      } else {
        EXPECT_EQ(params.shared_hash(), plain) << row.name << " " << value;
      }
    }
  }
  EXPECT_GT(hashes.size(), 12U);
}

TEST(Params, OfOneParameterOnlySomeWordsAreShared) {
  const uint32_t plain = Params().shared_hash();
  for (const char* value : {"0", "leaks", "1,leaks"})
    EXPECT_EQ(hash_with("TERN_CHECK", value), plain) << value;
  const uint32_t types = hash_with("TERN_CHECK", "types"), all = hash_with("TERN_CHECK", "all");
  EXPECT_NE(types, plain);
  EXPECT_NE(all, types);
  EXPECT_EQ(hash_with("TERN_CHECK", "leaks,types"), types);
  EXPECT_EQ(hash_with("TERN_CHECK", "rma,collective,files,types"), all);
}

TEST(Params, WhatIsSharedIsNamedWithWhatIsSetHere) {
  Params params;
  EXPECT_TRUE(has(params.shared_in_words(),
                  "TERN_CHECK, TERN_FT, TERN_TRANSPORT, TERN_OFI_PROVIDER, TERN_NET_RAILS, "
                  "TERN_NET_CONNECTIONS, TERN_NET_PKEY, TERN_COLL_TABLE, "
                  "TERN_COLL_LEVELS, TERN_FOREST, TERN_COLL_TUNE, TERN_GPU_ENGINE, TERN_GPU_WIRE, "
                  "TERN_GPU_SCRATCH, TERN_GPU_BLOCKS, TERN_IO, TERN_IO_BUFFER, "
                  "TERN_IO_DIRECT_STORAGE, TERN_COLL"))
      << params.shared_in_words();
  EXPECT_TRUE(has(params.shared_in_words(), "; none is set on this rank"));
  EXPECT_FALSE(has(params.shared_in_words(), "TERN_SPIN"));
  params.set("TERN_SPIN", "5");
  params.set("TERN_COLL.bcast", "chain");
  params.set("TERN_CHECK", "leaks,types");
  EXPECT_TRUE(
      has(params.shared_in_words(), "; on this rank TERN_CHECK=types, TERN_COLL=\"bcast=chain\""))
      << params.shared_in_words();
  EXPECT_EQ(Params::rows().front().sharing_in_words(),
            "types, collective, rma and files must be equal on all ranks");
}

TEST(Params, TheWordsOfAlgorithmsAreThoseOfTheirTable) {
  EXPECT_EQ(std::string(algorithm_words("neighbor_alltoall")), "auto|linear");
  EXPECT_EQ(algorithm_words("alltoal"), nullptr);
  for (const ParamRow& row : Params::rows()) {
    const bool has_words = !row.is_number() && std::string(row.kind) != "Text";
    EXPECT_EQ(row.range.words != nullptr, has_words) << row.name;
  }
  Params params;
  params.set("TERN_COLL.reduce", "double_tree");
  EXPECT_EQ(params.get("TERN_COLL.reduce"), "double_tree");
  try {
    params.set("TERN_COLL.reduce", "double_treee");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "; did you mean double_tree?")) << error.what();
  }
}

TEST(Params, NumbersOrWords) {
  Params params;
  EXPECT_EQ(params.get("TERN_NET_PKEY"), "auto");
  EXPECT_EQ(params.net_pkey, -1);
  params.set("TERN_NET_PKEY", "0x8001");
  EXPECT_EQ(params.net_pkey, 0x8001);
  EXPECT_EQ(params.get("TERN_NET_PKEY"), "0x8001");
  params.set("TERN_NET_GID", "3");
  EXPECT_EQ(params.net_gid, 3);
  EXPECT_EQ(params.get("TERN_NET_GID"), "3");
  params.set("TERN_NET_GID", "auto");
  EXPECT_EQ(params.net_gid, -1);
  params.set("TERN_NET_TRAFFIC_CLASS", "low-latency");
  EXPECT_EQ(params.net_traffic_class, -3);
  EXPECT_EQ(params.get("TERN_NET_TRAFFIC_CLASS"), "low-latency");
  for (const char* wrong : {"", "-1", "256", "0x", "0x100", "3 ", "3k", "Auto", "1e1"})
    EXPECT_THROW(params.set("TERN_NET_GID", wrong), Error) << wrong;
  for (const char* wrong : {"0", "0x10000", "ffff"})
    EXPECT_THROW(params.set("TERN_NET_PKEY", wrong), Error) << wrong;
  try {
    params.set("TERN_NET_TRAFFIC_CLASS", "low_latency");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "TERN_NET_TRAFFIC_CLASS is \"low_latency\", but it must be between 0 and 255, or one "
              "of auto, best-effort, low-latency, dedicated-access, bulk-data; did you mean "
              "low-latency?");
  }
  try {
    params.set("TERN_NET_GID", "300");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "TERN_NET_GID is \"300\", but it must be between 0 and 255, or auto");
  }
  EXPECT_NE(hash_with("TERN_NET_PKEY", "0x8001"), Params().shared_hash());
  EXPECT_EQ(hash_with("TERN_NET_PKEY", "0x8001"), hash_with("TERN_NET_PKEY", "32769"));
}

TEST(Params, NumbersThatAreNone) {
  EXPECT_EQ(parse_size("1GiB", "x"), int64_t{1} << 30);
  for (const char* text :
       {"", "k", "1 k", "99999999999999999999", "9999999999g", "1.5", "1..5m", "1.5.m"})
    EXPECT_THROW((void)parse_size(text, "x"), Error) << text;
  EXPECT_EQ(parse_size("1.5m", "x"), 3 << 19);
  EXPECT_EQ(parse_time_us("0.25ms", "x"), 250);
  EXPECT_THROW((void)parse_time_us("1h", "x"), Error);
}

}  // namespace
}  // namespace tern
