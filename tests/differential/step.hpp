// SPDX-License-Identifier: Apache-2.0
// An operation of a random program: random streams, communicator, record of observations.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <string>

#include "random.hpp"

class Buffer;

struct Options {
  uint64_t first = 0, last = 0;
  int only = -1;  // this operation
  const char* kind = nullptr;
  bool verbose = false;
  bool threads = false;  // MPI_THREAD_MULTIPLE
  bool falsify = false;
  bool hang = false;
  std::string out;
};

class Step {
 public:
  Step(uint64_t seed, int index, MPI_Comm comm, FILE* words);

  Random all;   // equal on all ranks
  Random mine;  // differs between ranks
  MPI_Comm comm;
  int rank = 0, size = 1;
  uint64_t key;
  int tags;

  Random of(int which) const { return Random(mixed(key, static_cast<uint64_t>(which) + 1)); }

  // see() records a value. Verbose runs also write a line.
  void see(const char* what, long long value);
  void see(const char* what, const void* data, size_t bytes);
  void see(const char* what, const std::string& text);
  void see(const char* what, Buffer& buffer);
  // near() records a real value. Libraries may differ by `bound`.
  void near(const char* what, double value, double bound);
  // ok() records the class of an error. Returns true without an error.
  bool ok(int error, const char* call);
  void see(const char* what, const MPI_Status& status, MPI_Datatype type);
  __attribute__((format(printf, 2, 3))) void say(const char* format, ...);
  // skip() skips the comparison, for a known fault of the library.
  void skip(const char* why) { skipped_ = why; }

  void add(const Step& other);
  void falsify() { ++hash_; }

  bool verbose() const { return words_ != nullptr; }
  FILE* words() const { return words_; }
  uint64_t hash() const { return hash_; }
  const std::string& reals() const { return reals_; }
  const std::string& skipped() const { return skipped_; }
  std::string prefix;

 private:
  void mix(const char* what, const void* data, size_t bytes);
  FILE* words_;
  uint64_t hash_ = 0xcbf29ce484222325u;
  std::string reals_, skipped_;
};

int class_of(int error);
const char* name_of_class(int error_class);

struct Operation {
  const char* name;
  void (*run)(Step& step);
  int weight;
};
// Each ops_*.cc has one list. An entry without a name ends a list.
extern const Operation kPointToPoint[], kRequests[], kCollectives[], kInter[], kNeighbors[],
    kWindows[], kTypes[], kObjects[], kErrors[], kThreads[];
