// SPDX-License-Identifier: Apache-2.0
// Checks for configure that a descriptor has the layout of fort_array in fort.h: the element, and
// the last dimension.
#include <stdio.h>

#include "fortran/fort.h"

void tern_probe_(const struct fort_array* a, const int* element, const int* rank, const int* stride,
                 const int* extent, int* bad) {
  const int last = *rank - 1;
  const int fits =
      a->base && a->element == (size_t)*element && a->rank == *rank &&
      (last < 0 || (a->span == *element && a->dim[last].stride == *stride &&
                    (*extent < 0 || a->dim[last].upper - a->dim[last].lower + 1 == *extent)));
  if (fits) return;
  printf("element %zu, rank %d, span %td", a->element, a->rank, a->span);
  if (last >= 0)
    printf(", stride %td, bounds %td:%td", a->dim[last].stride, a->dim[last].lower,
           a->dim[last].upper);
  printf("; expected element %d, rank %d, stride %d, extent %d\n", *element, *rank, *stride,
         *extent);
  *bad = 1;
}
