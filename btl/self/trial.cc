// SPDX-License-Identifier: Apache-2.0
// Trial of self: sends a frame and checks the arrival.
#include <cstring>

#include "btl/self/self.hpp"
#include "btl/trial.hpp"
#include "core/process.hpp"

namespace tern::btl::self {
namespace {

constexpr char kText[] = "from this rank to itself";

class Taker final : public Sink {
 public:
  void arrived(Endpoint&, const Frame& frame) noexcept override {
    whole =
        frame.header.bytes == sizeof kText && std::memcmp(frame.payload, kText, sizeof kText) == 0;
  }
  bool whole = false;
};

}  // namespace

std::vector<Trial> try_here() {
  core::Process process;
  Taker taker;
  Self transport(process, taker);
  Endpoint* endpoint = transport.connect(process.peer(0), 0);
  const bool sent =
      endpoint != nullptr && endpoint->send({0, 1, sizeof kText, 0, 0, 0}, kText) && taker.whole;
  return {{"self", "the own rank", sent,
           sent ? "a frame arrived unchanged" : "a frame to this rank did not arrive",
           sent ? "" : "this is a defect of Tern: please report it"}};
}

}  // namespace tern::btl::self
