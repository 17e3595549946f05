// SPDX-License-Identifier: Apache-2.0
// Forest algorithms: blocks travel along packed trees (coll/forest). A tree of weight m carries m
// parts of its root's data. All ranks emit in the order (phase, depth, tree), so both ends of an
// edge agree and no circle of waits exists.
#pragma once

#include "coll/forest/form.hpp"
#include "coll/schedule/builder.hpp"

namespace tern::coll {

/// `forests` has the phases of the builder's collective: allreduce runs a reduce_scatter, then an
/// allgather, with equal k.
void emit_forests(Builder& b, const forest::Forests& forests);

}  // namespace tern::coll
