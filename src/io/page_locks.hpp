// SPDX-License-Identifier: Apache-2.0
// PageLocks: locks of partly written pages, on file systems whose clients keep pages.
// Why: a client may send a whole page with old bytes of a neighbour, whose write is lost. Under a
// lock, the client fetches the page first, and the unlock sends the new bytes. Whole pages need no
// lock. Locks belong to the open file (F_OFD_SETLKW), because a close of the file in this process
// ends the other locks of fcntl(2).
// Threads: any; writes of partial pages take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace tern::io {

class PageLocks {
 public:
  PageLocks() : mutex_(std::make_unique<std::mutex>()) {}

  /// The locks of one write; none if the write covers whole pages.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept { *this = static_cast<Held&&>(other); }
    Held& operator=(Held&& other) noexcept;
    ~Held();

   private:
    friend class PageLocks;
    int fd_ = -1;
    int64_t first_ = -1, last_ = -1;  // bytes of the file where the pages begin
    std::unique_lock<std::mutex> turn_;
  };
  /// Waits for other holders. Returns an errno.
  [[nodiscard]] int take(int fd, int64_t at, size_t bytes, Held* held) const noexcept;
  /// Locks and unlocks the whole file, so that the client asks the server again. Returns an errno.
  [[nodiscard]] static int refresh(int fd) noexcept;

 private:
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace tern::io
