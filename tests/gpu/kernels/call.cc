// SPDX-License-Identifier: Apache-2.0
// Call: data and expected result.
#include "tests/gpu/kernels/call.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "mpix.h"
#include "tests/gpu/kernels/random.hpp"

namespace tern::kernels_test {
namespace {

using enum coll::Collective;

constexpr size_t kAround = 64;
constexpr unsigned char kUnwritten = 0xA5;

/// The operands give no NaN, and most results round.
unsigned char byte_of(uint64_t salt, int rank, size_t i) noexcept {
  return static_cast<unsigned char>(
      mixed(salt + static_cast<uint64_t>(rank) * 0x9E3779B97F4A7C15U + i) % 60);
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"MPI_INT MPI_SUM", MPI_INT, MPI_SUM, true},
      {"MPI_INT64_T MPI_MIN", MPI_INT64_T, MPI_MIN, true},
      {"MPI_UINT8_T MPI_BXOR", MPI_UINT8_T, MPI_BXOR, true},
      {"MPI_INT16_T MPI_MAX", MPI_INT16_T, MPI_MAX, true},
      {"MPI_2INT MPI_MINLOC", MPI_2INT, MPI_MINLOC, true},
      {"MPI_FLOAT MPI_SUM", MPI_FLOAT, MPI_SUM, false},
      {"MPI_DOUBLE MPI_PROD", MPI_DOUBLE, MPI_PROD, false},
      {"MPI_FLOAT_INT MPI_MAXLOC", MPI_FLOAT_INT, MPI_MAXLOC, true},
      {"MPIX_C_FLOAT16 MPI_SUM", MPIX_C_FLOAT16, MPI_SUM, false},
      {"MPI_C_DOUBLE_COMPLEX MPI_SUM", MPI_C_DOUBLE_COMPLEX, MPI_SUM, false}};
  return all;
}

std::string Shape::in_words(int ranks) const {
  const Kind& what = kinds()[static_cast<size_t>(kind)];
  return strf(
      "%s%s%s by %s on %d ranks, %lld elements, %s, root %d%s%s%s, %d elements behind a "
      "border of 64 bytes",
      of().name, row == nullptr ? "" : " ", row == nullptr ? "" : row->name,
      kColumnNames[static_cast<size_t>(column)], ranks, static_cast<long long>(count), what.name,
      root, in_place ? ", in place" : "", pinned_in ? ", pinned input" : "",
      pinned_out ? ", pinned output" : "", skew);
}

Call::Call(Ranks& ranks, const Shape& shape, std::vector<Images>* images)
    : team_(ranks),
      shape_(shape),
      type_(&core::predefined_type(ranks.machine().process(),
                                   kinds()[static_cast<size_t>(shape.kind)].type)),
      op_(ranks.machine().process().handles.find<core::Op>(
          kinds()[static_cast<size_t>(shape.kind)].op)),
      sides_(static_cast<size_t>(ranks.count())) {
  for (int rank = 0; rank < ranks.count(); ++rank) {
    describe(rank);
    Side& side = sides_[static_cast<size_t>(rank)];
    reserve(&side.in, &(*images)[static_cast<size_t>(rank)]);
    reserve(&side.out, &(*images)[static_cast<size_t>(rank)]);
  }
}

size_t Call::element() const noexcept { return static_cast<size_t>(type_->size()); }

MPI_Count Call::length(const Shape& shape, int from, int to) noexcept {
  if (!shape.of().irregular) return shape.count;
  const int low = std::min(from, to), high = std::max(from, to);
  const auto a = static_cast<uint64_t>(shape.in_place ? low : from),
             b = static_cast<uint64_t>(shape.in_place ? high : to);
  const uint64_t pair = shape.of().what == kAlltoall ? a * 64 + b : b;
  const uint64_t drawn = mixed(shape.seed + pair * 7919);
  constexpr uint64_t kEmpty = 5;
  return drawn % kEmpty == 0
             ? 0
             : static_cast<MPI_Count>((drawn >> 8) % (static_cast<uint64_t>(shape.count) + 1));
}

