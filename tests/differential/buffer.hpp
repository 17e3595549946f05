// SPDX-License-Identifier: Apache-2.0
// Random derived types whose map this program knows, and memory for some items of one.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "basics.hpp"
#include "random.hpp"

// A run of equal basic elements: which, and how many. The two sides of a message have one
// signature.
using Signature = std::vector<std::pair<int, int>>;
Signature any_signature(Random& random);
// Bytes of data of one item.
int bytes_of(const Signature& signature);
std::string text_of(const Signature& signature);
bool has_padding(const Signature& signature);
bool has_pairs(const Signature& signature);
bool has_addresses(const Signature& signature);
// How many items, with `room` bytes at the most for `places` times as many.
int any_count(Random& random, const Signature& signature, int places);

struct Element {
  MPI_Aint at;
  int basic;
};

// A datatype, and where its elements lie.
class Layout {
 public:
  Layout() = default;
  Layout(Layout&& other) noexcept { *this = std::move(other); }
  Layout& operator=(Layout&& other) noexcept;
  ~Layout();

  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool named = true;  // predefined, so not to be freed
  std::vector<Element> map;
  MPI_Aint lb = 0, extent = 0;
  std::string text;

  MPI_Aint first() const;  // of its bytes
  MPI_Aint end() const;
};

// A committed type with the elements of `signature`, so many times.
Layout any_layout(Random& random, const Signature& signature, int times);
Layout predefined(int basic);
// Takes `type`, whose elements are those of `inner` at each of `places` in turn.
Layout derived(MPI_Datatype type, const Layout& inner, const std::vector<MPI_Aint>& places,
               std::string text);

class Buffer {
 public:
  // Room for the items 0 .. places-1 of `layout`.
  Buffer(Layout&& layout, int count, MPI_Aint places);
  Buffer(const Buffer&) = delete;
  // With any layout for `items` times the signature.
  static Layout wrapped(Random& random, const Signature& signature, int items, int* count);

  // Gives all bytes and elements new values that `seed` alone determines.
  void fill(uint64_t seed, Values values);
  // After a reduction: what the standard leaves open is made equal.
  void normalise();
  // Bytes of elements that belong to no value: libraries copy them or not.
  void clear_padding();
  void* at(MPI_Aint item = 0) { return base() + item * layout.extent; }
  void* at_byte(MPI_Aint byte) { return base() + byte; }
  MPI_Datatype type() const { return layout.type; }

  Layout layout;
  int count;
  MPI_Aint places;
  MPI_Aint low = 0;  // address of bytes[0], from the buffer's
  std::vector<unsigned char> bytes;

 private:
  unsigned char* base() { return bytes.data() - low; }
};
