# SPDX-License-Identifier: Apache-2.0
"""Faults of the rig: cut and bad links, limits of memory, killed ranks. Machine.thaw() and kill() are in rig.py.

A link is that of a machine to the first machine, which bridges: `number` is 1 and more."""

# Both directions. Times are far above those of the emulated network, 2 to 6 ms.
PROFILES = {
    "delay-20ms": "delay 20ms",
    "reorder": "delay 20ms 10ms reorder 25% 50%",
    "loss-1": "loss 1%",
    "loss-10": "loss 10%",
    "duplicate": "duplicate 10%",
    "corrupt": "corrupt 1%",
    "rate-20mbit": "rate 20mbit",
}
FREE = "for port in eth%(port)d; do tc qdisc del dev $port root; tc qdisc del dev $port clsact; done 2>/dev/null; true"
IN = "tc qdisc add dev eth%(port)d clsact && tc filter add dev eth%(port)d ingress matchall action drop"
OUT = "tc qdisc replace dev eth%(port)d root netem loss 100%%"


def _at(number, line):
    return line % {"port": number - 1}


def _on_first(machines, line):
    status, output = machines.machines[0].run(line)
    if status:
        raise OSError(f"{line}: exit {status}: {output}")


def cut(machines, number, ways=(IN, OUT)):
    """The link carries nothing more; with one of `ways`, only frames of the other direction."""
    _on_first(machines, " && ".join(_at(number, way) for way in ways))


def mend(machines, number):
    _on_first(machines, _at(number, FREE))
    machines.machines[number].run("tc qdisc del dev e0 root 2>/dev/null; true")


def cut_for(machines, number, seconds):
    _on_first(machines, f"{_at(number, IN)} && {_at(number, OUT)}; status=$?; sleep {seconds}; {_at(number, FREE)}; exit $status")


def freeze(machines, number):
    """Frames to the frozen machine are dropped, as by a switch: QEMU would push back into the first machine, until it stands still, too."""
    cut(machines, number, (OUT, ))
    machines.machines[number].freeze()


def shape(machines, number, profile):
    """A profile of netem on both ends of the link."""
    words = PROFILES[profile]
    _on_first(machines, f"tc qdisc replace dev eth{number - 1} root netem {words} limit 10000")
    status, output = machines.machines[number].run(f"tc qdisc replace dev e0 root netem {words} limit 10000")
    if status:
        raise OSError(f"netem {words}: {output}")


def with_locked_memory(kib, words):
    """The program under `ulimit -l`, which root's capability would lift."""
    return ["setpriv", "--bounding-set", "-ipc_lock", "--inh-caps", "-ipc_lock", "bash", "-c", f'ulimit -l {kib} && exec "$@"', "limit", *words]


def signal_ranks(machine, signal, program):
    """Sends a signal to all ranks of a machine."""
    return machine.run(f"pkill -{signal} -x {program}")


def left_behind(machines, program):
    """Machines, of those that answer, with processes of the program."""
    found = []
    for machine in machines:
        status, output = machine.run(f"pgrep -x {program}", 20)
        if status == 0:
            found.append(f"m{machine.number}: {output.split()}")
    return found
