// SPDX-License-Identifier: Apache-2.0
// Turns a layout tree into a program; shared parts appear once.
#include "core/datatype_device.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/datatype.hpp"
#include "core/op.hpp"

namespace tern::core {
namespace {

class Flattener {
 public:
  explicit Flattener(cuda::LayoutProgram& program) noexcept : program_(program) {}

  cuda::LayoutProgram::Node add(const Layout& layout) {
    const auto known = nodes_.find(&layout);
    if (known != nodes_.end()) return known->second;
    const auto node = make(layout);
    nodes_.emplace(&layout, node);
    return node;
  }

 private:
  cuda::LayoutProgram::Node make(const Layout& layout) {
    switch (layout.form) {
      case Layout::LayoutForm::kBlock:
        return program_.block(layout.size);
      case Layout::LayoutForm::kStrided:
        return program_.strided(layout.count, layout.stride, add(*layout.child));
      case Layout::LayoutForm::kList:
        return program_.list(layout.places, add(*layout.child));
      case Layout::LayoutForm::kBlocks:
        return program_.blocks(layout.places, layout.starts);
      case Layout::LayoutForm::kSequence:
        break;
    }
    std::vector<cuda::LayoutProgram::Node> parts;
    for (const LayoutPtr& part : layout.parts) parts.push_back(add(*part));
    return program_.sequence(layout.places, layout.starts, parts);
  }

  cuda::LayoutProgram& program_;
  std::unordered_map<const Layout*, cuda::LayoutProgram::Node> nodes_;
};

std::shared_ptr<const cuda::LayoutProgram> make_program(const Datatype& type) {
  auto program = std::make_shared<cuda::LayoutProgram>();
  const auto root = Flattener(*program).add(*type.layout().node);
  program->finish(root, type.layout().at, type.extent());
  return program;
}

}  // namespace

std::shared_ptr<const cuda::LayoutProgram> device_layout(const Datatype& type) {
  static std::mutex mutex;
  if (!type.layout().node) return nullptr;
  const std::lock_guard<std::mutex> guard(mutex);
  if (!type.device_layout_) type.device_layout_ = make_program(type);
  return type.device_layout_;
}

std::optional<DeviceReduction> device_reduction(const Op& op, const Datatype& type,
                                                const char** why) noexcept {
  const auto none = [&](const char* reason) {
    if (why != nullptr) *why = reason;
    return std::nullopt;
  };
  const Datatype* const basic = type.basic();
  if (op.user_defined()) return none("a user's operation runs on the host");
  if (basic == nullptr) return none("the datatype has elements of several types");
  if (basic != &type && !type.contiguous()) return none("the datatype has gaps");
  const auto plan = cuda::plan_reduce(op.reduction(), basic->number());
  if (!plan) return none("devices have no arithmetic of this type");
  return DeviceReduction{op.reduction(), *plan, basic == &type ? 1 : type.size() / basic->size()};
}

}  // namespace tern::core
