// SPDX-License-Identifier: Apache-2.0
// MscclppFile: reading and checks.
#include "coll/exchange/mscclpp_file.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "coll/exchange/json.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int64_t kMostShares = 64;

using Form = MscclppForm;
constexpr MscclppType kMscclppTypes[] = {
    // name   form           reads packets, writes packets, signals
    {"nop", Form::kNothing},
    {"flush", Form::kNothing},
    {"barrier", Form::kBarrier},
    {"signal", Form::kNothing, false, false, true},
    {"rlxsignal", Form::kNothing, false, false, true},
    {"wait", Form::kWait},
    {"rlxwait", Form::kWait},
    {"put", Form::kEach},
    {"pws", Form::kEach, false, false, true},
    {"pwsf", Form::kEach, false, false, true},
    {"get", Form::kEach},
    {"copy", Form::kEach},
    {"ppkt", Form::kEach, false, true},
    {"cpkt", Form::kEach, false, true},
    {"upkt", Form::kEach, true},
    {"rppkt", Form::kSpread, true, true},
    {"re", Form::kSum},
    {"res", Form::kSum},
    {"rre", Form::kSum},
    {"rres", Form::kSum},
    {"repkt", Form::kSum, true},
    {"respkt", Form::kSum, true, true},
    {"recpkt", Form::kSum, true, true},
    {"recspkt", Form::kSum, true, true},
};

class MscclppReader {
 public:
  MscclppReader(std::string_view text, const std::string& file)
      : values_(file), root_(parse_json(text, file)) {
    made_.plan.file = file;
    read_head();
    find_shares();
    for (const Json& gpu : values_.list(root_, "gpus")) read_size(gpu);
    for (const Json& gpu : values_.list(root_, "gpus")) read_blocks(gpu);
  }

  MscclppFile take() { return std::move(made_); }

 private:
  struct Remote {
    int32_t gpu;
    MscclBuffer buffer;
  };
  // By the kind of channel: memory, port.
  using Channels = std::map<std::string, std::vector<MscclppSignal>>;
  using Remotes = std::map<std::string, std::vector<Remote>>;

  void read_head() {
    MscclFile& plan = made_.plan;
    plan.name = values_.text(root_, "name");
    plan.protocol = values_.text(root_, "protocol");
    try {
      plan.collective = msccl_collective(values_.text(root_, "collective"));
    } catch (const Error& error) {
      values_.fail(values_.need(root_, "collective"), error.what());
    }
    const Json& in_place = values_.need(root_, "inplace");
    plan.in_place = in_place.kind == Json::Kind::kTrue;
    if (!plan.in_place && in_place.kind != Json::Kind::kFalse)
      values_.fail(in_place, "inplace is neither true nor false");
    const std::vector<Json>& gpus = values_.list(root_, "gpus");
    if (gpus.empty() || gpus.size() > static_cast<size_t>(kMostMscclGpus))
      values_.fail(root_, strf("%zu GPUs; a plan has 1 to %d", gpus.size(), kMostMscclGpus));
    plan.gpus.resize(gpus.size());
    if (root_.find("min_message_size") != nullptr)
      plan.least_bytes = values_.number_in(root_, "min_message_size", 0, INT64_MAX);
    const Json* most = root_.find("max_message_size");
    if (most != nullptr && most->text != std::to_string(UINT64_MAX))
      plan.most_bytes = values_.number(*most, "max_message_size", plan.least_bytes, INT64_MAX);
  }

  // A chunk of the plan has `shares_` parts, so that each group of thread blocks can share it.
  void find_shares() {
    for (const Json& gpu : values_.list(root_, "gpus"))
      for (const Json& block : values_.list(gpu, "threadblocks"))
        for (const Json& operation : values_.list(block, "ops")) {
          const Json* group = operation.find("tbg_info");
          if (group == nullptr) continue;
          shares_ = std::lcm(shares_, values_.number_in(*group, "tbg_size", 1, kMostShares));
          if (shares_ > kMostShares)
            values_.fail(*group, strf("tbg_size: the groups of thread blocks cut a chunk into more "
                                      "than %lld parts",
                                      static_cast<long long>(kMostShares)));
        }
  }

  int32_t chunks(const Json& gpu, const char* name) const {
    return static_cast<int32_t>(values_.number_in(gpu, name, 0, kMostMscclChunks / shares_) *
                                shares_);
  }

