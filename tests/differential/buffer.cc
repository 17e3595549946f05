// SPDX-License-Identifier: Apache-2.0
// Memory for items of a layout.
#include "buffer.hpp"

#include <algorithm>
#include <cstring>

#include "peer.hpp"

namespace {
constexpr int kMostBytes = 1 << 20;
thread_local bool given_less = false;
}  // namespace

Signature any_signature(Random& random) {
  Signature signature;
  const int runs = random.one_in(5) ? random.between(2, 3) : 1;
  const int kinds = static_cast<int>(basics().size());
  for (int i = 0; i < runs; ++i) {
    signature.emplace_back(random.below(kinds), runs == 1 ? 1 : random.between(1, 4));
  }
  return signature;
}

int bytes_of(const Signature& signature) {
  int bytes = 0;
  for (const auto& [basic, times] : signature) {
    bytes += times * basics()[static_cast<size_t>(basic)].extent;
  }
  return bytes;
}

std::string text_of(const Signature& signature) {
  std::string text;
  for (const auto& [basic, times] : signature) {
    text += (text.empty() ? "" : "+") + std::to_string(times) + "*" +
            basics()[static_cast<size_t>(basic)].name;
  }
  return text;
}

int any_count(Random& random, const Signature& signature, int places) {
  const int most = std::max(1, kMostBytes / (bytes_of(signature) * std::max(1, places)));
  const int dice = random.below(100);
  int count = 0;
  if (dice >= 8) count = random.between(1, 12);
  if (dice >= 50) count = random.between(1, 150);
  if (dice >= 80) count = random.between(100, 3000);
  if (dice >= 95) count = random.between(3000, 40000);
  if (dice >= 99) count = most - random.below(std::min(most, 9));
  count = std::min(count, most);
  const int few = 1024 / bytes_of(signature);
  if (peer::kSmallMixtures && count > few && (signature.size() > 1 || has_pairs(signature))) {
    give_less();
    count = few;
  }
  return count;
}

void give_less() { given_less = true; }

bool was_given_less() { return std::exchange(given_less, false); }

Buffer::Buffer(Layout&& layout_, int count_, MPI_Aint places_)
    : layout(std::move(layout_)), count(count_), places(places_) {
  // An empty buffer needs an address, too.
  bytes.resize(16);
  if (places <= 0 || layout.map.empty()) return;
  low = layout.first();
  const MPI_Aint end = (places - 1) * layout.extent + layout.end();
  // Reductions need aligned elements.
  low = low >= 0 ? 0 : -((-low + 15) / 16 * 16);
  bytes.resize(static_cast<size_t>(end - low + 16));
}

Layout Buffer::wrapped(Random& random, const Signature& signature, int items, int* count) {
  std::vector<int> divisors;
  const int most = signature.size() > 1 ? 4 : 48;
  for (int i = 1; i <= std::min(items, most); ++i) {
    if (items % i == 0) divisors.push_back(i);
  }
  const int times =
      divisors.empty()
          ? 1
          : divisors[static_cast<size_t>(random.below(static_cast<int>(divisors.size())))];
  *count = items / times;
  return any_layout(random, signature, times);
}

void Buffer::fill(uint64_t seed, Values values) {
  Random random(seed);
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = random.next();
    std::memcpy(&bytes[i], &word, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(random.next());
  if (values == Values::raw) return;
  for (MPI_Aint item = 0; item < places; ++item) {
    for (const Element& element : layout.map) {
      set_value(basics()[static_cast<size_t>(element.basic)],
                base() + item * layout.extent + element.at, random, values);
    }
  }
}

void Buffer::normalise() {
  for (MPI_Aint item = 0; item < places; ++item) {
    for (const Element& element : layout.map) {
      ::normalise(basics()[static_cast<size_t>(element.basic)],
                  base() + item * layout.extent + element.at);
    }
  }
}

void Buffer::clear_padding() {
  for (const Element& element : layout.map) {
    const Basic& basic = basics()[static_cast<size_t>(element.basic)];
    if (!has_padding(basic)) continue;
    for (MPI_Aint item = 0; item < places; ++item) {
      ::clear_padding(basic, base() + item * layout.extent + element.at);
    }
  }
}

bool has_padding(const Signature& signature) {
  return std::any_of(signature.begin(), signature.end(), [](const auto& run) {
    return has_padding(basics()[static_cast<size_t>(run.first)]);
  });
}

bool has_pairs(const Signature& signature) {
  return std::any_of(signature.begin(), signature.end(), [](const auto& run) {
    return basics()[static_cast<size_t>(run.first)].kind == Kind::pair;
  });
}

bool has_addresses(const Signature& signature) {
  return std::any_of(signature.begin(), signature.end(), [](const auto& run) {
    return basics()[static_cast<size_t>(run.first)].kind == Kind::address;
  });
}

bool has_longs(const Signature& signature) {
  return std::any_of(signature.begin(), signature.end(), [](const auto& run) {
    const MPI_Datatype type = basics()[static_cast<size_t>(run.first)].type;
    return type == MPI_LONG || type == MPI_UNSIGNED_LONG || type == MPI_WCHAR;
  });
}
