// SPDX-License-Identifier: Apache-2.0
// Random derived types of all constructors, nested, without overlapping elements.
#include <algorithm>
#include <numeric>

#include "buffer.hpp"
#include "peer.hpp"

Layout& Layout::operator=(Layout&& other) noexcept {
  std::swap(type, other.type);
  std::swap(named, other.named);
  map.swap(other.map);
  std::swap(lb, other.lb);
  std::swap(extent, other.extent);
  text.swap(other.text);
  return *this;
}

Layout::~Layout() {
  if (!named) MPI_Type_free(&type);
}

MPI_Aint Layout::first() const {
  MPI_Aint low = map.empty() ? 0 : map[0].at;
  for (const Element& element : map) low = std::min(low, element.at);
  return low;
}

MPI_Aint Layout::end() const {
  MPI_Aint high = 0;
  for (const Element& element : map) {
    high = std::max(high, element.at + basics()[static_cast<size_t>(element.basic)].extent);
  }
  return high;
}

Layout predefined(int basic) {
  Layout layout;
  const Basic& one = basics()[static_cast<size_t>(basic)];
  layout.type = one.type;
  layout.map.push_back({0, basic});
  layout.extent = one.extent;
  layout.text = one.name;
  return layout;
}

Layout derived(MPI_Datatype type, const Layout& inner, const std::vector<MPI_Aint>& places,
               std::string text) {
  Layout layout;
  layout.type = type;
  layout.named = false;
  for (MPI_Aint place : places) {
    for (const Element& element : inner.map) {
      layout.map.push_back({place + element.at, element.basic});
    }
  }
  MPI_Type_get_extent(type, &layout.lb, &layout.extent);
  layout.text = std::move(text);
  return layout;
}

namespace {

std::string text_of(const std::vector<int>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size() && i < 40; ++i) {
    text += (i ? " " : "") + std::to_string(list[i]);
  }
  return text + "]";
}

int divisor(Random& random, int number) {
  std::vector<int> found;
  for (int i = 1; i <= number; ++i) {
    if (number % i == 0) found.push_back(i);
  }
  return found[static_cast<size_t>(random.below(static_cast<int>(found.size())))];
}

// Blocks are in any order with gaps. The sum of the lengths is `sum`; places count elements.
struct Blocks {
  std::vector<int> lengths, places;
};

Blocks any_blocks(Random& random, int sum, int equal) {
  Blocks blocks;
  while (sum > 0) {
    const int length = equal ? equal : random.between(1, std::min(sum, 5));
    blocks.lengths.push_back(length);
    sum -= length;
    if (!equal && random.one_in(8)) blocks.lengths.push_back(0);
  }
  std::vector<int> order(blocks.lengths.size());
  std::iota(order.begin(), order.end(), 0);
  if (!random.one_in(3)) random.shuffle(order);
  blocks.places.resize(order.size());
  int place = random.one_in(4) ? -random.between(1, 20) : random.below(3);
  for (int which : order) {
    blocks.places[static_cast<size_t>(which)] = place;
    place += blocks.lengths[static_cast<size_t>(which)] + random.below(3);
  }
  return blocks;
}

