// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <algorithm>

namespace torch_tern {

namespace {

// Options of older PyTorch have no name, so this is a template.
template <class Pointer>
std::string take_name(const Pointer& from, Pointer& to) {
  if constexpr (requires { from->group_name; }) {
    if (from) {
      to->group_name = from->group_name;
      return "/" + from->group_name;
    }
  }
  return {};
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> Backend::split(const c10::intrusive_ptr<c10d::Store>&,
                                                 const std::vector<int>& ranks,
                                                 const OptionsPointer& options) {
  const auto me = std::find(ranks.begin(), ranks.end(), rank_);
  if (me == ranks.end()) {
    return nullptr;
  }
  group_->refuse_dead();
  std::vector<int> members;
  for (const int rank : ranks) {
    TORCH_CHECK_VALUE(rank >= 0 && rank < size_, "tern: split names rank ", rank,
                      ", but the group has ranks 0..", size_ - 1);
    members.push_back(group_->ranks()[rank]);
  }
  auto own = c10::make_intrusive<c10d::Backend::Options>(
      "tern", options ? options->timeout : options_->timeout);
  const std::string name = group_->name() + "/split" + take_name(options, own);
  auto group = make_group(group_->session(), members, name, own->timeout);
  return c10::make_intrusive<Backend>(std::move(group), static_cast<int>(me - ranks.begin()), own);
}

}  // namespace torch_tern
