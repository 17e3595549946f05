#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tern_info and its JSON list the driver, the devices and the kernels.
# configurations: 1 4-peers
set -eu
text=$("$PREFIX/bin/tern_info" --build)
json=$("$PREFIX/bin/tern_info" --build --json)
says() { grep -qE "$1" <<<"$2" || { echo "no line says: $1"; echo "$2"; exit 1; }; }
says '^GPUs \(CUDA\)$' "$text"
says '^  driver +CUDA [0-9]+\.[0-9]+$' "$text"
says '^  devices +0: .*GiB' "$text"
[ "${SOFTCUDA_DEVICES:-1}" = 1 ] || says '3: ' "$text"
[ "${SOFTCUDA_DEVICES:-1}" = 1 ] || says '^  links +nvlink between all$' "$text"
[ "${SOFTCUDA_DEVICES:-1}" = 1 ] || says '^  source of links +NVML$' "$text"
says '^  GPUDirect RDMA +(not possible: |possible by )' "$text"
says '^  dma-buf +(the driver exports device memory|no\. Cure: )' "$text"
says '^  peer memory +(nv[a-z_]+ is loaded|no\. Cure: modprobe nvidia_peermem)' "$text"
says '^  direct storage +GPUDirect Storage is (not possible: |possible, but off)' "$text"
says 'direct storage +GPUDirect Storage serves files' "$(TERN_IO_DIRECT_STORAGE=1 TERN_TEST=io_nvidia_fs=/proc/self "$PREFIX/bin/tern_info" --build)"
says '^  kernels +[a-z]' "$text"
says '^  engines +[a-z]' "$text"
says '"wires": "[a-z]' "$json"
says '"driver": "CUDA [0-9]+' "$json"
says 'TERN_TEST=cuda_ipc=0' "$(TERN_TEST=cuda_ipc=0 "$PREFIX/bin/tern_info" --build)"
if [ "$GPU_TWIN" = soft ]; then
  export SOFTCUDA_DEVICES=3 SOFTCUDA_PEERS='X,PCIE,X;PCIE,X,X;X,X,X'
  says 'links +none: 0-2, 1-2; pcie: 0-1$' "$("$PREFIX/bin/tern_info" --build)"
  says 'islands +0 1, 2$' "$("$PREFIX/bin/tern_info" --build)"
  says '<title>0-1: pcie</title>' "$("$PREFIX/bin/tern_info" --links -)"
  [ "$("$PREFIX/bin/tern_info" --links - | grep -c '<line')" = 1 ] || { echo "there is one link"; exit 1; }
  says 'cuFuncLoad \(12.4\)' "$(LD_LIBRARY_PATH=${LD_LIBRARY_PATH%%:*}/12.0 "$PREFIX/bin/tern_info" --build)"
  # Without NVML, native atomics imply NVLink, and the source of links names the driver.
  away=${LD_LIBRARY_PATH%%:*}/nvml-away
  says '"source of links": "attributes of the driver, since NVML: [^"]*nvml-away/libnvidia-ml' \
    "$(LD_LIBRARY_PATH=$away "$PREFIX/bin/tern_info" --build --json)"
  says 'links +none: 0-2, 1-2; pcie: 0-1$' "$(LD_LIBRARY_PATH=$away "$PREFIX/bin/tern_info" --build)"
  says 'source of links +NVML$' "$(SOFTCUDA_PEERS=NV "$PREFIX/bin/tern_info" --build)"
  unset SOFTCUDA_DEVICES SOFTCUDA_PEERS
  says 'dma-buf +no\. Cure: ' "$(SOFTCUDA_RDMA=off "$PREFIX/bin/tern_info" --build)"
  says 'GPUDirect RDMA +not possible: the GPU has no' "$(SOFTCUDA_RDMA=off "$PREFIX/bin/tern_info" --build)"
  # A failing device is reported, but tern_info succeeds.
  says 'devices +cuDeviceGetCount: ' "$(SOFTCUDA_FAULT=cuDeviceGetCount:1:100 "$PREFIX/bin/tern_info" --build)"
fi
