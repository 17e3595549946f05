# SPDX-License-Identifier: Apache-2.0
# The heat example: an equal picture for every number of ranks and shape of parts.
# timeout: 120
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
check "heat.cc compiles alone" mpicxx -O2 "$TOP/examples/heat/heat.cc" -o heat

heat() { # heat RANKS OPTION...
  "$MPIRUN" -n "$1" ./heat --size 96x70 --steps 120 "${@:2}"
}

refused() { # refused PATTERN RANKS OPTION...: exit code 2, and one line with PATTERN
  local pattern=$1 status=0
  shift
  heat "$@" >refused.out 2>&1 || status=$?
  cat refused.out
  [ "$status" = 2 ] && [ "$(grep -c "^heat: .*$pattern" refused.out)" = 1 ]
}

for ranks in 1 2 3 4 5 6; do
  check "$ranks ranks make a picture" heat "$ranks" --output "$ranks.png"
  check "$ranks ranks make the same picture" cmp 1.png "$ranks.png"
done
check "types match and no object leaks" sh -c "TERN_CHECK=types,leaks '$MPIRUN' -n 4 ./heat --size 96x70 --steps 20 --output checked.png 2>&1 >checked.out |
  tee /dev/stderr | grep -c . | grep -qx 0"
check "a narrow plate" heat 4 --size 1x9 --output narrow.png
check "fewer steps make another picture" sh -c "'$MPIRUN' -n 2 ./heat --size 96x70 --steps 20 --output less.png && ! cmp 1.png less.png"
check "the picture is a valid PNG" python3 - <<'END'
import struct, zlib
file, at, chunks = open("1.png", "rb").read(), 8, {}
assert file[:8] == b"\x89PNG\r\n\x1a\n"
while at < len(file):
    length, name = struct.unpack(">I4s", file[at:at + 8])
    data, crc = file[at + 8:at + 8 + length], struct.unpack(">I", file[at + 8 + length:at + 12 + length])[0]
    assert crc == zlib.crc32(name + data), name
    chunks[name], at = data, at + 12 + length
assert struct.unpack(">IIBB", chunks[b"IHDR"][:10]) == (96, 70, 8, 3)
rows = zlib.decompress(chunks[b"IDAT"])
assert len(rows) == 70 * 97 and not any(rows[::97]), "rows without filter"
pixels = b"".join(rows[y * 97 + 1:(y + 1) * 97] for y in range(70))
assert max(pixels) < len(chunks[b"PLTE"]) // 3
assert pixels[0] == 0 and max(pixels) == 47 and len(set(pixels)) > 20, "cold edge, hot wires, shades between"
END
check "--help" sh -c "./heat --help | grep -q 'usage: heat'"
check "an unknown option" refused "no option --sise" 2 --sise 3
check "an invalid size" refused "like 480x320" 2 --size 480
check "an invalid number" refused '"many", but it must be a number' 2 --steps many
check "an option without its value" refused "needs a value" 2 --output
check "a file that cannot be written" refused "cannot write /nowhere/heat.png: No such file" 3 --output /nowhere/heat.png
check "a plate too small for the ranks" refused "2 x 2 cells cannot be divided among 5 ranks" 5 --size 2x2
totals