Call::Buffer Call::buffer(std::vector<MPI_Count> lengths, bool several, bool pinned) const {
  Buffer made;
  made.exists = true;
  made.several = several;
  made.place = pinned ? kPinned : kDevice;
  MPI_Aint next = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    made.places.push_back(next);
    next += lengths[i];
    if (shape_.of().irregular) next += static_cast<MPI_Aint>(mixed(shape_.seed + i) % 3);
  }
  made.lengths = std::move(lengths);
  made.bytes = static_cast<size_t>(next) * element();
  return made;
}

void Call::describe(int rank) {
  const coll::Collective what = shape_.of().what;
  Side& side = sides_[static_cast<size_t>(rank)];
  const bool is_root = rank == shape_.root, in_place = shape_.in_place;
  const auto one = [&](MPI_Count count, bool pinned) { return buffer({count}, false, pinned); };
  const auto all = [&](auto&& length_of, bool pinned) {
    std::vector<MPI_Count> lengths;
    for (int i = 0; i < ranks(); ++i) lengths.push_back(length_of(i));
    return buffer(std::move(lengths), true, pinned);
  };
  const auto sent = [&](int i) { return length(rank, i); };
  const auto taken = [&](int i) { return length(i, rank); };
  const auto own = [&](int i) { return length(i, i); };
  const bool in = shape_.pinned_in, out = shape_.pinned_out;
  switch (what) {
    case kBarrier:
      side.in = one(1, true);
      side.out = one(ranks(), true);
      return;
    case kBcast:
      side.out = one(shape_.count, out);
      return;
    case kGather:
      if (!in_place || !is_root) side.in = one(own(rank), in);
      if (is_root) side.out = all(own, out);
      return;
    case kScatter:
      if (is_root) side.in = all(own, in);
      if (!in_place || !is_root) side.out = one(own(rank), out);
      return;
    case kAllgather:
      if (!in_place) side.in = one(own(rank), in);
      side.out = all(own, out);
      return;
    case kAlltoall:
      if (!in_place) side.in = all(sent, in);
      side.out = all(taken, out);
      return;
    case kReduceScatter:
      if (in_place) {
        side.out = all(own, out);
      } else {
        side.in = all(own, in);
        side.out = one(own(rank), out);
      }
      return;
    default:
      if (!in_place || (what == kReduce && !is_root)) side.in = one(shape_.count, in);
      if (what != kReduce || is_root) side.out = one(shape_.count, out);
  }
}

void Call::reserve(Buffer* buffer, Images* images) const {
  if (!buffer->exists) return;
  Image& image = (*images)[buffer->place];
  buffer->at = image.before.size();
  buffer->first = buffer->at + kAround + static_cast<size_t>(shape_.skew) * element();
  const size_t end = buffer->first + buffer->bytes + kAround;
  image.before.resize((end + 63) / 64 * 64, kUnwritten);
}

Call::Bytes Call::data_of(int rank, uint64_t salt) const {
  const coll::Collective what = shape_.of().what;
  MPI_Count elements = 0;
  if (what == kScatter || what == kAlltoall || what == kReduceScatter)
    for (int i = 0; i < ranks(); ++i)
      elements += what == kAlltoall ? length(rank, i) : length(i, i);
  else if (what != kBarrier)
    elements = coll::splits(what) ? shape_.count : length(rank, rank);
  Bytes data(static_cast<size_t>(elements) * element());
  for (size_t i = 0; i < data.size(); ++i) data[i] = byte_of(salt ^ shape_.seed, rank, i);
  return data;
}

