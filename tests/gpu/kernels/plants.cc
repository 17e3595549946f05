// SPDX-License-Identifier: Apache-2.0
// The host's kernels with faults, one selected by KERNELS_PLANT; kernels_test must detect each. The
// product contains none of this code.
//
//   flag     LL: one word of four is ignored           ll128: one line of four is ignored
//            simple, exchange, bulk: no wait for data  multimem: a meeting begins one too early
//   reuse    LL, LL128, bulk: a sender does not wait until all have read
//            simple, exchange: no wait for the credit
//   release  simple, exchange, multimem, bulk: no fence before the signal
//   acquire  simple, exchange, multimem: no fence after the wait
//
// How: the kernels' waits are template parameters. Macros replace the fences and the accesses to
// bulk data, so weak memory also delays bulk data.
// Not detectable on the software driver, as the host twins in ptx.cuh are equal: a torn word of 8
// bytes, a missing fence of the alias proxy (multimem), accesses without "volatile". See:
// tests/gpu/mpi/kernel_plants.sh, tests/softcuda/shim/weak.hpp.
#include <cstdlib>
#include <cstring>

#include "tests/softcuda/shim/device_host.hpp"
#define load_acquire_system load_acquire_system_of_product
#define signal_system signal_system_of_product
#include "cuda/kernels/ptx.cuh"
#undef load_acquire_system
#undef signal_system

namespace tern {
namespace {

bool is_plant(const char* name) noexcept {
  const char* const plant = std::getenv("KERNELS_PLANT");
  return plant != nullptr && std::strcmp(plant, name) == 0;
}

}  // namespace

namespace ptx {
TERN_DEVICE uint32_t load_acquire_system(const uint32_t* word) {
  static const bool plant = is_plant("acquire");
  return plant ? load_relaxed_system(word) : load_acquire_system_of_product(word);
}
TERN_DEVICE void signal_system(uint32_t* word, uint32_t value) {
  static const bool plant = is_plant("release");
  if (plant)
    store_relaxed_system(word, value);
  else
    signal_system_of_product(word, value);
}
}  // namespace ptx
}  // namespace tern

#define load_some load_some_of_product
#define store_some store_some_of_product
#define load_vectors load_vectors_of_product
#define store_vectors store_vectors_of_product
#include "cuda/kernels/memory.cuh"
#undef load_some
#undef store_some
#undef load_vectors
#undef store_vectors

namespace tern::cuda {

/// Unaligned accesses stay in order.
inline bool is_late(const void* at, int bytes) {
  if (!softcuda::is_weak(at)) return false;
  if ((reinterpret_cast<uintptr_t>(at) & 7U) == 0 && bytes % 8 == 0) return true;
  softcuda::block_memory().drain();
  softcuda::block_memory().forget();
  return false;
}
TERN_DEVICE Vector load_some(const char* from, int bytes) {
  if (!is_late(from, bytes)) return load_some_of_product(from, bytes);
  Vector value{};
  softcuda::block_memory().load(&value, from, static_cast<size_t>(bytes));
  return value;
}
TERN_DEVICE void store_some(char* to, const Vector& value, int bytes) {
  if (is_late(to, bytes))
    softcuda::block_memory().store(to, &value, static_cast<size_t>(bytes));
  else
    store_some_of_product(to, value, bytes);
}
template <int kVectors>
TERN_DEVICE void load_vectors(const char* from, int64_t apart, Vector (&values)[kVectors]) {
  for (int j = 0; j < kVectors; ++j) values[j] = load_some(from + j * apart, 16);
}
template <int kVectors>
TERN_DEVICE void store_vectors(char* to, int64_t apart, const Vector (&values)[kVectors]) {
  for (int j = 0; j < kVectors; ++j) store_some(to + j * apart, values[j], 16);
}

}  // namespace tern::cuda

#define multimem_signal multimem_signal_of_product
#include "cuda/kernels/multimem.cuh"
#undef multimem_signal

namespace tern::cuda {
namespace {

inline void multimem_signal(uint32_t* word, uint32_t value) {
  static const bool plant = is_plant("release");
  if (!plant) return multimem_signal_of_product(word, value);
  const softcuda::Copies copies = softcuda::copies_behind(word);
  for (int i = 0; i < copies.count; ++i)
    ptx::store_relaxed_system(static_cast<uint32_t*>(copies.at[i]), value);
}

}  // namespace
}  // namespace tern::cuda

#include "cuda/kernels/bulk.cuh"
#include "cuda/kernels/exchange.cuh"
#include "cuda/kernels/interpret.cuh"
#include "cuda/kernels/ll.cuh"
#include "cuda/kernels/ll128.cuh"
#include "cuda/kernels/multicast.cuh"
#include "cuda/kernels/push.cuh"

namespace tern::cuda {
namespace {

const bool kFlag = is_plant("flag"), kReuse = is_plant("reuse");

struct PlantedFlags {
  TERN_DEVICE static bool all(const uint32_t (&flags)[kLlWords], uint32_t wanted) {
    bool are = true;
    for (int j = kFlag ? 1 : 0; j < kLlWords; ++j) are &= flags[j] == wanted;
    return are;
  }
};
struct PlantedLines {
  TERN_DEVICE static bool counts(int line) { return !kFlag || line != 1; }
};
template <class Wire>
struct Hasty : Wire {
  struct Slot : Wire::Slot {
    using Wire::Slot::Slot;
    [[nodiscard]] TERN_DEVICE bool has_begun(typename Wire::Flag flag) const {
      return kReuse || Wire::Slot::has_begun(flag);
    }
  };
};
template <class Flags>
using PlantedLlWire = Hasty<LlWire<Flags>>;
template <class Lines>
using PlantedLinesWire = Hasty<LinesWire<Lines>>;

struct PlantedLook {
  TERN_DEVICE static uint32_t at(const uint32_t* word, int32_t message) {
    const bool plant = message == Instruction::kCredit ? kReuse : kFlag;
    return plant ? 1 : ptx::load_acquire_system(word);
  }
};
struct PlantedWaits {
  inline static const bool kForLeave = !is_plant("reuse"), kForData = !is_plant("flag");
};
struct PlantedWords {
  TERN_DEVICE static uint32_t load(const uint32_t* word) {
    return ptx::load_acquire_system(word) + (kFlag ? 1 : 0);
  }
};

struct PlantedOrder : BulkOrder {
  TERN_DEVICE static void before_flags() {
    static const bool plant = is_plant("release");
    if (!plant) BulkOrder::before_flags();
  }
  TERN_DEVICE static bool is(uint64_t flag, uint64_t wanted, bool of_data) {
    return (of_data ? kFlag : kReuse) || BulkOrder::is(flag, wanted, of_data);
  }
};

}  // namespace
}  // namespace tern::cuda

#define EveryFlag PlantedFlags
#define EveryLine PlantedLines
#define LlWire PlantedLlWire
#define LinesWire PlantedLinesWire
#define AcquiringLook PlantedLook
#define AllWaits PlantedWaits
#define WordsInOrder PlantedWords
#define BulkOrder PlantedOrder
#include "tests/softcuda/shim/kernels_host.cc"
