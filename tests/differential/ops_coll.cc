// SPDX-License-Identifier: Apache-2.0
// Collectives of a group for moving data.
#include <algorithm>

#include "call.hpp"
#include "coll.hpp"
#include "peer.hpp"

namespace {

constexpr int kNone = 0;

void barrier(Step& step, Call& call) { THREE_FORMS(call, Barrier, barrier, step.comm); }

void bcast(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, 1), root = step.all.below(step.size);
  Buffer& b = call.add(step, "buffer", signature, items, 1);
  step.say("root %d", root);
  THREE_FORMS(call, Bcast, bcast, b.at(), b.count, b.type(), root, step.comm);
}

void gather(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, step.size), root = step.all.below(step.size);
  const bool is_root = root == step.rank, in_place = is_root && step.mine.one_in(3);
  const void* from = MPI_IN_PLACE;
  void* to = nullptr;
  int sent = kNone, count = kNone;
  MPI_Datatype send_type = MPI_INT, type = MPI_INT;
  if (!in_place) {
    Buffer& b = call.add(step, "send", signature, items, 1);
    from = b.at(), sent = b.count, send_type = b.type();
  }
  if (is_root) {
    Buffer& b = call.add(step, "receive", signature, items, step.size);
    to = b.at(), count = b.count, type = b.type();
  }
  step.say("root %d%s", root, in_place ? ", in place" : "");
  THREE_FORMS(call, Gather, gather, from, sent, send_type, to, count, type, root, step.comm);
}

void scatter(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, step.size), root = step.all.below(step.size);
  const bool is_root = root == step.rank, in_place = is_root && step.mine.one_in(3);
  const void* from = nullptr;
  void* to = MPI_IN_PLACE;
  int sent = kNone, count = kNone;
  MPI_Datatype send_type = MPI_INT, type = MPI_INT;
  if (is_root) {
    Buffer& b = call.add(step, "send", signature, items, step.size);
    from = b.at(), sent = b.count, send_type = b.type();
  }
  if (!in_place) {
    Buffer& b = call.add(step, "receive", signature, items, 1);
    to = b.at(), count = b.count, type = b.type();
  }
  step.say("root %d%s", root, in_place ? ", in place" : "");
  THREE_FORMS(call, Scatter, scatter, from, sent, send_type, to, count, type, root, step.comm);
}

struct Sent {
  const void* from = MPI_IN_PLACE;
  int count = kNone;
  MPI_Datatype type = MPI_INT;
};

Buffer& exchange(Step& step, Call& call, int parts, Sent& sent) {
  const Signature signature = any_signature(step.all);
  const int items = any_count(step.all, signature, step.size);
  const bool in_place = step.all.one_in(3);
  if (!in_place) {
    Buffer& b = call.add(step, "send", signature, items, parts);
    sent = {b.at(), b.count, b.type()};
  }
  Buffer& b = call.add(step, "receive", signature, items, step.size);
  step.say("%s", in_place ? "in place" : "not in place");
  return b;
}

void allgather(Step& step, Call& call) {
  Sent sent;
  Buffer& b = exchange(step, call, 1, sent);
  THREE_FORMS(call, Allgather, allgather, sent.from, sent.count, sent.type, b.at(), b.count,
              b.type(), step.comm);
}

void alltoall(Step& step, Call& call) {
  Sent sent;
  Buffer& b = exchange(step, call, step.size, sent);
  THREE_FORMS(call, Alltoall, alltoall, sent.from, sent.count, sent.type, b.at(), b.count, b.type(),
              step.comm);
}

Buffer& add_parts(Step& step, Call& call, const char* who, const Signature& signature,
                  const std::vector<int>& counts) {
  std::vector<int>& places = call.ints.emplace_back();
  const int room = any_places(step.mine, counts, places);
  return call.add(step, who, any_layout(step.mine, signature, 1), kNone, room);
}

void gatherv(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int most = any_count(step.all, signature, step.size), root = step.all.below(step.size);
  std::vector<int>& counts = call.ints.emplace_back();
  any_counts(step.all, step.size, most, counts);
  const bool is_root = root == step.rank, in_place = is_root && step.mine.one_in(3);
  const void* from = MPI_IN_PLACE;
  void* to = nullptr;
  int sent = kNone;
  const int *parts = nullptr, *places = nullptr;
  MPI_Datatype send_type = MPI_INT, type = MPI_INT;
  if (!in_place) {
    Buffer& b = call.add(step, "send", signature, counts[static_cast<size_t>(step.rank)], 1);
    from = b.at(), sent = b.count, send_type = b.type();
  }
  if (is_root) {
    Buffer& b = add_parts(step, call, "receive", signature, counts);
    to = b.at(), type = b.type(), parts = counts.data(), places = call.ints.back().data();
  }
  step.say("root %d%s", root, in_place ? ", in place" : "");
  THREE_FORMS(call, Gatherv, gatherv, from, sent, send_type, to, parts, places, type, root,
              step.comm);
}

