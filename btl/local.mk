# SPDX-License-Identifier: Apache-2.0
btl_sources += btl/address_book.cc
btl_sources += btl/connection_info.cc
btl_sources += btl/table.cc
btl_sources += btl/self/self.cc
btl_sources += btl/self/trial.cc
btl_sources += btl/sm/cma.cc
btl_sources += btl/sm/endpoint.cc
btl_sources += btl/sm/segment.cc
btl_sources += btl/sm/slabs.cc
btl_sources += btl/sm/sm.cc
btl_sources += btl/sm/trial.cc
btl_sources += btl/devices.cc
btl_sources += btl/peer/peer.cc
btl_sources += btl/cuda_ipc/closer.cc
btl_sources += btl/cuda_ipc/cuda_ipc.cc
btl_sources += btl/cuda_ipc/descriptors.cc
btl_sources += btl/cuda_ipc/exports.cc
btl_sources += btl/cuda_ipc/ledger.cc
btl_sources += btl/cuda_ipc/letters.cc
btl_sources += btl/cuda_ipc/naming.cc
btl_sources += btl/cuda_ipc/offers.cc
btl_sources += btl/cuda_ipc/opened.cc
btl_sources += btl/cuda_ipc/opening.cc
btl_sources += btl/cuda_ipc/outbox.cc
btl_sources += btl/cuda_ipc/pools.cc
btl_sources += btl/cuda_ipc/trial.cc
btl_sources += btl/cuda_ipc/way.cc
btl_sources += btl/net/blocks.cc
btl_sources += btl/net/device_cache.cc
btl_sources += btl/net/endpoint.cc
btl_sources += btl/net/interfaces.cc
btl_sources += btl/net/network.cc
btl_sources += btl/net/options.cc
btl_sources += btl/net/ports.cc
btl_sources += btl/net/registrations.cc
btl_sources += btl/net/sockets.cc
btl_sources += btl/net/trial.cc
if HAVE_UCX
btl_sources += btl/ucx/endpoint.cc
btl_sources += btl/ucx/lanes.cc
btl_sources += btl/ucx/library.cc
btl_sources += btl/ucx/regions.cc
btl_sources += btl/ucx/trial.cc
btl_sources += btl/ucx/ucx.cc
btl_sources += btl/ucx/worker.cc
else
btl_sources += btl/ucx/absent.cc
endif
if HAVE_LIBFABRIC
btl_sources += btl/ofi/endpoint.cc
btl_sources += btl/ofi/fabric.cc
btl_sources += btl/ofi/library.cc
btl_sources += btl/ofi/ofi.cc
btl_sources += btl/ofi/port.cc
btl_sources += btl/ofi/rdma.cc
btl_sources += btl/ofi/regions.cc
btl_sources += btl/ofi/transfers.cc
btl_sources += btl/ofi/trial.cc
else
btl_sources += btl/ofi/absent.cc
endif
