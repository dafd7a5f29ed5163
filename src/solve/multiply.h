/* multiply.h - products of matrices on a device, of arrays as they stand. */
#ifndef HCY_MULTIPLY_H
#define HCY_MULTIPLY_H

#include "array_priv.h"

enum { HCY__MULTIPLY_ADJOINT = 1, HCY__MULTIPLY_ADDS = 2 };

/* c[s] = a[s] b[s], or a[s]^H b[s], for each slice: three axes each, of one device and type, any strides; ADDS:
 * c[s] +=.  c shares no memory with the others.  Sums are doubles: of four and more columns one product after the other
 * (families/matrix), of fewer as hcy_eval() adds up.  HCY_EUNSUPPORTED: the device has no such kernel; what
 * hcy_launch() and hcy_eval() return. */
int hcy__multiply(hcy_queue *queue, hcy_array *c, hcy_array *a, hcy_array *b, unsigned how);

/* q = a p, g = a^T m and s = a^T (by q) of a matrix that is read once, with the bits that expressions have. */
struct hcy__twice {
    hcy_array *a;       /* [rows][columns] */
    hcy_array *scratch; /* made when it is needed, the caller's; one call at a time */
    hcy_array *q, *g, *s, *p, *m, *by; /* by: one float64 */
};
/* Whether that can be, of this matrix on its device. */
bool hcy__multiply_goes_twice(const hcy_array *a);
int hcy__multiply_twice(hcy_queue *queue, struct hcy__twice *twice);

#endif
