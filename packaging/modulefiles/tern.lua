-- SPDX-License-Identifier: Apache-2.0
-- Tern MPI @PACKAGE_VERSION@ for Lmod. Paths derive from this file's place.
local root = myFileName():match("(.*)/")
for part in ("@modules_to_prefix@"):gmatch("[^/]+") do
  root = part == ".." and root:match("(.*)/") or root .. "/" .. part
end
help("Tern MPI @PACKAGE_VERSION@: mpicc, mpicxx, mpirun, tern_info; man 7 tern")
whatis("Tern MPI @PACKAGE_VERSION@, an MPI library with the standard ABI of MPI-5.0")
family("mpi")
conflict("openmpi", "mpich")
setenv("TERN_PREFIX", root)
setenv("MPICC", root .. "/bin/mpicc")
setenv("MPICXX", root .. "/bin/mpicxx")
prepend_path("PATH", root .. "/bin")
prepend_path("MANPATH", root .. "/share/man")
append_path("MANPATH", "") -- an empty entry: the system's pages
prepend_path("LD_LIBRARY_PATH", root .. "/@prefix_to_lib@")
prepend_path("PKG_CONFIG_PATH", root .. "/@prefix_to_lib@/pkgconfig")
prepend_path("CMAKE_PREFIX_PATH", root)
