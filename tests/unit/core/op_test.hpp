// SPDX-License-Identifier: Apache-2.0
// Fixture of the operation tests: a comparison with plain C++.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/datatype_build.hpp"
#include "core/op.hpp"
#include "core/process.hpp"

namespace tern::core::test {

inline constexpr size_t kCounts[] = {0, 1, 2, 7, 16, 33, 64, 1001};

class OpTest : public ::testing::Test {
 protected:
  OpTest() {
    make_predefined_types(process_);
    make_predefined_ops(process_);
  }
  ~OpTest() override {
    free_predefined_ops(process_);
    free_predefined_types(process_);
  }
  Datatype& of(MPI_Datatype constant) { return predefined_type(process_, constant); }
  Op& op(MPI_Op constant) { return *process_.handles.find<Op>(constant); }

  template <class T, class Random, class Expected>
  void compare(MPI_Op which, MPI_Datatype constant, Random random, Expected expected) {
    const Datatype& type = of(constant);
    ASSERT_TRUE(op(which).accepts(type)) << op(which).name() << " on " << type.name.text();
    for (const size_t count : kCounts) {
      std::vector<T> in, inout;
      for (size_t i = 0; i < count; ++i) in.push_back(random());
      for (size_t i = 0; i < count; ++i) inout.push_back(random());
      std::vector<T> result = inout;
      op(which).apply(in.data(), result.data(), static_cast<MPI_Count>(count), type);
      for (size_t i = 0; i < count; ++i)
        ASSERT_TRUE(result[i] == expected(in[i], inout[i]))
            << op(which).name() << " on " << type.name.text() << ", element " << i << " of "
            << count;
    }
  }

  std::mt19937_64 random_{5};
  Process process_;
};

}  // namespace tern::core::test