  void read_size(const Json& gpu) {
    MscclFile& plan = made_.plan;
    const auto id = static_cast<size_t>(values_.number_in(gpu, "id", sizes_, sizes_));
    const int32_t input = chunks(gpu, "input_chunks"), output = chunks(gpu, "output_chunks");
    if (sizes_++ == 0) {
      plan.chunks = std::max(input, output);
      if (plan.chunks == 0 || (!splits(plan.collective) && plan.chunks % plan.ranks() != 0))
        values_.fail(gpu,
                     strf("%d chunks are no multiple of the %d blocks", plan.chunks, plan.ranks()));
    }
    check_size(gpu, "input_chunks", input, plan.size_of(MscclBuffer::kInput, 0));
    if (output > 0 || !plan.in_place)
      check_size(gpu, "output_chunks", output, plan.size_of(MscclBuffer::kOutput, 0));
    plan.gpus[id].scratch = chunks(gpu, "scratch_chunks");
    cells_ += 2 * plan.chunks + plan.gpus[id].scratch;
    if (cells_ > kMostMscclCells)
      values_.fail(gpu, strf("more than %lld chunks in all buffers",
                             static_cast<long long>(kMostMscclCells)));
  }

  void check_size(const Json& gpu, const char* name, int64_t size, int64_t needed) const {
    if (size != needed)
      values_.fail(gpu, strf("%s is %lld; this plan needs %lld", name,
                             static_cast<long long>(size / shares_),
                             static_cast<long long>(needed / shares_)));
  }

  void read_blocks(const Json& gpu) {
    gpu_ = static_cast<int32_t>(values_.number_in(gpu, "id", 0, sizes_ - 1));
    const Channels channels = channels_of(gpu);
    const std::vector<Remote> remotes = remotes_of(gpu);
    block_ = 0;
    for (const Json& block : values_.list(gpu, "threadblocks")) {
      (void)values_.number_in(block, "id", block_, block_);
      own_channels_.clear();
      for (const Json& entry : values_.any_list(block, "channels")) {
        const std::string& kind = kind_of(entry, "channel_type");
        const auto all = channels.find(kind);
        for (const Json& id : values_.list(entry, "channel_ids"))
          own_channels_[kind].push_back(
              element(id, "channel_ids", all == channels.end() ? kNoSignals : all->second));
      }
      own_remotes_.clear();
      for (const Json& entry : values_.any_list(block, "remote_buffer_refs"))
        for (const Json& id : values_.list(entry, "remote_buffer_ids"))
          own_remotes_[kind_of(entry, "access_channel_type")].push_back(
              element(id, "remote_buffer_ids", remotes));
      int32_t number = 0;
      for (const Json& operation : values_.list(block, "ops")) read(operation, number++);
      ++block_;
    }
  }

  template <typename T>
  const T& element(const Json& id, const char* what, const std::vector<T>& all) const {
    if (all.empty()) values_.fail(id, strf("%s: the GPU has none of this kind", what));
    return all[static_cast<size_t>(
        values_.number(id, what, 0, static_cast<int64_t>(all.size()) - 1))];
  }

  const std::string& kind_of(const Json& entry, const char* name) const {
    const std::string& kind = values_.text(entry, name);
    if (kind == "switch")
      values_.fail(entry, "channels of a switch (multicast) have no meaning on other networks");
    if (kind != "memory" && kind != "port")
      values_.fail(entry, "\"" + kind + "\" is no kind of channel; known: memory, port");
    return kind;
  }

  int32_t other_gpu(const Json& value, const char* what) const {
    const auto other = static_cast<int32_t>(values_.number(value, what, 0, sizes_ - 1));
    if (other == gpu_) values_.fail(value, strf("GPU %d has a channel to itself", gpu_));
    return other;
  }

  Channels channels_of(const Json& gpu) const {
    Channels made;
    std::map<std::pair<std::string, int32_t>, int32_t> numbers;
    for (const Json& entry : values_.any_list(gpu, "channels")) {
      const std::string& kind = kind_of(entry, "channel_type");
      for (const Json& to : values_.list(entry, "connected_to")) {
        const int32_t other = other_gpu(to, "connected_to");
        made[kind].push_back({gpu_, other, kind, numbers[{kind, other}]++});
      }
    }
    return made;
  }

  std::vector<Remote> remotes_of(const Json& gpu) const {
    std::vector<Remote> made;
    for (const Json& entry : values_.any_list(gpu, "remote_buffers"))
      made.push_back({other_gpu(values_.need(entry, "rank"), "rank"), buffer_of(entry)});
    return made;
  }

  MscclBuffer buffer_of(const Json& entry) const {
    const std::string& name = values_.text(entry, "type");
    const size_t found = std::string_view("ios").find(name);
    if (name.size() != 1 || found == std::string_view::npos)
      values_.fail(entry, "\"" + name + "\" is no buffer; known: i, o, s");
    return static_cast<MscclBuffer>(found);
  }

