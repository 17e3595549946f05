// SPDX-License-Identifier: Apache-2.0
#include "coll/exchange/et.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMostEtBytes = size_t{64} << 20;
constexpr size_t kMostEtString = 4096;
constexpr double kMostEtNumber = 1e15;

/// A field of a message: a number, or bytes.
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;
  std::string_view bytes{};
};
constexpr uint32_t kVarint = 0, kFixed64 = 1, kLengthAndBytes = 2, kFixed32 = 5;

class EtReader {
 public:
  EtReader(const std::string& bytes, const std::string& name) : all_(bytes), name_(name) {
    if (all_.size() > kMostEtBytes) fail(0, "more than 64 MiB");
    if (all_.size() >= 2 && all_.substr(0, 2) == "\x1f\x8b")
      fail(0, "compressed by gzip; decompress the file first: gunzip");
  }

  std::vector<EtNode> run() {
    std::string_view rest = all_;
    if (rest.empty()) fail(0, "empty; a trace begins with its metadata");
    (void)message(rest);  // metadata
    while (!rest.empty()) {
      if (nodes_.size() == kMostEtNodes) fail(at(rest), strf("more than %zu nodes", kMostEtNodes));
      node(message(rest));
    }
    return std::move(nodes_);
  }

 private:
  [[noreturn]] void fail(size_t where, const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s, byte %zu: %s", name_.c_str(), where, cause.c_str()));
  }
  [[nodiscard]] size_t at(std::string_view rest) const {
    return static_cast<size_t>(rest.data() - all_.data());
  }

