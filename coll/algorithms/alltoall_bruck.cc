// SPDX-License-Identifier: Apache-2.0
// Bruck's alltoall: a block for the d-th rank after this rank travels by the powers of two in d,
// many blocks per message.
// Definitions: stage slot d (1 to p - 1) holds the block that still has to travel the remaining
// bits of d; slots from p on hold a round's blocks contiguously, p / 2 to send and p / 2 received.
#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

int32_t pack_round(Builder& b, int32_t bit) {
  int32_t packed = 0;
  for (int32_t d = bit; d < b.ranks(); ++d)
    if ((d & bit) != 0) b.copy(Builder::staged(d), Builder::staged(b.ranks() + packed++));
  return packed;
}

void unpack_round(Builder& b, int32_t bit, int32_t received) {
  for (int32_t d = bit; d < b.ranks(); ++d)
    if ((d & bit) != 0) b.copy(Builder::staged(received++), Builder::staged(d));
}

}  // namespace

void alltoall_bruck(Builder& b) {
  const int32_t ranks = b.ranks();
  const int32_t half = (ranks + 1) / 2;
  b.stage(ranks + 2 * half);
  b.copy(Builder::input(b.rank()), Builder::output(b.rank()));
  for (int32_t d = 1; d < ranks; ++d) b.copy(Builder::input(b.ring(d)), Builder::staged(d));
  for (int32_t bit = 1; bit < ranks; bit *= 2) {
    const int32_t blocks = pack_round(b, bit);
    b.send(b.ring(bit), Builder::staged(ranks, 0, blocks));
    b.recv(b.ring(-bit), Builder::staged(ranks + half, 0, blocks));
    unpack_round(b, bit, ranks + half);
  }
  for (int32_t d = 1; d < ranks; ++d) b.copy(Builder::staged(d), Builder::output(b.ring(-d)));
}

}  // namespace tern::coll
