/* plan.h - what the host makes of a plan for the FPGA kernels of azimuthal integration.  C; any thread, no state. */
#ifndef HCY_HLS_PLAN_H
#define HCY_HLS_PLAN_H

#include <halcyon/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The span of records (design.h) for the canonical spans (azint_format.h), in memory from malloc() that the caller
 * frees.  HCY_EINVAL: these are no plan's spans; HCY_EUNSUPPORTED: 8 pixels fall into more bins than a compute unit
 * keeps; HCY_ENOMEM. */
int hcy__hls_records(void **span, size_t *size, const hcy_span *spans, size_t n);

#ifdef __cplusplus
}
#endif

#endif
