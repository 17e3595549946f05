# SPDX-License-Identifier: Apache-2.0
# Library sources of this folder, one line each: rma_sources += src/rma/example.cc
rma_sources += src/rma/epoch.cc
rma_sources += src/rma/window.cc
rma_sources += src/rma/create.cc
rma_sources += src/rma/shared_memory.cc
rma_sources += src/rma/lock.cc
rma_sources += src/rma/post.cc
rma_sources += src/rma/stripes.cc
rma_sources += src/rma/held_stripe.cc
rma_sources += src/rma/access.cc
rma_sources += src/rma/operations.cc
rma_sources += src/rma/plain.cc
rma_sources += src/rma/messages.cc
rma_sources += src/rma/flights.cc
rma_sources += src/rma/target.cc
