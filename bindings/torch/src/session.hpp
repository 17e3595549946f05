// SPDX-License-Identifier: Apache-2.0
// The MPI session of this process, and the communicators made from it.
// Why: PyTorch may destroy its world and create another any number of times. MPI_Init works once.
// Lifetime: from the first group to the last; each group holds the session. Threads: any.
#ifndef TORCH_TERN_SESSION_HPP
#define TORCH_TERN_SESSION_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace torch_tern {

class Session {
 public:
  // Returns the open session, or a new one.
  static std::shared_ptr<Session> open();
  // Returns the open session, or null.
  static std::shared_ptr<Session> current();

  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Starts a new world. The next world reuses the groups' names, so the world's number becomes part
  // of the communicator's name. (Ranks count sessions differently: a rank with a stuck request
  // keeps its session.)
  static void begin_world();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Returns a communicator of these ranks of the world. All members pass the same name.
  MPI_Comm communicator(const std::vector<int>& ranks, const std::string& name) const;

  // Ends the session early. Requires that all communicators are free.
  void close();
  // Leaves the session open forever, because some requests will never complete.
  void abandon() { is_abandoned_ = true; }

 private:
  MPI_Session session_ = MPI_SESSION_NULL;
  MPI_Group world_ = MPI_GROUP_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool is_abandoned_ = false;
};

// Returns true in a fork of the process that opened the session. A fork must not call MPI.
bool is_forked();
// Throws in a forked process.
void refuse_fork();
// Forbids MPI calls from now on: Python is exiting and the session was left open.
void call_no_more();
bool calls_no_more();

}  // namespace torch_tern

#endif
