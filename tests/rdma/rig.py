# SPDX-License-Identifier: Apache-2.0
"""Virtual machines with soft-RoCE: hosts with an RDMA network, without an adapter.

A machine runs a Debian kernel in QEMU, and has this machine's root read-only: the same programs and libraries. A second folder is shared
for commands and results. Machines are joined by Unix sockets; the first machine bridges. Needs root (for `depmod` and the modules) and
the packages of PACKAGES; nothing is installed outside `folder`.
"""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "depmod": "kmod", "rdma": "iproute2",
            "ibv_devices": "ibverbs-utils", "dpkg-deb": "dpkg"}
BOOT_LIMIT_S = 60
NETWORK = "10.77.0"
EARLY = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p")
# rdma_rxe asks for crc32 by a helper program, which a chroot has not.
LATE = ("crc32_generic", "veth", "bridge", "ib_uverbs", "rdma_ucm", "rdma_rxe", "sch_netem", "fuse")

INIT = """\
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for module in $(/bin/busybox cat /modules.order); do /bin/busybox insmod $module; done
nine() { /bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,$3 $1 $2; }
nine root /new ro,cache=loose || exec /bin/busybox poweroff -f
for folder in tmp var/tmp run root dev dev/shm; do
  [ $folder = dev ] && /bin/busybox mount -t devtmpfs dev /new/dev && continue
  [ $folder = dev/shm ] && /bin/busybox mkdir -p /new/dev/shm
  /bin/busybox mount -t tmpfs tmpfs /new/$folder
done
/bin/busybox mkdir -p /new/dev/pts /new/run/rig
/bin/busybox mount -t devpts devpts /new/dev/pts
/bin/busybox mount -t proc proc /new/proc
/bin/busybox mount -t sysfs sys /new/sys
nine rig /new/run/rig cache=none
exec /bin/busybox chroot /new /bin/bash /run/rig/guest.sh
"""

GUEST = """\
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine: sets up the network, then runs commands of the shared folder one after another, or beside each other.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
for word in $(cat /proc/cmdline); do case $word in rig.*) declare "${word#rig.}";; esac; done
hostname "m$number"
for module in %(late)s; do modprobe -d %(modules)s "$module" 2>/dev/null; done
ip link set lo up
if [ "$links" -gt 1 ]; then
  ip link add e0 type bridge
  for ((i = 0; i < links; i++)); do ip link set "eth$i" mtu 9000 master e0 up; done
else
  ip link set eth0 name e0
fi
ip link set e0 mtu 9000 up
ip addr add %(network)s.$((number + 1))/24 dev e0
rdma link add rxe0 type rxe netdev e0
ulimit -l unlimited
ulimit -c 0
mine=/run/rig/m$number
run() { # run FILE
  local name=${1%%.taken}
  bash "$1" >"$name.out" 2>&1
  echo $? >"$name.status.part"
  mv "$name.status.part" "$name.status"
}
echo ready >"$mine/ready"
while :; do
  for file in "$mine"/*.command; do
    [ -e "$file" ] || continue
    mv "$file" "${file%%.command}.taken"
    run "${file%%.command}.taken" &
  done
  sleep 0.05
done
"""


# prterun starts its daemon on another machine: agent HOST WORD...
AGENT = """\
#!/bin/bash
host=$1
shift
file=/run/rig/$host/agent-$BASHPID
echo "$*" >"$file.part"
mv "$file.part" "$file.command"
while ! [ -e "$file.status" ]; do sleep 0.05; done
cat "$file.out"
exit "$(cat "$file.status")"
"""


def missing_packages():
    return sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


