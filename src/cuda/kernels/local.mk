# SPDX-License-Identifier: Apache-2.0
# Kernels and their host interface.
libtern_la_SOURCES += src/cuda/kernels/image.cc
cuda_sources += src/cuda/kernels.cc
cuda_sources += src/cuda/kernels/layout.cc
cuda_sources += src/cuda/kernels/reduce_plan.cc

# Results of configure, for image.cc and tern_info.
BUILT_SOURCES += $(GEN)/kernels_built.hpp
CLEANFILES += $(GEN)/kernels_built.hpp
src/cuda/kernels/image.lo: $(GEN)/kernels_built.hpp $(KERNELS_IMAGE) $(KERNELS_LEGACY_IMAGE)
$(GEN)/kernels_built.hpp: config.status
	$(AM_V_GEN)mkdir -p $(GEN) && { echo '// Made by src/cuda/kernels/local.mk.'; \
	  echo '#define TERN_KERNELS_WORDS "$(KERNELS_WORDS)"'; \
	  test -z '$(KERNELS_IMAGE)' || echo '#define TERN_KERNELS_IMAGE "$(KERNELS_IMAGE)"'; \
	  test -z '$(KERNELS_LEGACY_IMAGE)' || { echo '#define TERN_KERNELS_LEGACY_WORDS "$(KERNELS_LEGACY_WORDS)"'; \
	  echo '#define TERN_KERNELS_LEGACY_IMAGE "$(KERNELS_LEGACY_IMAGE)"'; }; } > $@

# One fatbin for all configured architectures. -fmad=false forbids fused multiply-add, for the
# host's bits. Diagnostic 20208: long double treated as double. Compression saves 5/6; the driver
# unpacks.
if HAVE_NVCC
kernel_inputs = src/cuda/kernels/arguments.hpp $(wildcard $(srcdir)/src/cuda/kernels/*.cu $(srcdir)/src/cuda/kernels/*.cuh) \
  src/base/arithmetic.hpp src/base/device.hpp src/base/half.hpp src/base/number.hpp
kernel_flags = -std=c++20 -O3 -fmad=false --threads 2 -Werror all-warnings -Xcudafe --diag_error=20208 -I$(srcdir)/src \
  -Xfatbin -compress-all -fatbin
KERNELS_IMAGE = $(GEN)/kernels.fatbin
CLEANFILES += $(KERNELS_IMAGE)
$(KERNELS_IMAGE): $(kernel_inputs)
	$(AM_V_GEN)mkdir -p $(GEN) && $(NVCC) $(NVCC_HOST) $(NVCC_ARCHITECTURES) $(kernel_flags) -o $@.new \
	  $(srcdir)/src/cuda/kernels/kernels.cu && mv $@.new $@
endif
if HAVE_LEGACY_NVCC
KERNELS_LEGACY_IMAGE = $(GEN)/kernels_legacy.fatbin
CLEANFILES += $(KERNELS_LEGACY_IMAGE)
$(KERNELS_LEGACY_IMAGE): $(kernel_inputs)
	$(AM_V_GEN)mkdir -p $(GEN) && $(LEGACY_NVCC) $(LEGACY_NVCC_HOST) $(LEGACY_NVCC_ARCHITECTURES) $(kernel_flags) -o $@.new \
	  $(srcdir)/src/cuda/kernels/kernels.cu && mv $@.new $@
endif
