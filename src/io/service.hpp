// SPDX-License-Identifier: Apache-2.0
// Service: the shared file pointer and the ranges of atomic mode, for ranks on several hosts.
// Rank 0 answers questions of the other ranks by messages, while it progresses messages.
// A range ends with a message of its holder, or with the holder.
// Threads: under the channel's lock, except ask().
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "base/error.hpp"
#include "io/meeting.hpp"

namespace tern::io {

struct Question {
  enum class Asks : int32_t { kAdd, kSet, kTake, kRelease, kStop };
  Asks what = Asks::kAdd;
  int32_t writes = 0;
  uint64_t view = 0;
  int64_t from = 0, to = 0;  // kAdd: etypes; kSet: the position; kTake: a range of the file
};

struct Answer {
  int32_t code = 0;
  int32_t unused = 0;
  int64_t value = 0;  // kAdd: the position before
};

class Service {
 public:
  /// Returns the answer now, or false if the question must wait (kTake).
  class Owner {
   public:
    [[nodiscard]] virtual bool answer(int rank, const Question& question,
                                      Answer* answer) noexcept = 0;

   protected:
    ~Owner() = default;
  };

  explicit Service(Meeting& meeting) noexcept : meeting_(meeting) {}
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Rank 0 of a file on several hosts begins to answer. Throws Error.
  void start(Owner& owner);
  /// No rank asks any more.
  void stop() noexcept;
  /// A question under way. The caller keeps the object until answered() is true.
  struct Inquiry {
    Question question;
    Answer answer;
    Failure failed;
    core::Request *sent = nullptr, *received = nullptr;
  };
  /// begin() and answered() require the channel's lock.
  void begin(Inquiry* inquiry) noexcept;
  [[nodiscard]] bool answered(Inquiry* inquiry) noexcept;
  /// Waits for rank 0. `words` describe the question, as a wait for rank 0.
  [[nodiscard]] Failure ask(const Question& question, const char* words, Answer* answer) noexcept;
  /// Gives up the range of a kTake. Requires the channel's lock.
  void release_range() noexcept;

 private:
  struct Reply {
    Answer answer;
    core::Request* request = nullptr;
  };
  struct Waiting {
    int rank;
    Question question;
  };
  /// The message that ends a granted range.
  struct Grant {
    int rank;
    Question release;
    core::Request* receive = nullptr;
  };
  static int poll(void* self) noexcept;
  int serve() noexcept;
  [[nodiscard]] int end_grants() noexcept;
  void watch(int rank) noexcept;
  [[nodiscard]] bool receive() noexcept;
  void take_question(int rank) noexcept;
  void reply(int rank, const Answer& answer) noexcept;
  void try_waiting() noexcept;

  Meeting& meeting_;
  Owner* owner_ = nullptr;
  Question coming_;
  core::Request* receive_ = nullptr;
  std::list<Reply> replies_;
  std::list<Grant> grants_;
  Question release_{Question::Asks::kRelease};
  core::Request* releasing_ = nullptr;
  std::vector<Waiting> waiting_;
};

}  // namespace tern::io
