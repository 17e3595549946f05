# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += btl/table.cc
libtern_la_SOURCES += btl/self/self.cc
libtern_la_SOURCES += btl/sm/cma.cc
libtern_la_SOURCES += btl/sm/endpoint.cc
libtern_la_SOURCES += btl/sm/segment.cc
libtern_la_SOURCES += btl/sm/sm.cc
