// SPDX-License-Identifier: Apache-2.0
// One operation of a random program under way: its random streams, its communicator, and the record
// of what it saw.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>

#include "random.hpp"

class Buffer;

// What the command line says.
struct Options {
  uint64_t first = 0, last = 0;
  int only = -1;               // this operation of the programs
  const char* kind = nullptr;  // only operations of this kind
  bool verbose = false;
  bool threads = false;  // MPI_THREAD_MULTIPLE
  bool falsify = false;  // the last rank of the first program is to say something false
  bool hang = false;     // the first program is to hang
  std::string out;       // path without the rank
};

class Step {
 public:
  // Both streams are those of the operation `index` of program `seed`.
  Step(uint64_t seed, int index, MPI_Comm comm, FILE* words);

  Random all;   // the same on all ranks
  Random mine;  // this rank's
  MPI_Comm comm;
  int rank = 0, size = 1;
  uint64_t key;  // of the operation; the streams stem from it
  int tags;      // from here on a thousand tags are this operation's

  // What rank `which` has as `mine`, from its begin.
  Random of(int which) const { return Random(mixed(key, static_cast<uint64_t>(which) + 1)); }

  // Records; in verbose runs writes a line, too.
  void see(const char* what, long long value);
  void see(const char* what, const void* data, size_t bytes);
  void see(const char* what, const std::string& text);
  void see(const char* what, Buffer& buffer);
  // A real value that may differ between libraries by as much as `bound`.
  void near(const char* what, double value, double bound);
  // Records the class of an error. True: there was no error.
  bool ok(int error, const char* call);
  // A status: source, tag, and how many elements of `type`.
  void see(const char* what, const MPI_Status& status, MPI_Datatype type);
  // Says what is going to be done; only for readers.
  __attribute__((format(printf, 2, 3))) void say(const char* format, ...);
  // This library cannot do it, or does it wrong in a way that is known.
  void skip(const char* why) { skipped_ = why; }

  // What a step of a thread saw is part of what its program's step saw.
  void add(const Step& other);
  void falsify() { ++hash_; }

  bool verbose() const { return words_ != nullptr; }
  FILE* words() const { return words_; }
  uint64_t hash() const { return hash_; }
  const std::string& reals() const { return reals_; }
  const std::string& skipped() const { return skipped_; }
  std::string prefix;  // of verbose lines

 private:
  void mix(const char* what, const void* data, size_t bytes);
  FILE* words_;
  uint64_t hash_ = 0xcbf29ce484222325u;
  std::string reals_, skipped_;
};

// The class of an error code.
int class_of(int error);
// Its name, as far as an error code of the tests has one.
const char* name_of_class(int error_class);

// A kind of operation.
struct Operation {
  const char* name;
  void (*run)(Step& step);
  int weight;
};
// Each file of operations has one of these.
extern const Operation kPointToPoint[], kRequests[], kCollectives[], kInter[], kNeighbors[],
    kWindows[], kTypes[], kObjects[], kErrors[], kThreads[];
