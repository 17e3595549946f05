// SPDX-License-Identifier: Apache-2.0
// How ranks make a team, or agree not to. Every round ends in an agreement.
#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "coll/gpu/lines.hpp"
#include "coll/gpu/teams.hpp"
#include "cuda/kernels.hpp"
#include "topo/islands.hpp"

namespace tern::coll {
namespace {

constexpr const char* kMakingTeam = "making a team of GPUs";

std::vector<int> members_of(const core::Communicator& communicator) {
  std::vector<int> members;
  for (int rank = 0; rank < communicator.size(); ++rank)
    members.push_back(static_cast<int>(communicator.peer_index(rank)));
  return members;
}

constexpr int kPlacesOfTwin = 2;

int most_wanted(cuda::Device& device) {
  return Multicast::why_not(device).empty() ? Multicast::kParts : ScratchLayout::kParts;
}

uint64_t number_of(const core::ContextId& id, GpuTeams::Use use) noexcept {
  return ((id.creator * 31 + id.counter) * 2 + static_cast<uint64_t>(use)) | uint64_t{1} << 63;
}

std::string what_lacks(const core::Communicator& communicator, const cuda::Device* device) {
  if (communicator.inter()) return "the communicator has two groups";
  if (communicator.size() > cuda::kMostRanks)
    return strf("a team has at most %d ranks", cuda::kMostRanks);
  if (device == nullptr) return "no GPU stream is attached";
  const cuda::Driver& driver = device->driver;
  if (driver.cuStreamBatchMemOp_v2 == nullptr || driver.cuStreamWriteValue32_v2 == nullptr)
    return "the driver lacks cuStreamBatchMemOp_v2";
  return {};
}

}  // namespace

struct GpuTeams::Facts {
  uint64_t kernels;
  uint64_t idle;  // number of a usable idle team, or 0
  uint64_t mps;   // the GPU runs kernels of several processes side by side
  cuda::Uuid device;
  LineFacts lines;
};

struct GpuTeams::Plan {
  Use use;
  cuda::Device* device;
  const std::vector<Facts>& all;
  const topo::NvLinks& links;
  uint64_t parts;
  bool shares;
};

std::shared_ptr<GpuTeam> GpuTeams::idle(const std::vector<int>& members,
                                        const cuda::Device& device) const {
  for (const auto& team : all_)
    if (&team->memory.device() == &device && team->members() == members && !team->leased() &&
        team->at_rest() && team->fit())
      return team;
  return nullptr;
}

// All ranks get the reason of the first rank that failed.
void GpuTeams::agree(core::Communicator& communicator, const std::string& mine,
                     std::string* why_not) {
  struct Said {
    char words[200];
  } own{};
  (void)snprintf(own.words, sizeof own.words, "%s", mine.c_str());
  std::vector<Said> all(static_cast<size_t>(communicator.size()));
  executions_.gather(communicator, &own, all.data(), sizeof own, kMakingTeam);
  for (size_t i = 0; i < all.size() && why_not->empty(); ++i)
    if (all[i].words[0] != '\0') *why_not = strf("rank %zu: %s", i, all[i].words);
}

// All ranks' kernels must be resident together.
uint64_t GpuTeams::parts_of(const std::vector<Facts>& all, bool* shares, std::string* why_not) {
  uint64_t parts = ScratchLayout::kParts;
  for (size_t i = 0; i < all.size(); ++i) {
    uint64_t here = 0;
    for (size_t j = 0; j < all.size(); ++j) {
      if (all[i].device != all[j].device) continue;
      ++here;
      if (i == j || (all[i].mps != 0 && all[j].mps != 0)) continue;
      *why_not = strf(
          "ranks %zu and %zu share a GPU without MPS, so GPU work must not wait for the other "
          "process",
          std::min(i, j), std::max(i, j));
      return 0;
    }
    *shares |= here > 1;
    parts = std::min(parts, all[i].kernels / here);
  }
  if (*shares && parts == 0) *why_not = "ranks share a GPU, and kernels of a rank do not fit";
  return parts;
}

/// Several processes with concurrent kernels on a GPU need MPS.
int GpuTeams::sharers(const cuda::Device& device, const std::vector<Facts>& all) const {
  if (device.attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED) == 0) return 1;
  const auto here = std::count_if(all.begin(), all.end(),
                                  [&](const Facts& one) { return one.device == device.uuid; });
  return std::max(static_cast<int>(here), executions_.process().node.ranks);
}

