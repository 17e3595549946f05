# SPDX-License-Identifier: Apache-2.0
"""Reads a trace file (src/trace/format.hpp) and evaluates a Python expression about it: trace.py FILE EXPRESSION."""
import collections
import struct
import sys

KINDS = ' call send receive send_start receive_start wait send_done receive_done collective collective_start ' \
    'collective_done probe one_sided epoch file region_begin region_end device'.split(' ')
RECORD = struct.Struct('<qqHBBiiIqIIQII')
Record = collections.namedtuple('Record', 'begin end function kind flags peer tag comm bytes site request number '
                                'detail group rank thread seconds')
FAILED, CANCELLED, RENDEZVOUS, PART, WILDCARD, OPEN, STRANGER, POLLS = (1 << bit for bit in range(8))


def unescape(field):
    return field.replace('\\t', '\t').replace('\\n', '\n').replace('\\\\', '\\')


class Process:
    def __init__(self):
        self.lines = []
        self.functions, self.comms, self.sites, self.labels = {}, {}, {}, {}
        self.sources = {}
        self.rank, self.end, self.pid, self.command = None, None, None, None
        self.tables = {'function': self.functions, 'comm': self.comms, 'site': self.sites, 'label': self.labels}

    def take(self, fields):
        word, rest = fields[0], fields[1:]
        if word == 'process':
            self.rank, self.pid, self.command = int(rest[1]), int(rest[4]), rest[5]
        elif word == 'end':
            self.end, self.lost_lines = (int(rest[0]), int(rest[1]), rest[2]), int(rest[3])
        elif word == 'source':
            self.sources[rest[0]] = rest[1]
        elif word in self.tables:
            self.tables[word][int(rest[0])] = rest[1] if len(rest) == 2 else rest[1:]


def read(path):
    with open(path, 'rb') as file:
        data = file.read()
    magic, version, order, at, _ = struct.unpack_from('<8sIIQq', data)
    assert magic == b'TERNTRC\n' and version == 1 and order == 0x01020304, 'no trace'
    processes, raw, lost = collections.defaultdict(Process), [], 0
    while at + 32 <= len(data):
        mark, kind, _, process, thread, size, dropped = struct.unpack_from('<IHHIIQQ', data, at)
        assert mark == 0x4b4c4254, f'no block at {at}'
        if at + 32 + size > len(data):
            break
        assert size % 8 == 0, f'block of {size} bytes'
        body, at, lost = data[at + 32:at + 32 + size], at + 32 + size, lost + dropped
        if kind == 1:
            for line in body.decode().split('\n'):
                if line:
                    processes[process].take([unescape(field) for field in line.split('\t')])
        elif kind == 2:
            raw += [(process, thread, fields) for fields in RECORD.iter_unpack(body)]
    records = []
    for process, thread, fields in raw:
        row = list(fields)
        row[2] = processes[process].functions.get(row[2], '') if row[2] else ''
        row[3] = KINDS[row[3]]
        records.append(Record(*row, processes[process].rank, thread, (row[1] - row[0]) * 1e-9))
    return processes, records, lost


def main():
    processes, records, lost = read(sys.argv[1])
    by_rank = {process.rank: process for process in processes.values()}

    def of(rank=None, function=None, kind=None):
        return [r for r in records if rank in (None, r.rank) and function in (None, r.function) and kind in (None, r.kind)]

    def key(record):
        """The communicator's key, for records of several ranks."""
        return by_rank[record.rank].comms[record.comm][0]

    def matched():
        """Sends and receives of whole messages, with the numbers that join them."""
        sends = {(key(r), r.rank, r.peer, r.tag, r.number) for r in records
                 if r.kind in ('send', 'send_start') and r.number and r.peer >= 0}
        receives = {(key(r), r.peer, r.rank, r.tag, r.number) for r in records
                    if r.kind in ('receive', 'receive_done') and r.number and r.peer >= 0}
        return sends, receives

    names = {**globals(), **locals()}
    if not eval(sys.argv[2], names):
        for r in records[:20]:
            print(r)
        for process in processes.values():
            print(process.rank, process.end, *(str(table)[:500] for table in process.tables.values()))
        sys.exit(f'false: {sys.argv[2]}')


main()
