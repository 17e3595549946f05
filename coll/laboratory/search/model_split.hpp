// SPDX-License-Identifier: Apache-2.0
// model_split: a model's layers on GPUs by data, tensor and pipeline splits, all enumerated, the
// quickest first. Layers go to stages by dynamic programming, exactly without interleaving and up
// to 15 layers, else with 128 bounds on the longest part; with interleaving the longest part counts
// for each part of its stage.
//
// Model. Of stage s, T_s: a microbatch's operations at the given efficiency, 4 allreduces of each
// split layer's output (Shoeybi et al. 2019), a message each way to the next stage. With m
// microbatches (interleaved: a multiple of the stages) and v parts a stage: (m - 1/v) max T_s + sum
// T_s / v, then the longest gradient sum. Memory: state, and activations of min(m, stages - s)
// microbatches (1F1B), with interleaving of min(m v, 2 (stages - s - 1) + (v - 1) stages + 1) parts
// (Narayanan et al. 2021).
// Not modelled: overlap, recomputation, sharded states.
// See: Zheng et al. 2022 (Alpa: stages by a bound on the longest).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coll/laboratory/search/trained_model.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll {

/// us of a call in all groups at once, rising with the bytes.
struct SplitCosts {
  std::function<double(int32_t tensor, double bytes)> tensor_sum;
  std::function<double(int32_t tensor, int32_t data, double bytes)> gradient_sum;
  std::function<double(int32_t tensor, int32_t data, double bytes)> to_next_stage;
};

struct ModelSplit {
  int32_t data = 1, tensor = 1, stages = 1, interleave = 1;
  int64_t microbatches = 1;    // of a replica
  std::vector<size_t> ends{};  // of the parts: a layer's number
  double time = 0;             // us of a step
  double computation = 0;      // us, of the longest stage
  double tensor_sums = 0, messages = 0, gradients = 0, waiting = 0;
  double memory = 0;  // most bytes of a GPU
  [[nodiscard]] const char* bound() const noexcept;
};

/// At most `most` splits for `gpus` GPUs. Throws tern::Error if none fits the memory, with the
/// least memory that a split needs, or if the batch splits for none.
[[nodiscard]] std::vector<ModelSplit> split_model(const TrainedModel& model, int32_t gpus,
                                                  const SplitCosts& costs, size_t most);
/// Simulated costs: rank (stage * data + replica) * tensor + part is on this GPU of the machine.
[[nodiscard]] std::vector<ModelSplit> split_model(const TrainedModel& model,
                                                  const Topology& machine, size_t most);

}  // namespace tern::coll
