# SPDX-License-Identifier: Apache-2.0
"""Virtual machines with soft-RoCE: hosts with an RDMA network, without an adapter.

A machine runs a Debian kernel in QEMU, and has a root of system.py read-only. A second folder is shared for commands and results.
Machines are joined by Unix sockets; the first machine bridges. Needs root (for `depmod` and the modules) and the packages of PACKAGES;
nothing is installed outside the build folder. faults.py breaks the network.
"""

import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from init import AGENT, GUEST
from system import RigError

PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "depmod": "kmod", "rdma": "iproute2",
            "ibv_devices": "ibverbs-utils", "dpkg-deb": "dpkg", "xz": "xz-utils"}
BOOT_LIMIT_S = 60  # and 30 for each machine after the second
NETWORK = "10.77.0"


def missing_packages():
    return sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})


class Machine:
    def __init__(self, rig, number):
        self.rig, self.number = rig, number
        self.folder = rig.share / f"m{number}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.log = rig.scratch / f"m{number}.log"
        self.count = 0
        links = [other for other in range(1, len(rig))] if number == 0 else [number]
        words = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", rig.accelerator, "-cpu", "max", "-m", rig.memory, "-smp", str(rig.cores), "-display", "none",
                 "-nodefaults", "-no-reboot", "-kernel", str(rig.system.image), "-initrd", str(rig.system.initramfs),
                 "-serial", f"file:{self.log}", "-monitor", "none",
                 "-append", f"console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0 rig.number={number} rig.links={len(links)}"]
        shares = {"root": rig.system.root, "rig": rig.share, **({"outside": "/"} if rig.system.binds else {})}
        for tag, path in shares.items():
            words += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap"
                      + ("" if tag == "rig" else ",readonly=on")]
        for link in links:
            server = "on" if number == 0 else "off"
            words += ["-netdev", f"stream,id=n{link},server={server},addr.type=unix,addr.path={rig.scratch}/link{link}",
                      "-device", f"virtio-net-pci,netdev=n{link},mac=52:54:00:77:{number:02x}:{link:02x},host_mtu=9000,romfile="]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=open(self.log.with_suffix(".qemu"), "wb"),
                                        stderr=subprocess.STDOUT)

    def wait_ready(self, limit):
        while not (self.folder / "ready").exists():
            if self.process.poll() is not None:
                raise RigError(f"machine {self.number} has ended: {self.tail()}")
            if time.monotonic() > limit:
                raise RigError(f"machine {self.number} does not boot in time: {self.tail()}")
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

    def wait_for(self, name, words, limit_s):
        """Whether the command prints these words in time."""
        end = time.monotonic() + limit_s
        while words not in self.output(name):
            if time.monotonic() > end or (self.folder / f"{name}.status").exists():
                return False
            time.sleep(0.05)
        return True

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


class Rig:
    """`count` machines with a system.System. Use as a context."""

    def __init__(self, system, count, accelerator="tcg,thread=multi"):
        self.system, self.count, self.accelerator = system, count, accelerator
        self.memory, self.cores = ("2G", 2) if count <= 2 else ("1G", 1)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="tern-rig-"))
        self.share = self.scratch / "share"
        self.share.mkdir()
        self.machines = []
        text = GUEST % {"network": NETWORK, "binds": " ".join(system.binds)}
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
            self._wait_ready(self.machines)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_ready(self, machines):
        limit = time.monotonic() + BOOT_LIMIT_S + 30 * max(0, len(machines) - 2)
        for machine in machines:
            machine.wait_ready(limit)

    def reboot(self, number):
        """A killed machine comes back. Not for the first one, which bridges."""
        self.machines[number].kill()
        self.machines[number] = Machine(self, number)
        self._wait_ready([self.machines[number]])

    def start_job(self, prte, slots, words, environment=(), options=()):
        """Starts a program with `slots` ranks on each machine, by the prterun of prefix `prte`. A name for the first machine's result()."""
        hosts = ",".join(f"m{machine.number}:{slots}" for machine in self.machines)
        settings = [f"export {name}={shlex.quote(value)}" for name, value in dict(environment).items()]
        command = ["env", f"PRTE_PREFIX={prte}", f"PMIX_PREFIX={prte}", f"OPAL_PREFIX={prte}", f"{prte}/bin/prterun", "--allow-run-as-root",
                   "--prefix", str(prte), "--prtemca", "plm_ssh_agent", "/run/rig/agent", "--prtemca", "prte_if_include", "e0",
                   "--host", hosts, "--map-by", "slot", "--bind-to", "none", "-n", str(slots * self.count), *options]
        command += [word for name, value in dict(environment).items() for word in ("-x", name)]
        command += ["env", "-u", "PRTE_PREFIX", "-u", "PMIX_PREFIX", "-u", "OPAL_PREFIX", *map(str, words)]
        return self.machines[0].start("\n".join([*settings, "cd /run/rig", "exec " + shlex.join(command)]))

    def job(self, prte, slots, words, environment=(), limit_s=60):
        """(status, output)"""
        return self.machines[0].result(self.start_job(prte, slots, words, environment), limit_s)

    def _wait_for_links(self, number):
        """The first machine listens before the others connect."""
        end = time.monotonic() + 20
        while number == 0 and any(not (self.scratch / f"link{link}").exists() for link in range(1, self.count)):
            if time.monotonic() > end or self.machines[0].process.poll() is not None:
                raise RigError(f"QEMU does not start: {self.machines[0].tail()}")
            time.sleep(0.02)

    def __exit__(self, *_):
        for machine in self.machines:
            machine.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)
