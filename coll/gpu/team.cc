// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/team.hpp"

#include <new>

#include "base/error.hpp"

namespace tern::coll {
namespace {

constexpr size_t kShareOfTwin = 4;

}  // namespace

GpuTeam::GpuTeam(uint64_t number, std::vector<int> members, int rank, cuda::Device& device)
    : memory(static_cast<int>(members.size()), rank, device),
      reports(device),
      calls(device, reports),
      waits(rank, reports),
      schedules(static_cast<int>(members.size()), rank),
      programs(memory),
      number_(number),
      members_(std::move(members)) {}

GpuTeam::~GpuTeam() { end(); }

void GpuTeam::lease(bool on) noexcept {
  if (on || pinned_) {
    leased_.store(true);
    return;
  }
  kernels.retire([this] { return calls.over(); });
  if (twin_ != nullptr && !twin_->leased()) twin_->lease(false);
  leased_.store(false);
}

void GpuTeam::end() noexcept {
  memory.unmap();
  cuda::Device& device = memory.device();
  if (!memory.taken() || device.gone() || !device.is_quiet()) return;
  const cuda::Current current(device);
  if (current.result() != CUDA_SUCCESS) return;
  if (multicast_ != nullptr) multicast_->end();
  if (twin_ != nullptr) twin_->give_back();
  give_back();
}

void GpuTeam::give_back() noexcept {
  kernels.drop_places();
  programs.give_back();
  calls.give_back();
  reports.give_back();
  memory.give_back();
}

std::string GpuTeam::take_scratch(Scratch wanted) {
  ScratchLayout layout = memory.layout();
  layout.bytes = wanted.bytes;
  layout.lines = no_lines().empty();
  if (layout.lines && !layout.serves()) {
    layout.lines = false;
    lines_.why_not = "the scratch has no room for LL128; a larger TERN_GPU_SCRATCH helps";
  }
  if (!layout.serves())
    return strf(
        "the scratch of %zu bytes is too small for %d ranks; a larger TERN_GPU_SCRATCH helps",
        layout.bytes, layout.ranks);
  ScratchLayout small = layout;
  small.bytes = layout.bytes / kShareOfTwin;
  small.lines = layout.lines && small.serves();
  const bool twin = wanted.twin && small.serves();
  if (std::string why = memory.take(layout, twin ? small.bytes : 0, wanted.plain); !why.empty())
    return why;
  if (std::string why = prepare(); !why.empty()) return why;
  return twin ? make_twin(small) : std::string();
}

std::string GpuTeam::prepare() {
  if (std::string why = memory.prepare_words(); !why.empty()) return why;
  if (std::string why = reports.make(); !why.empty()) return why;
  {
    const cuda::Current current(memory.device());
    calls.lanes.prepare();
  }
  return programs.prepare();
}

std::string GpuTeam::make_twin(const ScratchLayout& layout) {
  twin_ = std::make_shared<GpuTeam>(number_, members_, memory.rank(), memory.device());
  twin_->memory.lie_behind(memory, layout);
  twin_->lines_ = lines_;
  if (!layout.lines && lines_.why_not.empty())
    twin_->lines_.why_not = "the scratch of a duplicate has no room for LL128";
  twin_->no_multicast_ = "the communicator is a duplicate";
  return twin_->prepare();
}

std::string GpuTeam::map(const TeamMemory::Mapper& map_of) {
  std::string why = memory.map(map_of);
  if (twin_ != nullptr) twin_->memory.lie_behind(memory, twin_->memory.layout());
  return why;
}

void GpuTeam::set_multicast(std::unique_ptr<Multicast> made) noexcept {
  multicast_ = std::move(made);
}

void GpuTeam::let_go() noexcept {
  reports.end_kernels();
  memory.end_waits();
}

}  // namespace tern::coll
