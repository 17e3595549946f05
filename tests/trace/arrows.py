#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arrows.py FILE N: Chrome trace events have N flows, and both ends of each lie inside slices."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
slices = {}
for event in events:
    if event["ph"] == "X":
        slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
ends = {"s": {}, "f": {}}
for event in events:
    if event["ph"] not in ends:
        continue
    inside = slices.get((event["pid"], event["tid"]), [])
    if not any(begin <= event["ts"] <= end for begin, end in inside):
        sys.exit(f"outside of slices: {event}")
    ends[event["ph"]][event["id"]] = event["ts"]
late = [one for one, begin in ends["s"].items() if ends["f"].get(one, -1) < begin]
if late or len(ends["s"]) != int(sys.argv[2]) or len(ends["f"]) != len(ends["s"]):
    sys.exit(f"{len(ends['s'])} begins, {len(ends['f'])} ends, backwards: {late[:5]}")
