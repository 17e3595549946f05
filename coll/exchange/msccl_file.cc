// SPDX-License-Identifier: Apache-2.0
// MscclFile: reading and checks.
#include "coll/exchange/msccl_file.hpp"

#include <map>
#include <tuple>

#include "base/error.hpp"
#include "coll/exchange/xml.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kMostGpus = kMostMscclGpus, kMostChunks = kMostMscclChunks, kMostChannels = 64;

constexpr MscclType kTypes[] = {
    // name  receives reads reduces writes sends
    {"s", false, true, false, false, true},     {"r", true, false, false, true, false},
    {"rcs", true, false, false, true, true},    {"rrs", true, true, true, false, true},
    {"rrc", true, true, true, true, false},     {"rrcs", true, true, true, true, true},
    {"cpy", false, true, false, true, false},   {"re", false, true, true, true, false},
    {"nop", false, false, false, false, false},
};

struct CollectiveName {
  const char* name;
  Collective collective;
};
constexpr CollectiveName kCollectiveNames[] = {
    {"allreduce", Collective::kAllreduce},         {"allgather", Collective::kAllgather},
    {"reducescatter", Collective::kReduceScatter}, {"reduce_scatter", Collective::kReduceScatter},
    {"alltoall", Collective::kAlltoall},
};

class MscclReader {
 public:
  MscclReader(std::string_view text, const std::string& file) : xml_(text, file) {
    made_.file = file;
    read_head();
    while (xml_.next() == XmlReader::Event::kOpen) read_gpu();
    for (size_t gpu = 0; gpu < seen_.size(); ++gpu)
      if (!seen_[gpu]) xml_.fail(strf("there is no <gpu id=\"%zu\">", gpu));
    (void)xml_.next();  // throws if anything follows
  }

  MscclFile take() { return std::move(made_); }

 private:
  void read_head() {
    (void)xml_.next();
    if (xml_.element().name != "algo")
      xml_.fail("an MSCCL file begins with <algo>, not <" + xml_.element().name + ">");
    if (const std::string* name = xml_.element().find("name")) made_.name = *name;
    if (const std::string* protocol = xml_.element().find("proto")) made_.protocol = *protocol;
    const auto gpus = static_cast<size_t>(xml_.number("ngpus", 1, kMostGpus));
    made_.gpus.resize(gpus);
    seen_.resize(gpus);
    made_.collective = collective();
    made_.chunks = static_cast<int32_t>(xml_.number("nchunksperloop", 1, kMostChunks));
    if (!splits(made_.collective) && made_.chunks % made_.ranks() != 0)
      xml_.fail(
          strf("nchunksperloop=\"%d\" is no multiple of the %d GPUs: blocks need equal "
               "numbers of chunks",
               made_.chunks, made_.ranks()));
    made_.in_place = xml_.element().find("inplace") != nullptr && xml_.number("inplace", 0, 1) == 1;
    if (xml_.element().find("minBytes") != nullptr)
      made_.least_bytes = xml_.number("minBytes", 0, INT64_MAX);
    if (xml_.element().find("maxBytes") != nullptr)
      made_.most_bytes = xml_.number("maxBytes", 0, INT64_MAX);
  }

  Collective collective() const {
    try {
      return msccl_collective(xml_.required("coll"));
    } catch (const Error& error) {
      xml_.fail(error.what());
    }
  }

  void read_gpu() {
    if (xml_.element().name != "gpu") xml_.fail("<" + xml_.element().name + "> within <algo>");
    const auto id = static_cast<size_t>(xml_.number("id", 0, made_.ranks() - 1));
    if (seen_[id]) xml_.fail(strf("there are two <gpu id=\"%zu\">", id));
    seen_[id] = true;
    MscclGpu& gpu = made_.gpus[id];
    gpu.scratch = static_cast<int32_t>(xml_.number("s_chunks", 0, kMostChunks));
    cells_ += 2 * made_.chunks + gpu.scratch;
    if (cells_ > kMostMscclCells)
      xml_.fail(
          strf("more than %lld chunks in all buffers", static_cast<long long>(kMostMscclCells)));
    while (xml_.next() == XmlReader::Event::kOpen) read_block(gpu, static_cast<int32_t>(id));
  }

