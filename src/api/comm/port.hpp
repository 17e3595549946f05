// SPDX-License-Identifier: Apache-2.0
// Port: stream sockets between the leaders of two groups that meet (MPI_Open_port, MPI_Comm_join).
// A port's name has the ways to the listener, and a secret that both ends prove and never send.
// Why: worlds meet without a common launcher or name server. Threads: one caller for each object.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"

namespace tern::api {

/// Waits until done() is true, with progress of messages; false after `seconds` (below 0: never).
using WaitUntil = std::function<bool(const std::function<bool()>& done, double seconds)>;

/// A byte stream with blobs: a length of 8 bytes, then the bytes.
class Link {
 public:
  Link() = default;
  explicit Link(Fd socket) noexcept : socket_(std::move(socket)) {}
  /// All throw Error(MPI_ERR_PORT) after `seconds` (below 0: never), and if the other end closes.
  void send(std::string_view blob, const WaitUntil& wait, double seconds);
  /// `most` bytes are accepted.
  [[nodiscard]] std::string receive(size_t most, const WaitUntil& wait, double seconds);
  [[nodiscard]] std::string swap(std::string_view blob, const WaitUntil& wait, double seconds);
  [[nodiscard]] bool valid() const noexcept { return socket_.valid(); }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  int release() noexcept { return socket_.release(); }

 private:
  std::string exchange(const std::string_view* out, size_t most, const WaitUntil& wait,
                       double seconds);
  Fd socket_;
};

using Secret = std::array<uint64_t, 2>;

class Listener {
 public:
  /// Throws Error(MPI_ERR_PORT).
  Listener();
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// accept() takes the next caller that proves the secret. `seconds` below 0: waits for ever.
  [[nodiscard]] Link accept(const WaitUntil& wait, double seconds);

 private:
  [[nodiscard]] Fd next();
  Fd local_, inet_;
  Secret secret_{};
  std::string name_;
};

/// A stream to the abstract Unix socket `name`; invalid without a listener.
[[nodiscard]] Fd dial_local(const std::string& name);

/// Throws Error(MPI_ERR_PORT) for an invalid name, and without a listener or an accept.
[[nodiscard]] Link connect_to(const std::string& name, const WaitUntil& wait, double seconds);

}  // namespace tern::api