void scatterv(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int most = any_count(step.all, signature, step.size), root = step.all.below(step.size);
  std::vector<int>& counts = call.ints.emplace_back();
  any_counts(step.all, step.size, most, counts);
  const bool is_root = root == step.rank, in_place = is_root && step.mine.one_in(3);
  const void* from = nullptr;
  void* to = MPI_IN_PLACE;
  int count = kNone;
  const int *parts = nullptr, *places = nullptr;
  MPI_Datatype send_type = MPI_INT, type = MPI_INT;
  if (is_root) {
    Buffer& b = add_parts(step, call, "send", signature, counts);
    from = b.at(), send_type = b.type(), parts = counts.data(), places = call.ints.back().data();
  }
  if (!in_place) {
    Buffer& b = call.add(step, "receive", signature, counts[static_cast<size_t>(step.rank)], 1);
    to = b.at(), count = b.count, type = b.type();
  }
  step.say("root %d%s", root, in_place ? ", in place" : "");
  THREE_FORMS(call, Scatterv, scatterv, from, parts, places, send_type, to, count, type, root,
              step.comm);
}

void allgatherv(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const int most = any_count(step.all, signature, step.size);
  std::vector<int>& counts = call.ints.emplace_back();
  any_counts(step.all, step.size, most, counts);
  const bool in_place = step.all.one_in(3);
  const void* from = MPI_IN_PLACE;
  int sent = kNone;
  MPI_Datatype send_type = MPI_INT;
  if (!in_place) {
    Buffer& b = call.add(step, "send", signature, counts[static_cast<size_t>(step.rank)], 1);
    from = b.at(), sent = b.count, send_type = b.type();
  }
  Buffer& b = add_parts(step, call, "receive", signature, counts);
  const int *parts = counts.data(), *places = call.ints.back().data();
  step.say("%s", in_place ? "in place" : "not in place");
  THREE_FORMS(call, Allgatherv, allgatherv, from, sent, send_type, b.at(), parts, places, b.type(),
              step.comm);
}

// any_matrix() draws the items per pair of ranks, in place equal in both directions.
std::vector<std::vector<int>> any_matrix(Step& step, int most, bool equal) {
  const auto size = static_cast<size_t>(step.size);
  std::vector<std::vector<int>> matrix(size);
  for (auto& row : matrix) any_counts(step.all, step.size, most, row);
  for (size_t i = 0; equal && i < size; ++i) {
    for (size_t j = 0; j < i; ++j) matrix[i][j] = matrix[j][i];
  }
  return matrix;
}

void alltoallv(Step& step, Call& call) {
  const Signature signature = any_signature(step.all);
  const bool in_place = step.all.one_in(3);
  const auto matrix = any_matrix(step, any_count(step.all, signature, step.size), in_place);
  const auto rank = static_cast<size_t>(step.rank);
  std::vector<int>& counts = call.ints.emplace_back();
  for (const auto& row : matrix) counts.push_back(row[rank]);
  const void* from = MPI_IN_PLACE;
  const int *sent = nullptr, *send_places = nullptr;
  MPI_Datatype send_type = MPI_INT;
  if (!in_place) {
    std::vector<int>& row = call.ints.emplace_back(matrix[rank]);
    Buffer& b = add_parts(step, call, "send", signature, row);
    from = b.at(), send_type = b.type(), sent = row.data(), send_places = call.ints.back().data();
  }
  Buffer& b = add_parts(step, call, "receive", signature, counts);
  const int *received = counts.data(), *places = call.ints.back().data();
  step.say("%s", in_place ? "in place" : "not in place");
  THREE_FORMS(call, Alltoallv, alltoallv, from, sent, send_places, send_type, b.at(), received,
              places, b.type(), step.comm);
}

