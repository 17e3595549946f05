# SPDX-License-Identifier: Apache-2.0
"""Runs between hosts, the namespaces of tests/hosts: configurations of each library, job launch, and the proof that data crosses
the network."""

import dataclasses
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from . import library as libraries
from . import measure, ratios
from .suite import SHAPES

TESTS = Path(__file__).resolve().parents[2]
AGENT = Path("/run/hosts/agent")  # only in the machine of tests/hosts/run
MOST_HOSTS = max(hosts for hosts, _ in SHAPES.values())

# Waiting ranks of Open MPI yield only with mpi_yield_when_idle. No configuration has btl ofi: without a fast network its search
# takes a second of each start, and btl ofi sends nothing.
OPENMPI = {"OMPI_MCA_mpi_yield_when_idle": "1"}
WAYS = {  # flavour -> configuration -> environment of its ranks
    "tern": {"": {}},
    "openmpi": {
        "tcp": {**OPENMPI, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,sm,self"},
        "ucx": {**OPENMPI, "OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self", "OMPI_MCA_opal_common_ucx_tls": "any",
                "OMPI_MCA_opal_common_ucx_devices": "any"},
        "ofi": {**OPENMPI, "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_btl": "self",
                "OMPI_MCA_opal_common_ofi_provider_include": "tcp"},
    },
    "mpich": {
        "ucx": {"MPIR_CVAR_CH4_NETMOD": "ucx"},
        "ofi": {"MPIR_CVAR_CH4_NETMOD": "ofi"},
    },
}


@dataclasses.dataclass
class Configuration(libraries.Library):
    """A transport configuration of a library; its name is LIBRARY-WAY."""
    of: str = ""
    way: str = ""
    launcher: str = ""

    def command(self, ranks, program, arguments, variables):
        job = ["env", *(f"{name}={value}" for name, value in variables.items()), str(self.programs.absolute() / program), *arguments]
        if self.launcher == "hydra":
            hosts, each = SHAPES[ranks]
            names = ",".join(f"h{host + 1}:{each}" for host in range(hosts))
            return [str(self.mpirun), "-launcher", "rsh", "-launcher-exec", str(AGENT), "-iface", "eth0", "-bind-to", "none",
                    "-hosts", names, "-n", str(ranks), *job]
        return [*launcher_words(self.launcher, ranks, self.prte()), *job]

    def prte(self):
        """The prefix of prterun; Open MPI has its own prterun."""
        return str(self.mpicc.parent.parent) if self.flavour == "openmpi" else os.environ.get("PRTE", "")


def launcher_words(launcher, ranks, prte, known={}):
    """The words of tests/hosts/hosts.sh, asked once: a shell before each job would count in the measurement."""
    key = launcher, ranks, prte
    if key not in known:
        script = f'. "{TESTS}/hosts/hosts.sh"; launch_by="printf %s\\\\0"; launch "$@"'
        shape = "x".join(map(str, SHAPES[ranks]))
        answer = subprocess.run(["bash", "-c", script, "launch", launcher, shape], stdout=subprocess.PIPE, text=True, check=True,
                                env={**os.environ, "PRTE": prte})
        known[key] = answer.stdout.split("\0")[:-1]
    return known[key]


def configurations(measured, launcher):
    found = []
    for one in measured:
        if one.flavour not in WAYS:
            raise libraries.SetupError(f"{one.name}: --hosts knows the configurations of {', '.join(WAYS)}, and {one.mpirun} "
                                       "is not among them")
        starter = {"mpich": "hydra", "openmpi": "prte"}.get(one.flavour, launcher)
        moved = {} if one.flavour != "openmpi" else dict.fromkeys(("OPAL_PREFIX", "PMIX_PREFIX"), str(one.mpicc.parent.parent))
        fields = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        for way, variables in WAYS[one.flavour].items():
            found.append(Configuration(**{**fields, "name": f"{one.name}-{way}" if way else one.name,
                                          "settings": {**moved, **variables, **one.settings}}, of=one.name, way=way, launcher=starter))
    return found


def absent():
    """The reason why this machine cannot have hosts, or None."""
    spec = importlib.util.spec_from_file_location("hosts_machine", TESTS / "runner/machine.py")
    machine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machine)
    return machine.absent()


