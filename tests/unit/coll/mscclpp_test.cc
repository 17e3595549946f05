// SPDX-License-Identifier: Apache-2.0
// Plans of MSCCL++: each operation has its meaning, each fault of a file is named with its place,
// mutated files are refused or proved.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/exchange/json.hpp"
#include "coll/exchange/mscclpp_read.hpp"
#include "coll/exchange/read_plan.hpp"

namespace tern::coll {
namespace {

template <typename Call>
std::string fault_in(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

std::string json_fault(const std::string& text) {
  return fault_in([&] { (void)parse_json(text, "f"); });
}

std::string plan_fault(const std::string& text) {
  return fault_in([&] { (void)read_mscclpp(text, "f"); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Json, ReadsAllKinds) {
  const Json json = parse_json(
      "\xEF\xBB\xBF {\"a\": [1, -2.5e3, \"x\\n\\\"\\u0041\\u20ac\"],\n"
      "\"b\": {}, \"c\": [], \"d\": true, \"e\": false, \"f\": null } ",
      "f");
  const JsonValues values("f");
  const std::vector<Json>& list = values.list(json, "a");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(values.number(list[0], "a", 1, 1), 1);
  EXPECT_EQ(list[1].text, "-2.5e3");
  EXPECT_EQ(list[2].text, "x\n\"A?");
  EXPECT_EQ(values.need(json, "b").line, 2);
  EXPECT_TRUE(values.any_list(json, "c").empty());
  EXPECT_TRUE(values.any_list(json, "z").empty());
  EXPECT_EQ(values.need(json, "d").kind, Json::Kind::kTrue);
  EXPECT_EQ(values.need(json, "e").kind, Json::Kind::kFalse);
  EXPECT_EQ(values.need(json, "f").kind, Json::Kind::kNull);
}

TEST(Json, NamesEachFault) {
  const std::string deep(100, '[');
  std::string names = "{\"n\":1";
  for (int i = 0; i < 80; ++i) names += ",\"n" + std::to_string(i) + "\":1";
  std::string values = "[0";
  for (size_t i = 0; i < Json::kMostValues; ++i) values += ",0";
  const struct {
    std::string text;
    const char* words;
  } kWrong[] = {
      {"", "f:1: \"\" is no value"},
      {"{", "a name in quotes is missing"},
      {"{\"a\" 1}", "a : is missing behind a name"},
      {"{\"a\":1", "a } is missing at the end of an object"},
      {"[1 2]", "a ] is missing at the end of a list"},
      {"[1,]", "\"\" is no value of JSON"},
      {"{\"a\":1,\n\"a\":2}", "f:2: the name \"a\" comes twice"},
      {"\"abc", "a string does not end"},
      {"\"a\nb\"", "a string does not end on its line"},
      {"\"\\x\"", "a string has an unknown escape"},
      {"\"\\u12", "a string has an unknown escape"},
      {"[nan]", "\"nan\" is no value"},
      {"[+1]", "\"+1\" is no value"},
      {"[1e999]", "\"1e999\" is no value"},
      {"[1] 2", "something follows the end"},
      {deep, "nest deeper than 64"},
      {"\"" + std::string(5000, 'a') + "\"", "more than 4096 characters"},
      {"[" + std::string(5000, '1') + "]", "a word of 5000 characters"},
      {names + "}", "an object has more than 64 names"},
      {values + "]", "more than 1048576 values"},
  };
  for (const auto& wrong : kWrong)
    EXPECT_NE(json_fault(wrong.text).find(wrong.words), std::string::npos)
        << wrong.words << " / " << json_fault(wrong.text);
}

std::string head(const std::string& collective, const std::string& gpus, bool in_place = true) {
  return R"({"name":"p","collective":")" + collective + R"(","protocol":"Simple","inplace":)" +
         (in_place ? "true" : "false") + R"(,"min_message_size":8,)" +
         R"("max_message_size":18446744073709551615,"gpus":[)" + gpus + "]}";
}

std::string gpu(int id, int input, int output, int scratch, const std::string& rest) {
  return strf("{\"id\":%d,\"input_chunks\":%d,\"output_chunks\":%d,\"scratch_chunks\":%d,", id,
              input, output, scratch) +
         rest + "}";
}

// Ends of one channel, and the buffer of the other GPU.
std::string joined_to(int other, const char* buffer) {
  return strf(
      "\"channels\":[{\"channel_type\":\"memory\",\"connected_to\":[%d]}],"
      "\"remote_buffers\":[{\"rank\":%d,\"type\":\"%s\"}],",
      other, other, buffer);
}

std::string block(int id, const std::string& operations) {
  return strf(
             "{\"id\":%d,\"channels\":[{\"channel_type\":\"memory\",\"channel_ids\":[0]}],"
             "\"remote_buffer_refs\":[{\"access_channel_type\":\"memory\",\"remote_buffer_ids\":"
             "[0]}],\"ops\":[",
             id) +
         operations + "]}";
}

std::string blocks(const std::string& all) { return "\"threadblocks\":[" + all + "]"; }

std::string own(const char* buffer, int at, int count = 1) {
  return strf("{\"type\":\"%s\",\"index\":%d,\"size\":%d}", buffer, at, count);
}
std::string far(int at, int count = 1) {
  return strf("{\"buffer_id\":0,\"index\":%d,\"size\":%d}", at, count);
}
std::string op(const char* name, const std::string& sources, const std::string& destinations,
               const std::string& rest = "") {
  return strf("{\"name\":\"%s\",\"channel_type\":\"memory\",\"src_buff\":[", name) + sources +
         "],\"dst_buff\":[" + destinations + "]" + rest + "}";
}
std::string sync(const char* name) {
  return strf("{\"name\":\"%s\",\"channel_type\":\"memory\",\"channel_ids\":[0]}", name);
}

// Each GPU sums one half in the other's memory, too.
std::string pair_of_reads() {
  std::string gpus;
  for (int id = 0; id < 2; ++id)
    gpus += (id > 0 ? "," : "") +
            gpu(id, 2, 2, 0,
                joined_to(1 - id, "i") +
                    blocks(block(0, sync("rlxsignal") + "," + sync("rlxwait") + "," +
                                        op("rres", own("i", id) + "," + far(id),
                                           own("i", id) + "," + far(id)) +
                                        "," + sync("signal") + "," + sync("wait"))));
  return head("allreduce", gpus);
}

TEST(Mscclpp, ReadsAndWritesOfTheOtherGpu) {
  const std::shared_ptr<const FilePlan> plan = read_plan(pair_of_reads(), "f");
  EXPECT_EQ(plan->collective, Collective::kAllreduce);
  EXPECT_EQ(plan->name, "p");
  EXPECT_EQ(plan->ranks(), 2);
  EXPECT_EQ(plan->parts, 2);
  EXPECT_EQ(plan->least_bytes, 8);
  EXPECT_EQ(plan->most_bytes, -1);
}

// Without signals at all, the packets order the operations; the last is first in the file.
std::string pair_of_packets() {
  std::string gpus;
  for (int id = 0; id < 2; ++id)
    gpus += (id > 0 ? "," : "") +
            gpu(id, 2, 2, 2,
                joined_to(1 - id, "s") +
                    blocks(block(0, op("upkt", own("s", 1), own("i", 1 - id))) + "," +
                           block(1, op("respkt", own("i", id) + "," + own("s", 0),
                                       own("i", id) + "," + far(1))) +
                           "," + block(2, op("ppkt", own("i", 1 - id), far(0)))));
  return head("allreduce", gpus);
}

TEST(Mscclpp, PacketsOrderOperations) { EXPECT_EQ(plan_fault(pair_of_packets()), "nothing"); }

TEST(Mscclpp, BarriersOrderThreadBlocks) {
  const std::string meet = R"({"name":"barrier","barrier_id":3,"num_threadblocks":2})";
  std::string gpus;
  for (int id = 0; id < 2; ++id)
    gpus += (id > 0 ? "," : "") +
            gpu(id, 2, 2, 2,
                joined_to(1 - id, "s") +
                    blocks(block(0, meet + "," +
                                        op("re", own("i", 0, 2) + "," + own("s", 0, 2),
                                           own("i", 0, 2))) +
                           "," +
                           block(1, op("put", own("i", 0, 2), far(0, 2)) + "," + sync("signal") +
                                        "," + sync("wait") + "," + meet)));
  EXPECT_EQ(plan_fault(head("allreduce", gpus)), "nothing");
  EXPECT_NE(plan_fault(replaced(head("allreduce", gpus), "\"num_threadblocks\":2",
                                "\"num_threadblocks\":3"))
                .find("f: GPU 0, thread block 0, operation 0 (line 1): barrier: barrier 3 is for 3 "
                      "thread blocks, but 2 use it"),
            std::string::npos);
}

// Two thread blocks move half of a chunk each.
TEST(Mscclpp, ThreadBlocksShareOperations) {
  std::string gpus;
  for (int id = 0; id < 2; ++id) {
    std::string all;
    for (int share = 0; share < 2; ++share)
      all += (share > 0 ? "," : "") +
             block(share, op("put", own("i", 0), far(id),
                             strf(",\"tbg_info\":{\"tb_id\":%d,\"tbg_size\":2}", share)) +
                              (share > 0 ? "," + op("copy", own("i", 0), own("o", id)) : ""));
    gpus += (id > 0 ? "," : "") + gpu(id, 1, 2, 0, joined_to(1 - id, "o") + blocks(all));
  }
  const std::string text = head("allgather", gpus, false);
  EXPECT_EQ(plan_fault(text), "nothing");
  EXPECT_EQ(read_mscclpp(text, "f")->parts, 2);
  EXPECT_NE(plan_fault(replaced(text, "\"tb_id\":1", "\"tb_id\":0"))
                .find("output block 1 is nothing instead of block 1 of rank 0; no step writes it"),
            std::string::npos)
      << plan_fault(replaced(text, "\"tb_id\":1", "\"tb_id\":0"));
}

// N GPUs: each has a channel and a thread block for each other GPU.
std::string everybody(int ranks, const char* name) {
  std::string gpus;
  for (int id = 0; id < ranks; ++id) {
    std::string peers, buffers, all;
    for (int other = 0, number = 0; other < ranks; ++other) {
      if (other == id) continue;
      const char* comma = number > 0 ? "," : "";
      peers += comma + std::to_string(other);
      buffers += comma + strf("{\"rank\":%d,\"type\":\"o\"}", other);
      const bool gets = std::string(name) == "get";
      all += comma +
             strf(
                 "{\"id\":%d,\"channels\":[{\"channel_type\":\"port\",\"channel_ids\":[%d]}],"
                 "\"remote_buffer_refs\":[{\"access_channel_type\":\"port\",\"remote_buffer_ids\":"
                 "[%d]}],\"ops\":[{\"name\":\"%s\",\"channel_type\":\"port\",\"channel_ids\":[0],"
                 "\"src_buff\":[%s],\"dst_buff\":[%s]},{\"name\":\"flush\"}]}",
                 number, number, number, name, (gets ? far(other) : own("o", id)).c_str(),
                 (gets ? own("o", other) : far(id)).c_str());
      ++number;
    }
    gpus += (id > 0 ? "," : "") +
            gpu(id, 1, ranks, 0,
                "\"channels\":[{\"channel_type\":\"port\",\"connected_to\":[" + peers +
                    "]}],\"remote_buffers\":[" + buffers + "]," + blocks(all));
  }
  return head("allgather", gpus);
}

TEST(Mscclpp, AllGpusWithEachOther) {
  for (const int ranks : {2, 3, 5, 20})
    for (const char* name : {"put", "pws", "pwsf", "get"})
      EXPECT_EQ(plan_fault(everybody(ranks, name)), "nothing") << ranks << " " << name;
}

TEST(Mscclpp, NamesEachFaultOfAFile) {
  const std::string pair = pair_of_reads(), packets = pair_of_packets();
  const struct {
    std::string text;
    const char* words;
  } kWrong[] = {
      {"{}", "f:1: \"name\" is missing"},
      {replaced(pair, "\"allreduce\"", "\"scan\""), "\"scan\" is not read; known: allreduce"},
      {replaced(pair, "\"allreduce\"", "\"allgather\""), "input_chunks is 2; this plan needs 1"},
      {replaced(pair, "true", "\"true\""), "inplace is neither true nor false"},
      {replaced(pair, "18446744073709551615", "7"), "max_message_size is \"7\", but must be"},
      {replaced(pair, "\"allreduce\"", "[]"), "\"collective\" is no string"},
      {replaced(pair, "\"gpus\":[", "\"gpus\":[],\"x\":["), "0 GPUs; a plan has 1 to 1024"},
      {replaced(pair, "\"id\":1,\"input", "\"id\":0,\"input"),
       "id is \"0\", but must be a number "
       "from 1 to 1"},
      {replaced(pair, "\"input_chunks\":2", "\"input_chunks\":3"),
       "output_chunks is 2; this plan needs 3"},
      {replaced(pair, "\"input_chunks\":2", "\"input_chunks\":-3"), "input_chunks is \"-3\""},
      {replaced(pair, "\"input_chunks\":2", "\"input_chunks\":1e3"), "input_chunks is \"1e3\""},
      {replaced(pair, "rlxsignal", "glres"), "the operation \"glres\" is not read (multicast"},
      {replaced(pair, "rlxsignal", "sem_acquire"), "\"sem_acquire\" is not read"},
      {replaced(pair, "\"memory\",\"connected", "\"switch\",\"connected"), "multicast"},
      {replaced(pair, "\"memory\",\"connected", "\"pipe\",\"connected"),
       "\"pipe\" is no kind of channel; known: memory, port"},
      {replaced(pair, "connected_to\":[1]", "connected_to\":[0]"), "GPU 0 has a channel to itself"},
      {replaced(pair, "connected_to\":[1]", "connected_to\":[2]"), "connected_to is \"2\""},
      {replaced(pair, "connected_to\":[1]", "connected_to\":[]"), "the GPU has none of this kind"},
      {replaced(pair, "remote_buffer_ids\":[0]", "remote_buffer_ids\":[1]"), "from 0 to 0"},
      {replaced(pair, "\"buffer_id\":0", "\"buffer_id\":7"), "buffer_id is \"7\""},
      {replaced(pair, "\"type\":\"i\",\"index", "\"type\":\"x\",\"index"), "\"x\" is no buffer"},
      {replaced(pair, "\"index\":0", "\"index\":2"),
       "chunks 2 to 2 of a buffer of GPU 0, which has"},
      {replaced(pair, "\"size\":1", "\"size\":0"), "size is \"0\""},
      {replaced(pair, "\"size\":1", "\"size\":2"), "sources and destinations differ in size"},
      {replaced(pair, "rres", "put"), "block 0 of ranks 0..1; no step writes it"},
      {replaced(pair, "rres", "rppkt"), "rppkt has 2 sources and 2 destinations"},
      {replaced(pair, "\"src_buff\"", "\"src\""), "rres has 0 sources"},
      {replaced(pair, "rlxsignal", "nop"),
       "f: GPU 1, thread block 0, operation 4 (line 1): wait: "
       "GPU 0 sends 1 signals by this channel, and this is wait 2"},
      {replaced(replaced(pair, "rlxsignal", "rlxwait"),
                "rlxwait\",\"channel_type\":\"memory\","
                "\"channel_ids\":[0]},{\"name\":\"rlxwait",
                "rlxwait\",\"channel_type\":\"memory\","
                "\"channel_ids\":[0]},{\"name\":\"rlxsignal"),
       "nothing"},
      {replaced(packets, "ppkt", "put"), "respkt: reads packets that no operation writes"},
      {replaced(packets, "\"type\":\"s\",\"index\":1", "\"type\":\"i\",\"index\":1"),
       "upkt: reads packets that no operation writes"},
      {replaced(packets, "\"buffer_id\":0,\"index\":1", "\"buffer_id\":0,\"index\":0"),
       "a second packet for the scratch of GPU 1"},
  };
  for (const auto& wrong : kWrong)
    EXPECT_NE(plan_fault(wrong.text).find(wrong.words), std::string::npos)
        << wrong.words << " / " << plan_fault(wrong.text);
}

TEST(Mscclpp, AFileStartsWithAByteOrderMark) {
  EXPECT_EQ(fault_in([] { (void)read_plan("\xEF\xBB\xBF" + pair_of_reads(), "f"); }), "nothing");
}

// Work is bounded before it starts: 200 blocks that meet 100 times, and large copies.
TEST(Mscclpp, ManyOperations) {
  std::string meet, copy, all;
  for (int i = 0; i < 100; ++i)
    meet += (i > 0 ? "," : "") +
            std::string(R"({"name":"barrier","barrier_id":0,"num_threadblocks":200})");
  for (int i = 0; i < 40; ++i)
    copy += (i > 0 ? "," : "") + op("copy", own("s", 0, 65536), own("s", 0, 65536));
  for (int i = 0; i < 200; ++i) all += (i > 0 ? "," : "") + block(i, meet);
  const std::string other = gpu(1, 2, 2, 0, joined_to(0, "i") + blocks(""));
  EXPECT_NE(
      plan_fault(head("allreduce", gpu(0, 2, 2, 0, joined_to(1, "i") + blocks(all)) + "," + other))
          .find("no correct allreduce"),
      std::string::npos);
  EXPECT_NE(
      plan_fault(head("allreduce", gpu(0, 2, 2, 65536, joined_to(1, "i") + blocks(block(0, copy))) +
                                       "," + other))
          .find("move more than 4194304 chunks"),
      std::string::npos);
}

TEST(Mscclpp, ACycleIsRefused) {
  std::string text = pair_of_reads();
  for (int id = 0; id < 2; ++id) {
    text = replaced(text, "rlxsignal", "held");
    text = replaced(text, "rlxwait", "signal");
    text = replaced(text, "held", "wait");
  }
  EXPECT_NE(plan_fault(text).find("f: GPU 0, thread block 0, operation 0 (line 1): wait: waits in "
                                  "vain, or for itself"),
            std::string::npos)
      << plan_fault(text);
}

// A mutated file is refused with a sentence, or is still a correct plan.
TEST(Mscclpp, MutatedFiles) {
  std::mt19937 random(7);
  const std::string sources[] = {pair_of_reads(), pair_of_packets(), everybody(3, "pws")};
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = sources[i % 3];
    for (auto n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % text.size();
      const auto way = random() % 4;
      if (way == 0) text[at] = static_cast<char>(random() % 256);
      if (way == 1) text.erase(at, 1 + random() % 8);
      if (way == 2) text.insert(at, text.substr(random() % text.size(), random() % 20));
      if (way == 3 && text[at] >= '0' && text[at] <= '9')
        text[at] = static_cast<char>('0' + random() % 10);
    }
    const std::string fault = plan_fault(text);
    refused += fault != "nothing";
    EXPECT_TRUE(fault == "nothing" || fault.find("f:") == 0) << fault;
  }
  EXPECT_GT(refused, 1500);
}

}  // namespace
}  // namespace tern::coll
