// SPDX-License-Identifier: Apache-2.0
// TrainedModel: the layers of a model in training, and the GPUs' figures, from a text. A line has a
// word and a number; # starts a comment. Numbers may end in k, m, g, t or p (powers of 1000).
//   memory BYTES           of a GPU
//   flops N                a GPU's peak, per second
//   efficiency SHARE       reached by the layers' kernels
//   batch N                samples of a step
//   microbatch N           samples at once (1)
//   state N                bytes of weights, gradients and optimizer per parameter (16)
//   gradient N             bytes per parameter summed over replicas (2)
//   layer NAME[*TIMES] parameters=N activations=BYTES output=BYTES flops=N [tensor=N] [cut=no]
// Of a layer: bytes kept per sample until the backward pass, bytes per sample to the next layer,
// operations per sample (forward and backward), the largest tensor split (1: none), and whether a
// stage may end behind the layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::coll {

inline constexpr size_t kMostLayers = 512;

struct ModelLayer {
  std::string name;
  double parameters = 0, activations = 0, output = 0, flops = 0;
  int32_t tensor = 1;
  bool cut = true;
};

struct TrainedModel {
  std::vector<ModelLayer> layers{};
  double memory = 0, flops = 0, efficiency = 0;
  int64_t batch = 0, microbatch = 1;
  double state = 16, gradient = 2;
};

/// Throws tern::Error with `name`, line, fault and cure.
[[nodiscard]] TrainedModel parse_model(const std::string& text, const std::string& name);
[[nodiscard]] TrainedModel load_model(const std::string& name);

}  // namespace tern::coll
