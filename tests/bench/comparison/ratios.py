# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and their geometric means."""

import math
from statistics import median
from typing import NamedTuple

from .suite import BARS, RATES


class Row(NamedTuple):
    """One measurement of all libraries. `ratio`: subject / best peer as times (below 1: ahead), or None."""
    key: tuple
    medians: dict
    best: str
    ratio: float


def row(key, values, subject):
    medians = {name: median(list_) for name, list_ in values.items() if list_}
    peers = {name: value for name, value in medians.items() if name != subject and value > 0}
    if not peers:
        return Row(key, medians, None, None)
    rate = key.unit in RATES
    best = (max if rate else min)(peers, key=peers.get)
    mine = medians.get(subject, 0)
    if mine <= 0:
        return Row(key, medians, best, None)
    return Row(key, medians, best, peers[best] / mine if rate else mine / peers[best])


def rows(results, subject):
    return [row(key, values, subject) for key, values in results.values.items()]


def geometric_mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


class Verdict(NamedTuple):
    bar: object
    ratio: float
    rows: list

    def word(self):
        if self.ratio is None:
            return "not measured"
        if self.ratio <= self.bar.aim:
            return "aim reached"
        return "bar met" if self.ratio <= self.bar.at_least else "behind"


def verdicts(all_rows):
    for bar in BARS:
        mine = [r for r in all_rows if r.key.name == bar.name and r.key.ranks == bar.ranks
                and (bar.sizes is None or r.key.size in bar.sizes)]
        yield Verdict(bar, geometric_mean([r.ratio for r in mine]), mine)
