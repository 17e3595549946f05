// SPDX-License-Identifier: Apache-2.0
// Consensus: the agreements of a communicator, one after the other: first on the host over the
// board, then between hosts by messages (fault/hosts.hpp). Worlds of one host count as two hosts.
// Lifetime: serves the questions of other hosts until the end of MPI, also after the communicator.
// Threads: the lock of the communicator's channel.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "api/fault/detector.hpp"
#include "api/fault/quorum.hpp"
#include "core/communicator.hpp"
#include "core/request.hpp"
#include "fault/agreement.hpp"
#include "fault/board.hpp"
#include "fault/hosts.hpp"

namespace tern::api {

class Consensus {
 public:
  /// `carrier` has the messages between hosts, and may be null on one host. Throws Error.
  Consensus(const Detector& detector, uint64_t id, Quorum quorum, fault::BoardEntry& own,
            core::Ref<core::Communicator> carrier);
  Consensus(const Consensus&) = delete;
  Consensus& operator=(const Consensus&) = delete;
  ~Consensus();

  /// `acked`: a prefix of the host's list.
  void begin(uint32_t flag, uint32_t acked);
  [[nodiscard]] bool active() const noexcept { return local_.has_value(); }
  /// Returns whether the agreement has ended. Throws std::bad_alloc.
  [[nodiscard]] bool step();
  /// After the end, until the next begin().
  [[nodiscard]] const fault::Word& result() const noexcept { return result_; }
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  [[nodiscard]] const Quorum& quorum() const noexcept { return quorum_; }

  /// Receives and answers messages. Returns the number.
  int serve();
  [[nodiscard]] bool owns(const fault::BoardEntry& entry) const noexcept { return &own_ == &entry; }
  [[nodiscard]] bool has_hosts() const noexcept { return carrier_.get() != nullptr; }
  /// The place on the board is free for another communicator.
  [[nodiscard]] bool all_have_left() const noexcept;

 private:
  class Port;
  struct Sent {
    std::vector<uint32_t> words;
    core::Request* request = nullptr;
  };

  [[nodiscard]] bool step_on_host();
  [[nodiscard]] bool step_between_hosts();
  void end(fault::Word word) noexcept;
  [[nodiscard]] fault::HostAgreement& between(uint64_t number);
  void listen();
  void send(const fault::HostMessage& message, uint64_t number);

  const Detector& detector_;
  const uint64_t id_;
  const Quorum quorum_;
  const fault::Hosts hosts_;
  fault::BoardEntry& own_;
  core::Ref<core::Communicator> carrier_;
  std::vector<int> order_;  // places in the quorum: first this host's, then all others
  std::vector<fault::BoardEntry*> entries_;
  std::vector<uint32_t> numbers_;  // in the host's list, in the same order
  std::optional<fault::SharedBoard> board_;
  uint64_t number_ = 0;
  std::optional<fault::Agreement> local_;
  bool agreed_on_host_ = false;
  std::map<uint64_t, std::unique_ptr<fault::HostAgreement>> between_;  // by number
  fault::Word result_;
  std::vector<uint32_t> room_;  // for a message
  core::Request* listening_ = nullptr;
  std::list<Sent> sent_;
};

}  // namespace tern::api
