// SPDX-License-Identifier: Apache-2.0
#include "io/datarep.hpp"

namespace tern::io {
namespace {

class Native final : public Representation {
 public:
  Native() : Representation("native") {}
  bool native() const noexcept override { return true; }
  MPI_Count bytes_of(const core::Datatype& type) const override { return type.size(); }
  core::Ref<core::Datatype> in_file(core::Datatype& type) const override {
    return core::Ref<core::Datatype>(&type);
  }
  int to_file(const void*, MPI_Count, MPI_Count, core::Datatype&,
              std::byte*) const noexcept override {
    return MPI_SUCCESS;
  }
  int from_file(void*, MPI_Count, MPI_Count, core::Datatype&,
                const std::byte*) const noexcept override {
    return MPI_SUCCESS;
  }
};

}  // namespace

std::shared_ptr<const Representation> find_representation(const std::string& name) {
  static const auto& native = *new std::shared_ptr<const Representation>(new Native);
  return name == "native" ? native : nullptr;
}

}  // namespace tern::io
