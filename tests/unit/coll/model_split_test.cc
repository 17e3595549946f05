// SPDX-License-Identifier: Apache-2.0
// Splits of models: against all splits by force, memory, bad files.
#include "coll/laboratory/search/model_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "base/error.hpp"
#include "coll/topology/generators.hpp"

namespace tern::coll {
namespace {

const char* const kModelText =
    "memory 80g\nflops 1t\nefficiency 0.5\nbatch 16\nstate 16\n"
    "layer embed parameters=10m activations=1m output=2m flops=1m tensor=2\n"
    "layer block*6 parameters=20m activations=8m output=2m flops=100m tensor=4  # alike\n"
    "layer head parameters=10m activations=1m output=4 flops=50m cut=no\n";

/// us: a start, and bytes by a rate.
SplitCosts linear_costs(double slow) {
  return {.tensor_sum = [=](int32_t t, double n) { return t + n * t / 1e4 * slow; },
          .gradient_sum = [=](int32_t, int32_t d,
                              double n) { return 5 + d + n * (d - 1) / d / 1e4 * slow; },
          .to_next_stage = [=](int32_t, int32_t, double n) { return 2 + n / 1e4 * slow; }};
}

/// All ends of `stages` stages of `layers` layers.
void for_each_partition(size_t layers, size_t stages,
                        const std::function<void(const std::vector<size_t>&)>& work) {
  std::vector<size_t> ends(stages);
  const std::function<void(size_t, size_t)> choose = [&](size_t stage, size_t from) {
    if (stage + 1 == stages) {
      ends[stage] = layers;
      if (from < layers) work(ends);
      return;
    }
    for (size_t to = from + 1; to < layers; ++to) {
      ends[stage] = to;
      choose(stage + 1, to);
    }
  };
  choose(0, 0);
}

/// The step of a split without interleaving, or infinity.
double step_of(const TrainedModel& model, int32_t tensor, int32_t data,
               const std::vector<size_t>& ends, const SplitCosts& costs) {
  const auto stages = static_cast<int64_t>(ends.size());
  const int64_t m = model.batch / data / model.microbatch;
  double longest = 0, sum = 0, gradients = 0;
  for (int64_t s = 0; s < stages; ++s) {
    double time = 0, parameters = 0, activations = 0;
    const size_t from = s == 0 ? 0 : ends[static_cast<size_t>(s) - 1];
    const size_t to = ends[static_cast<size_t>(s)];
    for (size_t l = from; l < to; ++l) {
      const ModelLayer& layer = model.layers[l];
      const int32_t t = std::gcd(tensor, layer.tensor);
      const auto micro = static_cast<double>(model.microbatch);
      time += layer.flops * micro / t / model.flops / model.efficiency * 1e6;
      if (t > 1) time += 4 * costs.tensor_sum(t, layer.output * micro);
      parameters += layer.parameters / t;
      activations += layer.activations * micro / t;
    }
    if (to < model.layers.size()) {
      if (!model.layers[to - 1].cut) return INFINITY;
      time += 2 * costs.to_next_stage(
                      tensor, data,
                      model.layers[to - 1].output * static_cast<double>(model.microbatch));
    }
    const auto kept = static_cast<double>(std::min(m, stages - s));
    if (parameters * model.state + activations * kept > model.memory) return INFINITY;
    longest = std::max(longest, time);
    sum += time;
    if (data > 1)
      gradients =
          std::max(gradients, costs.gradient_sum(tensor, data, parameters * model.gradient));
  }
  return static_cast<double>(m - 1) * longest + sum + gradients;
}

double least_by_force(const TrainedModel& model, int32_t gpus, const SplitCosts& costs) {
  int32_t most = 1;
  for (const ModelLayer& layer : model.layers) most = std::max(most, layer.tensor);
  double least = INFINITY;
  for (int32_t tensor = 1; tensor <= std::min(most, gpus); ++tensor)
    for (int32_t data = 1; data <= gpus; ++data) {
      if (gpus % (tensor * data) != 0 || model.batch % (data * model.microbatch) != 0) continue;
      const auto stages = static_cast<size_t>(gpus / tensor / data);
      if (stages > model.layers.size()) continue;
      for_each_partition(model.layers.size(), stages, [&](const std::vector<size_t>& ends) {
        least = std::min(least, step_of(model, tensor, data, ends, costs));
      });
    }
  return least;
}

TrainedModel random_model(std::minstd_rand& random) {
  TrainedModel made{.memory = 1e6 * static_cast<double>(random() % 400 + 30),
                    .flops = 1e12,
                    .efficiency = 0.5,
                    .batch = static_cast<int64_t>(24 >> random() % 3)};
  for (size_t n = random() % 6 + 1; n > 0; --n)
    made.layers.push_back({.name = "l",
                           .parameters = 1e6 * static_cast<double>(random() % 9),
                           .activations = 1e6 * static_cast<double>(random() % 5),
                           .output = 1e4 * static_cast<double>(random() % 50),
                           .flops = 1e7 * static_cast<double>(random() % 40),
                           .tensor = 1 << random() % 4,
                           .cut = random() % 5 != 0});
  return made;
}

TEST(ModelSplit, TheBestIsThatOfAllSplits) {
  std::minstd_rand random(5);
  int fitting = 0;
  for (int i = 0; i < 600; ++i) {
    const TrainedModel model = random_model(random);
    const int32_t gpus = std::vector<int32_t>{1, 2, 3, 4, 6, 8, 12}[random() % 7];
    const SplitCosts costs = linear_costs(static_cast<double>(random() % 4));
    const double least = least_by_force(model, gpus, costs);
    if (std::isinf(least)) {
      // An interleaved split may fit nevertheless: a stage has other layers.
      try {
        for (const ModelSplit& one : split_model(model, gpus, costs, 100))
          EXPECT_GT(one.interleave, 1);
      } catch (const Error&) {
      }
      continue;
    }
    ++fitting;
    double found = INFINITY;
    for (const ModelSplit& one : split_model(model, gpus, costs, 1000)) {
      EXPECT_EQ(one.data * one.tensor * one.stages, gpus);
      EXPECT_LE(one.memory, model.memory * (1 + 1e-12));
      EXPECT_EQ(one.ends.back(), model.layers.size());
      EXPECT_TRUE(std::is_sorted(one.ends.begin(), one.ends.end()));
      const double parts =
          one.computation + one.tensor_sums + one.messages + one.gradients + one.waiting;
      EXPECT_NEAR(parts, one.time, 1e-9 * one.time);
      if (one.interleave != 1) continue;
      found = std::min(found, one.time);
      EXPECT_NEAR(one.time, step_of(model, one.tensor, one.data, one.ends, costs), 1e-9 * one.time);
    }
    EXPECT_NEAR(found, least, 1e-9 * least) << "model " << i;
  }
  EXPECT_GT(fitting, 200);
}

// 800 us of 1 GPU; two stages of 8 layers with 16 microbatches wait for one.
TEST(ModelSplit, AStepByHand) {
  const TrainedModel model = parse_model(
      "memory 1g\nflops 1t\nefficiency 1\nbatch 16\n"
      "layer l*8 parameters=0 activations=0 output=0 flops=100m\n",
      "m");
  const SplitCosts free = {.tensor_sum = [](int32_t, double) { return 0.0; },
                           .gradient_sum = [](int32_t, int32_t, double) { return 1e9; },
                           .to_next_stage = [](int32_t, int32_t, double) { return 0.0; }};
  EXPECT_NEAR(split_model(model, 1, free, 1)[0].time, 16 * 800, 1e-6);
  const std::vector<ModelSplit> two = split_model(model, 2, free, 10);
  EXPECT_EQ(two[0].stages, 2);
  EXPECT_EQ(two[0].interleave, 4);
  EXPECT_NEAR(two[0].time, 16 * 400 + 100, 1e-6);
  const auto plain =
      std::find_if(two.begin(), two.end(), [](const auto& one) { return one.interleave == 1; });
  EXPECT_NEAR(plain->time, 17 * 400, 1e-6);
  EXPECT_NEAR(plain->waiting, 400, 1e-6);
  EXPECT_STREQ(plain->bound(), "computation");
}

TEST(ModelSplit, MemoryBinds) {
  TrainedModel model = parse_model(kModelText, "m");
  const std::vector<ModelSplit> free = split_model(model, 4, linear_costs(1), 1);
  model.memory = free[0].memory - 1;
  const std::vector<ModelSplit> bound = split_model(model, 4, linear_costs(1), 1);
  EXPECT_GE(bound[0].time, free[0].time);
  EXPECT_LE(bound[0].memory, model.memory);
  model.memory = 1e6;
  try {
    (void)split_model(model, 4, linear_costs(1), 1);
    ADD_FAILURE() << "a megabyte is enough";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the least needs about"), std::string::npos)
        << error.what();
  }
}

// Interleaved stages take the microbatches in groups of as many.
TEST(ModelSplit, InterleavingNeedsWholeGroups) {
  const TrainedModel model = parse_model(
      "memory 80g\nflops 1t\nefficiency 1\nbatch 1\n"
      "layer a*64 parameters=10 activations=0 output=0 flops=1t\n",
      "m");
  for (const ModelSplit& one : split_model(model, 8, linear_costs(0), 100)) {
    EXPECT_EQ(one.interleave, 1);
    EXPECT_GE(one.time, 64e6 * (1 - 1e-9));
  }
}

TEST(ModelSplit, TheCauseOfNoSplitIsSaid) {
  TrainedModel model = parse_model(
      "memory 80g\nflops 1t\nefficiency 1\nbatch 8\n"
      "layer a parameters=10 activations=0 output=0 flops=1t\n",
      "m");
  const auto fault = [&](int32_t gpus) -> std::string {
    try {
      (void)split_model(model, gpus, linear_costs(1), 1);
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(fault(3).find("has a layer for each stage"), std::string::npos) << fault(3);
  model.memory = 80;
  EXPECT_EQ(fault(1).find("about 0.0 GB"), std::string::npos) << fault(1);
  EXPECT_NE(fault(1).find("of 8e-08 GB"), std::string::npos) << fault(1);
}

TEST(ModelSplit, ABatchThatDoesNotSplitIsSaid) {
  TrainedModel model = parse_model(kModelText, "m");
  model.layers.resize(1);
  model.layers[0].tensor = 1;
  model.batch = 15;
  EXPECT_THROW((void)split_model(model, 7, linear_costs(1), 1), Error);
}

// Links between hosts are slower, so that tensor groups stay within.
TEST(ModelSplit, SimulatedCostsKeepTensorGroupsInHosts) {
  TrainedModel model = parse_model(kModelText, "m");
  const Topology machine = generate_machine("rails:4,4,4,0");
  const std::vector<ModelSplit> found = split_model(model, machine, 10);
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found.size(), 10U);
  for (const ModelSplit& one : found) EXPECT_TRUE(std::isfinite(one.time) && one.time > 0);
}

TEST(TrainedModel, LinesAreRead) {
  const TrainedModel found = parse_model(kModelText, "m");
  EXPECT_EQ(found.layers.size(), 8U);
  EXPECT_EQ(found.memory, 80e9);
  EXPECT_EQ(found.batch, 16);
  EXPECT_EQ(found.microbatch, 1);
  EXPECT_EQ(found.layers[3].tensor, 4);
  EXPECT_EQ(found.layers[7].tensor, 1);
  EXPECT_FALSE(found.layers[7].cut);
}

TEST(TrainedModel, WrongLinesAreSaid) {
  const std::string head = "memory 1\nflops 1\nefficiency 1\nbatch 4\n";
  const std::string layer = "layer l parameters=1 activations=1 output=1 flops=1";
  const struct {
    std::string text;
    const char* fault;
  } kWrong[] = {
      {"", "no layer"},
      {layer, "\"memory\" is missing"},
      {head + "memory 2\n", "m:5: \"memory\" is above already"},
      {head + "memori 2\n", "\"memori\" is not a word"},
      {head + "state\n", "1 words"},
      {head + "state x\n", "state must be from 0"},
      {head + "state 2x\n", "state must be from 0"},
      {head + "state nan\n", "state must be from 0"},
      {head + "state -1\n", "state must be from 0"},
      {head + "microbatch 1.5\n" + layer, "microbatch must be whole"},
      {head + "microbatch 3\n" + layer, "microbatch 3 does not divide batch 4"},
      {"efficiency 2\n", "efficiency must be from 0.001 to 1"},
      {"batch 0\n", "batch must be from 1"},
      {"layer\n", "a name is missing"},
      {"layer l parameters=1\n", "activations= is missing"},
      {"layer l*0 parameters=1\n", "times must be from 1"},
      {"layer l*9999 parameters=1\n", "times must be from 1"},
      {layer + " tensor=0\n", "tensor must be from 1"},
      {layer + " cut=maybe\n", "\"cut=maybe\" is not a property"},
      {layer + " flops=2\n", "\"flops=2\" is no new property"},
      {layer + " cut\n", "\"cut\" is no new property"},
      {"layer l*512 parameters=1 activations=1 output=1 flops=1\n" + layer, "more than 512"},
  };
  for (const auto& wrong : kWrong) {
    try {
      (void)parse_model(wrong.text, "m");
      ADD_FAILURE() << wrong.text << " is accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.fault), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW((void)load_model("/nowhere/model"), Error);
}

TEST(TrainedModel, RandomLines) {
  std::minstd_rand random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string text = kModelText;
    for (auto n = random() % 5 + 1; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 9);
      else
        text[at] = "0123456789ekmg. \n#=*"[random() % 20];
      if (text.empty()) text = "\n";
    }
    try {
      const TrainedModel model = parse_model(text, "m");
      EXPECT_LE(model.layers.size(), kMostLayers);
      EXPECT_EQ(model.batch % model.microbatch, 0);
      EXPECT_TRUE(model.memory >= 1 && model.efficiency > 0);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tern::coll