// All ranks take as many places as the rank with the fewest.
int GpuTeams::agree_on_places(core::Communicator& communicator, GpuTeam& team, Use use,
                              const std::vector<Facts>& all, int wanted, std::string* why_not) {
  core::Process& process = executions_.process();
  cuda::Device& device = team.memory.device();
  const int all_places = static_cast<int>(all[static_cast<size_t>(communicator.rank())].kernels);
  const int most = cuda::Residency::for_waiting(all_places) / sharers(device, all);
  cuda::Residency& residency = process.gpus.residency(device.uuid);
  const bool ordinary = use == Use::kOrdinary;
  GpuTeam* const twin = ordinary ? nullptr : team.twin().get();
  struct TeamPlaces {
    int team, twin, spare;  // spare: with those of the team
  } mine{};
  const int cap = static_cast<int>(process.params.gpu_blocks);
  wanted = std::min(wanted, cap);
  if (ordinary) {
    mine.team = std::min(wanted, residency.ordinary(most_wanted(device), most));
    mine.spare = mine.team;
  } else {
    cuda::Residency::Share& places = team.kernels.places(residency);
    mine.team = places.take(wanted, most);
    mine.spare = places.take_surplus(std::min(cap, kMostPushParts), most);
  }
  if (twin != nullptr)
    mine.twin = twin->kernels.places(residency).take_spare(std::min(cap, kPlacesOfTwin), most);
  std::vector<TeamPlaces> of_all(all.size());
  executions_.gather(communicator, &mine, of_all.data(), sizeof mine, kMakingTeam);
  for (const TeamPlaces& one : of_all)
    mine = {std::min(mine.team, one.team), std::min(mine.twin, one.twin),
            std::min(mine.spare, one.spare)};
  const int fewest = mine.team;
  team.kernels.places(residency).keep(ordinary ? 0 : mine.spare);
  team.kernels.set_parts(std::min(fewest, static_cast<int>(ScratchLayout::kParts)), mine.spare);
  if (twin != nullptr) {
    twin->kernels.places(residency).keep(mine.twin);
    twin->kernels.set_parts(mine.twin, mine.twin);
  }
  if (team.multicast() != nullptr) team.multicast()->limit_blocks(fewest);
  if (fewest == 0 && team.kernels.share_gpu())
    *why_not = std::string("ranks share a GPU, and ") + team.kernels.why_none();
  const int usual = std::min<int>(cap, ScratchLayout::kParts);
  if (fewest < usual && team.kernels.on_all_ranks())
    process.gpus.tell_choice(
        process.explain,
        strf("waiting kernels of %s have %d thread blocks, not %d: all must fit the GPU of "
             "each rank beside those of other communicators and processes",
             communicator.name.or_words("a communicator").c_str(), fewest, usual));
  return fewest;
}

// All ranks unmap before any rank frees.
void GpuTeams::dissolve(core::Communicator& communicator, const std::shared_ptr<GpuTeam>& team) {
  team->memory.unmap();
  std::string none;
  agree(communicator, {}, &none);
  team->end();
  for (GpuTeam* one = team.get(); one != nullptr; one = one->twin().get())
    one->kernels.drop_places();
  if (!team->memory.taken()) return;
  team->broken.end(failure(MPI_ERR_OTHER, "making the team failed"));
  all_.push_back(team);
}

std::vector<int> GpuTeams::find_islands(core::Communicator& communicator, const GpuTeam& team) {
  struct Seen {
    uint64_t ranks;
  };
  static_assert(cuda::kMostRanks <= 64);
  const Seen mine{team.memory.mapped()};
  std::vector<Seen> all(static_cast<size_t>(communicator.size()));
  executions_.gather(communicator, &mine, all.data(), sizeof mine, kMakingTeam);
  topo::Reach reach(communicator.size());
  for (int from = 0; from < reach.count(); ++from)
    for (int to = 0; to < reach.count(); ++to)
      reach.set(from, to, (all[static_cast<size_t>(from)].ranks >> to & 1) != 0);
  return topo::islands_of(reach);
}

bool GpuTeams::takes_more(Use use) const noexcept {
  return use != Use::kOrdinary ||
         executions_.process().gpus.scratches.load(std::memory_order_relaxed) < kMostForOrdinary;
}

void GpuTeams::agree_on_lines(core::Communicator& communicator, const std::vector<Facts>& all,
                              const topo::NvLinks& links, uint64_t parts, GpuTeam& team) {
  std::vector<LineFacts> lines;
  for (const Facts& one : all) lines.push_back(one.lines);
  LinesVerdict mine = judge_lines(team.memory.device(), links, lines,
                                  static_cast<size_t>(communicator.rank()), parts);
  LinesVerdict of_all{{}, std::move(mine.source)};
  agree(communicator, mine.why_not, &of_all.why_not);
  team.set_lines(std::move(of_all));
}

