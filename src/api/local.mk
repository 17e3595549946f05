# SPDX-License-Identifier: Apache-2.0
# Library sources of this folder, one line each: libtern_la_SOURCES += src/api/example.cc
libtern_la_SOURCES += src/api/abi.cc
libtern_la_SOURCES += src/api/attribute.cc
libtern_la_SOURCES += src/api/env.cc
libtern_la_SOURCES += src/api/errhandler.cc
libtern_la_SOURCES += src/api/errors.cc
libtern_la_SOURCES += src/api/info.cc
libtern_la_SOURCES += src/api/process.cc
libtern_la_SOURCES += src/api/status.cc
libtern_la_SOURCES += src/api/tool.cc
libtern_la_SOURCES += src/api/comm.cc
libtern_la_SOURCES += src/api/comm_create.cc
libtern_la_SOURCES += src/api/comm_exchange.cc
libtern_la_SOURCES += src/api/comm_hints.cc
libtern_la_SOURCES += src/api/group.cc