// For a library without backward strides, without_backward() simplifies the type; was_given_less()
// reports the change.
bool without_backward() {
  if (peer::kNoBackwardStrides) give_less();
  return peer::kNoBackwardStrides;
}

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {}

  Layout elements(int basic, int number, int depth) {
    if (number == 1 && (depth == 0 || random_.one_in(2))) return predefined(basic);
    if (depth == 0) return contiguous(predefined(basic), number);
    switch (random_.below(12)) {
      case 0: {
        const int times = divisor(random_, number);
        return contiguous(elements(basic, number / times, depth - 1), times);
      }
      case 1:
      case 2:
        return vector(basic, number, depth);
      case 3:
      case 4:
      case 5:
        return indexed(basic, number, depth);
      case 6:
        return block_indexed(basic, number, depth);
      case 7:
        return subarray(basic, number, depth);
      case 8:
        return darray(basic, number, depth);
      case 9:
        return resized(elements(basic, number, depth - 1));
      case 10:
        return dup(elements(basic, number, depth - 1));
      default:
        return structure({{basic, number}}, depth);
    }
  }

  Layout structure(const Signature& signature, int depth) {
    std::vector<Layout> parts;
    for (const auto& [basic, number] : signature) {
      const int some = random_.between(1, number);
      parts.push_back(elements(basic, some, depth - 1));
      if (some < number) parts.push_back(elements(basic, number - some, depth - 1));
    }
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), 0);
    if (random_.one_in(2)) random_.shuffle(order);
    std::vector<MPI_Aint> places(parts.size());
    MPI_Aint end = random_.one_in(4) ? -32 : 0;
    for (size_t which : order) {
      const MPI_Aint from = (end + 1024 + 15) / 16 * 16 - 1024 + 16 * random_.below(2);
      places[which] = from - (parts[which].first() - 15 + 1024) / 16 * 16 + 1024;
      end = places[which] + parts[which].end();
    }
    std::vector<MPI_Datatype> types;
    Layout all;
    for (size_t i = 0; i < parts.size(); ++i) {
      types.push_back(parts[i].type);
      for (const Element& element : parts[i].map) {
        all.map.push_back({places[i] + element.at, element.basic});
      }
      all.text += (i ? ", " : "struct(") + parts[i].text + " at " + std::to_string(places[i]);
    }
    const std::vector<int> ones(parts.size(), 1);
    MPI_Datatype open, type;
    MPI_Type_create_struct(static_cast<int>(parts.size()), ones.data(), places.data(), types.data(),
                           &open);
    // Libraries may pad a struct's extent differently, but agree on the extent of a resized type.
    const MPI_Aint lb = all.first() - 16 * random_.below(2);
    const MPI_Aint extent = (all.end() - lb + 15) / 16 * 16 + 16 * random_.below(2);
    MPI_Type_create_resized(open, lb, extent, &type);
    MPI_Type_free(&open);
    all.type = type;
    all.named = false;
    MPI_Type_get_extent(type, &all.lb, &all.extent);
    all.text += ") lb " + std::to_string(lb) + " extent " + std::to_string(extent);
    return all;
  }

 private:
  static Layout contiguous(Layout inner, int times) {
    MPI_Datatype type;
    MPI_Type_contiguous(times, inner.type, &type);
    std::vector<MPI_Aint> places;
    for (int i = 0; i < times; ++i) places.push_back(i * inner.extent);
    return derived(type, inner, places,
                   "contiguous(" + std::to_string(times) + ", " + inner.text + ")");
  }

  Layout vector(int basic, int number, int depth) {
    const int all = divisor(random_, number), blocks = divisor(random_, all), length = all / blocks;
    const Layout inner = elements(basic, number / all, depth - 1);
    const bool bytes = random_.one_in(2), back = random_.one_in(6) && !without_backward();
    MPI_Aint stride = (length + random_.below(3)) * inner.extent;
    if (back) stride = -stride;
    MPI_Datatype type;
    if (bytes) {
      stride += (back ? -1 : 1) * random_.below(2) * basics()[static_cast<size_t>(basic)].extent;
      MPI_Type_create_hvector(blocks, length, stride, inner.type, &type);
    } else {
      MPI_Type_vector(blocks, length, static_cast<int>(stride / inner.extent), inner.type, &type);
    }
    std::vector<MPI_Aint> places;
    for (int i = 0; i < blocks; ++i) {
      for (int j = 0; j < length; ++j) places.push_back(i * stride + j * inner.extent);
    }
    return derived(type, inner, places,
                   (bytes ? "hvector(" : "vector(") + std::to_string(blocks) + ", " +
                       std::to_string(length) + ", bytes " + std::to_string(stride) + ", " +
                       inner.text + ")");
  }

  Layout indexed(int basic, int number, int depth) {
    const int all = divisor(random_, number);
    const Layout inner = elements(basic, number / all, depth - 1);
    const Blocks blocks = any_blocks(random_, all, 0);
    std::vector<MPI_Aint> starts, places;
    for (size_t i = 0; i < blocks.lengths.size(); ++i) {
      starts.push_back(blocks.places[i] * inner.extent);
      for (int j = 0; j < blocks.lengths[i]; ++j) places.push_back(starts[i] + j * inner.extent);
    }
    const bool bytes = random_.one_in(2);
    const int count = static_cast<int>(starts.size());
    MPI_Datatype type;
    if (bytes) {
      MPI_Type_create_hindexed(count, blocks.lengths.data(), starts.data(), inner.type, &type);
    } else {
      MPI_Type_indexed(count, blocks.lengths.data(), blocks.places.data(), inner.type, &type);
    }
    return derived(type, inner, places,
                   (bytes ? "hindexed(" : "indexed(") + text_of(blocks.lengths) + ", items " +
                       text_of(blocks.places) + ", " + inner.text + ")");
  }

  Layout block_indexed(int basic, int number, int depth) {
    const int all = divisor(random_, number), length = divisor(random_, all);
    const Layout inner = elements(basic, number / all, depth - 1);
    const Blocks blocks = any_blocks(random_, all, length);
    std::vector<MPI_Aint> starts, places;
    for (int place : blocks.places) {
      starts.push_back(place * inner.extent);
      for (int j = 0; j < length; ++j) places.push_back(starts.back() + j * inner.extent);
    }
    const bool bytes = random_.one_in(2);
    const int count = static_cast<int>(starts.size());
    MPI_Datatype type;
    if (bytes) {
      MPI_Type_create_hindexed_block(count, length, starts.data(), inner.type, &type);
    } else {
      MPI_Type_create_indexed_block(count, length, blocks.places.data(), inner.type, &type);
    }
    return derived(type, inner, places,
                   (bytes ? "hindexed_block(" : "indexed_block(") + std::to_string(length) +
                       ", items " + text_of(blocks.places) + ", " + inner.text + ")");
  }

  static std::vector<MPI_Aint> places_in(const std::vector<int>& sizes,
                                         const std::vector<std::vector<int>>& indices, bool c) {
    std::vector<MPI_Aint> places = {0};
    for (size_t n = 0; n < sizes.size(); ++n) {
      const size_t dim = c ? n : sizes.size() - 1 - n;
      std::vector<MPI_Aint> more;
      for (MPI_Aint place : places) {
        for (int index : indices[dim]) more.push_back(place * sizes[dim] + index);
      }
      places.swap(more);
    }
    return places;
  }

  Layout subarray(int basic, int number, int depth) {
    int rest = divisor(random_, number);
    const Layout inner = elements(basic, number / rest, depth - 1);
    const int dims = random_.between(1, 3);
    const bool c = random_.one_in(2);
    std::vector<int> sizes, part, starts;
    std::vector<std::vector<int>> indices;
    for (int i = 0; i < dims; ++i) {
      part.push_back(i + 1 == dims ? rest : divisor(random_, rest));
      rest /= part.back();
      starts.push_back(random_.below(3));
      sizes.push_back(starts.back() + part.back() + random_.below(3));
      indices.emplace_back(static_cast<size_t>(part.back()));
      std::iota(indices.back().begin(), indices.back().end(), starts.back());
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(dims, sizes.data(), part.data(), starts.data(),
                             c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.type, &type);
    std::vector<MPI_Aint> places = places_in(sizes, indices, c);
    for (MPI_Aint& place : places) place *= inner.extent;
    return derived(type, inner, places,
                   "subarray(" + text_of(sizes) + ", " + text_of(part) + ", " + text_of(starts) +
                       (c ? ", C, " : ", Fortran, ") + inner.text + ")");
  }

  Layout darray(int basic, int number, int depth) {
    int rest = divisor(random_, number);
    const Layout inner = elements(basic, number / rest, depth - 1);
    const int dims = random_.between(1, 3);
    const bool c = random_.one_in(2);
    std::vector<int> sizes, kinds, blocks, processes, own;
    int all = 1;
    for (int i = 0; i < dims; ++i) {
      own.push_back(i + 1 == dims ? rest : divisor(random_, rest));
      rest /= own.back();
      const bool cyclic = random_.one_in(2);
      kinds.push_back(cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK);
      // MPI_DISTRIBUTE_DFLT_DARG is 19, and no block has this length.
      const int length = divisor(random_, own.back());
      blocks.push_back(!cyclic ? MPI_DISTRIBUTE_DFLT_DARG : length == 19 ? 1 : length);
      processes.push_back(random_.between(1, 3));
      sizes.push_back(own.back() * processes.back());
      all *= processes.back();
    }
    const int rank = random_.below(all);
    std::vector<std::vector<int>> indices(static_cast<size_t>(dims));
    // The order of processes is always C's.
    int left = rank;
    for (size_t i = static_cast<size_t>(dims); i-- > 0;) {
      const int place = left % processes[i];
      left /= processes[i];
      const int block = kinds[i] == MPI_DISTRIBUTE_CYCLIC ? blocks[i] : own[i];
      for (int k = 0; k < own[i]; ++k) {
        indices[i].push_back((k / block * processes[i] + place) * block + k % block);
      }
    }
    MPI_Datatype type;
    MPI_Type_create_darray(all, rank, dims, sizes.data(), kinds.data(), blocks.data(),
                           processes.data(), c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner.type,
                           &type);
    std::vector<MPI_Aint> places = places_in(sizes, indices, c);
    for (MPI_Aint& place : places) place *= inner.extent;
    return derived(type, inner, places,
                   "darray(rank " + std::to_string(rank) + ", " + text_of(sizes) + ", blocks " +
                       text_of(blocks) + ", processes " + text_of(processes) +
                       (c ? ", C, " : ", Fortran, ") + inner.text + ")");
  }

  Layout resized(const Layout& inner) {
    const int step = 16;
    const MPI_Aint before = random_.below(3) * step, after = random_.below(3) * step;
    MPI_Datatype type;
    MPI_Type_create_resized(inner.type, inner.lb - before, inner.extent + before + after, &type);
    return derived(type, inner, {0},
                   "resized(lb -" + std::to_string(before) + ", extent +" +
                       std::to_string(before + after) + ", " + inner.text + ")");
  }

  static Layout dup(const Layout& inner) {
    MPI_Datatype type;
    MPI_Type_dup(inner.type, &type);
    return derived(type, inner, {0}, "dup(" + inner.text + ")");
  }

  Random& random_;
};

}  // namespace

Layout any_layout(Random& random, const Signature& signature, int times) {
  Maker maker(random);
  Layout layout;
  if (signature.size() == 1) {
    const auto [basic, number] = signature[0];
    if (number * times == 1 && random.one_in(2)) return predefined(basic);
    layout = maker.elements(basic, number * times, random.pick({0, 0, 1, 1, 2, 3}));
  } else {
    Signature all;
    for (int i = 0; i < times; ++i) all.insert(all.end(), signature.begin(), signature.end());
    layout = maker.structure(all, random.between(1, 3));
  }
  if (!layout.named) MPI_Type_commit(&layout.type);
  return layout;
}
