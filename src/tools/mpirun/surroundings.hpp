// SPDX-License-Identifier: Apache-2.0
// Surroundings: what a world shares with the other worlds of mpirun, and reports to them.
// Implementation: Worlds. Threads: the loop's.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <string>

#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/outputs.hpp"
#include "tools/mpirun/recording.hpp"

namespace tern::mpirun {

class Job;

class Surroundings {
 public:
  Surroundings(Loop& the_loop, const sigset_t& mask, const rlimit& files)
      : loop(the_loop), console(the_loop), signal_mask(mask), open_files(files) {}
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  virtual ~Surroundings() = default;

  virtual void note_code(Job& world, int exit_code) = 0;
  [[nodiscard]] virtual bool has_code() const noexcept = 0;
  virtual void end_connected(Job& failed, int exit_code) = 0;
  // Running ranks of the world and of all connected worlds.
  [[nodiscard]] virtual int running_with(Job& world) = 0;
  virtual void on_lost_output(int error) = 0;
  // A world may be over.
  virtual void look() = 0;
  // Stops without the outputs, for ranks left behind.
  virtual void stop_if_over() = 0;
  virtual void count_ranks() noexcept = 0;
  /// For the ranks' failure detectors.
  virtual void wake_ranks() noexcept = 0;

  Loop& loop;
  Console console;
  Guard guard;
  const sigset_t signal_mask;  // of mpirun's start
  const rlimit open_files;     // of mpirun's start
  std::string door;            // empty: no rank can start a world
  Wanted wanted;               // records, of all worlds
};

}  // namespace tern::mpirun
