# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += src/base/config.cc
libtern_la_SOURCES += src/base/doorbell.cc
libtern_la_SOURCES += src/base/error.cc
libtern_la_SOURCES += src/base/explain.cc
libtern_la_SOURCES += src/base/fd.cc
libtern_la_SOURCES += src/base/log.cc
libtern_la_SOURCES += src/base/params.cc
