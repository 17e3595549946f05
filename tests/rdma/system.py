# SPDX-License-Identifier: Apache-2.0
"""Root and kernel of the virtual machines: of this machine, or of a fresh Debian in the build folder."""

import pathlib
import shutil
import struct
import subprocess
import tempfile

from init import INIT, NEEDED, PERHAPS

HERE = pathlib.Path(__file__).resolve().parent
FRESH = HERE.parent / "fresh/machine.sh"
# Of a fresh Debian; machine.sh makes its root.
INSTALLED = "iproute2 ibverbs-providers ibverbs-utils rdma-core kmod libucx0 libfabric1 libpmix2t64 libhwloc15 procps"
SUITES = {"13": "trixie"}
KERNEL = "linux-image-amd64"
COMPRESSIONS = {b"\xfd7zXZ": "xz", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}  # first bytes, program


class RigError(Exception):
    """The text says what the rig lacks."""


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise RigError(f"{' '.join(map(str, words))[:200]}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def image_in(depends):
    return next(line.split()[1] for line in depends.splitlines() if "Depends:" in line)


class System:
    """The root `root`, and Debian's kernel package, unpacked in `folder` and kept there. `binds`: paths of this machine, which machines
    with another root have, too."""
    binds = ()

    def __init__(self, folder):
        self.folder, self.root = pathlib.Path(folder), pathlib.Path("/")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.unpacked = self.folder / "kernel"
        self.initramfs = self.folder / "initramfs"
        made = self.folder / "made"
        if not made.exists() or made.read_text() != self._recipe():
            self._make()
            made.write_text(self._recipe())
        self.version = next(self._modules().iterdir()).name
        self.image = self.folder / "vmlinux"

    def _recipe(self):
        return repr((NEEDED, PERHAPS, INIT, INSTALLED, "vmlinux"))

    def _modules(self):
        merged = self.unpacked / "usr/lib/modules"
        return merged if merged.exists() else self.unpacked / "lib/modules"

    def _fetch(self):
        """Returns the kernel's package."""
        package = image_in(run("apt-cache", "depends", KERNEL))
        run("apt-get", "download", package, cwd=self.folder)
        return next(self.folder.glob("*.deb"))

    def _make(self):
        shutil.rmtree(self.unpacked, ignore_errors=True)
        for old in self.folder.glob("*.deb"):
            old.unlink()
        package = self._fetch()
        run("dpkg-deb", "-x", str(package), str(self.unpacked))
        package.unlink()
        if not (self.unpacked / "lib").exists():
            (self.unpacked / "lib").symlink_to("usr/lib")
        version = next(self._modules().iterdir()).name
        run("depmod", "-b", str(self.unpacked), version)
        self._decompress(self.unpacked / f"boot/vmlinuz-{version}")
        self._pack(version)

    def _decompress(self, image):
        """QEMU starts a plain kernel with the note of PVH. Under emulation a kernel decompresses itself in 2 seconds. The offsets are of
        the kernel's Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length."""
        packed = image.read_bytes()
        offset, length = struct.unpack_from("<II", packed, 0x248)
        begin = (packed[0x1F1] + 1) * 512 + offset
        payload = packed[begin:begin + length]
        program = next((name for magic, name in COMPRESSIONS.items() if payload.startswith(magic)), None)
        if program is None:
            raise RigError(f"{image.name}: the kernel's compression is not known; the payload begins with {payload[:4].hex()}")
        done = subprocess.run([program, "-dc", *(["--single-stream"] if program == "xz" else [])], input=payload, capture_output=True)
        if done.returncode:
            raise RigError(f"{image.name}: {program} ended with status {done.returncode}: {done.stderr.decode(errors='replace')}")
        (self.folder / "vmlinux").write_bytes(done.stdout)

    def _insertions(self, version, module):
        """Lines "insmod PATH" of the module and its dependencies."""
        try:
            return run("modprobe", "-d", str(self.unpacked), "-S", version, "--show-depends", module).splitlines()
        except RigError:
            if module in NEEDED:
                raise
            return []

    def _pack(self, version):
        with tempfile.TemporaryDirectory() as scratch:
            tree = pathlib.Path(scratch)
            (tree / "bin").mkdir()
            shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
            order = []
            for module in (*NEEDED, *PERHAPS):
                for line in self._insertions(version, module):
                    path = pathlib.Path(line.split()[1])
                    name = path.name.removesuffix(".xz")
                    if not line.startswith("insmod") or name in order:
                        continue
                    order.append(name)
                    with open(tree / name, "wb") as out:
                        subprocess.run(["xz" if path.suffix == ".xz" else "cat", *(["-dc"] if path.suffix == ".xz" else []), path], stdout=out,
                                       check=True)
            (tree / "modules.order").write_text("\n".join(order) + "\n")
            (tree / "init").write_text(INIT)
            (tree / "init").chmod(0o755)
            names = "\n".join(str(path.relative_to(tree)) for path in tree.rglob("*")) + "\n"
            part = self.folder / "initramfs.part"
            with open(part, "wb") as out:
                subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), stdout=out, cwd=tree, check=True)
            part.rename(self.initramfs)


class Fresh(System):
    """Debian `release` by debootstrap, with UCX, libfabric, rdma-core and kernel of this release."""

    def __init__(self, folder, release, binds):
        self.release, self.binds = release, tuple(map(str, binds))
        super().__init__(pathlib.Path(folder) / release)
        self.root = self.folder / "root"
        for path in self.binds:
            (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _fetch(self):
        """Makes the root, too."""
        script = f"""
            set -e
            . {FRESH}
            cache={self.folder} machine={self.folder}/root work=$(mktemp -d)
            trap 'rm -rf "$work"' EXIT
            reason=$(why_not)
            [ -z "$reason" ] || {{ echo "$reason"; exit 1; }}
            bare {SUITES[self.release]} && install_inside {INSTALLED}
            package=$(inside apt-cache depends {KERNEL} | sed -n 's/.*Depends: //p' | head -n 1)
            inside sh -c "cd /var/cache/apt/archives && apt-get download $package"
            mv "$cache/debs-$suite/$package"*.deb "$cache"
        """
        run("bash", "-c", script)
        return next(self.folder.glob("linux-image*.deb"))
