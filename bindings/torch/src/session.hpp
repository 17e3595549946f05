// SPDX-License-Identifier: Apache-2.0
// The MPI session of this process, and the communicators made from it.
// Why: PyTorch may create worlds repeatedly, but MPI_Init works once. Lifetime: from the first
// group to the last, held by the groups. Threads: any.
#ifndef TORCH_TERN_SESSION_HPP
#define TORCH_TERN_SESSION_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

namespace torch_tern {

class Session {
 public:
  static std::shared_ptr<Session> open();
  static std::shared_ptr<Session> current();

  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Counts the worlds, because group names repeat in the next world. Session counts differ across
  // ranks: a rank with a stuck request keeps the session.
  static void begin_world();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // communicator() is collective over these ranks of the world, with equal names.
  MPI_Comm communicator(const std::vector<int>& ranks, const std::string& name) const;

  // Requires that all communicators are free.
  void close();
  // Keeps the session open forever, because some requests never complete.
  void abandon() { is_abandoned_ = true; }

 private:
  MPI_Session session_ = MPI_SESSION_NULL;
  MPI_Group world_ = MPI_GROUP_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool is_abandoned_ = false;
};

// Returns true in a fork of the process with the session. A fork must not call MPI.
bool is_forked();
void refuse_fork();
// Forbids MPI calls, because Python exits and the session stays open.
void call_no_more();
bool calls_no_more();

}  // namespace torch_tern

#endif
