# SPDX-License-Identifier: Apache-2.0
# Ranks with 1, 2, 4 and 8 channels exchange data on the same communicators.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MPICC" -pthread "$TOP/tests/mpi/threads_channels.c" -o "$work/channels"
for channels in 1 2 8; do
  MIXED_LEVELS=1 TERN_CHANNELS=$channels "$MPIRUN" -n 4 "$work/channels"
done
# A different number of channels per rank.
"$MPIRUN" -n 1 -genv MIXED_LEVELS 1 "$work/channels" : -n 1 -env TERN_CHANNELS 2 "$work/channels" : \
  -n 1 -env TERN_CHANNELS 8 "$work/channels" : -n 1 -env TERN_CHANNELS 4 "$work/channels"
