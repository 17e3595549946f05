// SPDX-License-Identifier: Apache-2.0
// Calls: the functions of an MPIX_Boot, with arguments checked, failures as sentences that name the
// function, and keys that no other world uses.
// Lifetime: shared by a Boot and the thread of its fence; `done` is called when both are gone.
// Threads: any; whether two calls may be at work at once is in man3/MPIX_Boot_provide.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mpix.h"

namespace tern::boot {

class Calls {
 public:
  // Copies it. Throws Error that names the member that is wrong; then `done` is not called.
  explicit Calls(const MPIX_Boot& given);
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls();

  [[nodiscard]] int rank() const noexcept { return calls_.rank; }
  [[nodiscard]] int size() const noexcept { return calls_.size; }
  [[nodiscard]] const std::string& job() const noexcept { return job_; }
  // Empty where the program has not named it.
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

  // These throw Error with the class that the program's function gave.
  void put(const std::string& key, std::string_view value) const;
  [[nodiscard]] std::string get(int rank, const std::string& key,
                                std::size_t room = kUsualRoom) const;
  void fence() const;
  void abort(int code, const char* text) const noexcept;

  // Rank 0: puts the values of all ranks, of `bytes` each, as one. What `objection` finds wrong
  // with one of them (empty: nothing) is an error on all ranks. `rest` follows the values.
  using Objection = std::function<std::string(int rank, const std::string& value)>;
  void gather(const std::string& key, std::size_t bytes, const Objection& objection,
              std::string_view rest = {}) const;
  // Any rank: what rank 0 has gathered. Without a place for a rest, there must be none.
  [[nodiscard]] std::string gathered(const std::string& key, std::size_t bytes,
                                     std::string* rest = nullptr) const;

 private:
  static constexpr std::size_t kUsualRoom = 1024;
  [[nodiscard]] std::string full(const std::string& key) const { return job_ + "." + key; }
  void check(int code, const char* function, const std::string& what) const;

  MPIX_Boot calls_;
  std::string job_, host_;
};

}  // namespace tern::boot
