// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking: each thread walks the layout tree to find the address of a packed word,
// and moves the word. Regular types cost a few divisions by multiplication, lists a binary search.
// Why by packed words: the packed side is then accessed in order for all types.
#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/memory.cuh"

namespace tern::cuda {
namespace {

TERN_DEVICE int64_t divide(int64_t n, const Divisor& by) {
  if (by.magic == 0) return n;
  return static_cast<int64_t>(__umul64hi(static_cast<uint64_t>(n), by.magic) >> by.shift);
}

struct Position {
  char* at;
  int64_t left;
};

class Locator {
 public:
  TERN_DEVICE explicit Locator(const PackArguments& a)
      : a_(a), image_(a.image != nullptr ? DEV(a.image) : a.inline_image), memory_(a.memory) {}

  [[nodiscard]] TERN_DEVICE Position find(int64_t position) const {
    int64_t at = step(position, a_.by_element, a_.element) * a_.extent;
    const LayoutNode* node = nodes() + a_.root;
    for (;;) {
      switch (node->form) {
        case LayoutNode::kBlock:
          return {place(at + position), node->size - position};
        case LayoutNode::kStrided:
          at += child_step(node, position) * node->stride;
          break;
        case LayoutNode::kList:
          at += list(node->places)[child_step(node, position)];
          break;
        default: {
          const int64_t* const starts = list(node->starts);
          const int64_t part = part_of(starts, node->count, position);
          at += list(node->places)[part];
          if (node->form == LayoutNode::kBlocks)
            return {place(at + position - starts[part]), starts[part + 1] - position};
          position -= starts[part];
          node = nodes() + list(node->parts)[part];
          continue;
        }
      }
      node = nodes() + node->child;
    }
  }

 private:
  // DEV wraps each address, because the origin of types of absolute addresses is not a valid
  // pointer.
  [[nodiscard]] TERN_DEVICE char* place(int64_t at) const { return DEV(memory_ + at); }
  [[nodiscard]] TERN_DEVICE const LayoutNode* nodes() const {
    return reinterpret_cast<const LayoutNode*>(image_);
  }
  [[nodiscard]] TERN_DEVICE const int64_t* list(int64_t first) const {
    return reinterpret_cast<const int64_t*>(image_) + first;
  }
  TERN_DEVICE static int64_t step(int64_t& position, const Divisor& by, int64_t size) {
    const int64_t part = divide(position, by);
    position -= part * size;
    return part;
  }
  TERN_DEVICE int64_t child_step(const LayoutNode* node, int64_t& position) const {
    return step(position, node->by_child, nodes()[node->child].size);
  }
  TERN_DEVICE static int64_t part_of(const int64_t* starts, int64_t count, int64_t position) {
    int64_t low = 0, high = count;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      if (starts[middle] <= position)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

  const PackArguments& a_;
  const uint64_t* image_;
  char* memory_;
};

TERN_DEVICE void move_any(const PackArguments& a, const Locator& locator, int64_t begin,
                          int64_t end) {
  while (begin < end) {
    const Position place = locator.find(begin);
    const int64_t bytes = place.left < end - begin ? place.left : end - begin;
    char* const packed = DEV(a.packed + begin);
    char* const to = a.to_memory != 0 ? place.at : packed;
    const char* const from = a.to_memory != 0 ? packed : place.at;
    if (bytes == 16)
      store(to, load(from));
    else
      move_some(to, from, static_cast<int>(bytes));
    begin += bytes;
  }
}

constexpr int kWords = 4;

template <class Word>
TERN_DEVICE void move_words(const PackArguments& a, char* const (&memory)[kWords], char* packed,
                            int64_t apart) {
  Word values[kWords];
  if (a.to_memory != 0) {
    TERN_UNROLL
    for (int j = 0; j < kWords; ++j) values[j] = *reinterpret_cast<const Word*>(packed + j * apart);
    TERN_UNROLL
    for (int j = 0; j < kWords; ++j) *reinterpret_cast<Word*>(memory[j]) = values[j];
  } else {
    TERN_UNROLL
    for (int j = 0; j < kWords; ++j) values[j] = *reinterpret_cast<const Word*>(memory[j]);
    TERN_UNROLL
    for (int j = 0; j < kWords; ++j) *reinterpret_cast<Word*>(packed + j * apart) = values[j];
  }
}

TERN_DEVICE void move_whole(const PackArguments& a, const Locator& locator, int64_t position,
                            int64_t apart) {
  char* memory[kWords];
  TERN_UNROLL
  for (int j = 0; j < kWords; ++j) memory[j] = locator.find(position + j * apart).at;
  char* const packed = DEV(a.packed + position);
  switch (a.shift) {
    case 0:
      return move_words<uint8_t>(a, memory, packed, apart);
    case 1:
      return move_words<uint16_t>(a, memory, packed, apart);
    case 2:
      return move_words<uint32_t>(a, memory, packed, apart);
    case 3:
      return move_words<uint64_t>(a, memory, packed, apart);
    default:
      return move_words<Vector>(a, memory, packed, apart);
  }
}

}  // namespace

TERN_KERNEL(tern_pack, PackArguments, 256, alone) {
  const PackArguments& a = arguments;
  const Locator locator(a);
  const bool any = a.shift < 0;
  const int64_t word = any ? 16 : int64_t{1} << a.shift;
  const int64_t apart = word * blockDim.x, step = kWords * apart;
  // Words begin at multiples of their size from packed byte 0.
  for (int64_t first = (a.begin & -word) + blockIdx.x * step; first < a.end;
       first += gridDim.x * step) {
    const int64_t mine = first + threadIdx.x * word;
    if (!any && first >= a.begin && first + step <= a.end) {
      move_whole(a, locator, mine, apart);
      continue;
    }
    for (int64_t at = mine; at < first + step && at < a.end; at += apart) {
      const int64_t end = at + word < a.end ? at + word : a.end;
      if (end > a.begin) move_any(a, locator, at > a.begin ? at : a.begin, end);
    }
  }
}

}  // namespace tern::cuda
