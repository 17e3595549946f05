// SPDX-License-Identifier: Apache-2.0
// Fusion: drops copies from a rank's straight-line program. Readers of a message's destination read
// the slot instead; copies without a reader go; a reduce for putting only writes into the peer's
// slot; data is forwarded before copied. Input and output count as the same memory wherever
// MPI_IN_PLACE may alias them.
#include <algorithm>
#include <utility>

#include "coll/lower/program.hpp"

namespace tern::coll::lowering {
namespace {

class Fusion {
 public:
  Fusion(const Schedule& schedule, const std::vector<Message>& messages, Program& program)
      : schedule_(schedule), messages_(messages), program_(program) {
    for (int space = 0; space < kSpaces; ++space) {
      base_[space] = locations_;
      locations_ += static_cast<size_t>(schedule.blocks_of(static_cast<Space>(space)));
    }
  }

  void run() {
    read_slots();
    drop_copies();
    put_results();
    pass_on_first();
  }

 private:
  static bool local(const Slice& slice) noexcept {
    return slice.owner == kSelf && slice.space != Space::kInbox;
  }

  [[nodiscard]] size_t location(const Slice& slice, int32_t i) const noexcept {
    const int32_t block = slice.place + i;
    if (slice.space == Space::kInput) {
      const int32_t same = schedule_.in_place_block(block);
      if (same >= 0) return base_[static_cast<int>(Space::kOutput)] + static_cast<size_t>(same);
    }
    return base_[static_cast<int>(slice.space)] + static_cast<size_t>(block);
  }

  template <class Look>
  void each_location(const std::vector<Slice>& slices, const Look& look) const {
    for (const Slice& slice : slices)
      for (int32_t i = 0; local(slice) && i < slice.blocks; ++i) look(location(slice, i), i);
  }

  // Readers of unmodified whole messages read the slots.
  void read_slots() {
    struct HeldMessage {
      int32_t message = kNone, block = 0;
    };
    std::vector<HeldMessage> held(locations_);
    for (Op& op : program_) {
      for (Slice& source : op.sources) {
        if (!local(source) || source.space == Space::kInput) continue;
        const int32_t message = held[location(source, 0)].message;
        bool whole =
            message != kNone && messages_[static_cast<size_t>(message)].far.blocks == source.blocks;
        for (int32_t i = 0; whole && i < source.blocks; ++i) {
          const HeldMessage& one = held[location(source, i)];
          whole = one.message == message && one.block == i;
        }
        if (whole) source = inbox_slice(schedule_, source, message);
      }
      const bool lands = op.verb == Verb::kCopy && op.sources[0].space == Space::kInbox;
      const int32_t message = lands ? op.sources[0].place : kNone;
      each_location(op.destinations, [&](size_t at, int32_t i) {
        held[at] = HeldMessage{message, i};
      });
    }
  }

  /// `look` gets the locations still read later, from last step to first.
  template <class Look>
  void backwards(const Look& look) {
    std::vector<char> live(locations_, 0);
    const size_t output = base_[static_cast<int>(Space::kOutput)];
    for (size_t i = 0; i < static_cast<size_t>(schedule_.blocks_of(Space::kOutput)); ++i)
      live[output + i] = 1;
    for (size_t i = program_.size(); i-- > 0;) {
      if (!look(i, live)) continue;
      each_location(program_[i].destinations, [&](size_t at, int32_t) { live[at] = 0; });
      each_location(program_[i].sources, [&](size_t at, int32_t) { live[at] = 1; });
    }
  }

  void drop_copies() {
    std::vector<char> dropped(program_.size(), 0);
    backwards([&](size_t i, const std::vector<char>& live) {
      if (program_[i].verb != Verb::kCopy) return true;
      bool read = false;
      each_location(program_[i].destinations, [&](size_t at, int32_t) { read |= live[at] != 0; });
      dropped[i] = read ? 0 : 1;
      return read;
    });
    erase(dropped);
  }

