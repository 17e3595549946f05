# SPDX-License-Identifier: Apache-2.0
# Kernels, and the host's part of them.
libtern_la_SOURCES += src/cuda/kernels/image.cc
cuda_sources += src/cuda/kernels.cc
cuda_sources += src/cuda/kernels/layout.cc
cuda_sources += src/cuda/kernels/reduce_plan.cc

# What configure found, for image.cc and tern_info.
BUILT_SOURCES += $(GEN)/kernels_built.hpp
CLEANFILES += $(GEN)/kernels_built.hpp
src/cuda/kernels/image.lo: $(GEN)/kernels_built.hpp $(KERNELS_IMAGE) $(KERNELS_LEGACY_IMAGE)
$(GEN)/kernels_built.hpp: config.status
	$(AM_V_GEN)mkdir -p $(GEN) && { echo '// Made by src/cuda/kernels/local.mk.'; \
	  echo '#define TERN_KERNELS_WORDS "$(KERNELS_WORDS)"'; \
	  test -z '$(KERNELS_IMAGE)' || echo '#define TERN_KERNELS_IMAGE "$(KERNELS_IMAGE)"'; \
	  test -z '$(KERNELS_LEGACY_IMAGE)' || { echo '#define TERN_KERNELS_LEGACY_WORDS "$(KERNELS_LEGACY_WORDS)"'; \
	  echo '#define TERN_KERNELS_LEGACY_IMAGE "$(KERNELS_LEGACY_IMAGE)"'; }; } > $@

# One fatbin for all architectures that configure was told of. Products and sums stay apart (-fmad=false): the
# host's bits. #20208 says that long double is taken for double. Compressed, a sixth of the size: the driver unpacks it.
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
# By an older toolkit, for GPUs and drivers that the first does not serve: --with-cuda-legacy.
if HAVE_LEGACY_NVCC
KERNELS_LEGACY_IMAGE = $(GEN)/kernels_legacy.fatbin
CLEANFILES += $(KERNELS_LEGACY_IMAGE)
$(KERNELS_LEGACY_IMAGE): $(kernel_inputs)
	$(AM_V_GEN)mkdir -p $(GEN) && $(LEGACY_NVCC) $(LEGACY_NVCC_HOST) $(LEGACY_NVCC_ARCHITECTURES) $(kernel_flags) -o $@.new \
	  $(srcdir)/src/cuda/kernels/kernels.cu && mv $@.new $@
endif