Call::Bytes Call::block_of(const Bytes& data, int rank, int block) const {
  const auto bytes = [&](int i) {
    const MPI_Count elements = shape_.of().what == kAlltoall ? length(rank, i) : length(i, i);
    return static_cast<size_t>(elements) * element();
  };
  size_t first = 0;
  for (int i = 0; i < block; ++i) first += bytes(i);
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes(block))};
}

Call::Bytes Call::reduced(const std::vector<Bytes>& all, int last) const {
  Bytes sum = all[static_cast<size_t>(last)];
  for (int rank = last - 1; rank >= 0; --rank)
    (void)op_->apply(all[static_cast<size_t>(rank)].data(), sum.data(),
                     static_cast<MPI_Count>(sum.size() / element()), *type_);
  return sum;
}

Call::Bytes Call::tickets(size_t count) const {
  const std::vector<uint32_t> words(count, ticket());
  Bytes bytes(count * sizeof(uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

void Call::write(const Buffer& buffer, size_t block, const Bytes& bytes,
                 std::vector<unsigned char>* to) const {
  const size_t at = buffer.first + static_cast<size_t>(buffer.places[block]) * element();
  std::copy(bytes.begin(), bytes.end(), to->begin() + static_cast<std::ptrdiff_t>(at));
}

void Call::fill(uint64_t salt, std::vector<Images>* images) const {
  const coll::Collective what = shape_.of().what;
  std::vector<Bytes> all;
  for (int rank = 0; rank < ranks(); ++rank) {
    all.push_back(data_of(rank, salt));
    const Side& side = sides_[static_cast<size_t>(rank)];
    Images& mine = (*images)[static_cast<size_t>(rank)];
    for (const Buffer* const one : {&side.in, &side.out})
      if (one->exists)
        std::fill_n(mine[one->place].before.begin() + static_cast<std::ptrdiff_t>(one->first),
                    one->bytes, kUnwritten);
    if (what == kBarrier || (what == kBcast && rank != shape_.root)) continue;
    const Buffer& from = side.in.exists ? side.in : side.out;
    std::vector<unsigned char>& before = mine[from.place].before;
    if (what == kScatter && rank != shape_.root) continue;
    if (what == kGather || what == kAllgather) {
      write(from, from.several ? static_cast<size_t>(rank) : 0, all.back(), &before);
    } else if (from.several) {
      for (int block = 0; block < ranks(); ++block)
        write(from, static_cast<size_t>(block), block_of(all.back(), rank, block), &before);
    } else {
      write(from, 0, all.back(), &before);
    }
  }
  for (int rank = 0; rank < ranks(); ++rank)
    fill_wanted(rank, all, &(*images)[static_cast<size_t>(rank)]);
}

void Call::fill_wanted(int rank, const std::vector<Bytes>& all, Images* images) const {
  const coll::Collective what = shape_.of().what;
  const Side& side = sides_[static_cast<size_t>(rank)];
  for (const Buffer* const one : {&side.in, &side.out}) {
    if (!one->exists) continue;
    Image& image = (*images)[one->place];
    image.wanted.resize(image.before.size(), kUnwritten);
    image.any.resize(image.before.size());
    const size_t end = std::min(one->first + one->bytes + kAround, image.before.size());
    std::copy(image.before.begin() + static_cast<std::ptrdiff_t>(one->at),
              image.before.begin() + static_cast<std::ptrdiff_t>(end),
              image.wanted.begin() + static_cast<std::ptrdiff_t>(one->at));
  }
  if (!side.out.exists) return;
  Image& image = (*images)[side.out.place];
  std::vector<unsigned char>& wanted = image.wanted;
  const auto root = static_cast<size_t>(shape_.root);
  switch (what) {
    case kBarrier:
      write(side.in, 0, tickets(1), &wanted);
      return write(side.out, 0, tickets(all.size()), &wanted);
    case kBcast:
      return write(side.out, 0, all[root], &wanted);
    case kGather:
    case kAllgather:
      for (size_t i = 0; i < all.size(); ++i) write(side.out, i, all[i], &wanted);
      return;
    case kScatter:
      return write(side.out, 0, block_of(all[root], shape_.root, rank), &wanted);
    case kAlltoall:
      for (int i = 0; i < ranks(); ++i)
        write(side.out, static_cast<size_t>(i), block_of(all[static_cast<size_t>(i)], i, rank),
              &wanted);
      return;
    case kReduceScatter: {
      if (side.out.several)  // in place the rest of the buffer is undefined
        std::fill_n(image.any.begin() + static_cast<std::ptrdiff_t>(side.out.first), side.out.bytes,
                    true);
      const Bytes mine = block_of(reduced(all, ranks() - 1), 0, rank);
      std::copy(mine.begin(), mine.end(),
                wanted.begin() + static_cast<std::ptrdiff_t>(side.out.first));
      std::fill_n(image.any.begin() + static_cast<std::ptrdiff_t>(side.out.first), mine.size(),
                  false);
      return;
    }
    case kScan:
      return write(side.out, 0, reduced(all, rank), &wanted);
    case kExscan:
      if (rank > 0) return write(side.out, 0, reduced(all, rank - 1), &wanted);
      std::fill_n(image.any.begin() + static_cast<std::ptrdiff_t>(side.out.first), side.out.bytes,
                  true);
      return;
    default:
      return write(side.out, 0, reduced(all, ranks() - 1), &wanted);
  }
}

coll::Side Call::side_of(const Buffer& buffer, std::byte* const (&bases)[2]) const {
  coll::Side side;
  side.address = bases[buffer.place] + buffer.first;
  side.type = type_;
  side.count = shape_.count;
  if (shape_.of().irregular && buffer.several) {
    side.counts = buffer.lengths.data();
    side.displs = buffer.places.data();
  } else if (shape_.of().irregular) {
    side.count = buffer.lengths[0];
  }
  return side;
}

const coll::Operation& Call::operation(int rank, std::byte* device, std::byte* pinned) {
  std::byte* const bases[2] = {device, pinned};
  const coll::Collective what = shape_.of().what;
  Side& side = sides_[static_cast<size_t>(rank)];
  side.pinned = pinned;
  coll::Operation& made = side.operation;
  made = {};
  made.collective = what;
  made.communicator = team_.at(rank).communicator.get();
  made.root = shape_.root;
  if (coll::reduces(what)) made.op = op_;
  if (what == kBarrier) return made;
  made.irregular = shape_.of().irregular;
  if (side.in.exists) made.input = side_of(side.in, bases);
  if (side.out.exists) made.output = side_of(side.out, bases);
  made.in_place = shape_.in_place && (!coll::rooted(what) || rank == shape_.root);
  if (!made.in_place) return made;
  if (coll::reduces(what)) {
    made.input = made.output;
    if (what == kReduceScatter) {
      made.output.counts = nullptr;
      made.output.displs = nullptr;
      made.output.count = length(rank, rank);
    }
  }
  return made;
}

std::string Call::find(int rank, Place place, size_t byte) const {
  const Side& side = sides_[static_cast<size_t>(rank)];
  for (const Buffer* const one : {&side.in, &side.out}) {
    if (!one->exists || one->place != place || byte < one->at ||
        byte >= one->first + one->bytes + kAround)
      continue;
    const char* const name = one == &side.in ? "input" : "output";
    if (byte < one->first) return strf("%zu bytes before the %s", one->first - byte, name);
    if (byte >= one->first + one->bytes)
      return strf("%zu bytes behind the %s", byte - one->first - one->bytes, name);
    const size_t inside = byte - one->first;
    size_t block = 0;
    while (block + 1 < one->places.size() &&
           static_cast<size_t>(one->places[block + 1]) * element() <= inside)
      ++block;
    return strf("%s, block %zu, byte %zu of it", name, block,
                inside - static_cast<size_t>(one->places[block]) * element());
  }
  return {};
}

}  // namespace tern::kernels_test
