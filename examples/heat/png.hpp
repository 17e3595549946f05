// SPDX-License-Identifier: Apache-2.0
// Writes palette indices as a PNG file, with runs of equal pixels compressed.
// Why: an example should need no library but MPI. Deflate's fixed code suffices: a literal, or
// "repeat the last byte 3 to 258 times".
// See: RFC 1950 (zlib), RFC 1951 (deflate), the PNG specification.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace png {

using Bytes = std::vector<uint8_t>;
struct Colour {
  uint8_t red, green, blue;
};
using Palette = std::array<Colour, 256>;

inline void append_u32(Bytes& out, uint32_t word) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(word >> shift));
}

inline uint32_t crc32(const uint8_t* bytes, size_t count) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline uint32_t adler32(const Bytes& bytes) {
  uint32_t low = 1, high = 0;
  for (const uint8_t byte : bytes) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

/// Deflate's bit stream with its fixed code.
class Packer {
 public:
  explicit Packer(Bytes& out) : out_(out) { bits(1 | 1 << 1, 3); }  // the last block, fixed code
  void literal(uint8_t byte) { byte < 144 ? code(0x30u + byte, 8) : code(0x190u + byte - 144u, 9); }
  /// Repeats the byte before `count` (3 to 258) times.
  void repeat(unsigned count) {
    const unsigned symbol = length_symbol(count);
    symbol < 280 ? code(symbol - 256, 7) : code(0xc0 + symbol - 280, 8);
    if (symbol < 285) bits(count - first_length(symbol), extra_bits(symbol));
    code(0, 5);  // distance 1
  }
  void end() {
    code(0, 7);
    if (used_ > 0) bits(0, 8 - used_);
  }

 private:
  static unsigned extra_bits(unsigned symbol) { return symbol < 265 ? 0 : (symbol - 261) / 4; }
  static unsigned first_length(unsigned symbol) {
    if (symbol < 265) return symbol - 254;
    const unsigned extra = extra_bits(symbol);
    return ((4 + (symbol - 265) % 4) << extra) + 3;
  }
  static unsigned length_symbol(unsigned count) {
    if (count == 258) return 285;
    unsigned symbol = 257;
    while (symbol < 284 && first_length(symbol + 1) <= count) ++symbol;
    return symbol;
  }
  void bits(unsigned value, unsigned count) {  // the lowest first
    for (unsigned i = 0; i < count; ++i) {
      if (used_ == 0) out_.push_back(0);
      out_.back() |= static_cast<uint8_t>((value >> i & 1) << used_);
      used_ = (used_ + 1) % 8;
    }
  }
  void code(unsigned value, unsigned count) {  // the highest first
    for (unsigned i = count; i-- > 0;) bits(value >> i & 1, 1);
  }

  Bytes& out_;
  unsigned used_ = 0;  // bits of the last byte
};

inline Bytes zlib(const Bytes& raw) {
  Bytes out = {0x78, 0x01};
  Packer packer(out);
  for (size_t at = 0; at < raw.size();) {
    packer.literal(raw[at]);
    size_t end = at + 1;
    while (end < raw.size() && raw[end] == raw[at]) ++end;
    size_t again = end - at - 1;
    while (again >= 3) {
      const size_t count = std::min<size_t>(again, 258);
      packer.repeat(static_cast<unsigned>(count));
      again -= count;
    }
    at = end - again;
  }
  packer.end();
  append_u32(out, adler32(raw));
  return out;
}

inline void append_chunk(Bytes& file, const char* name, const Bytes& data) {
  append_u32(file, static_cast<uint32_t>(data.size()));
  const size_t checked = file.size();
  file.insert(file.end(), name, name + 4);
  file.insert(file.end(), data.begin(), data.end());
  append_u32(file, crc32(&file[checked], file.size() - checked));
}

/// The file's bytes; `pixels` row by row from the top.
inline Bytes encode(const Bytes& pixels, int width, int height, const Palette& palette) {
  Bytes head, colours, rows;
  append_u32(head, static_cast<uint32_t>(width));
  append_u32(head, static_cast<uint32_t>(height));
  const Bytes form = {8, 3, 0, 0, 0};  // 8 bits, palette
  head.insert(head.end(), form.begin(), form.end());
  for (const Colour& colour : palette)
    for (const uint8_t part : {colour.red, colour.green, colour.blue}) colours.push_back(part);
  for (auto row = pixels.begin(); row != pixels.end(); row += width) {
    rows.push_back(0);  // no filter
    rows.insert(rows.end(), row, row + width);
  }
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  append_chunk(file, "IHDR", head);
  append_chunk(file, "PLTE", colours);
  append_chunk(file, "IDAT", zlib(rows));
  append_chunk(file, "IEND", {});
  return file;
}

}  // namespace png