  void read_block(MscclGpu& gpu, int32_t id) {
    if (xml_.element().name != "tb") xml_.fail("<" + xml_.element().name + "> within <gpu>");
    const auto next = static_cast<int64_t>(gpu.blocks.size());
    (void)xml_.number("id", next, next);
    MscclBlock block;
    block.send = peer("send", id);
    block.recv = peer("recv", id);
    block.channel = static_cast<int32_t>(xml_.number("chan", 0, kMostChannels - 1));
    while (xml_.next() == XmlReader::Event::kOpen) read_step(block, id);
    gpu.blocks.push_back(std::move(block));
  }

  [[nodiscard]] int32_t peer(const char* attribute, int32_t id) const {
    const auto gpu = static_cast<int32_t>(xml_.number(attribute, -1, made_.ranks() - 1));
    if (gpu == id) xml_.fail(strf("%s=\"%d\": GPU %d exchanges with itself", attribute, gpu, id));
    return gpu;
  }

  void read_step(MscclBlock& block, int32_t id) {
    if (xml_.element().name != "step") xml_.fail("<" + xml_.element().name + "> within <tb>");
    const auto next = static_cast<int64_t>(block.steps.size());
    (void)xml_.number("s", next, next);
    const std::string& name = xml_.required("type");
    MscclStep step{msccl_type(name), {}, {}, 0, 0, 0, -1, -1, xml_.element().line};
    if (step.type == nullptr)
      xml_.fail("type=\"" + name + "\" is no step; known: s r rcs rrs rrc rrcs cpy re nop");
    if (step.type->sends && block.send < 0) xml_.fail("a step sends, but its <tb> has no send");
    if (step.type->receives && block.recv < 0)
      xml_.fail("a step receives, but its <tb> has no recv");
    if (step.type->reduces && !reduces(made_.collective))
      xml_.fail(
          strf("type=\"%s\" reduces, but %s does not", name.c_str(), name_of(made_.collective)));
    if (step.type->reads || step.type->writes)
      step.count = static_cast<int32_t>(xml_.number("cnt", 1, kMostChunks));
    moved_ += step.count;
    if (moved_ > kMostMscclMoved)
      xml_.fail(
          strf("the steps move more than %lld chunks", static_cast<long long>(kMostMscclMoved)));
    if (step.type->reads) range("srcbuf", "srcoff", id, step.count, step.source, step.source_at);
    if (step.type->writes)
      range("dstbuf", "dstoff", id, step.count, step.destination, step.destination_at);
    step.wait_block = static_cast<int32_t>(xml_.number("depid", -1, kMostChunks));
    step.wait_step = static_cast<int32_t>(xml_.number("deps", -1, XmlReader::kMostElements));
    block.steps.push_back(step);
    xml_.skip();
  }

  void range(const char* which, const char* offset, int32_t id, int32_t count, MscclBuffer& buffer,
             int32_t& at) const {
    const std::string& name = xml_.required(which);
    const size_t found = std::string_view("ios").find(name);
    if (name.size() != 1 || found == std::string_view::npos)
      xml_.fail(strf("%s=\"%s\" is no buffer; known: i, o, s", which, name.c_str()));
    buffer = static_cast<MscclBuffer>(found);
    const int32_t size = made_.size_of(buffer, id);
    at = static_cast<int32_t>(xml_.number(offset, 0, kMostChunks));
    if (at + count > size)
      xml_.fail(strf("chunks %d to %d of buffer %s, which has %d", at, at + count - 1, name.c_str(),
                     size));
  }

  XmlReader xml_;
  MscclFile made_;
  std::vector<bool> seen_;
  int64_t cells_ = 0, moved_ = 0;
};

