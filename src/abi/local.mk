# SPDX-License-Identifier: Apache-2.0
# The generated entry points and the rule that makes them: see Makefile.am for GEN.