  uint64_t varint(std::string_view& rest) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest.empty()) fail(all_.size(), "ends within a number");
      const auto byte = static_cast<uint8_t>(rest[0]);
      if (shift == 63 && byte > 1) break;
      rest.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail(at(rest), "a number has more than 64 bits");
  }

  std::string_view message(std::string_view& rest) const {
    const size_t begin = at(rest);
    const uint64_t length = varint(rest);
    if (length > rest.size())
      fail(begin, strf("%llu bytes are announced, but %zu follow: truncated, or no Chakra trace",
                       static_cast<unsigned long long>(length), rest.size()));
    const std::string_view found = rest.substr(0, length);
    rest.remove_prefix(length);
    return found;
  }

  template <class T>
  uint64_t fixed(std::string_view& rest) const {
    if (rest.size() < sizeof(T)) fail(at(rest), "ends within a number");
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(rest[i])) << (8 * i);
    rest.remove_prefix(sizeof(T));
    return value;
  }

  Field field(std::string_view& rest) const {
    const size_t begin = at(rest);
    const uint64_t key = varint(rest);
    Field made{.number = static_cast<uint32_t>(key >> 3), .wire = static_cast<uint32_t>(key & 7)};
    if (key >> 3 == 0 || key >> 32 != 0) fail(begin, "a field's number is wrong");
    if (made.wire == kVarint)
      made.value = varint(rest);
    else if (made.wire == kFixed64)
      made.value = fixed<uint64_t>(rest);
    else if (made.wire == kFixed32)
      made.value = fixed<uint32_t>(rest);
    else if (made.wire == kLengthAndBytes)
      made.bytes = message(rest);
    else
      fail(begin, strf("a field has wire type %u: no Chakra trace", made.wire));
    return made;
  }

  void want(const Field& found, uint32_t wire, std::string_view rest) const {
    if (found.wire == wire) return;
    fail(at(rest), strf("field %u has wire type %u instead of %u", found.number, found.wire, wire));
  }

  std::string text(const Field& found, std::string_view rest) const {
    want(found, kLengthAndBytes, rest);
    if (found.bytes.size() > kMostEtString)
      fail(at(rest),
           strf("a string of %zu bytes; %zu are allowed", found.bytes.size(), kMostEtString));
    return std::string(found.bytes);
  }

  void depend(uint64_t id, std::vector<uint64_t>* ids, std::string_view rest) {
    if (++dependencies_ > kMostEtDependencies)
      fail(at(rest), strf("more than %zu dependencies", kMostEtDependencies));
    ids->push_back(id);
  }

  void dependencies(const Field& found, std::vector<uint64_t>* ids, std::string_view rest) {
    if (found.wire == kVarint) return depend(found.value, ids, rest);
    want(found, kLengthAndBytes, rest);
    for (std::string_view packed = found.bytes; !packed.empty();) depend(varint(packed), ids, rest);
  }

  void node(std::string_view rest) {
    enum : uint32_t { kId = 1, kName, kType, kControl, kData, kStart, kDuration, kIn, kOut, kAttr };
    EtNode made;
    while (!rest.empty()) {
      const Field found = field(rest);
      switch (found.number) {
        case kId:
          want(found, kVarint, rest);
          made.id = found.value;
          break;
        case kName:
          made.name = text(found, rest);
          break;
        case kType:
          want(found, kVarint, rest);
          if (found.value > static_cast<uint64_t>(EtNode::Kind::kCollective))
            fail(at(rest), strf("a node has kind %llu; 0 to 7 are known",
                                static_cast<unsigned long long>(found.value)));
          made.kind = static_cast<EtNode::Kind>(found.value);
          break;
        case kControl:
        case kData:
          dependencies(found, &made.after, rest);
          break;
        case kDuration:
          want(found, kVarint, rest);
          made.duration = static_cast<double>(found.value);
          check(made.duration, "a duration", rest);
          break;
        case kAttr:
          want(found, kLengthAndBytes, rest);
          attribute(found.bytes, &made);
          break;
        default:
          break;
      }
    }
    nodes_.push_back(std::move(made));
  }

  void check(double value, const char* what, std::string_view rest) const {
    if (!(value >= 0 && value <= kMostEtNumber))
      fail(at(rest), strf("%s of %g; 0 to %g are allowed", what, value, kMostEtNumber));
  }

  /// The value of a number's field; the field's number says the type.
  [[nodiscard]] double number(const Field& found, std::string_view rest) const {
    const uint64_t value = found.value;
    const auto zigzag = [](uint64_t v) {
      return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
    };
    switch (found.number) {
      case 3:  // double
        want(found, kFixed64, rest);
        return std::bit_cast<double>(value);
      case 5:  // float
        want(found, kFixed32, rest);
        return std::bit_cast<float>(static_cast<uint32_t>(value));
      case 7:  // int32
      case 9:  // int64
        want(found, kVarint, rest);
        return static_cast<double>(static_cast<int64_t>(value));
      case 11:  // uint32
      case 13:  // uint64
      case 27:  // bool
        want(found, kVarint, rest);
        return static_cast<double>(value);
      case 15:  // sint32
      case 17:  // sint64
        want(found, kVarint, rest);
        return static_cast<double>(zigzag(value));
      case 19:  // fixed32
        want(found, kFixed32, rest);
        return static_cast<double>(value);
      case 23:  // sfixed32
        want(found, kFixed32, rest);
        return static_cast<int32_t>(static_cast<uint32_t>(value));
      case 21:  // fixed64
        want(found, kFixed64, rest);
        return static_cast<double>(value);
      case 25:  // sfixed64
        want(found, kFixed64, rest);
        return static_cast<double>(static_cast<int64_t>(value));
      default:
        fail(at(rest), strf("an attribute's value has field %u; a number is needed", found.number));
    }
  }

  [[nodiscard]] int64_t whole(const Field& found, const std::string& what,
                              std::string_view rest) const {
    const double value = number(found, rest);
    if (!(value >= 0 && value <= 4294967295.0) || value != std::floor(value))
      fail(at(rest), strf("%s is %g; whole numbers below 2^32 are allowed", what.c_str(), value));
    return static_cast<int64_t>(value);
  }

  void attribute(std::string_view rest, EtNode* node) const {
    std::string name;
    Field value;
    while (!rest.empty()) {
      const Field found = field(rest);
      if (found.number == 1)
        name = text(found, rest);
      else if (found.number != 2)
        value = found;
    }
    if (value.number == 0) return;
    if (name == "comm_type") {
      node->comm_type = whole(value, name, rest);
    } else if (name == "comm_size") {
      node->comm_size = number(value, rest);
      check(node->comm_size, "a comm_size", rest);
    } else if (name == "comm_src") {
      node->source = whole(value, name, rest);
    } else if (name == "comm_dst") {
      node->target = whole(value, name, rest);
    } else if (name == "comm_tag") {
      node->tag = whole(value, name, rest);
    } else if (name == "pg_name") {
      node->group = text(value, rest);
    }
  }

  const std::string_view all_;
  const std::string& name_;
  std::vector<EtNode> nodes_;
  size_t dependencies_ = 0;
};

}  // namespace

std::vector<EtNode> read_et(const std::string& bytes, const std::string& name) {
  return EtReader(bytes, name).run();
}

}  // namespace tern::coll
