# SPDX-License-Identifier: Apache-2.0
"""Runs Spack's recipe with a stand-in of Spack: `spack.py RECIPE PREFIX`. The stand-in has only the names that a recipe for
Spack 1.0 may use. Checks directives, arguments of configure, external detection on PREFIX, and the environment."""
import subprocess
import sys
import types
from pathlib import Path

recipe, prefix = Path(sys.argv[1]), Path(sys.argv[2])
said = []


def directive(name):
    return lambda *words, **options: said.append((name, *words, options))


class Executable:
    def __init__(self, path):
        self.path = path

    def __call__(self, *words, output=None, error=None):
        return subprocess.run([self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout


class Spec(dict):
    def __init__(self, *variants):
        super().__init__({name: types.SimpleNamespace(prefix=types.SimpleNamespace(lib=f"/{name}/lib"))
                          for name in ("pmix", "hwloc", "ucx", "libfabric", "cuda")})
        self.on = variants
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("90", "100"))}

    def satisfies(self, what):
        return what in self.on


class Environment(dict):
    set = dict.__setitem__

    def prepend_path(self, name, value):
        self[name] = value + ":" + self.get(name, "")


def module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(names)


parts = "spack_repo spack_repo.builtin spack_repo.builtin.build_systems spack"
for part in parts.split():
    module(part)
module("spack_repo.builtin.build_systems.autotools", AutotoolsPackage=type("AutotoolsPackage", (), {}))
module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {}))
directives = {name: directive(name) for name in ("license", "version", "variant", "depends_on", "conflicts", "provides")}
module("spack.package", Executable=Executable, join_path=lambda *words: "/".join(words), **directives)
scope = {"__file__": str(recipe.resolve()), "__name__": "recipe"}
exec(compile(recipe.read_text(), str(recipe), "exec"), scope)
package = scope["TernMpi"]

words = [one[:2] for one in said]
for wanted in (("provides", "mpi@:5.0"), ("variant", "ucx"), ("variant", "ofi"), ("depends_on", "pmix@4:"), ("license", "Apache-2.0")):
    assert wanted in words, (wanted, words)
info = str(prefix / "bin/tern_info")
version = Executable(info)("--version").split()[-1]
assert package.determine_version(info) == version, (package.determine_version(info), version)
built = Executable(info)("--build")
expected = "".join(("+" if f"  {library} " in built and "not in this build" not in built.split(f"  {library} ")[1].split("\n")[0] else "~") + name
                   for library, name in (("UCX", "ucx"), ("libfabric", "ofi")))
assert package.determine_variants([info], version) == expected, (package.determine_variants([info], version), expected)

one = package()
one.prefix = types.SimpleNamespace(bin=str(prefix / "bin"))
one.spec = Spec("+ucx")
arguments = one.configure_args()
assert "--with-libfabric=no" in arguments and "--with-cuda=no" in arguments and "--with-ucx=no" not in arguments, arguments
one.spec = Spec("+ofi", "+cuda")
assert "--with-cuda-arch=90 100" in one.configure_args() and "--with-ucx=no" in one.configure_args(), one.configure_args()
environment = Environment()
dependent = types.SimpleNamespace(package=types.SimpleNamespace(module=types.SimpleNamespace(spack_cc="cc", spack_cxx="c++")))
one.setup_dependent_build_environment(environment, dependent)
assert environment["MPICC"] == str(prefix / "bin/mpicc") and environment["TERN_CXX"] == "c++", environment
assert "/pmix/lib:" in environment["LD_LIBRARY_PATH"], environment
one.setup_dependent_package(None, dependent)
assert one.spec.mpicxx == str(prefix / "bin/mpicxx"), one.spec.mpicxx
options = subprocess.run([prefix / "bin/mpicc", "-showme:command"], stdout=subprocess.PIPE, check=True, text=True,
                         env={**environment, "PATH": "/usr/bin:/bin"}).stdout.strip()
assert options == "cc", options
print(f"{len(said)} directives; configure {arguments}")
