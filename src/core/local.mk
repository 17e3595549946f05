# SPDX-License-Identifier: Apache-2.0
# Library sources of this folder, one line each: libtern_la_SOURCES += src/core/example.cc
libtern_la_SOURCES += src/core/error_handler.cc
libtern_la_SOURCES += src/core/info.cc
libtern_la_SOURCES += src/core/attribute.cc
libtern_la_SOURCES += src/core/handle.cc
libtern_la_SOURCES += src/core/process.cc
libtern_la_SOURCES += src/core/progress.cc
libtern_la_SOURCES += src/core/request.cc
libtern_la_SOURCES += src/core/group.cc
libtern_la_SOURCES += src/core/communicator.cc
