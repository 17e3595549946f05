// SPDX-License-Identifier: Apache-2.0
// Random derived types with a known type map, and memory for items.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "basics.hpp"
#include "random.hpp"

// A signature has runs of equal basic elements: index of the basic type, number. Both sides of a
// message have the same signature.
using Signature = std::vector<std::pair<int, int>>;
Signature any_signature(Random& random);
int bytes_of(const Signature& signature);
std::string text_of(const Signature& signature);
bool has_padding(const Signature& signature);
bool has_pairs(const Signature& signature);
bool has_addresses(const Signature& signature);
bool has_longs(const Signature& signature);
// `places` times any_count() items fit into 1 MiB.
int any_count(Random& random, const Signature& signature, int places);

// was_given_less() returns true if this thread got a smaller count or a simpler type since the last
// call (peer.hpp).
bool was_given_less();
void give_less();

struct Element {
  MPI_Aint at;
  int basic;
};

class Layout {
 public:
  Layout() = default;
  Layout(Layout&& other) noexcept { *this = std::move(other); }
  Layout& operator=(Layout&& other) noexcept;
  ~Layout();

  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool named = true;
  std::vector<Element> map;
  MPI_Aint lb = 0, extent = 0;
  std::string text;

  MPI_Aint first() const;
  MPI_Aint end() const;
};

// any_layout() returns a committed type with the elements of `signature`, `times` times.
Layout any_layout(Random& random, const Signature& signature, int times);
Layout predefined(int basic);
// derived() takes `type`, with the elements of `inner` at each of `places`, in order.
Layout derived(MPI_Datatype type, const Layout& inner, const std::vector<MPI_Aint>& places,
               std::string text);

class Buffer {
 public:
  Buffer(Layout&& layout, int count, MPI_Aint places);
  Buffer(const Buffer&) = delete;
  static Layout wrapped(Random& random, const Signature& signature, int items, int* count);

  // `seed` alone determines all bytes of fill().
  void fill(uint64_t seed, Values values);
  // normalise() clears padding and the sign of zero after a reduction.
  void normalise();
  // Some libraries copy padding.
  void clear_padding();
  void* at(MPI_Aint item = 0) { return base() + item * layout.extent; }
  void* at_byte(MPI_Aint byte) { return base() + byte; }
  MPI_Datatype type() const { return layout.type; }

  Layout layout;
  int count;
  MPI_Aint places;
  MPI_Aint low = 0;  // address of bytes[0], from the buffer's address
  std::vector<unsigned char> bytes;

 private:
  unsigned char* base() { return bytes.data() - low; }
};
