# SPDX-License-Identifier: Apache-2.0
# Library sources of this folder, one line each: stream_sources += src/stream/example.cc
stream_sources += src/stream/area.cc
stream_sources += src/stream/blocks.cc
stream_sources += src/stream/blocks_call.cc
stream_sources += src/stream/collective.cc
stream_sources += src/stream/comm_stream.cc
stream_sources += src/stream/comm_stream_proxy.cc
stream_sources += src/stream/elements.cc
stream_sources += src/stream/exchange_call.cc
stream_sources += src/stream/islands.cc
stream_sources += src/stream/message.cc
stream_sources += src/stream/proxy.cc
stream_sources += src/stream/stream.cc
stream_sources += src/stream/track.cc
stream_sources += src/stream/vector_call.cc
