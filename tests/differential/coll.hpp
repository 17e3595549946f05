// SPDX-License-Identifier: Apache-2.0
// Shared by the files of collectives.
#pragma once

#include <vector>

#include "call.hpp"

// ops_reduce.cc defines these.
void reduce(Step& step, Call& call);
void allreduce(Step& step, Call& call);
void reduce_scatter(Step& step, Call& call);
void reduce_scatter_block(Step& step, Call& call);
void scan(Step& step, Call& call);
void exscan(Step& step, Call& call);

struct Reducing {
  explicit Reducing(Step& step, Call& call);
  Layout layout();
  MPI_Op op = MPI_OP_NULL;
  Signature signature;
  int basic = -1;  // -1: user-defined
  bool rounded = false;

 private:
  Layout user_;
};
// look_at_reals() compares real values of the buffers within a bound.
void look_at_reals(Call& call, int basic, int ranks);

void any_collective(Step& step);

Layout predefined_bytes();

class Parts {
 public:
  void add(Step& step, const Signature& signature, int items);
  // into() adds counts and places to call.ints and call.bytes, types to call.types. Returns the
  // buffer.
  void* into(Call& call);

 private:
  std::vector<Layout> layouts_;
  std::vector<int> counts_;
  std::vector<MPI_Aint> places_;
  MPI_Aint end_ = 0;
};
