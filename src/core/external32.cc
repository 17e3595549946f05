// SPDX-License-Identifier: Apache-2.0
// external32: converts runs of equal basic types in packing order.
#include "core/external32.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/datatype_recipe.hpp"

namespace tern::core {
namespace {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Quad;
#else
typedef long double Quad;
#endif
static_assert(sizeof(Quad) == 16);

enum class Change : uint8_t { kOrder, kSigned, kUnsigned, kQuad };

struct ExternalNumber {
  Change change;
  uint8_t native, external;
};

struct Format {
  ExternalNumber first;
  uint8_t firsts = 1;
  ExternalNumber second{Change::kOrder, 0, 0};
  [[nodiscard]] size_t native() const noexcept {
    return size_t{first.native} * firsts + second.native;
  }
  [[nodiscard]] size_t external() const noexcept {
    return size_t{first.external} * firsts + second.external;
  }
};

constexpr ExternalNumber plain(size_t bytes) noexcept {
  return {Change::kOrder, static_cast<uint8_t>(bytes), static_cast<uint8_t>(bytes)};
}
constexpr ExternalNumber integer(Change change, size_t native, uint8_t external) noexcept {
  return native == external ? plain(native)
                            : ExternalNumber{change, static_cast<uint8_t>(native), external};
}
constexpr ExternalNumber kLong = integer(Change::kSigned, sizeof(long), 4);
constexpr ExternalNumber kUnsignedLong = integer(Change::kUnsigned, sizeof(long), 4);
constexpr ExternalNumber kWide = integer(Change::kUnsigned, sizeof(wchar_t), 2);
constexpr ExternalNumber kExtended{Change::kQuad, sizeof(long double), 16};

Format format_of(const Datatype& basic) noexcept {
  const auto constant = reinterpret_cast<MPI_Datatype>(basic.handle());
  if (constant == MPI_LONG) return {kLong};
  if (constant == MPI_UNSIGNED_LONG) return {kUnsignedLong};
  if (constant == MPI_WCHAR) return {kWide};
  const auto size = static_cast<size_t>(basic.size());
  switch (basic.number()) {
    case Number::kLongDouble:
      return {kExtended};
    case Number::kComplexLongDouble:
      return {kExtended, 2};
    case Number::kComplexHalf:
    case Number::kComplexFloat:
    case Number::kComplexDouble:
    case Number::kComplexQuad:
    case Number::kFloatFloat:
    case Number::kDoubleDouble:
      return {plain(size / 2), 2};
    case Number::kLongInt:
      return {kLong, 1, plain(sizeof(int))};
    case Number::kLongDoubleInt:
      return {kExtended, 1, plain(sizeof(int))};
    case Number::kFloatInt:
    case Number::kDoubleInt:
    case Number::kIntInt:
    case Number::kShortInt:
      return {plain(size - sizeof(int)), 1, plain(sizeof(int))};
    default:
      return {plain(size)};
  }
}

template <class Word>
void swap_words(const std::byte* from, std::byte* to, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    if constexpr (sizeof word == 8)
      word = __builtin_bswap64(word);
    else if constexpr (sizeof word == 4)
      word = __builtin_bswap32(word);
    else
      word = __builtin_bswap16(word);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

void reorder(const std::byte* from, std::byte* to, size_t size, size_t count) noexcept {
  if (size == 1 || std::endian::native == std::endian::big)
    std::memcpy(to, from, size * count);
  else if (size == 2)
    swap_words<uint16_t>(from, to, count);
  else if (size == 4)
    swap_words<uint32_t>(from, to, count);
  else if (size == 8)
    swap_words<uint64_t>(from, to, count);
  else
    for (size_t i = 0; i < count; ++i)
      std::reverse_copy(from + i * size, from + (i + 1) * size, to + i * size);
}

/// A widened integer gets sign bytes or zeros.
void resize_integer(const std::byte* from, size_t from_bytes, std::byte* to, size_t to_bytes,
                    bool is_signed, bool to_external) noexcept {
  const bool big = std::endian::native == std::endian::big;
  const auto at = [](bool reversed, size_t bytes, size_t i) {
    return reversed ? bytes - 1 - i : i;
  };
  const bool from_big = to_external ? big : true, to_big = to_external ? true : big;
  const std::byte top = from[at(from_big, from_bytes, from_bytes - 1)];
  const std::byte fill =
      is_signed && (top & std::byte{0x80}) != std::byte{} ? std::byte{0xff} : std::byte{};
  for (size_t i = 0; i < to_bytes; ++i)
    to[at(to_big, to_bytes, i)] = i < from_bytes ? from[at(from_big, from_bytes, i)] : fill;
}

template <bool kPacking>
void convert_quad(const std::byte* from, std::byte* to) noexcept {
  long double value = 0;
  Quad quad = 0;
  if constexpr (kPacking) {
    std::memcpy(&value, from, sizeof value);
    quad = static_cast<Quad>(value);
    std::byte bytes[sizeof quad];
    std::memcpy(bytes, &quad, sizeof quad);
    reorder(bytes, to, sizeof quad, 1);
  } else {
    std::byte bytes[sizeof quad];
    reorder(from, bytes, sizeof quad, 1);
    std::memcpy(&quad, bytes, sizeof quad);
    value = static_cast<long double>(quad);
    std::memset(to, 0, sizeof value);
    std::memcpy(to, &value, sizeof value);
  }
}

template <bool kPacking>
void convert(const ExternalNumber& part, const std::byte* from, std::byte* to,
             size_t count) noexcept {
  const size_t from_bytes = kPacking ? part.native : part.external;
  const size_t to_bytes = kPacking ? part.external : part.native;
  if (part.change == Change::kOrder) return reorder(from, to, from_bytes, count);
  for (size_t i = 0; i < count; ++i, from += from_bytes, to += to_bytes)
    if (part.change == Change::kQuad)
      convert_quad<kPacking>(from, to);
    else
      resize_integer(from, from_bytes, to, to_bytes, part.change == Change::kSigned, kPacking);
}

template <bool kPacking>
void convert(const Format& format, const std::byte* from, std::byte* to, size_t count) noexcept {
  if (format.second.native == 0)
    return convert<kPacking>(format.first, from, to, count * format.firsts);
  const size_t from_step = kPacking ? format.native() : format.external();
  const size_t to_step = kPacking ? format.external() : format.native();
  const size_t from_first = kPacking ? format.first.native : format.first.external;
  const size_t to_first = kPacking ? format.first.external : format.first.native;
  for (size_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    convert<kPacking>(format.first, from, to, 1);
    convert<kPacking>(format.second, from + from_first, to + to_first, 1);
  }
}

template <class Visit>
void each_run(const Datatype& type, MPI_Count count, Visit& visit) noexcept {
  if (type.size() <= 0 || count == 0) return;
  if (type.basic() != nullptr)
    return visit(*type.basic(), count * (type.size() / type.basic()->size()));
  const Recipe& recipe = type.recipe();
  if (recipe.repeats.empty())
    return each_run(*recipe.types[0], count * (type.size() / recipe.types[0]->size()), visit);
  for (MPI_Count i = 0; i < count; ++i)
    for (size_t part = 0; part < recipe.types.size(); ++part)
      each_run(*recipe.types[part], recipe.repeats[part], visit);
}

/// Native accesses some elements at a time: in place, or through a window of packed bytes.
template <bool kPacking>
class Native {
 public:
  Native(const Datatype& type, void* buf, MPI_Count count) noexcept
      : type_(type), buf_(buf), count_(count), total_(static_cast<size_t>(count * type.size())) {}
  ~Native() {
    if (!kPacking) write_back();
  }
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;

  std::byte* take(size_t size, size_t* count) noexcept {
    if (type_.contiguous()) {
      std::byte* at = static_cast<std::byte*>(buf_) + type_.true_lb() + offset_;
      offset_ += size * *count;
      return at;
    }
    if (end_ - used_ < size) move_window();
    *count = std::min(*count, (end_ - used_) / size);
    std::byte* at = window_ + used_;
    used_ += size * *count;
    return at;
  }

 private:
  void write_back() noexcept {
    if (used_ > 0) type_.unpack(buf_, count_, offset_, window_, used_);
  }
  void move_window() noexcept {
    if (!kPacking) write_back();
    offset_ += used_;
    used_ = 0;
    end_ = std::min(sizeof window_, total_ - offset_);
    if (kPacking) type_.pack(buf_, count_, offset_, window_, end_);
  }

  const Datatype& type_;
  void* buf_;
  MPI_Count count_;
  size_t total_;
  size_t offset_ = 0;
  size_t used_ = 0, end_ = 0;
  std::byte window_[8192];
};

template <bool kPacking, class External>
void convert_all(const Datatype& type, void* buf, MPI_Count count, External* external) noexcept {
  Native<kPacking> native(type, buf, count);
  const auto convert_run = [&](const Datatype& basic, MPI_Count elements) {
    const Format format = format_of(basic);
    for (auto left = static_cast<size_t>(elements); left > 0;) {
      size_t some = left;
      std::byte* at = native.take(format.native(), &some);
      if constexpr (kPacking)
        convert<true>(format, at, external, some);
      else
        convert<false>(format, external, at, some);
      external += some * format.external();
      left -= some;
    }
  };
  each_run(type, count, convert_run);
}

}  // namespace

MPI_Count external32_size(const Datatype& type) noexcept {
  MPI_Count bytes = 0;
  const auto add = [&bytes](const Datatype& basic, MPI_Count elements) {
    bytes += elements * static_cast<MPI_Count>(format_of(basic).external());
  };
  each_run(type, 1, add);
  return bytes;
}

void pack_external32(const Datatype& type, const void* buf, MPI_Count count, void* out) noexcept {
  convert_all<true>(type, const_cast<void*>(buf), count, static_cast<std::byte*>(out));
}

void unpack_external32(const Datatype& type, void* buf, MPI_Count count, const void* in) noexcept {
  convert_all<false>(type, buf, count, static_cast<const std::byte*>(in));
}

}  // namespace tern::core
