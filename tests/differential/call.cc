// SPDX-License-Identifier: Apache-2.0
// Collective calls in three forms, and user-defined operations.
#include "call.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "completing.hpp"
#include "peer.hpp"

Buffer& Call::add(Step& step, const char* who, Layout&& layout, int count, MPI_Aint places) {
  step.say("%s: %d of %s, room for %ld", who, count, layout.text.c_str(),
           static_cast<long>(places));
  return buffers.emplace_back(std::move(layout), count, places);
}

Buffer& Call::add(Step& step, const char* who, const Signature& signature, int items, int places) {
  int count = 0;
  Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
  return add(step, who, std::move(layout), count, static_cast<MPI_Aint>(count) * places);
}

int any_counts(Random& random, int parts, int most, std::vector<int>& counts) {
  int sum = 0;
  const bool some_empty = random.one_in(3);
  for (int i = 0; i < parts; ++i) {
    counts.push_back(some_empty && random.one_in(2) ? 0 : random.between(0, most));
    sum += counts.back();
  }
  return sum;
}

int any_places(Random& random, const std::vector<int>& counts, std::vector<int>& places) {
  places.reserve(1);  // an address, even without data
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  if (random.one_in(2)) random.shuffle(order);
  places.resize(counts.size());
  int place = random.below(3);
  for (size_t which : order) {
    places[which] = place;
    place += counts[which] + (random.one_in(3) ? random.below(4) : 0);
  }
  return place;
}

namespace {

void fill(Step& step, Call& call) {
  for (Buffer& buffer : call.buffers) buffer.fill(step.mine.next(), call.values);
}

void look(Step& step, Call& call) {
  if (call.look) return call.look(step);
  for (Buffer& buffer : call.buffers) {
    if (call.reduces) buffer.normalise();
    if (!call.unseen) step.see(call.name, buffer);
  }
}

}  // namespace

void run_calls(Step& step, const std::function<void(Step&, Call&)>& make) {
  const int form = step.all.below(3);
  const int number = form == 0 ? step.all.between(1, 2) : step.all.between(1, 4);
  const int rounds = form == 2 ? step.all.between(1, 3) : 1;
  std::deque<Call> calls(static_cast<size_t>(number));
  std::vector<MPI_Request> requests(calls.size(), MPI_REQUEST_NULL);
  std::vector<MPI_Status> statuses;
  for (size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    call.alone = form == 0;
    make(step, call);
    step.say("%s%s, %d rounds", call.name,
             form == 0   ? ""
             : form == 1 ? ", nonblocking"
                         : ", persistent",
             rounds);
    if (form != 2) fill(step, call);
    if (form == 0) {
      if (step.ok(call.blocking(), call.name)) look(step, call);
    } else if (form == 1 || !peer::kNoPersistentCollectives) {
      step.ok((form == 1 ? call.nonblocking : call.persistent)(&requests[i]), call.name);
    }
  }
  for (int round = 0; form != 0 && round < rounds; ++round) {
    if (form == 2) {
      for (Call& call : calls) fill(step, call);
      // MPI_Startall starts in any order, and collectives need one order.
      for (size_t i = 0; i < calls.size(); ++i) {
        if (peer::kNoPersistentCollectives) {
          step.ok(calls[i].nonblocking(&requests[i]), calls[i].name);
        } else if (requests[i] != MPI_REQUEST_NULL) {
          step.ok(MPI_Start(&requests[i]), "MPI_Start");
        }
      }
    }
    complete(step, requests, statuses);
    for (Call& call : calls) look(step, call);
  }
  for (MPI_Request& request : requests) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  for (Call& call : calls) {
    for (MPI_Op& op : call.ops) MPI_Op_free(&op);
  }
}

namespace {

// multiply() takes products modulo 2^32 of matrices. Elements are `step` words apart, matrices
// `extent` words.
void multiply(const uint32_t* in, uint32_t* inout, int number, int step, int extent) {
  for (int i = 0; i < number; ++i, in += extent, inout += extent) {
    const uint32_t a = in[0], b = in[step], c = in[2 * step], d = in[3 * step];
    const uint32_t e = inout[0], f = inout[step], g = inout[2 * step], h = inout[3 * step];
    inout[0] = a * e + b * g;
    inout[step] = a * f + b * h;
    inout[2 * step] = c * e + d * g;
    inout[3 * step] = c * f + d * h;
  }
}

constexpr int kWide = peer::kTooLittleRoom ? 7 : 9;

void multiply_dense(void* in, void* inout, int* number, MPI_Datatype*) {
  multiply(static_cast<uint32_t*>(in), static_cast<uint32_t*>(inout), *number, 1, 4);
}

void multiply_wide(void* in, void* inout, int* number, MPI_Datatype*) {
  multiply(static_cast<uint32_t*>(in), static_cast<uint32_t*>(inout), *number, 2, kWide);
}

void add_dense(void* in, void* inout, int* number, MPI_Datatype*) {
  for (int i = 0; i < 4 * *number; ++i) {
    static_cast<uint32_t*>(inout)[i] += static_cast<uint32_t*>(in)[i];
  }
}

int basic_of(MPI_Datatype type) {
  int which = 0;
  while (basics()[static_cast<size_t>(which)].type != type) ++which;
  return which;
}

}  // namespace

UserOperation any_user_operation(Random& random) {
  UserOperation made;
  const Layout word = predefined(basic_of(MPI_UINT32_T));
  const int which = random.below(3);
  MPI_Datatype type;
  if (which == 1) {
    MPI_Datatype open;
    MPI_Type_vector(4, 1, 2, MPI_UINT32_T, &open);
    MPI_Type_create_resized(open, 0, kWide * 4, &type);
    MPI_Type_free(&open);
    made.layout = derived(type, word, {0, 8, 16, 24}, "matrix with gaps");
    made.name = "multiply with gaps";
    made.wide = true;
  } else {
    MPI_Type_contiguous(4, MPI_UINT32_T, &type);
    made.layout = derived(type, word, {0, 4, 8, 12}, "matrix");
    made.name = which == 0 ? "multiply" : "add";
  }
  MPI_Type_commit(&made.layout.type);
  MPI_Op_create(which == 0   ? multiply_dense
                : which == 1 ? multiply_wide
                             : add_dense,
                which == 2, &made.op);
  return made;
}
