// SPDX-License-Identifier: Apache-2.0
// A reference model of a datatype: the list of its bytes, from the definitions of the standard.
// Why: the model knows no strides, blocks or merging.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/datatype_build.hpp"

namespace tern::core::test {

struct Model {
  std::vector<int64_t> bytes;  // displacements in type map order
  std::vector<int64_t> basics;
  int64_t lb = 0, ub = 0;
  bool lb_marked = false, ub_marked = false;
  int alignment = 1;

  [[nodiscard]] int64_t extent() const { return ub - lb; }
  [[nodiscard]] bool empty() const { return bytes.empty() && !lb_marked && !ub_marked; }

  static Model basic(const Datatype& type) {
    Model model;
    for (int64_t i = 0; i < type.size(); ++i) model.bytes.push_back(i);
    model.basics.push_back(type.size());
    model.ub = type.size();
    model.alignment = static_cast<int>(type.size());
    return model;
  }
};

class ModelMaker {
 public:
  void place(const Model& part, int64_t at) {
    for (const int64_t byte : part.bytes) model_.bytes.push_back(at + byte);
    model_.basics.insert(model_.basics.end(), part.basics.begin(), part.basics.end());
    if (part.empty()) return;
    (part.lb_marked ? marked_lbs_ : lbs_).push_back(at + part.lb);
    (part.ub_marked ? marked_ubs_ : ubs_).push_back(at + part.ub);
    if (!part.bytes.empty()) model_.alignment = std::max(model_.alignment, part.alignment);
  }
  void place_block(const Model& part, int64_t at, int64_t length) {
    for (int64_t i = 0; i < length; ++i) place(part, at + i * part.extent());
  }
  Model done(bool round = false) {
    model_.lb_marked = !marked_lbs_.empty();
    model_.ub_marked = !marked_ubs_.empty();
    const auto& lbs = model_.lb_marked ? marked_lbs_ : lbs_;
    const auto& ubs = model_.ub_marked ? marked_ubs_ : ubs_;
    if (!lbs.empty()) model_.lb = *std::min_element(lbs.begin(), lbs.end());
    if (!ubs.empty()) model_.ub = *std::max_element(ubs.begin(), ubs.end());
    while (round && !model_.ub_marked && model_.extent() % model_.alignment != 0) ++model_.ub;
    return model_;
  }

 private:
  Model model_;
  std::vector<int64_t> lbs_, ubs_, marked_lbs_, marked_ubs_;
};

struct Sample {
  Ref<Datatype> type;
  Model model;
};

class RandomTypes {
 public:
  RandomTypes(Process& process, unsigned seed) : process_(process), random_(seed) {}

  Sample make(int depth) {
    if (depth == 0 || pick(0, 9) == 0) return basic();
    switch (pick(0, 9)) {
      case 0:
        return contiguous(depth);
      case 1:
        return hvector(depth);
      case 2:
        return vector(depth);
      case 3:
        return indexed(depth, false);
      case 4:
        return indexed(depth, true);
      case 5:
        return block_indexed(depth);
      case 6:
        return structure(depth);
      case 7:
        return resized(depth);
      case 8:
        return darray(depth);
      default:
        return subarray(depth);
    }
  }
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

