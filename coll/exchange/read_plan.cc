// SPDX-License-Identifier: Apache-2.0
#include "coll/exchange/read_plan.hpp"

#include "coll/exchange/json.hpp"
#include "coll/exchange/msccl_read.hpp"
#include "coll/exchange/mscclpp_read.hpp"

namespace tern::coll {

std::shared_ptr<const FilePlan> read_plan(std::string_view text, const std::string& file) {
  return is_json(text) ? read_mscclpp(text, file) : read_msccl(text, file);
}

}  // namespace tern::coll
