# SPDX-License-Identifier: Apache-2.0
# Examples: compiled with the installed mpicc alone; installed as sources under share/doc.
