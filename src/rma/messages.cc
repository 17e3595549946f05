// SPDX-License-Identifier: Apache-2.0
#include "rma/messages.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "rma/element_array.hpp"
#include "rma/engine.hpp"

namespace tern::rma {

Messages::Messages(Targets& targets, Regions& regions)
    : Path(targets.process().window_operations.by_messages),
      targets_(targets),
      process_(targets.process()),
      communicator_(targets.communicator()),
      pml_(*communicator_.channel().pml),
      byte_(core::predefined_type(process_, MPI_BYTE)),
      links_(static_cast<size_t>(targets.size())),
      target_side_(targets, regions) {
  const core::ChannelLock lock(targets_.progress());
  Engine::join(communicator_.channel(),
               {this, [](void* self) noexcept { return static_cast<Messages*>(self)->poll(); }});
}

Messages::~Messages() { Engine::leave(communicator_.channel(), this); }

int Messages::next_tag() noexcept {
  constexpr int kMostTag = 0x3fffffff;
  tag_ = tag_ == kMostTag ? 1 : tag_ + 1;
  return tag_;
}

bool Messages::is_block(const TargetData& place) noexcept { return place.type->contiguous(); }

void Messages::cut(const TargetData& place, int64_t at, size_t done, size_t limit,
                   Batch* batch) noexcept {
  iovec found[kMostPieces];
  batch->count = place.type->pieces(reinterpret_cast<const void*>(at), place.count, done, limit,
                                    found, kMostPieces, &batch->bytes);
  for (size_t i = 0; i < batch->count; ++i)
    batch->pieces[i] = {reinterpret_cast<uint64_t>(found[i].iov_base), found[i].iov_len};
}

void Messages::add(Flight flight, int target, OpRequest* request) {
  flight.target = target;
  ++link(target).open;
  if (request != nullptr) {
    request->add_part();
    flight.whole = core::Ref<OpRequest>(request);
  }
  flights_.add(std::move(flight));
}

int Messages::send_record(int target, Record record, const Batch* batch, const std::byte* data,
                          OpRequest* request) {
  Flight flight;
  const size_t pieces = batch == nullptr ? 0 : batch->count * sizeof(RecordPiece);
  const size_t behind = data == nullptr ? 0 : record.bytes;
  record.pieces = batch == nullptr ? 0 : static_cast<uint32_t>(batch->count);
  if (data != nullptr) record.flags |= Record::kInline;
  flight.memory.resize(sizeof record + pieces + behind);
  std::byte* const room = flight.memory.data();
  std::memcpy(room, &record, sizeof record);
  if (pieces != 0) std::memcpy(room + sizeof record, batch->pieces, pieces);
  if (behind != 0) std::memcpy(room + sizeof record + pieces, data, behind);
  TargetState& to = link(target);
  (record.verb < Verb::kFlush ? to.dirty : to.told) = true;
  ++to.records;
  to.bytes += record.bytes;
  const core::Data sent{room, static_cast<MPI_Count>(flight.memory.size()), &byte_,
                        cuda::MemoryKind::kHost};
  const pml::Envelope envelope{&communicator_, target, kRecordTag, pml::Plane::kUser};
  const int code = pml_.isend_locked(sent, envelope, &flight.request);
  if (code == MPI_SUCCESS) add(std::move(flight), target, request);
  return code;
}

int Messages::send_data(int target, const core::Data& data, int tag, std::vector<std::byte> memory,
                        OpRequest* request) {
  Flight flight;
  flight.memory = std::move(memory);
  const int code =
      pml_.isend_locked(data, {&communicator_, target, tag, pml::Plane::kUser}, &flight.request);
  if (code == MPI_SUCCESS) add(std::move(flight), target, request);
  return code;
}

int Messages::expect(int target, const core::Data& into, int tag, Flight flight,
                     OpRequest* request) {
  const int code = pml_.irecv_locked(into, {&communicator_, target, tag, pml::Plane::kInternal},
                                     &flight.request);
  if (code == MPI_SUCCESS) add(std::move(flight), target, request);
  return code;
}

int Messages::hold_back(int target) {
  const TargetState& to = link(target);
  if (to.records < kMostRecords && to.bytes < kMostBytes) return MPI_SUCCESS;
  return flush_links(target, target, false);
}

int Messages::put_batch(const core::Data& origin, int target, const Batch& batch, size_t done,
                        bool whole, OpRequest* request) {
  Record record{};
  record.verb = Verb::kPut;
  record.bytes = batch.bytes;
  if (batch.bytes <= kMostInline) {
    std::byte data[kMostInline];
    const int code = fail(core::pack(process_, origin, done, data, batch.bytes));
    return code != MPI_SUCCESS ? code : send_record(target, record, &batch, data, request);
  }
  record.tag = next_tag();
  std::vector<std::byte> memory;
  core::Data sent = origin;
  int code = MPI_SUCCESS;
  if (!whole) {
    memory.resize(batch.bytes);
    code = fail(core::pack(process_, origin, done, memory.data(), batch.bytes));
    sent = {memory.data(), static_cast<MPI_Count>(batch.bytes), &byte_, cuda::MemoryKind::kHost};
  }
  if (code == MPI_SUCCESS) code = send_record(target, record, &batch, nullptr, request);
  if (code != MPI_SUCCESS) return code;
  return send_data(target, sent, record.tag, std::move(memory), request);
}

int Messages::put(const core::Data& origin, const TargetData& to, const Reached& reached,
                  OpRequest* request) {
  const core::ChannelLock lock(targets_.progress());
  const size_t total = origin.bytes(), limit = is_block(to) ? total : kMostStaged;
  Batch batch;
  for (size_t done = 0; done < total; done += batch.bytes) {
    cut(to, reached.at, done, limit, &batch);
    int code = hold_back(to.target);
    if (code == MPI_SUCCESS)
      code = put_batch(origin, to.target, batch, done, batch.bytes == total, request);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Messages::get(const core::Data& origin, const TargetData& from, const Reached& reached,
                  OpRequest* request) {
  const core::ChannelLock lock(targets_.progress());
  const size_t total = origin.bytes(), limit = is_block(from) ? total : kMostStaged;
  Batch batch;
  for (size_t done = 0; done < total; done += batch.bytes) {
    cut(from, reached.at, done, limit, &batch);
    Record record{};
    record.verb = Verb::kGet;
    record.tag = next_tag();
    core::Data into = origin;
    Flight flight;
    if (batch.bytes != total) {
      flight.memory.resize(batch.bytes);
      flight.then = Then::kUnpack;
      flight.into = origin;
      flight.type = core::Ref<core::Datatype>(origin.type);
      flight.offset = done;
      into = {flight.memory.data(), static_cast<MPI_Count>(batch.bytes), &byte_,
              cuda::MemoryKind::kHost};
    }
    int code = hold_back(from.target);
    if (code == MPI_SUCCESS)
      code = expect(from.target, into, record.tag, std::move(flight), request);
    if (code == MPI_SUCCESS) code = send_record(from.target, record, &batch, nullptr, request);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Messages::accumulate_batch(const std::byte* elements, const core::Data* result, int target,
                               const Batch& batch, size_t done, core::Datatype& basic,
                               Record record, OpRequest* request) {
  const auto size = static_cast<size_t>(basic.size()), extent = static_cast<size_t>(basic.extent());
  const size_t first = (done + size - 1) / size, end = (done + batch.bytes + size - 1) / size;
  const size_t bytes = (end - first) * extent;
  record.packed = done;
  record.bytes = elements == nullptr ? 0 : bytes;
  if (result != nullptr || record.bytes > kMostInline) record.tag = next_tag();
  int code = hold_back(target);
  if (code == MPI_SUCCESS && result != nullptr) {
    Flight flight;
    flight.memory.resize(bytes);
    flight.then = Then::kSpread;
    flight.into = *result;
    flight.type = core::Ref<core::Datatype>(result->type);
    flight.basic = core::Ref<core::Datatype>(&basic);
    flight.offset = first * size;
    const core::Data into{flight.memory.data(), static_cast<MPI_Count>(bytes), &byte_,
                          cuda::MemoryKind::kHost};
    code = expect(target, into, record.tag, std::move(flight), request);
  }
  if (code != MPI_SUCCESS) return code;
  const std::byte* const data = elements == nullptr ? nullptr : elements + first * extent;
  const bool fits = record.bytes <= kMostInline;
  code = send_record(target, record, &batch, fits ? data : nullptr, request);
  if (code != MPI_SUCCESS || fits) return code;
  std::vector<std::byte> memory(data, data + bytes);
  const core::Data sent{memory.data(), static_cast<MPI_Count>(bytes), &byte_,
                        cuda::MemoryKind::kHost};
  return send_data(target, sent, record.tag, std::move(memory), request);
}

int Messages::accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                         const Reached& reached, const Element& element, OpRequest* request) {
  core::Datatype& basic = *element.basic;
  const core::Data none{nullptr, 0, &basic, cuda::MemoryKind::kHost};
  ElementArray in(process_, origin != nullptr ? *origin : none, basic);
  if (const int code = in.load(); code != MPI_SUCCESS) return code;
  const core::ChannelLock lock(targets_.progress());
  Record record{};
  record.verb = result != nullptr ? Verb::kFetch : Verb::kAccumulate;
  record.reduction = static_cast<uint8_t>(element.op->reduction());
  record.basic = constant_of(process_, basic);
  const auto size = static_cast<size_t>(basic.size());
  const auto total = static_cast<size_t>(at.count * at.type->size());
  // Padded elements grow in arrays, so a batch takes half the limit.
  const size_t limit = std::max(size, kMostStaged / 2 / size * size);
  Batch batch;
  for (size_t done = 0; done < total; done += batch.bytes) {
    cut(at, reached.at, done, limit, &batch);
    const int code = accumulate_batch(origin != nullptr ? in.data() : nullptr, result, at.target,
                                      batch, done, basic, record, request);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int Messages::compare_and_swap(const void* origin, const void* compare, void* result,
                               const TargetData& at, const Reached& reached) {
  const core::ChannelLock lock(targets_.progress());
  const auto bytes = static_cast<size_t>(at.type->size());
  constexpr size_t kMostElement = 64;
  TERN_ASSERT(bytes <= kMostElement);
  std::byte data[2 * kMostElement];
  std::memcpy(data, compare, bytes);
  std::memcpy(data + bytes, origin, bytes);
  Batch batch;
  cut(at, reached.at, 0, bytes, &batch);
  Record record{};
  record.verb = Verb::kCompareSwap;
  record.tag = next_tag();
  record.bytes = 2 * bytes;
  int code = hold_back(at.target);
  if (code == MPI_SUCCESS)
    code =
        expect(at.target, {result, static_cast<MPI_Count>(bytes), &byte_}, record.tag, {}, nullptr);
  return code != MPI_SUCCESS ? code : send_record(at.target, record, &batch, data, nullptr);
}

}  // namespace tern::rma