 private:
  Sample basic() {
    const MPI_Datatype all[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
    Datatype& type = predefined_type(process_, all[pick(0, 4)]);
    Sample sample{Ref<Datatype>(&type), Model::basic(type)};
    if (type.size() == 16) sample.model.alignment = 8;
    return sample;
  }
  Sample contiguous(int depth) {
    Sample old = make(depth - 1);
    const int64_t count = pick(0, 5);
    ModelMaker maker;
    maker.place_block(old.model, 0, count);
    return {TypeBuilder().contiguous(count, *old.type), maker.done()};
  }
  Sample strided(const Sample& old, int64_t count, int64_t length, int64_t bytes,
                 Ref<Datatype> type) {
    ModelMaker maker;
    for (int64_t i = 0; i < count; ++i) maker.place_block(old.model, i * bytes, length);
    return {std::move(type), maker.done()};
  }
  Sample hvector(int depth) {
    Sample old = make(depth - 1);
    const int64_t count = pick(0, 5), length = pick(0, 4);
    const int64_t stride = pick(0, 2) == 0 ? old.model.extent() * length : pick(-60, 120);
    return strided(old, count, length, stride,
                   TypeBuilder().hvector(count, length, stride, *old.type));
  }
  Sample vector(int depth) {
    Sample old = make(depth - 1);
    const int64_t count = pick(0, 5), length = pick(0, 4), stride = pick(-3, 7);
    return strided(old, count, length, stride * old.model.extent(),
                   TypeBuilder().vector(count, length, stride, *old.type));
  }
  Sample indexed(int depth, bool bytes) {
    Sample old = make(depth - 1);
    std::vector<MPI_Count> lengths, places;
    ModelMaker maker;
    const int64_t count = pick(0, 6), unit = bytes ? 1 : old.model.extent();
    for (int64_t i = 0, at = 0; i < count; ++i, at += pick(0, 3) == 0 ? 0 : pick(-4, 8)) {
      lengths.push_back(pick(0, 4));
      places.push_back(at);
      maker.place_block(old.model, at * unit, lengths.back());
      at += bytes ? lengths.back() * old.model.extent() : lengths.back();
    }
    const TypeBuilder build;
    return {bytes ? build.hindexed(count, lengths.data(), places.data(), *old.type)
                  : build.indexed(count, lengths.data(), places.data(), *old.type),
            maker.done()};
  }
  Sample block_indexed(int depth) {
    Sample old = make(depth - 1);
    std::vector<MPI_Count> places;
    ModelMaker maker;
    const int64_t count = pick(0, 6), length = pick(0, 3);
    const bool even = pick(0, 1) == 0, bytes = pick(0, 1) == 0;
    for (int64_t i = 0, at = 0; i < count; ++i, at += even ? 5 : pick(-3, 9)) {
      places.push_back(at);
      maker.place_block(old.model, bytes ? at : at * old.model.extent(), length);
    }
    const TypeBuilder build;
    return {bytes ? build.hindexed_block(count, length, places.data(), *old.type)
                  : build.indexed_block(count, length, places.data(), *old.type),
            maker.done()};
  }
  Sample structure(int depth) {
    const int64_t count = pick(0, 4);
    std::vector<Sample> parts;
    std::vector<Datatype*> types;
    std::vector<MPI_Count> lengths, places;
    ModelMaker maker;
    for (int64_t i = 0, at = pick(-8, 8); i < count; ++i, at += pick(-5, 40)) {
      const bool again = !parts.empty() && pick(0, 3) == 0;
      parts.push_back(again ? parts.back() : make(depth - 1));
      types.push_back(parts.back().type.get());
      lengths.push_back(pick(0, 3));
      places.push_back(at);
      maker.place_block(parts.back().model, at, lengths.back());
      if (pick(0, 2) == 0) at += lengths.back() * parts.back().model.extent();
    }
    return {TypeBuilder().structure(count, lengths.data(), places.data(), types.data()),
            maker.done(true)};
  }
  Sample resized(int depth) {
    Sample old = make(depth - 1);
    Sample sample{TypeBuilder().resized(*old.type, 0, 0), old.model};
    sample.model.lb = pick(-20, 20);
    sample.model.ub = sample.model.lb + pick(0, 90);
    sample.model.lb_marked = sample.model.ub_marked = true;
    sample.type = TypeBuilder().resized(*old.type, sample.model.lb, sample.model.extent());
    return sample;
  }
  Sample subarray(int depth) {
    Sample old = make(depth - 1);
    const int dims = static_cast<int>(pick(1, 3));
    const int order = pick(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<MPI_Count> sizes, subsizes, starts;
    for (int d = 0; d < dims; ++d) {
      sizes.push_back(pick(1, 4));
      subsizes.push_back(pick(1, sizes.back()));
      starts.push_back(pick(0, sizes.back() - subsizes.back()));
    }
    Sample sample{TypeBuilder().subarray(dims, sizes.data(), subsizes.data(), starts.data(), order,
                                         *old.type),
                  {}};
    ModelMaker maker;
    place_elements(maker, old.model, sizes, subsizes, starts, order, 0, 0);
    sample.model = maker.done();
    sample.model.lb = 0;
    sample.model.ub = old.model.extent();
    for (const MPI_Count size : sizes) sample.model.ub *= size;
    sample.model.lb_marked = sample.model.ub_marked = true;
    return sample;
  }
  static std::vector<int64_t> dealt(int64_t size, int64_t block, int processes, int coordinate) {
    std::vector<int64_t> held;
    for (int64_t i = 0; i < size; ++i)
      if (i / block % processes == coordinate) held.push_back(i);
    return held;
  }
  Sample darray(int depth) {
    Sample old = make(depth - 1);
    const int order = pick(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    MPI_Count sizes[2];
    int kind[2], arguments[2], grid[2], coordinate[2];
    std::vector<int64_t> held[2];
    for (int d = 0; d < 2; ++d) {
      sizes[d] = pick(1, 7);
      kind[d] = kinds[pick(0, 2)];
      grid[d] = kind[d] == MPI_DISTRIBUTE_NONE ? 1 : static_cast<int>(pick(1, 3));
      coordinate[d] = static_cast<int>(pick(0, grid[d] - 1));
      const int even = static_cast<int>((sizes[d] + grid[d] - 1) / grid[d]);
      const bool standard = pick(0, 1) == 0;
      const int length = kind[d] == MPI_DISTRIBUTE_BLOCK ? even + static_cast<int>(pick(0, 1))
                                                         : static_cast<int>(pick(1, 3));
      arguments[d] = standard ? MPI_DISTRIBUTE_DFLT_DARG : length;
      const int block = kind[d] == MPI_DISTRIBUTE_NONE    ? static_cast<int>(sizes[d])
                        : !standard                       ? length
                        : kind[d] == MPI_DISTRIBUTE_BLOCK ? even
                                                          : 1;
      held[d] = dealt(sizes[d], block, grid[d], coordinate[d]);
    }
    ModelMaker maker;
    const int slow = order == MPI_ORDER_C ? 0 : 1, fast = 1 - slow;
    for (const int64_t i : held[slow])
      for (const int64_t j : held[fast])
        maker.place(old.model, (i * sizes[fast] + j) * old.model.extent());
    Sample sample{TypeBuilder().darray({grid[0] * grid[1], coordinate[0] * grid[1] + coordinate[1],
                                        2, sizes, kind, arguments, grid, order},
                                       *old.type),
                  maker.done()};
    sample.model.lb = 0;
    sample.model.ub = old.model.extent() * sizes[0] * sizes[1];
    sample.model.lb_marked = sample.model.ub_marked = true;
    return sample;
  }
  /// place_elements() puts the slowest dimension outermost. `at` counts elements.
  void place_elements(ModelMaker& maker, const Model& old, const std::vector<MPI_Count>& sizes,
                      const std::vector<MPI_Count>& subsizes, const std::vector<MPI_Count>& starts,
                      int order, size_t level, int64_t at) {
    if (level == sizes.size()) return maker.place(old, at * old.extent());
    const size_t d = order == MPI_ORDER_C ? level : sizes.size() - 1 - level;
    for (int64_t i = 0; i < subsizes[d]; ++i)
      place_elements(maker, old, sizes, subsizes, starts, order, level + 1,
                     at * sizes[d] + starts[d] + i);
  }

  Process& process_;
  std::mt19937 random_;
};

}  // namespace tern::core::test
