// SPDX-License-Identifier: Apache-2.0
// Rooms: brought up in the order of the stairs, left in reverse.
#include "api/rooms.hpp"

#include "api/watch.hpp"
#include "boot/boot.hpp"
#include "coll/coll.hpp"
#include "core/communicator.hpp"
#include "pml/p2p.hpp"

namespace tern::api {
namespace {

// Polls of a waiting rank before it yields: a core of its own may spin about a millisecond.
constexpr uint32_t kSpinsAlone = 20000;
constexpr int64_t kYieldsAloneUs = 50;
// More ranks than cores: whoever waits gives the core away at once, and sleeps soon.
constexpr uint32_t kSpinsCrowded = 0;
constexpr int64_t kYieldsCrowdedUs = 100;

}  // namespace

Rooms::Rooms(core::Process& process) : process_(process), pml_(new pml::P2p(process)) {
  process.pml = pml_.get();
  process.boot->put_card_as(pml_->transports().card());
  process.boot->fence();
  configure_waiting();
  core::make_predefined_communicators(process);
  pml_->add_context(*process.world);
  pml_->add_context(*process.self);
  coll_ = coll::make(process);
  process.coll = coll_.get();
  watch_ = std::make_unique<HangWatch>(process);
}

Rooms::~Rooms() {
  watch_.reset();
  coll_.reset();
  pml_.reset();
  process_.coll = nullptr;
  process_.pml = nullptr;
}

void Rooms::configure_waiting() {
  const bool crowded = process_.oversubscribed;
  uint32_t spins = crowded ? kSpinsCrowded : kSpinsAlone;
  if (process_.params.spin != 0) {
    constexpr uint32_t kPollsPerMicrosecond = 20;
    spins = static_cast<uint32_t>(process_.params.spin) * kPollsPerMicrosecond;
  }
  process_.progress.configure(pml_->transports().doorbell(), spins,
                              crowded ? kYieldsCrowdedUs : kYieldsAloneUs,
                              process_.thread_level == core::ThreadLevel::kMultiple);
}

void Rooms::leave() {
  pml_->send_all_waiting();
  pml_->explain_traffic();
  process_.boot->fence();
}

}  // namespace tern::api
