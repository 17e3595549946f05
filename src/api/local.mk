# SPDX-License-Identifier: Apache-2.0
# Library sources of this folder, one line each: libtern_la_SOURCES += src/api/example.cc
