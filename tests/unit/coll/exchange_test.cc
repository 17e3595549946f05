// SPDX-License-Identifier: Apache-2.0
// Exchange: files of other projects. Every row survives writing and reading; every fault of a file
// is named with its place; mutated files are refused, never run.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/exchange/msccl_read.hpp"
#include "coll/exchange/msccl_write.hpp"
#include "coll/exchange/nccl_topology.hpp"
#include "coll/exchange/xml.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {
namespace {

template <typename Call>
std::string fault_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

struct Wrong {
  std::string text;
  const char* words;
};

std::string read_all(const std::string& text) {
  return fault_of([&] {
    XmlReader reader(text, "f");
    while (reader.next() != XmlReader::Event::kEnd) {
    }
  });
}

TEST(Xml, ReadsElementsAndAttributes) {
  XmlReader reader(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- a\n b -->\n<a x='1' y = \"&lt;&amp;&quot;\">t"
      "<b/><c\n>text</c></a>\n",
      "f");
  ASSERT_EQ(reader.next(), XmlReader::Event::kOpen);
  EXPECT_EQ(reader.element().name, "a");
  EXPECT_EQ(reader.element().line, 4);
  EXPECT_EQ(reader.number("x", 0, 1), 1);
  EXPECT_EQ(reader.required("y"), "<&\"");
  EXPECT_EQ(reader.element().find("z"), nullptr);
  ASSERT_EQ(reader.next(), XmlReader::Event::kOpen);
  EXPECT_EQ(reader.element().name, "b");
  EXPECT_EQ(reader.depth(), 2U);
  ASSERT_EQ(reader.next(), XmlReader::Event::kClose);
  ASSERT_EQ(reader.next(), XmlReader::Event::kOpen);
  EXPECT_EQ(reader.element().line, 4);
  reader.skip();
  EXPECT_EQ(reader.depth(), 1U);
  EXPECT_EQ(reader.next(), XmlReader::Event::kClose);
  EXPECT_EQ(reader.next(), XmlReader::Event::kEnd);
}

TEST(Xml, NamesEachFault) {
  const Wrong kWrong[] = {
      {"", "f:1: no element"},
      {" \n text", "f:2: text outside of all elements"},
      {"<a>", "f:1: the file ends within <a>"},
      {"<a>\n</b>", "f:2: </b> ends <a>"},
      {"</a>", "f:1: </a> ends nothing"},
      {"<a/><b/>", "a second root element"},
      {"<a x>", "'=' is expected after \"x\""},
      {"<a x=1/>", "needs quotes"},
      {"<a x=\"1/>", "does not end"},
      {"<a x=\"<\"/>", "'<' within"},
      {"<a x=\"1\" x=\"2\"/>", "<a> has two attributes \"x\""},
      {"<a x=\"&xxe;\"/>", "an entity other than"},
      {"<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "document types"},
      {"<a><![CDATA[x]]></a>", "CDATA"},
      {"<!-- a", "the comment does not end"},
      {"<?xml", "the processing instruction does not end"},
      {"<", "the file ends within an element"},
      {"<a", "the file ends within an element"},
      {"< a/>", "a name is expected"},
      {std::string("<a>\0</a>", 8), "zero byte"},
      {"<a x=\"" + std::string(5000, 'x') + "\"/>", "a value of more than 4096 bytes"},
      {"<" + std::string(5000, 'x') + "/>", "a name of more than 4096 bytes"},
  };
  for (const Wrong& wrong : kWrong)
    EXPECT_NE(read_all(wrong.text).find(wrong.words), std::string::npos) << read_all(wrong.text);
}

TEST(Xml, BoundsWhatItReads) {
  std::string deep, wide = "<a>", many = "<a";
  for (size_t i = 0; i <= XmlReader::kMostDepth; ++i) deep += "<a>";
  EXPECT_NE(read_all(deep).find("more than 64 elements within another"), std::string::npos);
  for (size_t i = 0; i <= XmlReader::kMostElements; ++i) wide += "<b/>";
  EXPECT_NE(read_all(wide).find("more than 1048576 elements"), std::string::npos);
  for (size_t i = 0; i <= XmlReader::kMostAttributes; ++i)
    many += " x" + std::to_string(i) + "=\"\"";
  EXPECT_NE(read_all(many).find("more than 64 attributes"), std::string::npos);
  EXPECT_NE(read_all(std::string(XmlReader::kMostBytes + 1, ' ')).find("at most"),
            std::string::npos);
}

TEST(Xml, ReadsNumbersInRange) {
  for (const char* value : {"", "a", "1a", " 1", "0x1", "9223372036854775808", "-1", "9"}) {
    const std::string text = "<a x=\"" + std::string(value) + "\"/>";
    XmlReader reader(text, "f");
    (void)reader.next();
    const std::string fault = fault_of([&] { (void)reader.number("x", 0, 8); });
    EXPECT_NE(fault.find("must be a number from 0 to 8"), std::string::npos) << value;
  }
}

// Two GPUs exchange their vectors and add.
constexpr const char* kPair = R"(<algo name="pair" proto="LL" nchannels="1" nchunksperloop="2"
 ngpus="2" coll="allreduce" inplace="1" outofplace="0" minBytes="8" maxBytes="4096">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="2">
<tb id="0" send="1" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"
 depid="-1" deps="-1" hasdep="1"/>
</tb>
<tb id="1" send="-1" recv="1" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"
 depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2"
 depid="0" deps="0" hasdep="0"/>
</tb>
</gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="2">
<tb id="0" send="0" recv="-1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"
 depid="-1" deps="-1" hasdep="1"/>
</tb>
<tb id="1" send="-1" recv="0" chan="0">
<step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2"
 depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2"
 depid="0" deps="0" hasdep="0"/>
</tb>
</gpu>
</algo>
)";

std::string with(const std::string& from, const std::string& to, int times = 1) {
  std::string text = kPair;
  for (size_t at = 0; times-- > 0; at += to.size()) {
    at = text.find(from, at);
    EXPECT_NE(at, std::string::npos) << from;
    if (at == std::string::npos) break;
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string read_fault(const std::string& text) {
  return fault_of([&] { (void)read_msccl(text, "f"); });
}

TEST(Msccl, ReadsAPair) {
  const std::shared_ptr<const FilePlan> read = read_msccl(kPair, "f");
  const FilePlan& plan = *read;
  EXPECT_EQ(plan.name, "pair");
  EXPECT_EQ(plan.collective, Collective::kAllreduce);
  EXPECT_EQ(plan.ranks(), 2);
  EXPECT_EQ(plan.parts, 2);
  EXPECT_EQ(plan.text(), "f");
  EXPECT_EQ(plan.least_bytes, 8);
  EXPECT_EQ(plan.most_bytes, 4096);
}

TEST(Msccl, NamesEachFaultOfAFile) {
  const Wrong kWrong[] = {
      {"<plan/>", "begins with <algo>, not <plan>"},
      {with("ngpus=\"2\"", "ngpus=\"0\""), "ngpus=\"0\" of <algo> must be a number from 1"},
      {with("ngpus=\"2\"", "ngpus=\"3\""), "there is no <gpu id=\"2\">"},
      {with("ngpus=\"2\"", ""), "<algo> has no \"ngpus\""},
      {with("\"allreduce\"", "\"custom\""),
       "the collective \"custom\" is not read; known: allreduce"},
      {with("\"2\"\n ngpus=\"2\" coll=\"allreduce\"", "\"4\"\n ngpus=\"2\" coll=\"allgather\""),
       "type=\"re\" reduces, but allgather does not"},
      {with("nchunksperloop=\"2\"", "nchunksperloop=\"99999999\""), "nchunksperloop"},
      {with("gpu id=\"1\"", "gpu id=\"0\""), "there are two <gpu id=\"0\">"},
      {with("tb id=\"1\"", "tb id=\"2\""), "id=\"2\" of <tb> must be a number from 1 to 1"},
      {with("send=\"1\"", "send=\"0\""), "GPU 0 exchanges with itself"},
      {with("send=\"1\"", "send=\"7\""), "send=\"7\" of <tb> must be a number from -1 to 1"},
      {with("send=\"1\"", "send=\"-1\""), "a step sends, but its <tb> has no send"},
      {with("recv=\"1\"", "recv=\"-1\""), "a step receives, but its <tb> has no recv"},
      {with("type=\"re\"", "type=\"add\""), "type=\"add\" is no step; known: s r"},
      {with("srcbuf=\"i\"", "srcbuf=\"q\""), "srcbuf=\"q\" is no buffer"},
      {with("cnt=\"2\"", "cnt=\"0\""), "cnt=\"0\" of <step> must be a number from 1"},
      {with("cnt=\"2\"", "cnt=\"3\""), "chunks 0 to 2 of buffer i, which has 2"},
      {with("s_chunks=\"2\"", "s_chunks=\"1\""), "chunks 0 to 1 of buffer s, which has 1"},
      {with("depid=\"0\"", "depid=\"5\""),
       "f: GPU 0, thread block 1, step 1 (line 11): depends on thread block 5, step 0"},
      {with("depid=\"0\" deps=\"0\"", "depid=\"1\" deps=\"1\""),
       "waits for itself, through other steps"},
      {with("chan=\"0\"", "chan=\"1\""), "GPU 0 sends 0 messages to GPU 1 by channel 0"},
      {with("type=\"s\"", "type=\"nop\""), "and GPU 1 receives 1"},
      {with("cnt=\"2\"", "cnt=\"1\""), "receives 2 chunks, but GPU 0 sends 1"},
      {with("type=\"s\" srcbuf=\"i\"", "type=\"s\" srcbuf=\"s\""),
       "f: GPU 0, thread block 0, step 0 (line 5): reads a chunk that no step before has written"},
      {with("srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"",
            "srcoff=\"0\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\""),
       "reduces chunks 0 and 1 of the vector into one"},
      {with("cnt=\"2\"\n depid=\"0\"", "cnt=\"1\"\n depid=\"0\""), "this is no correct allreduce"},
      {with("type=\"re\"", "type=\"cpy\"", 2),
       "; written last by f: GPU 0, thread block 1, step 1 (line 11)"},
  };
  for (const Wrong& wrong : kWrong)
    EXPECT_NE(read_fault(wrong.text).find(wrong.words), std::string::npos)
        << wrong.words << "\n  is not in\n"
        << read_fault(wrong.text);
}

// A thread block may name a channel without messages.
TEST(Msccl, AnIdleChannelDoesNoHarm) {
  const std::string text = with("<tb id=\"1\" send=\"-1\" recv=\"1\" chan=\"0\">",
                                "<tb id=\"1\" send=\"-1\" recv=\"1\" chan=\"7\">\n"
                                "<step s=\"0\" type=\"nop\" cnt=\"0\" depid=\"-1\" deps=\"-1\"/>\n"
                                "</tb>\n<tb id=\"2\" send=\"-1\" recv=\"1\" chan=\"0\">");
  EXPECT_EQ(read_fault(text), "nothing");
}

// A file that forgot a dependency is run in the order of its data.
TEST(Msccl, DependenciesFollowFromData) {
  EXPECT_EQ(read_fault(with("depid=\"0\" deps=\"0\"", "depid=\"-1\" deps=\"-1\"", 2)), "nothing");
}

TEST(Msccl, EveryRowIsWrittenAndRead) {
  int files = 0;
  for (const Algorithm& row : algorithms()) {
    if (!has_schedule(row) || neighborly(row.collective) || rooted(row.collective) ||
        row.collective == Collective::kBarrier || row.collective == Collective::kScan ||
        row.collective == Collective::kExscan)
      continue;
    for (const int32_t ranks : {2, 3, 4, 8, 12}) {
      const Levels levels = Levels::from_sizes(ranks, {4});
      const bool by_levels = (row.limits & kLevels) != 0;
      if ((by_levels && levels.empty()) || !serves(row, ranks, by_levels ? &levels : nullptr))
        continue;
      std::vector<Schedule> schedules;
      for (int32_t rank = 0; rank < ranks; ++rank)
        schedules.push_back(build(row, ranks, rank, 0, by_levels ? &levels : nullptr));
      const std::string text = write_msccl(schedules, row.name);
      EXPECT_EQ(read_fault(text), "nothing")
          << name_of(row.collective) << " " << row.name << ", " << ranks << " ranks";
      ++files;
    }
  }
  EXPECT_GT(files, 90);
}

TEST(Msccl, WritesOnlyWhatTheFormatHolds) {
  const Algorithm* row = find_algorithm(Collective::kBcast, "binomial");
  const std::vector<Schedule> schedules = {build(*row, 2, 0, 0), build(*row, 2, 1, 0)};
  EXPECT_NE(fault_of([&] {
              (void)write_msccl(schedules, "x");
            }).find("allreduce, allgather, reduce_scatter and alltoall, not bcast"),
            std::string::npos);
}

// A plan that is accepted is proved, so a mutation is refused or harmless.
TEST(Msccl, MutatedFilesAreRefusedOrProved) {
  std::mt19937 random(7);
  const std::string original = kPair;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = original;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = static_cast<char>('0' + random() % 10);
          break;
        case 2:
          text.erase(at, 1 + random() % 40);
          break;
        default:
          text.insert(at, original.substr(random() % original.size(), random() % 200));
      }
      if (text.empty()) break;
    }
    try {
      const std::shared_ptr<const FilePlan> plan = read_msccl(text, "f");
      EXPECT_TRUE(
          verify(*find_algorithm(plan->collective, kFileRow), plan->ranks(), 0, nullptr, plan.get())
              .holds());
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
}

constexpr const char* kBox = R"(<system version="1">
<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="1" sm="90" rank="1">
<nvlink target="0000:03:00.0" count="18" tclass="0x030200"/></gpu></pci>
<pci busid="0000:03:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="8">
<gpu dev="0" sm="90" rank="0">
<nvlink target="0000:02:00.0" count="18" tclass="0x030200"/></gpu></pci>
<pci busid="0000:04:00.0" class="0x020700" link_speed="" link_width="0">
<nic><net name="mlx5_0" dev="0" speed="400000" port="1"/></nic></pci>
<pci busid="0000:05:00.0" class="0x010802" link_speed="8 GT/s" link_width="4"/>
</pci></cpu></system>
)";

std::string box(const NcclTopologyOptions& options = {}) {
  return read_nccl_topology(kBox, "f", options);
}

std::string box_with(const std::string& from, const std::string& to) {
  std::string text = kBox;
  text.replace(text.find(from), from.size(), to);
  return text;
}

const Topology::Link& link_of(const Topology& topology, const std::string& from,
                              const std::string& to) {
  for (const Topology::Link& link : topology.links)
    if (topology.name_of(link.from) == from && topology.name_of(link.to) == to) return link;
  throw Error(1, from + " and " + to + " are not linked");
}

TEST(NcclTopology, BecomesAGraph) {
  const Topology made = parse_topology(box(), "f");
  ASSERT_EQ(made.ranks(), 2);
  EXPECT_EQ(made.name_of(made.gpus[0]), "g0");
  EXPECT_NEAR(link_of(made, "g0", "pci-0000:01:00.0").bandwidth(), 24, 1e-9);  // 8 of 3 GB/s
  EXPECT_NEAR(link_of(made, "g0", "g1").bandwidth(), 370.8, 1e-9);
  EXPECT_NEAR(link_of(made, "g1", "g0").bandwidth(), 370.8, 1e-9);
  EXPECT_NEAR(link_of(made, "pci-0000:01:00.0", "cpu0").bandwidth(), 24, 1e-9);
  EXPECT_EQ(box().find("0000:05"), std::string::npos) << "a disk is no part of the graph";
}

TEST(NcclTopology, HostsAreJoinedByRails) {
  NcclTopologyOptions three;
  three.hosts = 3;
  const Topology made = parse_topology(box(three), "f");
  EXPECT_EQ(made.ranks(), 6);
  EXPECT_NEAR(link_of(made, "h2-pci-0000:04:00.0", "rail0").bandwidth(), 50, 1e-9);
}

TEST(NcclTopology, CloudsLackLinks) {
  NcclTopologyOptions links;
  links.links = 18;
  links.bandwidth = 20.6;
  std::string text = kBox;
  for (const char* word : {"nvlink ", "nvlink "}) text.replace(text.find(word), 6, "unknown");
  EXPECT_NEAR(link_of(parse_topology(read_nccl_topology(text, "f", links), "f"), "g0", "switch")
                  .bandwidth(),
              370.8, 1e-9);
}

TEST(NcclTopology, NamesEachFault) {
  NcclTopologyOptions none, many, two;
  many.hosts = 513;
  two.hosts = 2;
  const struct {
    std::string text;
    NcclTopologyOptions options;
    const char* words;
  } kWrong[] = {
      {"<algo/>", none, "begins with <system>, not <algo>"},
      {"<system><cpu numaid=\"0\"/></system>", none, "f:1: no GPU"},
      {box_with("0000:02:00.0", "../../x"), none, "busid=\"../../x\" is no PCI address"},
      {box_with("busid", "bus"), none, "<pci> has no \"busid\""},
      {box_with("count=\"18\"", "count=\"0\""), none, "count=\"0\" of <nvlink>"},
      {box_with("target=\"0000:03:00.0\"", "target=\"0000:09:00.0\""), none,
       "g1 has a link to pci-0000:09:00.0, which is no device of the file"},
      {box_with("\"0000:03:00.0\" class", "\"0000:02:00.0\" class"), none, "two GPUs are"},
      {box_with("numaid=\"0\"", "numaid=\"-2\""), none, "numaid=\"-2\""},
      {kBox, many, "513 hosts, but a machine has 1 to 512"},
      {box_with("speed=\"400000\"", "speed=\"0\""), two, "has no speed in the file"},
  };
  for (const auto& wrong : kWrong) {
    const std::string fault =
        fault_of([&] { (void)read_nccl_topology(wrong.text, "f", wrong.options); });
    EXPECT_NE(fault.find(wrong.words), std::string::npos) << wrong.words << " / " << fault;
  }
}

}  // namespace
}  // namespace tern::coll
