# SPDX-License-Identifier: Apache-2.0
# For tests that are shell scripts: check, skip, totals. Each check is one PASS or FAIL line with its output.
verdicts_passed=0 verdicts_failed=0 verdicts_skipped=0
log=$(mktemp)          # the output of the last check whose output is worth reading
trap 'rm -f "$log"' EXIT

# check WHAT COMMAND...: passes where the command exits 0.
check() {
  local what=$1 output
  shift
  output=$(mktemp)
  if "$@" >"$output" 2>&1; then
    verdicts_passed=$((verdicts_passed + 1))
    printf 'PASS %s\n' "$what"
  else
    verdicts_failed=$((verdicts_failed + 1))
    printf 'FAIL %s: %s\n' "$what" "$*"
    tail -n 40 "$output" | sed 's/^/    /'
  fi
  [ ! -s "$output" ] || cp "$output" "$log"
  rm -f "$output"
}

skip() {
  verdicts_skipped=$((verdicts_skipped + 1))
  printf 'SKIP %s: %s\n' "$1" "$2"
}

totals() {
  printf '%d passed, %d failed, %d skipped\n' "$verdicts_passed" "$verdicts_failed" "$verdicts_skipped"
  [ "$verdicts_failed" = 0 ]
  exit
}