void check_waits(const MscclFile& file) {
  for (int32_t g = 0; g < file.ranks(); ++g) {
    const MscclGpu& gpu = file.gpus[static_cast<size_t>(g)];
    for (size_t b = 0; b < gpu.blocks.size(); ++b)
      for (size_t s = 0; s < gpu.blocks[b].steps.size(); ++s) {
        const MscclStep& step = gpu.blocks[b].steps[s];
        if (step.wait_block < 0) continue;
        const auto on = static_cast<size_t>(step.wait_block);
        if (on >= gpu.blocks.size() || step.wait_step < 0 ||
            static_cast<size_t>(step.wait_step) >= gpu.blocks[on].steps.size())
          throw Error(MPI_ERR_ARG,
                      strf("%s: depends on thread block %d, step %d, which the GPU lacks",
                           file.place(g, static_cast<int32_t>(b), static_cast<int32_t>(s)).c_str(),
                           step.wait_block, step.wait_step));
      }
  }
}

// Both ends of a channel between two GPUs.
struct MscclWay {
  int32_t from, to, channel;
  auto operator<=>(const MscclWay&) const = default;
};

class WayChecks {
 public:
  explicit WayChecks(const MscclFile& file) : file_(file) {
    for (int32_t g = 0; g < file.ranks(); ++g) {
      const MscclGpu& gpu = file.gpus[static_cast<size_t>(g)];
      for (size_t b = 0; b < gpu.blocks.size(); ++b) add(g, static_cast<int32_t>(b), gpu.blocks[b]);
    }
    for (const auto& [way, count] : counts_)
      if (count.sends != count.receives)
        throw Error(MPI_ERR_ARG,
                    strf("%s: GPU %d sends %d messages to GPU %d by channel %d, and GPU %d "
                         "receives %d",
                         file.file.c_str(), way.from, count.sends, way.to, way.channel, way.to,
                         count.receives));
  }

 private:
  struct Count {
    int32_t sends = 0, receives = 0;
  };

  void add(int32_t gpu, int32_t number, const MscclBlock& block) {
    int32_t sends = 0, receives = 0;
    for (const MscclStep& step : block.steps) {
      sends += step.type->sends;
      receives += step.type->receives;
    }
    if (sends > 0) set(gpu, number, {gpu, block.send, block.channel}, sends, &Count::sends);
    if (receives > 0)
      set(gpu, number, {block.recv, gpu, block.channel}, receives, &Count::receives);
  }

  void set(int32_t gpu, int32_t number, const MscclWay& way, int32_t steps, int32_t Count::*end) {
    Count& count = counts_[way];
    if (count.*end > 0)
      throw Error(MPI_ERR_ARG,
                  strf("%s: a second thread block has the way from GPU %d to GPU %d by channel %d",
                       file_.place(gpu, number, 0).c_str(), way.from, way.to, way.channel));
    count.*end = steps;
  }

  const MscclFile& file_;
  std::map<MscclWay, Count> counts_;
};

}  // namespace

Collective msccl_collective(const std::string& name) {
  std::string known;
  for (const CollectiveName& one : kCollectiveNames) {
    if (name == one.name) return one.collective;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw Error(MPI_ERR_ARG, "the collective \"" + name + "\" is not read; known: " + known);
}

const MscclType* msccl_type(std::string_view name) noexcept {
  for (const MscclType& type : kTypes)
    if (name == type.name) return &type;
  return nullptr;
}

int32_t MscclFile::size_of(MscclBuffer buffer, int32_t gpu) const noexcept {
  if (buffer == MscclBuffer::kScratch) return gpus[static_cast<size_t>(gpu)].scratch;
  const bool one = collective == (buffer == MscclBuffer::kInput ? Collective::kAllgather
                                                                : Collective::kReduceScatter);
  return one ? per_block() : chunks;
}

std::string MscclFile::place(int32_t gpu, int32_t block, int32_t step) const {
  const MscclStep& at = gpus[static_cast<size_t>(gpu)]
                            .blocks[static_cast<size_t>(block)]
                            .steps[static_cast<size_t>(step)];
  return strf("%s: GPU %d, thread block %d, step %d (line %d)", file.c_str(), gpu,
              at.file_block >= 0 ? at.file_block : block, at.file_step >= 0 ? at.file_step : step,
              at.line);
}

MscclFile parse_msccl(std::string_view text, const std::string& file) {
  MscclFile made = MscclReader(text, file).take();
  check_waits(made);
  WayChecks checks(made);
  return made;
}

}  // namespace tern::coll
