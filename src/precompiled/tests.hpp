// SPDX-License-Identifier: Apache-2.0
// GoogleTest and standard headers, parsed once for all unit tests; see library.hpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
