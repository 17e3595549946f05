// SPDX-License-Identifier: Apache-2.0
// Datatypes alone: sizes, extents, envelopes, packing in both forms.
#include <cstring>

#include "buffer.hpp"
#include "peer.hpp"
#include "step.hpp"

namespace {

int name_of_combiner(int combiner) {
  const int kAll[] = {
      MPI_COMBINER_NAMED,    MPI_COMBINER_DUP,           MPI_COMBINER_CONTIGUOUS,
      MPI_COMBINER_VECTOR,   MPI_COMBINER_HVECTOR,       MPI_COMBINER_INDEXED,
      MPI_COMBINER_HINDEXED, MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK,
      MPI_COMBINER_STRUCT,   MPI_COMBINER_SUBARRAY,      MPI_COMBINER_DARRAY,
      MPI_COMBINER_RESIZED};
  for (size_t i = 0; i < std::size(kAll); ++i) {
    if (kAll[i] == combiner) return static_cast<int>(i);
  }
  return -1;
}

void envelope(Step& step, MPI_Datatype type, int depth) {
  int ints, addresses, types, combiner;
  step.ok(MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner),
          "MPI_Type_get_envelope");
  step.see("combiner", name_of_combiner(combiner));
  if (combiner == MPI_COMBINER_NAMED) return;
  step.see("numbers", ints * 10000 + addresses * 100 + types);
  std::vector<int> int_list(static_cast<size_t>(ints) + 1);
  std::vector<MPI_Aint> address_list(static_cast<size_t>(addresses) + 1);
  std::vector<MPI_Datatype> type_list(static_cast<size_t>(types) + 1);
  step.ok(MPI_Type_get_contents(type, ints, addresses, types, int_list.data(), address_list.data(),
                                type_list.data()),
          "MPI_Type_get_contents");
  // Constants of arrays differ between libraries.
  const bool array = combiner == MPI_COMBINER_SUBARRAY || combiner == MPI_COMBINER_DARRAY;
  if (!array) step.see("ints", int_list.data(), static_cast<size_t>(ints) * sizeof(int));
  step.see("addresses", address_list.data(), static_cast<size_t>(addresses) * sizeof(MPI_Aint));
  for (size_t i = 0; i < static_cast<size_t>(types); ++i) {
    if (depth < 3) envelope(step, type_list[i], depth + 1);
    int inner_ints, inner_addresses, inner_types, inner;
    MPI_Type_get_envelope(type_list[i], &inner_ints, &inner_addresses, &inner_types, &inner);
    if (inner != MPI_COMBINER_NAMED) MPI_Type_free(&type_list[i]);
  }
}

void sizes(Step& step, const Buffer& b) {
  int size;
  MPI_Aint lb, extent, true_lb, true_extent;
  MPI_Count count, wide_lb, wide_extent;
  MPI_Type_size(b.layout.type, &size);
  MPI_Type_size_x(b.layout.type, &count);
  MPI_Type_get_extent(b.layout.type, &lb, &extent);
  MPI_Type_get_true_extent(b.layout.type, &true_lb, &true_extent);
  MPI_Type_get_extent_x(b.layout.type, &wide_lb, &wide_extent);
  step.see("size", size);
  step.see("size_x", count);
  step.see("lb", lb);
  step.see("extent", extent);
  step.see("true lb", true_lb);
  step.see("true extent", true_extent);
  step.see("wide", wide_lb * 1000 + wide_extent);
}

void packing(Step& step, Buffer& b, const Signature& signature, int items) {
  int size = -1, place = 0, count = 0;
  MPI_Pack_size(b.count, b.type(), MPI_COMM_SELF, &size);
  std::vector<unsigned char> packed(static_cast<size_t>(size) + 1);
  step.ok(MPI_Pack(b.at(), b.count, b.type(), packed.data(), size, &place, MPI_COMM_SELF),
          "MPI_Pack");
  Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
  Buffer other(std::move(layout), count, count);
  other.fill(step.mine.next(), Values::raw);
  const int all = place;
  place = 0;
  step.ok(
      MPI_Unpack(packed.data(), all, &place, other.at(), other.count, other.type(), MPI_COMM_SELF),
      "MPI_Unpack");
  step.see("unpacked", other);
}

void external(Step& step, Buffer& b, const Signature& signature, int items) {
  if (has_padding(signature)) return;
  if (peer::kLittleExternal && (signature.size() > 1 || has_addresses(signature))) {
    return step.skip("external32 of addresses and structs");
  }
  if (peer::kLongExternal && has_longs(signature)) return step.skip("external32 of longs");
  MPI_Aint size = -1, place = 0;
  int count = 0;
  step.ok(MPI_Pack_external_size("external32", b.count, b.type(), &size), "MPI_Pack_external_size");
  step.see("external size", size);
  std::vector<unsigned char> packed(static_cast<size_t>(size) + 1);
  step.ok(MPI_Pack_external("external32", b.at(), b.count, b.type(), packed.data(), size, &place),
          "MPI_Pack_external");
  step.see("external", packed.data(), static_cast<size_t>(place));
  Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
  Buffer other(std::move(layout), count, count);
  other.fill(step.mine.next(), Values::raw);
  place = 0;
  step.ok(MPI_Unpack_external("external32", packed.data(), size, &place, other.at(), other.count,
                              other.type()),
          "MPI_Unpack_external");
  step.see("from external", other);
}

void types(Step& step) {
  const int number = step.all.between(1, 3);
  for (int i = 0; i < number; ++i) {
    const Signature signature = any_signature(step.mine);
    const int items = std::min(any_count(step.mine, signature, 8), 2000);
    int count = 0;
    Layout layout = Buffer::wrapped(step.mine, signature, items, &count);
    step.say("%d of %s", count, layout.text.c_str());
    Buffer b(std::move(layout), count, count);
    b.fill(step.mine.next(), Values::raw);
    sizes(step, b);
    envelope(step, b.type(), 0);
    if (step.mine.one_in(2)) packing(step, b, signature, items);
    if (step.mine.one_in(3)) external(step, b, signature, items);
  }
}

void local_reduction(Step& step) {
  const Reduction reduction = any_reduction(step.mine);
  if (compares_addresses(reduction) && peer::kAddressesWithoutSign) step.skip("signs of addresses");
  const int n = step.mine.between(0, 300);
  step.say("%s of %d %s", reduction.name, n, basics()[static_cast<size_t>(reduction.basic)].name);
  Buffer in(predefined(reduction.basic), n, n), inout(predefined(reduction.basic), n, n);
  in.fill(step.mine.next(), Values::sums);
  inout.fill(step.mine.next(), Values::sums);
  step.ok(MPI_Reduce_local(in.at(), inout.at(), n, in.type(), reduction.op), "MPI_Reduce_local");
  inout.normalise();
  step.see("result", inout);
}

}  // namespace

const Operation kTypes[] = {{"types", types, 4}, {"local_reduction", local_reduction, 2}, {}};
