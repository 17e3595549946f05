// SPDX-License-Identifier: Apache-2.0
// Active messages: an envelope (type, shape, header) and the data are two MPI messages.
#include "pipe.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "errors.hpp"
#include "memory.hpp"
#include "operation.hpp"

namespace torch_tern {

namespace {

constexpr int kEnvelope = 0, kData = 1;
constexpr int kMostDimensions = 16;

struct Shape {
  std::int32_t type;
  std::int32_t dimensions;
  std::int64_t sizes[kMostDimensions];
};

std::string envelope_of(const at::Tensor& tensor, const std::string& header) {
  Shape shape{-1, 0, {}};
  if (tensor.defined()) {
    shape.type = static_cast<std::int32_t>(tensor.scalar_type());
    shape.dimensions = static_cast<std::int32_t>(tensor.dim());
    std::copy_n(tensor.sizes().begin(), tensor.dim(), shape.sizes);
  }
  std::string text(reinterpret_cast<const char*>(&shape), sizeof shape);
  return text += header;
}

at::Tensor tensor_of(const std::string& envelope) {
  Shape shape;
  std::memcpy(&shape, envelope.data(), sizeof shape);
  if (shape.type < 0) {
    return {};
  }
  return at::empty(at::IntArrayRef(shape.sizes, shape.dimensions),
                   at::TensorOptions().dtype(static_cast<c10::ScalarType>(shape.type)));
}

// Members create pipes in the same order, and the count gives equal names.
std::string next_name(Group& group) {
  return group.name() + "/pipe/" + std::to_string(group.pipes++);
}

}  // namespace

Pipe::Pipe(Group& group)
    : group_(make_group(group.session(), group.ranks(), next_name(group), group.timeouts.usual())) {
}

// Leaks pending messages, because peers may still access the memory.
Pipe::~Pipe() {
  if (is_forked()) {
    return;
  }
  try {
    if (!calls_no_more() && !group_->fate().dead()) {
      flush();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: cannot flush a pipe: %s\n", error.what());
  }
  new std::list<Sent>(std::move(sent_));
  new std::list<Arriving>(std::move(arriving_));
}

void Pipe::give_up(const char* words) {
  int rank = 0;
  MPI_Comm_rank(group_->comm(), &rank);
  group_->end_overdue(std::string(words) + " of group \"" + group_->name() +
                      "\" did not complete on rank " + std::to_string(rank) + " of " +
                      std::to_string(group_->size()) + " before the timeout of " +
                      std::to_string(group_->timeouts.usual().count()) + " ms");
  fail(group_->fate().why());
}

// refuse_late() checks only the timeout: the sender lived when the envelope arrived.
void Pipe::refuse_late(const Arriving& one) {
  if (Clock::now() > after(one.begun, group_->timeouts.usual())) {
    give_up("recv");
  }
}

void Pipe::send(int to, const std::string& header, const at::Tensor& tensor) {
  group_->refuse_dead();
  if (tensor.defined()) {
    TORCH_CHECK_VALUE(tensor.device().is_cpu() && tensor.layout() == at::kStrided,
                      "tern: a pipe takes dense tensors of the CPU, but got one on ",
                      tensor.device(), " of layout ", tensor.layout());
    TORCH_CHECK_VALUE(tensor.dim() <= kMostDimensions, "tern: a pipe takes tensors of at most ",
                      kMostDimensions, " dimensions, but got one of ", tensor.dim());
  }
  forget_sent();
  Sent& one = sent_.emplace_back();
  one.envelope = envelope_of(tensor, header);
  const auto post = [&](const void* data, MPI_Count bytes, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend_c(data, bytes, MPI_BYTE, to, tag, group_->comm(), &request));
    one.requests.push_back(request);
  };
  group_->note_begin("send of a pipe", Clock::now());
  post(one.envelope.data(), static_cast<MPI_Count>(one.envelope.size()), kEnvelope);
  if (tensor.defined()) {
    one.tensor = tensor.detach().resolve_conj().resolve_neg().contiguous();
    post(one.tensor.data_ptr(), bytes_of(one.tensor), kData);
  }
}

void Pipe::forget_sent() {
  for (auto next = sent_.begin(); next != sent_.end();) {
    int all = 0;
    check(MPI_Testall(static_cast<int>(next->requests.size()), next->requests.data(), &all,
                      MPI_STATUSES_IGNORE));
    if (all) {
      group_->note_end();
      next = sent_.erase(next);
    } else {
      ++next;
    }
  }
}

bool Pipe::accept() {
  int is_there = 0;
  MPI_Message message;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, kEnvelope, group_->comm(), &is_there, &message, &status));
  if (!is_there) {
    return false;
  }
  int bytes = 0;
  check(MPI_Get_count(&status, MPI_BYTE, &bytes));
  std::string envelope(static_cast<std::size_t>(bytes), '\0');
  check(MPI_Mrecv(envelope.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
  Arriving& one = arriving_.emplace_back();
  one.message = {status.MPI_SOURCE, envelope.substr(sizeof(Shape)), tensor_of(envelope)};
  if (one.message.tensor.defined()) {
    const at::Tensor& tensor = one.message.tensor;
    check(MPI_Irecv_c(tensor.data_ptr(), bytes_of(tensor), MPI_BYTE, status.MPI_SOURCE, kData,
                      group_->comm(), &one.request));
    one.begun = Clock::now();
    group_->note_begin("recv of a pipe", one.begun);
  }
  return true;
}

std::vector<Pipe::Message> Pipe::poll() {
  group_->refuse_dead();
  forget_sent();
  while (accept()) {
  }
  std::vector<Message> whole;
  std::vector<int> late;
  for (auto next = arriving_.begin(); next != arriving_.end();) {
    const int source = next->message.source;
    int is_done = std::count(late.begin(), late.end(), source) == 0;
    if (is_done && next->message.tensor.defined()) {
      check(MPI_Test(&next->request, &is_done, MPI_STATUS_IGNORE));
      if (!is_done) {
        refuse_late(*next);
      }
    }
    if (!is_done) {
      late.push_back(source);
      ++next;
      continue;
    }
    if (next->message.tensor.defined()) {
      group_->note_end();
    }
    whole.push_back(std::move(next->message));
    next = arriving_.erase(next);
  }
  return whole;
}

void Pipe::flush() {
  group_->refuse_dead();
  const auto deadline = after(Clock::now(), group_->timeouts.usual());
  forget_sent();
  for (std::chrono::microseconds nap{10}; !sent_.empty(); nap = std::min(nap * 2, kLongestNap)) {
    if (Clock::now() > deadline) {
      give_up("send");
    }
    std::this_thread::sleep_for(nap);
    forget_sent();
  }
}

}  // namespace torch_tern
