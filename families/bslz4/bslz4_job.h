/* bslz4_job.h - a launch's job: what every backend refuses, in the same words, behind the name of `who` refuses.  Host
 * side alone. */
#ifndef HCY_BSLZ4_JOB_H
#define HCY_BSLZ4_JOB_H

#include "bslz4_format.h"

#include <halcyon/backend.h>

/* For messages, whatever the number. */
static inline const char *hcy_bslz4_codec_name(uint32_t codec)
{
    return codec == HCY_CODEC_NONE         ? "plain"
           : codec == HCY_CODEC_BSLZ4      ? "bitshuffle and LZ4"
           : codec == HCY_CODEC_LZ4        ? "LZ4"
           : codec == HCY_CODEC_BITSHUFFLE ? "bitshuffle"
                                           : "unknown";
}

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
    return hcy_fail(HCY_EINVAL, "%s: job of codec %u (%s), elements of %u bytes, images of %llu bytes", who,
                    job->codec, hcy_bslz4_codec_name(job->codec), job->elem_size, (unsigned long long)job->image_bytes);
}

#endif
