// SPDX-License-Identifier: Apache-2.0
// Service: the shared file pointer and the ranges of atomic mode, for ranks on several hosts.
// Rank 0 answers questions of the other ranks by messages, while it progresses messages.
// Faults: rank 0 frees the ranges of a rank that has ended. After the end of a rank, rank 0 may
// close the file, and then tells the other ranks, whose questions fail. Questions also fail after
// the end of rank 0.
// Threads: under the channel's lock, except ask() and stop().
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
  int64_t tag = 0;           // of the answer: a rank may have several questions
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
    /// The rank has ended.
    virtual void forget(int rank) noexcept = 0;

   protected:
    ~Owner() = default;
  };

  explicit Service(Meeting& meeting) noexcept : meeting_(meeting) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Rank 0 of a file on several hosts begins to answer. Throws Error.
  void start(Owner& owner);
  /// Before the file's communicator is freed.
  void stop() noexcept;
  /// A question under way. over() and the end need the channel's lock.
  class Asking {
   public:
    Asking(Service& service, const Question& question) noexcept
        : service_(service), question_(question) {}
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;
    ~Asking();
    [[nodiscard]] bool over() noexcept;
    [[nodiscard]] const Answer& answer() const noexcept { return answer_; }
    [[nodiscard]] const Failure& failed() const noexcept { return failed_; }

   private:
    [[nodiscard]] bool answered_here() noexcept;
    void send() noexcept;

    Service& service_;
    Question question_;
    Answer answer_;
    core::Request *sent_ = nullptr, *received_ = nullptr;
    bool begun_ = false;
    Failure failed_;
  };

  /// Waits for rank 0. `words` describe the question, as a wait for rank 0.
  [[nodiscard]] Failure ask(const Question& question, const char* words, Answer* answer) noexcept;

 private:
  struct Reply {
    Answer answer;
    core::Request* request = nullptr;
  };
  struct Waiting {
    int rank;
    Question question;
  };
  static int poll(void* self) noexcept;
  int serve() noexcept;
  [[nodiscard]] bool receive() noexcept;
  void take_question(int rank) noexcept;
  void reply(int rank, const Question& question, const Answer& answer) noexcept;
  void try_waiting() noexcept;
  /// Rank 0 looks for the end of a rank that takes ranges. Returns an error class; the error class
  /// MPI_ERR_PROC_ABORTED means that the rank has ended.
  [[nodiscard]] int watch(int rank) noexcept;
  [[nodiscard]] int look_for_ended() noexcept;
  void tell_closed() noexcept;
  /// Other ranks: whether rank 0 cannot answer any more.
  [[nodiscard]] Failure keeper_left() noexcept;

  struct Watched {
    int rank;
    bool has_ended;
    core::Request* receive;  // matches no message, and fails if the rank of another host is lost
  };

  Meeting& meeting_;
  Owner* owner_ = nullptr;
  int64_t next_tag_ = 0;
  Question coming_;
  core::Request* receive_ = nullptr;
  std::list<Reply> replies_;
  std::vector<Waiting> waiting_;
  std::vector<Watched> watched_;
  uint32_t polls_ = 0;
  core::Request* closed_ = nullptr;  // receives the notice of rank 0
  Answer notice_;
};

}  // namespace tern::io
