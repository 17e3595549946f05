// SPDX-License-Identifier: Apache-2.0
#include "cuda/residency.hpp"

#include <algorithm>

namespace tern::cuda {

using Guard = std::lock_guard<std::mutex>;

Residency::Share::~Share() {
  const Guard guard(of_.mutex_);
  of_.all_.erase(std::find(of_.all_.begin(), of_.all_.end(), this));
}

int Residency::Share::take(int wanted, int most) noexcept {
  const Guard guard(of_.mutex_);
  return of_.take(*this, wanted, most);
}

int Residency::Share::take_spare(int wanted, int most) noexcept {
  const Guard guard(of_.mutex_);
  is_over_ = nullptr;
  most_ = most;
  places_ = std::min(wanted, places_ + std::max(of_.free_for(*this), 0) / 4);
  return places_;
}

int Residency::Share::take_surplus(int wanted, int most) noexcept {
  const Guard guard(of_.mutex_);
  const int surplus = std::max(of_.free_for(*this) - most / 2, 0);
  places_ = std::max(places_, std::min(wanted, places_ + surplus));
  return places_;
}

void Residency::Share::keep(int places) noexcept {
  const Guard guard(of_.mutex_);
  places_ = std::min(places_, places);
}

void Residency::Share::retire(std::function<bool()> is_over) noexcept {
  const Guard guard(of_.mutex_);
  is_over_ = std::move(is_over);
}

std::unique_ptr<Residency::Share> Residency::share() {
  const Guard guard(mutex_);
  all_.reserve(all_.size() + 1);
  auto made = std::make_unique<Share>(*this);
  all_.push_back(made.get());
  return made;
}

int Residency::ordinary(int wanted, int most) {
  auto fresh = share();
  const Guard guard(mutex_);
  if (ordinary_ == nullptr) ordinary_ = std::move(fresh);
  const int own = ordinary_->places_ > 0 ? ordinary_->places_ : take(*ordinary_, wanted, most);
  return std::min({wanted, std::max(most, 0), own});
}

// A share takes half of the free places, to leave some for later communicators.
int Residency::take(Share& share, int wanted, int most) noexcept {
  share.is_over_ = nullptr;
  share.most_ = most;
  const int more = wanted - share.places_;
  if (more > 0 && free_for(share) / 2 < more) reclaim();
  share.places_ = std::min(wanted, share.places_ + (std::max(free_for(share), 0) + 1) / 2);
  return share.places_;
}

// All kernels may lie on the few SMs of a single share (a green context).
int Residency::free_for(const Share& share) const noexcept {
  int most = share.most_, taken = 0;
  for (const Share* one : all_) {
    taken += one->places_;
    if (one->places_ > 0) most = std::min(most, one->most_);
  }
  return most - taken;
}

void Residency::reclaim() noexcept {
  for (Share* one : all_)
    if (one->is_over_ && one->is_over_()) one->places_ = 0;
}

}  // namespace tern::cuda
