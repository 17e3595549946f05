# SPDX-License-Identifier: Apache-2.0
# Manual pages: dist_man_MANS += man/man1/NAME.1
dist_man_MANS += man/man1/tern_info.1
