// SPDX-License-Identifier: Apache-2.0
// Board: pinned memory in two halves, through which a stream and the proxy take turns. Boards: all
// of a process. Words: the stream writes to `mail` the number of the call whose next pass has data;
// the proxy reads and resets `mail`. The proxy sets `done` of a half; the stream waits for `done`
// and resets the word. Lifetime: the Backlog's. Threads: any; no lock is held in a driver call.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "stream/track.hpp"

namespace tern::stream {

struct Board {
  Word mail;
  std::array<Word, 2> done;
  std::array<std::byte*, 2> halves{};
  std::array<size_t, 2> bytes{};

  [[nodiscard]] std::byte* half(int pass) const noexcept {
    return halves[static_cast<size_t>(pass) % 2];
  }
  [[nodiscard]] const Word& done_of(int pass) const noexcept {
    return done[static_cast<size_t>(pass) % 2];
  }
};

class Boards {
 public:
  Boards() = default;
  Boards(const Boards&) = delete;
  Boards& operator=(const Boards&) = delete;
  ~Boards();

  /// make() may call the driver, so no stream may wait.
  [[nodiscard]] Failure make(cuda::Device& device, size_t chunk, Board* board) noexcept;
  /// give_back() makes no driver call.
  void give_back(cuda::Device& device, const Board& board) noexcept;
  void prepare(const core::Datatype& type) noexcept;

 private:
  /// Page: pinned memory for words, until MPI ends.
  struct Page {
    cuda::Device* device;
    std::byte* here;
    CUdeviceptr at;
  };
  struct Words {
    cuda::Device* device;
    Board board;
  };
  [[nodiscard]] bool add_page(cuda::Device& device, std::string* why);

  std::mutex mutex_;
  std::vector<Words> idle_;
  std::vector<Page> pages_;
};

}  // namespace tern::stream
