// SPDX-License-Identifier: Apache-2.0
// Op: the predefined operations, applied to any datatype.
#include "core/op.hpp"

#include <algorithm>
#include <climits>

#include "base/error.hpp"
#include "core/datatype.hpp"
#include "core/datatype_walk.hpp"
#include "core/process.hpp"
#include "core/reduce/table.hpp"
#include "core/user_call.hpp"

namespace tern::core {
namespace {

using loops::Row;

struct Predefined {
  MPI_Op constant;
  const char* name;
  Row row;
};

#define TERN_OP(constant, row) \
  { constant, #constant, Row::row }
const Predefined kPredefined[] = {
    TERN_OP(MPI_SUM, kSum),         TERN_OP(MPI_MIN, kMin),       TERN_OP(MPI_MAX, kMax),
    TERN_OP(MPI_PROD, kProd),       TERN_OP(MPI_BAND, kBand),     TERN_OP(MPI_BOR, kBor),
    TERN_OP(MPI_BXOR, kBxor),       TERN_OP(MPI_LAND, kLand),     TERN_OP(MPI_LOR, kLor),
    TERN_OP(MPI_LXOR, kLxor),       TERN_OP(MPI_MINLOC, kMinloc), TERN_OP(MPI_MAXLOC, kMaxloc),
    TERN_OP(MPI_REPLACE, kReplace), TERN_OP(MPI_NO_OP, kNoOp),
};
#undef TERN_OP

class PieceReducer {
 public:
  PieceReducer(Op::Loop loop, uintptr_t in_minus_inout, const Datatype& basic) noexcept
      : loop_(loop),
        shift_(in_minus_inout),
        basic_bytes_(basic.size()),
        padded_(!basic.contiguous()) {}

  [[nodiscard]] static constexpr bool full() noexcept { return false; }

  /// A run reduces the elements beginning in the run; a padded element may continue in the next.
  void run(uintptr_t at, int64_t bytes) noexcept {
    if (!padded_) return reduce(at, static_cast<size_t>(bytes / basic_bytes_));
    for (; position_ < bytes; position_ += basic_bytes_)
      reduce(at + static_cast<uintptr_t>(position_), 1);
    position_ -= bytes;
  }
  void strided(uintptr_t at, int64_t stride, int64_t block, int64_t count) noexcept {
    for (int64_t i = 0; i < count; ++i) run(at + static_cast<uintptr_t>(i * stride), block);
  }
  void grid(uintptr_t at, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
            int64_t block) noexcept {
    for (int64_t row = 0; row < rows; ++row)
      strided(at + static_cast<uintptr_t>(row * row_stride), stride, block, count);
  }
  void listed(uintptr_t origin, const int64_t* places, int64_t count, int64_t block) noexcept {
    for (int64_t i = 0; i < count; ++i) run(origin + static_cast<uintptr_t>(places[i]), block);
  }
  void blocks(uintptr_t origin, const int64_t* places, const int64_t* starts,
              int64_t count) noexcept {
    for (int64_t i = 0; i < count; ++i)
      run(origin + static_cast<uintptr_t>(places[i]), starts[i + 1] - starts[i]);
  }

  void records(uintptr_t at, int64_t stride, int64_t count, const int64_t* places,
               const int64_t* starts, int64_t blocks_of_one) noexcept {
    for (int64_t i = 0; i < count; ++i)
      blocks(at + static_cast<uintptr_t>(i * stride), places, starts, blocks_of_one);
  }

 private:
  void reduce(uintptr_t at, size_t count) noexcept {
    loop_(reinterpret_cast<const void*>(at + shift_), reinterpret_cast<void*>(at), count);
  }
  Op::Loop loop_;
  uintptr_t shift_;
  int64_t basic_bytes_;
  bool padded_;
  int64_t position_ = 0;
};

}  // namespace

const char* Op::name() const noexcept {
  return name_ != nullptr ? name_ : "a user-defined operation";
}

bool Op::accepts(const Datatype& type) const noexcept {
  if (user_defined()) return true;
  if (!reduces_) return false;
  if (type.elements() == 0) return true;
  return type.basic() != nullptr && loop(*type.basic()) != nullptr;
}

int Op::check(const Datatype& type) const noexcept {
  if (accepts(type)) return MPI_SUCCESS;
  if (!reduces_)
    return fail(MPI_ERR_OP, "%s is for MPI_Accumulate and similar calls, not for reductions",
                name());
  const Datatype* of = type.predefined() ? &type : type.basic();
  if (of == nullptr)
    return fail(MPI_ERR_OP,
                "%s cannot be applied to a derived datatype of several basic types; create an "
                "operation with MPI_Op_create",
                name());
  return fail(MPI_ERR_OP, "%s is not defined on %s%s; see MPI-5.0 section 6.9.2 for its types",
              name(), type.predefined() ? "" : "a derived datatype of ", of->name.text().c_str());
}

int Op::apply(const void* in, void* inout, MPI_Count count, const Datatype& type) const noexcept {
  if (user_defined()) return call_user(in, inout, count, type);
  const Datatype* basic = type.basic();
  if (basic == nullptr || count == 0) return MPI_SUCCESS;
  const Loop run = loop(*basic);
  TERN_ASSERT(run != nullptr);
  if (basic == &type) {
    run(in, inout, static_cast<size_t>(count));
    return MPI_SUCCESS;
  }
  const uintptr_t target = reinterpret_cast<uintptr_t>(inout);
  PieceReducer reducer(run, reinterpret_cast<uintptr_t>(in) - target, *basic);
  const PlacedLayout& layout = type.layout();
  Walk<PieceReducer>(reducer).strided(count, type.extent(), *layout.node,
                                      target + static_cast<uintptr_t>(layout.at), 0,
                                      count * layout.node->size);
  return MPI_SUCCESS;
}

/// The int form is called repeatedly if the count exceeds int.
int Op::call_user(const void* in, void* inout, MPI_Count count,
                  const Datatype& type) const noexcept {
  auto handle = reinterpret_cast<MPI_Datatype>(type.handle());
  uintptr_t from = reinterpret_cast<uintptr_t>(in), to = reinterpret_cast<uintptr_t>(inout);
  bool threw = false;
  return user_call("the function of a user-defined operation", &threw, [&] {
    if (user_large_ != nullptr) {
      user_large_(reinterpret_cast<void*>(from), inout, &count, &handle);
      return MPI_SUCCESS;
    }
    do {
      int chunk = static_cast<int>(std::min<MPI_Count>(count, INT_MAX));
      count -= chunk;
      const uintptr_t bytes = static_cast<uintptr_t>(chunk * type.extent());
      user_(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to), &chunk, &handle);
      from += bytes;
      to += bytes;
    } while (count > 0);
    return MPI_SUCCESS;
  });
}

void make_predefined_ops(Process& process) {
  const loops::Table& table = loops::best_table();
  for (const Predefined& row : kPredefined) {
    const bool reduces = row.row != Row::kReplace && row.row != Row::kNoOp;
    process.handles.set_predefined(reinterpret_cast<uintptr_t>(row.constant),
                                   *new Op(row.name, row.row, table.row(row.row), reduces));
  }
}

const Op& predefined_op(const Process& process, Reduction reduction) noexcept {
  const Predefined* row = kPredefined;
  while (row->row != reduction) ++row;
  return *process.handles.find<Op>(row->constant);
}

void free_predefined_ops(Process& process) noexcept {
  for (const Predefined& row : kPredefined) {
    Op* op = process.handles.find<Op>(row.constant);
    process.handles.erase(*op);
    op->release();
  }
}

}  // namespace tern::core