class Kernel:
    """Debian's kernel package, unpacked in `folder` and kept there."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.root = self.folder / "kernel"
        if not (self.folder / "initramfs").exists():
            self._unpack()
        self.version = next((self.root / "lib/modules").iterdir()).name
        self.image = self.root / f"boot/vmlinuz-{self.version}"
        self.initramfs = self.folder / "initramfs"

    def _unpack(self):
        shutil.rmtree(self.root, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        depends = run("apt-cache", "depends", "linux-image-amd64")
        package = next(line.split()[1] for line in depends.splitlines() if "Depends:" in line)
        for old in self.folder.glob("*.deb"):
            old.unlink()
        run("apt-get", "download", package, cwd=self.folder)
        run("dpkg-deb", "-x", str(next(self.folder.glob("*.deb"))), str(self.root))
        for old in self.folder.glob("*.deb"):
            old.unlink()
        version = next((self.root / "lib/modules").iterdir()).name
        run("depmod", "-b", str(self.root), version)
        self._pack(version)

    def _pack(self, version):
        with tempfile.TemporaryDirectory() as scratch:
            tree = pathlib.Path(scratch)
            (tree / "bin").mkdir()
            shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
            order = []
            for module in EARLY:
                for line in run("modprobe", "-d", str(self.root), "-S", version, "--show-depends", module).splitlines():
                    path = pathlib.Path(line.split()[1])
                    if line.startswith("insmod") and path.name not in order:
                        shutil.copy(path, tree / path.name)
                        order.append(path.name)
            (tree / "modules.order").write_text("\n".join(order) + "\n")
            (tree / "init").write_text(INIT)
            (tree / "init").chmod(0o755)
            names = "\n".join(str(path.relative_to(tree)) for path in tree.rglob("*")) + "\n"
            with open(self.folder / "initramfs.part", "wb") as out:
                subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], input=names.encode(), stdout=out, cwd=tree, check=True)
            (self.folder / "initramfs.part").rename(self.folder / "initramfs")


class Machine:
    def __init__(self, rig, number):
        self.rig, self.number = rig, number
        self.folder = rig.share / f"m{number}"
        self.folder.mkdir()
        self.log = rig.scratch / f"m{number}.log"
        self.count = 0
        count = len(rig)
        links = [other for other in range(1, count)] if number == 0 else [number]
        words = ["qemu-system-x86_64", "-accel", rig.accelerator, "-cpu", "max", "-m", "2G", "-smp", "2", "-display", "none", "-no-reboot",
                 "-kernel", str(rig.kernel.image), "-initrd", str(rig.kernel.initramfs), "-serial", f"file:{self.log}", "-monitor", "none",
                 "-append", f"console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 rig.number={number} rig.links={len(links)}",
                 "-virtfs", "local,path=/,mount_tag=root,security_model=none,multidevs=remap,readonly=on",
                 "-virtfs", f"local,path={rig.share},mount_tag=rig,security_model=none,multidevs=remap"]
        for link in links:
            server = "on" if number == 0 else "off"
            words += ["-netdev", f"stream,id=n{link},server={server},addr.type=unix,addr.path={rig.scratch}/link{link}",
                      "-device", f"virtio-net-pci,netdev=n{link},mac=52:54:00:77:{number:02x}:{link:02x},host_mtu=9000"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=open(self.log.with_suffix(".qemu"), "wb"),
                                        stderr=subprocess.STDOUT)

    @property
    def address(self):
        return f"{NETWORK}.{self.number + 1}"

    def wait_ready(self, limit):
        while not (self.folder / "ready").exists():
            if self.process.poll() is not None:
                raise RigError(f"machine {self.number} has ended: {self.tail()}")
            if time.monotonic() > limit:
                raise RigError(f"machine {self.number} does not boot in {BOOT_LIMIT_S} s: {self.tail()}")
            time.sleep(0.05)

    def tail(self):
        texts = [path.read_text(errors="replace")[-2000:] for path in (self.log.with_suffix(".qemu"), self.log) if path.exists()]
        return "\n".join(texts).strip()

    def start(self, command):
        """Returns a name for result()."""
        self.count += 1
        name = f"c{self.count}"
        (self.folder / f"{name}.part").write_text(command + "\n")
        (self.folder / f"{name}.part").rename(self.folder / f"{name}.command")
        return name

    def result(self, name, limit_s):
        """(exit status, output); the status is None after the limit."""
        end = time.monotonic() + limit_s
        status = self.folder / f"{name}.status"
        while not status.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                return None, self.output(name)
            time.sleep(0.05)
        return int(status.read_text()), self.output(name)

    def output(self, name):
        path = self.folder / f"{name}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self, command, limit_s=60):
        return self.result(self.start(command), limit_s)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()


class RigError(Exception):
    """The text says what the rig lacks."""


class Rig:
    """`count` machines. Use as a context."""

    def __init__(self, folder, count, accelerator="tcg,thread=multi"):
        self.kernel = Kernel(folder)
        self.count, self.accelerator = count, accelerator
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="tern-rig-"))
        self.share = self.scratch / "share"
        self.share.mkdir()
        self.machines = []
        text = GUEST % {"late": " ".join(LATE), "modules": self.kernel.root, "network": NETWORK}
        (self.share / "guest.sh").write_text(text)
        (self.share / "agent").write_text(AGENT)
        (self.share / "agent").chmod(0o755)

    def __len__(self):
        return self.count

    def __enter__(self):
        try:
            for number in range(self.count):
                self.machines.append(Machine(self, number))
                self._wait_for_links(number)
            limit = time.monotonic() + BOOT_LIMIT_S
            for machine in self.machines:
                machine.wait_ready(limit)
        except BaseException:
            self.__exit__()
            raise
        return self

    def job(self, prte, slots, words, environment=(), limit_s=60):
        """Runs a program with `slots` ranks on each machine, by the prterun of prefix `prte`. (status, output)"""
        hosts = ",".join(f"m{machine.number}:{slots}" for machine in self.machines)
        settings = [f"export {name}={shlex.quote(value)}" for name, value in dict(environment).items()]
        command = ["env", f"PRTE_PREFIX={prte}", f"PMIX_PREFIX={prte}", f"OPAL_PREFIX={prte}", f"{prte}/bin/prterun", "--allow-run-as-root",
                   "--prefix", str(prte), "--prtemca", "plm_ssh_agent", "/run/rig/agent", "--prtemca", "prte_if_include", "e0",
                   "--host", hosts, "--map-by", "slot", "--bind-to", "none", "-n", str(slots * self.count)]
        command += [word for name, value in dict(environment).items() for word in ("-x", name)]
        command += ["env", "-u", "PRTE_PREFIX", "-u", "PMIX_PREFIX", "-u", "OPAL_PREFIX", *map(str, words)]
        return self.machines[0].run("\n".join([*settings, "cd /run/rig", "exec " + shlex.join(command)]), limit_s)

    def _wait_for_links(self, number):
        """The first machine listens before the others connect."""
        end = time.monotonic() + 5
        while number == 0 and any(not (self.scratch / f"link{link}").exists() for link in range(1, self.count)):
            if time.monotonic() > end or self.machines[0].process.poll() is not None:
                raise RigError(f"QEMU does not start: {self.machines[0].tail()}")
            time.sleep(0.02)

    def __exit__(self, *_):
        for machine in self.machines:
            machine.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)


