# SPDX-License-Identifier: Apache-2.0
libtern_la_SOURCES += pml/arrivals.cc
libtern_la_SOURCES += pml/explain.cc
libtern_la_SOURCES += pml/matched.cc
libtern_la_SOURCES += pml/p2p.cc
libtern_la_SOURCES += pml/rendezvous.cc
libtern_la_SOURCES += pml/sending.cc
libtern_la_SOURCES += pml/signatures.cc
