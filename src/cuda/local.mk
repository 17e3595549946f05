# SPDX-License-Identifier: Apache-2.0
cuda_sources += src/cuda/device.cc
cuda_sources += src/cuda/driver.cc
cuda_sources += src/cuda/event.cc
cuda_sources += src/cuda/job.cc
cuda_sources += src/cuda/loaded.cc
cuda_sources += src/cuda/mapping.cc
cuda_sources += src/cuda/memory.cc