void alltoallw(Step& step, Call& call) {
  const auto size = static_cast<size_t>(step.size), rank = static_cast<size_t>(step.rank);
  if (size == 1 && peer::kNoAlltoallwAlone) {
    step.skip("MPI_Alltoallw of one rank");
    return barrier(step, call);
  }
  std::vector<std::vector<Signature>> signatures(size);
  std::vector<std::vector<int>> items(size);
  const bool in_place = step.all.one_in(4);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      // The driver compares parts as bytes, so padding must not occur.
      Signature signature = any_signature(step.all);
      while (has_padding(signature)) signature = any_signature(step.all);
      signatures[i].push_back(signature);
      items[i].push_back(any_count(step.all, signatures[i][j], 4 * step.size));
    }
  }
  for (size_t i = 0; in_place && i < size; ++i) {
    for (size_t j = 0; j < i; ++j) signatures[i][j] = signatures[j][i], items[i][j] = items[j][i];
  }
  Parts send, receive;
  for (size_t i = 0; i < size; ++i) {
    if (!in_place) send.add(step, signatures[rank][i], items[rank][i]);
    receive.add(step, signatures[i][rank], items[i][rank]);
  }
  const void* from = in_place ? MPI_IN_PLACE : send.into(call);
  const int *sent = nullptr, *send_places = nullptr;
  const MPI_Datatype* send_types = nullptr;
  if (!in_place) {
    send_places = call.ints.back().data(), sent = call.ints[call.ints.size() - 2].data();
    send_types = call.types.back().data();
  }
  void* to = receive.into(call);
  const int *places = call.ints.back().data(), *received = call.ints[call.ints.size() - 2].data();
  const MPI_Datatype* types = call.types.back().data();
  step.say("%s", in_place ? "in place" : "not in place");
  THREE_FORMS(call, Alltoallw, alltoallw, from, sent, send_places, send_types, to, received, places,
              types, step.comm);
}

using Make = void (*)(Step&, Call&);
constexpr Make kMoves[] = {barrier, bcast,    gather,     scatter,   allgather, alltoall,
                           gatherv, scatterv, allgatherv, alltoallv, alltoallw};
constexpr Make kReductions[] = {reduce, allreduce, reduce_scatter, reduce_scatter_block,
                                scan,   exscan};

void any_move(Step& step, Call& call) {
  kMoves[step.all.below(static_cast<int>(std::size(kMoves)))](step, call);
}
void any_reduce(Step& step, Call& call) {
  kReductions[step.all.below(static_cast<int>(std::size(kReductions)))](step, call);
}

void moves(Step& step) { run_calls(step, any_move); }
void reductions(Step& step) { run_calls(step, any_reduce); }
void mixture(Step& step) {
  run_calls(step, [](Step& s, Call& call) { (s.all.one_in(2) ? any_move : any_reduce)(s, call); });
}

}  // namespace

void any_collective(Step& step) { mixture(step); }

void Parts::add(Step& step, const Signature& signature, int items) {
  int count = 0;
  Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
  step.say("part %zu: %d of %s", layouts_.size(), count, layout.text.c_str());
  MPI_Aint low = 0, high = 0;
  if (count > 0 && !layout.map.empty()) {
    low = layout.first();
    high = (count - 1) * layout.extent + layout.end();
  }
  const MPI_Aint start = (end_ + 15) / 16 * 16 + 16 * step.mine.below(2);
  const MPI_Aint place = start - (low < 0 ? -((-low + 15) / 16 * 16) : 0);
  end_ = place + std::max(high, MPI_Aint(0));
  counts_.push_back(count);
  places_.push_back(place);
  layouts_.push_back(std::move(layout));
}

void* Parts::into(Call& call) {
  std::vector<MPI_Datatype>& types = call.types.emplace_back();
  std::vector<MPI_Aint>& bytes = call.bytes.emplace_back(places_);
  types.reserve(1), bytes.reserve(1);
  for (Layout& layout : layouts_) {
    types.push_back(layout.type);
    call.layouts.push_back(std::move(layout));
  }
  call.ints.emplace_back(counts_).reserve(1);
  std::vector<int>& places = call.ints.emplace_back();
  places.reserve(1);
  for (MPI_Aint place : bytes) places.push_back(static_cast<int>(place));
  Buffer& memory = call.buffers.emplace_back(predefined_bytes(), static_cast<int>(end_), end_);
  return memory.at();
}

Layout predefined_bytes() {
  int which = 0;
  while (basics()[static_cast<size_t>(which)].kind != Kind::byte) ++which;
  return predefined(which);
}

const Operation kCollectives[] = {
    {"moves", moves, 10}, {"reductions", reductions, 8}, {"mixture", mixture, 4}, {}};
