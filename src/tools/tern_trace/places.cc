// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/places.hpp"

#include "base/error.hpp"

namespace tern::trace_tool {
namespace {

uint64_t joined(uint32_t high, uint32_t low) noexcept { return uint64_t{high} << 32 | low; }

}  // namespace

uint32_t Places::function_of(uint32_t process, uint32_t function) {
  const uint64_t key = joined(process, function);
  const uint32_t known = functions_.find(key);
  if (known != FlatMap::kNone) return known;
  const auto& names = trace_->processes[process].functions;
  const auto found = names.find(function);
  uint32_t number = 0;
  if (found != names.end()) {
    number = found->second;
  } else {
    const std::string name = strf("function %u", function);
    number = trace_->names.functions.number(name);
    if (number == trace_->functions.size())
      trace_->functions.push_back({name, Shape::kNone, false});
  }
  return functions_.insert(key, number);
}

uint32_t Places::of(uint32_t process, const Record& record) {
  const uint64_t key = joined(record.function, record.site);
  if (key == last_key_ && process == last_process_) return last_place_;
  const uint32_t function = function_of(process, record.function);
  const uint64_t site_key = joined(process, record.site);
  uint32_t site = sites_.find(site_key);
  if (site == FlatMap::kNone) {
    const auto& names = trace_->processes[process].sites;
    const auto found = names.find(record.site);
    site = sites_.insert(site_key, found == names.end() ? 0 : found->second);
  }
  const auto fresh = static_cast<uint32_t>(places_.size());
  const uint32_t place = numbers_.insert(joined(function, site), fresh);
  if (place == fresh) places_.push_back({function, site});
  last_key_ = key;
  last_process_ = process;
  last_place_ = place;
  return place;
}

std::string Places::name(uint32_t place) const {
  const Place& one = places_[place];
  return trace_->functions[one.function].name + " at " + trace_->site_name(one.site);
}

const Comm* Places::comm_of(uint32_t process, const Record& record) {
  const uint64_t key = joined(process, record.comm);
  if (key == last_comm_key_) return last_comm_;
  const auto& comms = trace_->processes[process].comms;
  const auto found = comms.find(record.comm);
  last_comm_key_ = key;
  last_comm_ = found == comms.end() ? nullptr : &found->second;
  return last_comm_;
}

uint32_t Places::peer_of(uint32_t process, const Record& record) {
  if (record.peer < 0) return Trace::kUnknown;
  const Comm* const comm = comm_of(process, record);
  if (comm == nullptr) return Trace::kUnknown;
  const bool stranger = (record.flags & trace::kStranger) != 0;
  const auto& members = trace_->lists[stranger ? comm->remote : comm->members].processes;
  const auto rank = static_cast<size_t>(record.peer);
  return rank < members.size() ? members[rank] : Trace::kUnknown;
}

}  // namespace tern::trace_tool
