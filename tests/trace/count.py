#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count.py ARCHIVE: prints the calls, sends and receives of an OTF2 archive."""
import collections
import sys

import otf2

count = collections.Counter()
with otf2.reader.open(sys.argv[1]) as trace:
    for _, event in trace.events:
        count[type(event).__name__] += 1
assert count["Enter"] == count["Leave"], count
print(count["Enter"], "calls,", count["MpiSend"] + count["MpiIsend"], "sends,",
      count["MpiRecv"] + count["MpiIrecv"], "receives")
