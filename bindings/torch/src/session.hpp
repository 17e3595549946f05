// SPDX-License-Identifier: Apache-2.0
// The MPI session of this process, and the communicators made from it.
// Why: PyTorch ends its world and begins another as often as a program likes; MPI_Init works once.
// Lifetime: from the first group to the last; each group holds it. Threads: any.
#ifndef TORCH_TERN_SESSION_HPP
#define TORCH_TERN_SESSION_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace torch_tern {

class Session {
 public:
  // The session that is open, or a new one.
  static std::shared_ptr<Session> open();
  // The same where there is one, else null.
  static std::shared_ptr<Session> current();

  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Names of groups come again in the next world; what all ranks count alike keeps their
  // communicators apart. (The number of sessions is not alike: where a request is stuck, a rank
  // keeps its session.)
  static void begin_world();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // A communicator of these ranks of the world; all of them call this with the same name.
  MPI_Comm communicator(const std::vector<int>& ranks, const std::string& name) const;

  // Ends the session now: all communicators are free. The destructor does so otherwise.
  void close();
  // The session is left open for good: requests are under way that will never complete.
  void abandon() { is_abandoned_ = true; }

 private:
  MPI_Session session_ = MPI_SESSION_NULL;
  MPI_Group world_ = MPI_GROUP_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool is_abandoned_ = false;
};

// Whether this process is a fork of the one that opened the session: MPI must not be called in it.
bool is_forked();
// Throws in a forked process.
void refuse_fork();
// No MPI from here on: Python is ending and the session was left open.
void call_no_more();
bool calls_no_more();

}  // namespace torch_tern

#endif
