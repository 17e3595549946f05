# SPDX-License-Identifier: Apache-2.0
# Examples: files of the tarball. Users and tests compile examples with the installed mpicc and mpicxx.
EXTRA_DIST += \
	examples/README.md \
	examples/counter/README.md \
	examples/counter/counter.c \
	examples/digits/README.md \
	examples/digits/data/README.md \
	examples/digits/data/digits.txt \
	examples/digits/device.hpp \
	examples/digits/digits.cc \
	examples/digits/images.hpp \
	examples/digits/layer.hpp \
	examples/fractal/README.md \
	examples/fractal/fractal.c \
	examples/gpu/README.md \
	examples/gpu/gpu.c \
	examples/gpu/memory.h \
	examples/heat/README.md \
	examples/heat/grid.hpp \
	examples/heat/heat.cc \
	examples/heat/heat.png \
	examples/heat/png.hpp \
	examples/heat_fortran/README.md \
	examples/heat_fortran/heat.f90 \
	examples/hello/README.md \
	examples/hello/hello.c \
	examples/pool/README.md \
	examples/pool/pool.c \
	examples/ring/README.md \
	examples/ring/ring.c \
	examples/stencil_shared/README.md \
	examples/stencil_shared/stencil_shared.c \
	examples/survivor/README.md \
	examples/survivor/survivor.c
