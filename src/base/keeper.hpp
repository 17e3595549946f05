// SPDX-License-Identifier: Apache-2.0
// Keeper: holds descriptors of other processes, and hands out copies by number.
// Why: the kernel closes /proc/PID/fd between user namespaces, between PID namespaces, and with
// PR_SET_DUMPABLE 0. A descriptor in a letter crosses all of these; an inherited socket crosses
// network and mount namespaces as well.
// Protocol: datagrams (base/mail.hpp). kKeep and kDrop have no answer. kHand brings a socket for
// the answer, which the keeper closes for an unknown number. Keepers: mpirun for its ranks;
// otherwise a thread of a rank with a closed /proc/PID/fd.
// Threads: serve() from a single thread; keep() and drop() from any.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "base/mail.hpp"

namespace tern {

struct KeeperLetter {
  enum class Kind : uint32_t { kKeep = 1, kDrop, kHand };
  static constexpr uint32_t kMagic = 0x7465726e;  // "tern"
  uint32_t magic;
  Kind kind;
  uint64_t number;
};

class Keeper {
 public:
  explicit Keeper(MailSocket socket) noexcept : socket_(std::move(socket)) {}
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  [[nodiscard]] Address address() const noexcept { return socket_.address(); }
  void serve();
  void keep(uint64_t number, std::vector<Fd> descriptors);
  void drop(uint64_t number) noexcept;

 private:
  void hand(uint64_t number, const Fd& to) noexcept;

  MailSocket socket_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Fd>> kept_;
};

class KeeperThread {
 public:
  /// Returns null if the system refuses.
  static std::shared_ptr<KeeperThread> start() noexcept;
  KeeperThread(const KeeperThread&) = delete;
  KeeperThread& operator=(const KeeperThread&) = delete;
  ~KeeperThread();
  [[nodiscard]] Keeper& keeper() noexcept { return keeper_; }

 private:
  KeeperThread(MailSocket socket, Fd stop) noexcept
      : keeper_(std::move(socket)), stop_(std::move(stop)) {}
  void run() noexcept;

  Keeper keeper_;
  const Fd stop_;
  pthread_t thread_{};
};

/// `at` is empty for a connected socket. Returns false if the letter was not sent.
bool keep_at(const MailSocket& socket, const Address& at, uint64_t number,
             std::initializer_list<int> descriptors) noexcept;
void drop_at(const MailSocket& socket, const Address& at, uint64_t number) noexcept;
/// Returns nothing, with *why, after a refusal.
[[nodiscard]] std::vector<Fd> ask(const MailSocket& socket, const Address& at, uint64_t number,
                                  std::string* why);

}  // namespace tern
