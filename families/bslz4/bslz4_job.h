/* bslz4_job.h - a launch's job: what every backend refuses, in the same words, behind the name of `who` refuses.  Host
 * side alone. */
#ifndef HCY_BSLZ4_JOB_H
#define HCY_BSLZ4_JOB_H

#include "bslz4_format.h"

#include <halcyon/backend.h>

/* Bytes of an element that kernels take. */
static inline int hcy_bslz4_is_element(uint32_t bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Images of most_bytes at most: what the device's sizes hold. */
static inline int hcy_bslz4_check_launch(const char *who, const hcy_bslz4_job *job, uint64_t most_bytes)
{
    if (job->codec <= HCY_CODEC_BITSHUFFLE && hcy_bslz4_is_element(job->elem_size) && job->image_bytes &&
        job->image_bytes <= most_bytes)
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: job of codec %u, elements of %u bytes, images of %llu bytes", who, job->codec,
                    job->elem_size, (unsigned long long)job->image_bytes);
}

#endif
