// SPDX-License-Identifier: Apache-2.0
// DeviceWork, and reductions of data on devices.
#include <array>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "core/allocations.hpp"
#include "core/datatype_device.hpp"
#include "core/device_copy.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "cuda/kernels.hpp"

namespace tern::core {
namespace {

Failure apply_all(const Op& op, const Data* sources, int n, const Data& to) noexcept {
  const Data& last = sources[n - 1];
  copy_on_host(last, to);
  for (int i = n - 2; i >= 0; --i) {
    const int code = op.apply(sources[i].address, to.address, to.count, *to.type);
    if (TERN_UNLIKELY(code != MPI_SUCCESS)) return {code, take_last_error().text};
  }
  return {};
}

Failure reduce_on_host(Process& process, const Op& op, const Data* sources, int n, const Data& to) {
  std::vector<OnHost> operands;
  std::vector<Data> here;
  operands.reserve(static_cast<size_t>(n));
  OnHost result(process, to);
  if (Failure why = result.download()) return why;
  for (int i = 0; i < n; ++i) {
    OnHost& operand = operands.emplace_back(process, sources[i]);
    if (Failure why = operand.download()) return why;
    here.push_back(operand.here());
  }
  if (Failure why = apply_all(op, here.data(), n, result.here())) return why;
  return result.upload();
}

}  // namespace

bool DeviceWork::open(const Data& data) noexcept {
  if (job_.stream() != nullptr) {
    settle(job_, data);
    return !job_.failed();
  }
  job_ = begin_job(process_, data, &no_job_);
  return !no_job_;
}

void DeviceWork::note(const char* what, size_t bytes) noexcept {
  what_ = what;
  bytes_ += bytes;
}

bool DeviceWork::copy(const Data& source, const Data& destination) noexcept {
  const Data from = with_kind(source), to = with_kind(destination);
  if (!from.on_device() && !to.on_device()) return false;
  // needs copies block by block
  if (!from.type->contiguous() && !to.type->contiguous()) return false;
  note("copying", from.bytes());
  if (from.bytes() == 0 || same_data(from, to)) return true;
  if (!open(from.on_device() ? from : to)) return true;
  if (from.on_device() && to.on_device()) settle(job_, to);
  const cuda::Current current(job_.device());
  core::copy(job_, from, to);
  return true;
}

bool DeviceWork::find_operands(const Data* sources, int n, const void** addresses) noexcept {
  try {
    for (int i = 0; i < n; ++i) {
      const Data& source = sources[i];
      addresses[i] = source.first();
      const cuda::Memory memory =
          source.on_device() ? cuda::look_up(source.first()) : cuda::Memory{};
      if (source.on_device()) job_.settle(memory);
      if (source.on_device() && memory.device == job_.device().ordinal) continue;
      const cuda::Block& block = blocks_.emplace_back(job_, source.bytes());
      if (block.valid()) job_.copy(block.data(), source.first(), source.bytes());
      addresses[i] = block.data();
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool DeviceWork::reduce(const Op& op, const Data* sources, int n, const Data& to) noexcept {
  const char* why = "it has too many operands";
  if (!to.on_device()) return false;
  if (to.bytes() == 0) return true;  // the address may be the end of an allocation
  const auto plan = device_reduction(op, *to.type, &why);
  if (!plan || n > cuda::kMostSources) {
    process_.gpus.tell_once(process_.explain, why);
    return false;
  }
  note("reducing", to.bytes());
  if (!open(to)) return true;
  std::string no_kernels;
  cuda::Kernels* const kernels = job_.device().kernels(&no_kernels);
  if (kernels == nullptr) {
    process_.gpus.tell_once(process_.explain, no_kernels);
    return false;
  }
  std::array<const void*, cuda::kMostSources> operands;
  if (!find_operands(sources, n, operands.data())) return false;
  job_.mark();
  if (job_.failed()) return true;
  const cuda::Current current(job_.device());
  job_.note("cuLaunchKernel",
            kernels->reduce(job_.stream(), plan->operation, plan->plan, operands.data(), n,
                            to.first(), to.count * plan->elements));
  return true;
}

Failure DeviceWork::finish() noexcept {
  if (no_job_) return no_job_;
  if (job_.stream() == nullptr || job_.finish()) return {};
  return failure(MPI_ERR_OTHER, "%s %zu bytes of device memory failed: %s", what_, bytes_,
                 job_.failure().c_str());
}

Failure reduce(Process& process, const Op& op, const Data* given, int n,
               const Data& destination) noexcept {
  if (destination.count == 0) return {};
  const Data to = with_kind(destination);
  std::array<Data, cuda::kMostSources> sources;
  bool devices = to.on_device();
  TERN_ASSERT(n <= cuda::kMostSources);
  for (int i = 0; i < n; ++i) {
    sources[static_cast<size_t>(i)] = with_kind(given[i]);
    devices |= sources[static_cast<size_t>(i)].on_device();
  }
  if (TERN_LIKELY(!devices)) return apply_all(op, sources.data(), n, to);
  try {
    DeviceWork work(process);
    if (work.reduce(op, sources.data(), n, to)) return work.finish();
    return reduce_on_host(process, op, sources.data(), n, to);
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory to reduce %zu bytes of device memory on the host",
                   to.bytes());
  }
}

}  // namespace tern::core