  void read(const Json& json, int32_t number) {
    const std::string& name = values_.text(json, "name");
    const auto* const type = std::find_if(std::begin(kMscclppTypes), std::end(kMscclppTypes),
                                          [&](const MscclppType& one) { return name == one.name; });
    if (type == std::end(kMscclppTypes))
      values_.fail(json, "the operation \"" + name +
                             "\" is not read (multicast, semaphores and "
                             "pipelines have no form here)");
    MscclppOperation made{type, gpu_, block_, number, json.line, {}, {}, {}, 0, 0};
    if (type->form == Form::kSum && !reduces(made_.plan.collective))
      values_.fail(json, name + " reduces, but " + name_of(made_.plan.collective) + " does not");
    const Json* group = json.find("tbg_info");
    const int64_t size = group == nullptr ? 1 : values_.number_in(*group, "tbg_size", 1, shares_);
    const int64_t own = group == nullptr ? 0 : values_.number_in(*group, "tb_id", 0, size - 1);
    for (const Json& one : values_.any_list(json, "src_buff"))
      made.sources.push_back(range(json, one, own, size));
    for (const Json& one : values_.any_list(json, "dst_buff"))
      made.destinations.push_back(range(json, one, own, size));
    if (type->signals || type->form == Form::kWait) read_signals(json, made);
    if (type->form == Form::kBarrier) {
      made.barrier = values_.number_in(json, "barrier_id", 0, kMostMscclChunks);
      made.meets = values_.number_in(json, "num_threadblocks", 1, kMostMscclChunks);
    }
    check(json, made);
    made_.operations.push_back(std::move(made));
  }

  MscclppRange range(const Json& json, const Json& one, int64_t own, int64_t size) {
    Remote at{gpu_, MscclBuffer::kInput};
    if (one.find("switch_channel_id") != nullptr)
      values_.fail(one, "buffers of a switch (multicast) have no meaning on other networks");
    if (const Json* id = one.find("buffer_id"))
      at = element(*id, "buffer_id", own_remotes_[kind_of(json, "channel_type")]);
    else
      at.buffer = buffer_of(one);
    const int32_t room = made_.plan.size_of(at.buffer, at.gpu);
    const int64_t first = values_.number_in(one, "index", 0, kMostMscclChunks) * shares_;
    const int64_t count = values_.number_in(one, "size", 1, kMostMscclChunks) * shares_;
    moved_ += count / size;
    if (moved_ > kMostMscclMoved)
      values_.fail(one, strf("the operations move more than %lld chunks",
                             static_cast<long long>(kMostMscclMoved)));
    if (first + count > room)
      values_.fail(one, strf("chunks %lld to %lld of a buffer of GPU %d, which has %lld",
                             static_cast<long long>(first / shares_),
                             static_cast<long long>((first + count) / shares_ - 1), at.gpu,
                             static_cast<long long>(room / shares_)));
    return {at.gpu, at.buffer, static_cast<int32_t>(first + count / size * own),
            static_cast<int32_t>(count / size)};
  }

  void read_signals(const Json& json, MscclppOperation& made) {
    const std::vector<MscclppSignal>& own = own_channels_[kind_of(json, "channel_type")];
    for (const Json& id : values_.list(json, "channel_ids")) {
      made.signals.push_back(element(id, "channel_ids", own));
      if (made.type->form == Form::kWait)
        std::swap(made.signals.back().from, made.signals.back().to);
    }
  }

  void check(const Json& json, const MscclppOperation& made) const {
    const size_t from = made.sources.size(), to = made.destinations.size();
    const bool moves = made.type->form == Form::kEach || made.type->form == Form::kSpread ||
                       made.type->form == Form::kSum;
    if (!moves) return;
    if (from == 0 || to == 0 || (made.type->form == Form::kEach && from != to) ||
        (made.type->form == Form::kSpread && from != 1))
      values_.fail(json,
                   strf("%s has %zu sources and %zu destinations", made.type->name, from, to));
    const bool local = made.sources[0].gpu == gpu_ && made.destinations[0].gpu == gpu_;
    if (made.type->form == Form::kSum && !local)
      values_.fail(json, "the first source and destination of a sum are the GPU's own");
    for (const std::vector<MscclppRange>* all : {&made.sources, &made.destinations})
      for (size_t i = 0; i < all->size(); ++i)
        if ((*all)[i].count != made.sources[made.type->form == Form::kEach ? i : 0].count)
          values_.fail(json, "sources and destinations differ in size");
  }

  inline static const std::vector<MscclppSignal> kNoSignals;

  JsonValues values_;
  Json root_;
  MscclppFile made_;
  int64_t shares_ = 1, sizes_ = 0, cells_ = 0, moved_ = 0;
  int32_t gpu_ = 0, block_ = 0;
  Channels own_channels_;  // of the thread block
  Remotes own_remotes_;
};

}  // namespace

MscclppFile parse_mscclpp(std::string_view text, const std::string& file) {
  return MscclppReader(text, file).take();
}

}  // namespace tern::coll
