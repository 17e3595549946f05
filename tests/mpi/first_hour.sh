#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/first-hour.md work in a checkout and print the expected lines. `--full` also runs the last section, a build
# with a new algorithm, in a copy of the tree.
# timeout: 1500
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT

# Writes the page's files, and a script and the expected lines of each step: 1.sh, 1.output, ...
steps=$(python3 - "$TOP/docs/first-hour.md" "$work" "${FULL:+yes}" <<'END_OF_PYTHON'
import re, sys
from pathlib import Path
page, work, full = Path(sys.argv[1]).read_text(), Path(sys.argv[2]), sys.argv[3]
if not full:
    page = page[:page.index("## An algorithm of your own")]
steps = 0
for words, body in re.findall(r"^```(\S+ \S+)\n(.*?)^```$", page, re.S | re.M):
    if "file=" in words:
        path = work / "files" / words.split("file=")[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
    elif words == "sh run":
        steps += 1
        (work / f"{steps}.sh").write_text(body)
    elif words == "text output":
        (work / f"{steps}.output").write_text(body)
    else:
        sys.exit(f"a block of the page is neither a file nor run nor output: {words}")
print(steps)
END_OF_PYTHON
) || exit 1
mkdir -p "$work/tree" "$work/files" && cd "$work/tree" || exit 1
if [ -n "${FULL:-}" ]; then
  git -C "$TOP" rev-parse >/dev/null 2>&1 || { echo "--full copies a git checkout, but $TOP has no repository"; exit 77; }
  (cd "$TOP" && git ls-files -z | tar -c --null -T -) | tar -x
  ./quickstart build --with-cuda=no >build.log 2>&1 || { tail -n 40 build.log; exit 1; }
else
  mkdir examples && cp -r "$TOP/examples/gpu" examples/ && ln -s "$PREFIX" _install
fi
cp -r "$work/files/." . # after the build, like a reader

# Lines are literal except seconds. The output's line may be longer.
shows() {
  local line
  bash -e "$1.sh" >"$1.said" 2>&1 || { cat "$1.said"; return 1; }
  [ ! -e "$1.output" ] || while IFS= read -r line; do
    grep -qE -- "$line" "$1.said" || { echo "no line has \"$line\":"; cat "$1.said"; return 1; }
  done < <(sed 's/[][\\.*^$+?(){}|]/\\&/g; s/[0-9]\+\\\.[0-9]\+ s:/[0-9.]+ s:/' "$1.output")
}
export PATH=$PWD/_install/bin:$PATH
for step in $(seq "$steps"); do
  check "step $step: $(tail -1 "$work/$step.sh")" shows "$work/$step"
done
check "the page has its steps" [ "$steps" -ge 6 ]
totals