std::shared_ptr<GpuTeam> GpuTeams::lease(core::Communicator& communicator, Use use,
                                         cuda::Device* device, std::string* why_not,
                                         std::vector<int>* islands) {
  const std::vector<int> members = members_of(communicator);
  std::string lacks = what_lacks(communicator, device);
  std::shared_ptr<GpuTeam> team = lacks.empty() ? idle(members, *device) : nullptr;
  if (team != nullptr) team->lease(true);  // reserved against other calls
  const auto leave = [&] {
    if (team != nullptr) team->lease(false);
    return nullptr;
  };
  if (lacks.empty() && team == nullptr && !takes_more(use))
    lacks = strf("the limit of %d communicators with GPU scratch is reached", kMostForOrdinary);
  agree(communicator, lacks, why_not);
  if (!why_not->empty()) return leave();
  Facts mine{};
  mine.idle = team == nullptr ? 0 : team->number();
  if (const cuda::Kernels* const kernels = device->kernels(); kernels != nullptr)
    mine.kernels = static_cast<uint64_t>(kernels->most_waiting());
  mine.mps = device->attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED) != 0 ? 1 : 0;
  mine.device = device->uuid;
  topo::NvLinks links;
  {
    const core::ChannelUnlock meanwhile(communicator.channel().progress);
    mine.lines = line_facts(*device, members.size() > 1 ? &links : nullptr);
  }
  std::vector<Facts> all(members.size());
  executions_.gather(communicator, &mine, all.data(), sizeof mine, kMakingTeam);
  bool shares = false;
  const uint64_t parts = parts_of(all, &shares, why_not);
  if (!why_not->empty()) return leave();
  const auto same = [&](const Facts& one) { return one.idle == mine.idle && one.idle != 0; };
  if (std::all_of(all.begin(), all.end(), same)) {
    const int wanted = team->multicast() != nullptr ? Multicast::kParts : ScratchLayout::kParts;
    (void)agree_on_places(communicator, *team, use, all, wanted, why_not);
    return why_not->empty() ? team : leave();
  }
  (void)leave();
  return make(communicator, {use, device, all, links, parts, shares}, why_not, islands);
}

std::shared_ptr<GpuTeam> GpuTeams::make(core::Communicator& communicator, const Plan& plan,
                                        std::string* why_not, std::vector<int>* islands) {
  core::Process& process = executions_.process();
  const bool twin = plan.use == Use::kEnqueued && islands != nullptr;
  std::shared_ptr<GpuTeam> team;
  // MPS clients may fail to import descriptors, but can import legacy IPC handles.
  for (const bool plain : {false, true}) {
    why_not->clear();
    if (islands != nullptr) islands->clear();
    team = std::make_shared<GpuTeam>(number_of(communicator.id(), plan.use),
                                     members_of(communicator), communicator.rank(), *plan.device);
    agree_on_lines(communicator, plan.all, plan.links, plan.parts, *team);
    prepare(communicator, *team, {static_cast<size_t>(process.params.gpu_scratch), plain, twin},
            why_not, islands);
    if (why_not->empty() || plain || !plan.shares) break;
    dissolve(communicator, team);
  }
  for (GpuTeam* one = team.get(); one != nullptr; one = one->twin().get()) {
    one->kernels.set_share_gpu(plan.shares);
    one->kernels.set_on_all_ranks(plan.parts > 0);
  }
  if (why_not->empty()) {
    const bool switches = why_no_multicast(*team, process.params).empty();
    const int wanted = switches ? Multicast::kParts : ScratchLayout::kParts;
    const int places = agree_on_places(communicator, *team, plan.use, plan.all, wanted, why_not);
    if (why_not->empty() && !add_multicast(communicator, *team, places))
      *why_not = "a trial of the switch failed: " + team->no_multicast();
    if (team->multicast() == nullptr && plan.use == Use::kEnqueued)
      team->kernels.places(process.gpus.residency(plan.device->uuid))
          .keep(team->kernels.parts(kMostPushParts));
  }
  if (!why_not->empty()) {
    dissolve(communicator, team);
    return nullptr;
  }
  all_.push_back(team);
  ++process.gpus.scratches;
  team->lease(true);
  return team;
}

void GpuTeams::prepare(core::Communicator& communicator, GpuTeam& team, GpuTeam::Scratch wanted,
                       std::string* why_not, std::vector<int>* islands) {
  pml::Pml& pml = executions_.pml();
  std::vector<pml::MemoryHandle> handles(static_cast<size_t>(communicator.size()));
  pml::MemoryHandle handle{};
  std::string lacks;
  {
    const core::ChannelUnlock meanwhile(communicator.channel().progress);
    lacks = team.take_scratch(wanted);
  }
  if (lacks.empty()) lacks = team.memory.offer(pml, &handle);
  executions_.gather(communicator, &handle, handles.data(), sizeof handle, kMakingTeam);
  agree(communicator, lacks, why_not);
  if (why_not->empty()) {
    const auto map_of = [&](int rank) {
      return pml.map(handles[static_cast<size_t>(rank)], team.memory.device());
    };
    agree(communicator, team.map(map_of), why_not);
    if (!why_not->empty() && islands != nullptr) *islands = find_islands(communicator, team);
  }
  if (why_not->empty()) agree(communicator, team.memory.write_trial(), why_not);
  if (why_not->empty()) agree(communicator, team.memory.read_trial(), why_not);
}

}  // namespace tern::coll