  void put_results() {
    std::vector<char> last_read(program_.size(), 0);
    backwards([&](size_t i, const std::vector<char>& live) {
      if (program_[i].verb != Verb::kPut || !local(program_[i].sources[0])) return true;
      bool read = false;
      each_location(program_[i].sources, [&](size_t at, int32_t) { read |= live[at] != 0; });
      last_read[i] = read ? 0 : 1;
      return true;
    });
    struct SliceUse {
      int32_t writer = kNone;
      bool read = false;
    };
    std::vector<SliceUse> uses(locations_);
    std::vector<char> dropped(program_.size(), 0);
    std::vector<int32_t> into(program_.size(), kNone);  // the put merged into a reduce
    for (size_t i = 0; i < program_.size(); ++i) {
      const Op& op = program_[i];
      if (last_read[i] != 0) {
        const Slice& source = op.sources[0];
        const int32_t writer = uses[location(source, 0)].writer;
        bool only = writer != kNone &&
                    program_[static_cast<size_t>(writer)].verb == Verb::kReduce &&
                    program_[static_cast<size_t>(writer)].destinations[0] == source;
        each_location(op.sources, [&](size_t at, int32_t) {
          only = only && uses[at].writer == writer && !uses[at].read;
        });
        if (only) {
          into[static_cast<size_t>(writer)] = static_cast<int32_t>(i);
          dropped[i] = 1;
        }
      }
      each_location(op.sources, [&](size_t at, int32_t) { uses[at].read = true; });
      each_location(op.destinations, [&](size_t at, int32_t) {
        uses[at] = SliceUse{static_cast<int32_t>(i), false};
      });
    }
    merge(into, dropped);
  }

  // A put's signal is the next step; both move to the reduce.
  void merge(const std::vector<int32_t>& into, const std::vector<char>& dropped) {
    Program merged;
    for (size_t i = 0; i < program_.size(); ++i) {
      if (dropped[i] != 0) {
        ++i;
        continue;
      }
      merged.push_back(std::move(program_[i]));
      if (into[i] == kNone) continue;
      const auto put = static_cast<size_t>(into[i]);
      merged.back().destinations = program_[put].destinations;
      merged.back().peer = program_[put].peer;
      merged.back().message = program_[put].message;
      merged.push_back(program_[put + 1]);
    }
    program_ = std::move(merged);
  }

  // Copies out of a slot wait until peers have their data.
  void pass_on_first() {
    for (size_t i = program_.size(); i-- > 0;) {
      const Op& copy = program_[i];
      if (copy.verb != Verb::kCopy || copy.sources[0].space != Space::kInbox) continue;
      for (size_t at = i; at + 1 < program_.size() && may_pass(program_[at], program_[at + 1]);
           ++at)
        std::swap(program_[at], program_[at + 1]);
    }
  }

  [[nodiscard]] bool may_pass(const Op& copy, const Op& next) const {
    if (!reaches_out(next)) return false;
    bool apart = true;
    each_location(copy.destinations, [&](size_t at, int32_t) {
      each_location(next.sources, [&](size_t other, int32_t) { apart &= at != other; });
    });
    return apart;
  }

  void erase(const std::vector<char>& dropped) {
    size_t kept = 0;
    for (size_t i = 0; i < program_.size(); ++i) {
      if (dropped[i] != 0) continue;
      if (kept != i) program_[kept] = std::move(program_[i]);
      ++kept;
    }
    program_.resize(kept);
  }

  const Schedule& schedule_;
  const std::vector<Message>& messages_;
  Program& program_;
  size_t base_[kSpaces] = {};
  size_t locations_ = 0;
};

}  // namespace

void fuse(const Schedule& schedule, const std::vector<Message>& messages, Program& program) {
  Fusion(schedule, messages, program).run();
}

}  // namespace tern::coll::lowering
