// SPDX-License-Identifier: Apache-2.0
// drive_shared_job: bytes as a program: a rank writes anywhere into its job's start-up memory while
// mpirun and another rank read. Shared by libFuzzer and tests/unit/boot/hostile_test.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "boot/shared_job.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

class SharedJobProgram {
 public:
  static constexpr int kRanks = 3;
  static constexpr size_t kInteresting = 16 * 1024;  // head, slots and the first of the heap

  SharedJobProgram(int fd, std::byte* memory, Bytes bytes) : memory_(memory), bytes_(bytes) {
    std::memset(memory_, 0, kInteresting);
    job_ = boot::SharedJob::create(fd, {kRanks, 8, 1, 2, "tern-1-job"});
    job_.put(0, "first", "value of rank 0");
    job_.put(1, "second", std::string(100, 'x'));
    job_.put(1, "third", "");
  }
  void run(int fd) {
    constexpr int kMostSteps = 64;
    for (int step = 0; step < kMostSteps && !bytes_.empty(); ++step) this->step(fd);
  }

 private:
  void step(int fd) {
    switch (bytes_.take<uint8_t>() % 8) {
      case 0:
        return put();
      case 1:
        return look();
      case 2:
        return attach(fd);
      case 3:
        return job_.record_abort(rank(), bytes_.take<int>(), bytes_.text(bytes_.take<uint8_t>()));
      default:
        scribble();
    }
  }
  int rank() { return bytes_.take<uint8_t>() % kRanks; }
  std::string key() {
    static constexpr const char* kKeys[] = {"first", "second", "third", "fourth", ""};
    return kKeys[bytes_.take<uint8_t>() % 5];
  }
  void put() {
    try {
      const int whose = rank();
      const std::string name = key();
      job_.put(whose, name, bytes_.text(bytes_.take<uint8_t>()));
    } catch (const Error&) {
    }
  }
  void look() {
    std::string value;
    for (int rank = 0; rank < kRanks; ++rank) {
      static_cast<void>(job_.get(rank, key(), &value));
      static_cast<void>(job_.connection_info(rank));
      static_cast<void>(job_.state(rank));
      static_cast<void>(job_.app(rank));
    }
    TERN_ASSERT(job_.abort().text.size() < 1024);
    TERN_ASSERT(job_.facts().id.size() <= 64);
  }
  static void attach(int fd) {
    const boot::SharedJob other = boot::SharedJob::attach(fd);
    if (!other.valid()) return;
    const int size = other.facts().size;
    TERN_ASSERT(size > 0);
    static_cast<void>(other.connection_info(size - 1));
  }
  void scribble() {
    const auto place = bytes_.take<uint16_t>() % (kInteresting - 8);
    const auto block = bytes_.block(bytes_.take<uint8_t>() % 9);
    if (!block.empty()) std::memcpy(memory_ + place, block.data(), block.size());
  }

  std::byte* memory_;
  Bytes bytes_;
  boot::SharedJob job_;
};

inline void drive_shared_job(const uint8_t* data, size_t size) {
  static const int fd =
      make_memfd("fuzz", boot::SharedJob::bytes_for(SharedJobProgram::kRanks)).release();
  static const auto* map =
      new Mapping(Mapping::shared(fd, boot::SharedJob::bytes_for(SharedJobProgram::kRanks)));
  SharedJobProgram(fd, map->data(), Bytes(data, size)).run(fd);
}

}  // namespace tern::fuzz
