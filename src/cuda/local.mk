# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += src/cuda/device.cc
libtern_la_SOURCES += src/cuda/driver.cc
libtern_la_SOURCES += src/cuda/event.cc
libtern_la_SOURCES += src/cuda/job.cc
libtern_la_SOURCES += src/cuda/loaded.cc
libtern_la_SOURCES += src/cuda/mapping.cc
libtern_la_SOURCES += src/cuda/memory.cc
