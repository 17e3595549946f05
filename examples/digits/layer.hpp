// SPDX-License-Identifier: Apache-2.0
// A fully connected layer: forward, backward and a step; no communication.
#pragma once

#include <algorithm>
#include <vector>

constexpr float kRate = 0.05f, kMomentum = 0.9f;

// y += a * x
inline void add_scaled(float* y, float a, const float* x, int n) {
  for (int i = 0; i < n; ++i) y[i] += a * x[i];
}

inline float dot(const float* x, const float* y, int n) {
  float sums[4] = {};  // four independent chains; all widths are multiples of two
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) sums[k] += x[i + k] * y[i + k];
  for (; i < n; ++i) sums[0] += x[i] * y[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// A fully connected layer. `values` holds the weights, one row of `out` for each input, then the
// biases; the gradient has the same shape and is one bucket of communication.
struct Layer {
  int in, out;
  std::vector<float> values, gradient, velocity;

  Layer(int in_width, int out_width) : in(in_width), out(out_width) {
    values.resize((in + 1) * out);
    gradient = velocity = values;
  }

  int count() const { return static_cast<int>(values.size()); }
  const float* row(int i) const { return &values[i * out]; }

  void forward(const float* x, float* y, bool rectify) const {
    std::copy_n(row(in), out, y);
    for (int i = 0; i < in; ++i)
      if (x[i] != 0) add_scaled(y, x[i], row(i), out);
    if (rectify)
      for (int o = 0; o < out; ++o) y[o] = std::max(y[o], 0.0f);
  }

  // Adds this image's share to the gradient; `below` (null for the lowest layer) receives the slope
  // by the lower layer's sums, before rectification.
  void backward(const float* x, const float* slope, float* below) {
    for (int i = 0; i < in; ++i) {
      if (x[i] != 0) add_scaled(&gradient[i * out], x[i], slope, out);
      if (below) below[i] = x[i] > 0 ? dot(row(i), slope, out) : 0;
    }
    add_scaled(&gradient[in * out], 1, slope, out);
  }

  void step() {
    for (int i = 0; i < count(); ++i) {
      velocity[i] = kMomentum * velocity[i] - kRate * gradient[i];
      values[i] += velocity[i];
    }
  }
};