def enter(measured):
    """Executes the same command in the login node of the hosts, unless this process runs there."""
    if AGENT.exists():
        if len(os.environ.get("HOSTS", "").split()) < MOST_HOSTS:
            raise libraries.SetupError(f"--hosts needs {MOST_HOSTS} hosts: tests/hosts/run --hosts {MOST_HOSTS} --shell")
        return
    if reason := absent():
        raise libraries.SetupError(f"--hosts: {reason}")
    terns = [one for one in measured if one.flavour == "tern"]
    if not terns:
        raise libraries.SetupError("--hosts needs a Tern among the libraries: --tern _install")
    others = [one.mpicc.parent.parent for one in measured if one.flavour == "openmpi"]
    if others and "TERN_PRTE" not in os.environ:
        os.environ["TERN_PRTE"] = str(others[0])
    command = [sys.executable, str(TESTS / "hosts/run"), "--prefix", str(terns[0].mpicc.parent.parent), "--hosts", str(MOST_HOSTS),
               "--shell", "exec " + shlex.join([sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])]
    sys.stdout.flush()
    os.execv(command[0], command)


def find_launcher(asked):
    """The launcher of Tern's jobs: an available prterun, else srun of a private Slurm."""
    there = {"prte": bool(os.environ.get("PRTE")), "slurm": "SLURM_CONF" in os.environ and bool(shutil.which("srun"))}
    if asked and not there[asked]:
        cure = {"prte": "TERN_PRTE=PREFIX says where prterun is", "slurm": "install Slurm"}[asked]
        raise libraries.SetupError(f"--launcher {asked}: it is not here; {cure}")
    found = asked or next((name for name, here in there.items() if here), None)
    if not found:
        raise libraries.SetupError("--hosts: there is neither prterun (TERN_PRTE=PREFIX) nor Slurm here")
    return found


PROOF = ("--seconds", "0.01", "--min", str(1 << 20), "--max", str(1 << 20))  # of bandwidth: at least a window
PROOF_BYTES = 64 << 20


def bytes_from(host, text):
    """Bytes sent by a host, by the counters of the bridge's end of the cable."""
    found = re.search(rf"^ *{host}: *(\d+) ", text, re.M)
    return int(found[1]) if found else 0


def from_first_host():
    return bytes_from("h1", Path("/proc/net/dev").read_text())


def prove(one, timeout, counter=from_first_host):
    """None if a window of 1 MiB messages from rank 0 to another host crosses the cable; else the fault."""
    before = counter()
    variables = libraries.variables(False, False, False, one.settings)
    output, _, wrong = measure.launch(one.command(2, "bandwidth", PROOF, variables), libraries.environment(variables), timeout)
    crossed = counter() - before
    if wrong:
        return wrong
    if not list(measure.parse(output, 2)):
        return "bandwidth between two hosts printed no figure"
    if crossed < PROOF_BYTES:
        return f"of 64 MiB from one host to another only {crossed / (1 << 20):.1f} MiB crossed the network; not measured"
    print(f"{one.name}: {crossed / (1 << 20):.1f} MiB crossed the network", file=sys.stderr)
    return None


def prove_all(found, timeout):
    """(configurations that send over the network, failures of the others)."""
    wrong = {one.name: prove(one, timeout) for one in found}
    failures = [("hosts_proof", 2, name, words) for name, words in wrong.items() if words]
    return [one for one in found if not wrong[one.name]], failures


def best_ways(results, found):
    """Results by library: for each figure the values of the best configuration."""
    by_library = dataclasses.replace(results, values=measure.Results().values)
    known = {one.name: one for one in found}
    for key, by_name in results.values.items():
        best = {}
        for name, values in by_name.items():
            one, figure = known[name], ratios.better_quartile(values, key.unit)
            other = best.get(one.of)
            if not other or ratios.better_quartile([figure, other[0]], key.unit) == figure:
                best[one.of] = figure, values, one.way
        for of in dict.fromkeys(one.of for one in found if one.of in best):
            by_library.values[key][of] = best[of][1]
        by_library.ways[key] = {of: way for of, (_, _, way) in best.items() if way}
    return by_library
