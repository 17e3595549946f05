// SPDX-License-Identifier: Apache-2.0
// Arena and Batch: device data of calls.
#include <algorithm>

#include "base/error.hpp"
#include "tests/gpu/kernels/round.hpp"

namespace tern::kernels_test {
namespace {

constexpr unsigned kPortable = 1, kMapped = 2;

CUdeviceptr make(const cuda::Driver& driver, Place place, size_t bytes) {
  CUdeviceptr made = 0;
  if (place == kDevice) {
    must("cuMemAlloc", driver.cuMemAlloc_v2(&made, bytes));
    return made;
  }
  void* host = nullptr;
  must("cuMemHostAlloc", driver.cuMemHostAlloc(&host, bytes, kPortable | kMapped));
  return reinterpret_cast<CUdeviceptr>(host);
}

}  // namespace

Arena::Arena(Machine& machine, size_t bytes) : machine_(machine), bytes_(bytes) {
  for (int rank = 0; rank < Machine::kMostRanks; ++rank) {
    const cuda::Current current(machine.device_of(rank));
    auto& mine = all_.emplace_back();
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = make(machine.driver(), i / 2 == kDevice ? kDevice : kPinned, bytes);
  }
}

Arena::~Arena() {
  for (size_t rank = 0; rank < all_.size(); ++rank) {
    const cuda::Current current(machine_.device_of(static_cast<int>(rank)));
    for (size_t i = 0; i < all_[rank].size(); ++i)
      if (i / 2 == kDevice)
        (void)machine_.driver().cuMemFree_v2(all_[rank][i]);
      else
        (void)machine_.driver().cuMemFreeHost(reinterpret_cast<void*>(all_[rank][i]));
  }
}

Batch::Batch(Ranks& ranks, Arena& arena, size_t offset)
    : ranks_(ranks), arena_(arena), offset_(offset), images_(static_cast<size_t>(ranks.count())) {}

size_t Batch::end() const noexcept {
  size_t most = 0;
  for (const Images& one : images_)
    for (const Image& image : one) most = std::max(most, image.before.size());
  return offset_ + most;
}

std::string Batch::add(const Shape& shape) {
  std::vector<Images> images = images_;
  auto call = std::make_unique<Call>(ranks_, shape, &images);
  for (int rank = 0; rank < ranks_.count(); ++rank)
    (void)call->operation(rank, arena_.at(rank, kDevice, false) + offset_,
                          arena_.at(rank, kPinned, false) + offset_);
  if (std::string why = call->why_not(); !why.empty()) return why;
  images_ = std::move(images);
  if (end() > arena_.bytes()) throw Error(MPI_ERR_OTHER, "the arena is too small");
  calls_.push_back(std::move(call));
  return {};
}

void Batch::bring(uint64_t salt) {
  for (size_t i = 0; i < calls_.size(); ++i) calls_[i]->fill(salt + i * 1000003, &images_);
  const cuda::Driver& driver = ranks_.machine().driver();
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const cuda::Current current(*ranks_.at(rank).device);
    for (const Place place : {kDevice, kPinned}) {
      const auto& image = images_[static_cast<size_t>(rank)][place].before;
      if (image.empty()) continue;
      must("cuMemcpyHtoDAsync",
           driver.cuMemcpyHtoDAsync_v2(coll::device_pointer(arena_.at(rank, place, true) + offset_),
                                       image.data(), image.size(), ranks_.at(rank).stream.handle));
    }
    restore(rank);
  }
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const cuda::Current current(*ranks_.at(rank).device);
    must("cuStreamSynchronize", driver.cuStreamSynchronize(ranks_.at(rank).stream.handle));
  }
  for (auto& call : calls_) call->prepare();
}

void Batch::restore(int rank) {
  const cuda::Current current(*ranks_.at(rank).device);
  for (const Place place : {kDevice, kPinned}) {
    const size_t bytes = images_[static_cast<size_t>(rank)][place].before.size();
    if (bytes == 0) continue;
    must("cuMemcpyAsync", ranks_.machine().driver().cuMemcpyAsync(
                              coll::device_pointer(arena_.at(rank, place, false) + offset_),
                              coll::device_pointer(arena_.at(rank, place, true) + offset_), bytes,
                              ranks_.at(rank).stream.handle));
  }
}

void Batch::put(int rank) {
  for (auto& call : calls_) call->put(rank);
}

std::string Batch::difference(int rank, Place place, const unsigned char* found) {
  const Image& image = images_[static_cast<size_t>(rank)][place];
  const auto differs = [&](size_t i) { return !image.any[i] && found[i] != image.wanted[i]; };
  for (size_t i = 0; i < image.before.size(); ++i) {
    if (!differs(i)) continue;
    size_t count = 0;
    for (size_t j = i; j < image.before.size(); ++j) count += differs(j) ? 1 : 0;
    std::string where = "between calls";
    for (size_t call = 0; call < calls_.size(); ++call)
      if (std::string here = calls_[call]->find(rank, place, i); !here.empty())
        where = strf("call %zu, ", call) + here;
    return strf("WRONG DATA: rank %d, %s: is %d, not %d; %zu bytes from there on differ", rank,
                where.c_str(), found[i], image.wanted[i], count);
  }
  return {};
}

std::string Batch::check() {
  const cuda::Driver& driver = ranks_.machine().driver();
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const cuda::Current current(*ranks_.at(rank).device);
    for (const Place place : {kDevice, kPinned}) {
      std::vector<unsigned char> found(images_[static_cast<size_t>(rank)][place].before.size());
      if (found.empty()) continue;
      const CUstream stream = ranks_.at(rank).stream.handle;
      must("cuMemcpyDtoHAsync",
           driver.cuMemcpyDtoHAsync_v2(
               found.data(), coll::device_pointer(arena_.at(rank, place, false) + offset_),
               found.size(), stream));
      must("cuStreamSynchronize", driver.cuStreamSynchronize(stream));
      if (std::string why = difference(rank, place, found.data()); !why.empty()) return why;
    }
  }
  return {};
}

std::string Batch::in_words() const {
  std::string all;
  for (size_t i = 0; i < calls_.size(); ++i)
    all += strf("\n  call %zu: %s", i, calls_[i]->shape().in_words(ranks_.count()).c_str());
  return all;
}

}  // namespace tern::kernels_test
