/* plain.c - kernels enough for the conformance suite, which looks at the backend: frames that are refused already, and
 * frames that are not compressed.  All others are refused here.
 */
#include "../../kernels_hls/args.h"

#include "bslz4/bslz4_format.h"

#include <string.h>

#define REFUSED (-1) /* no status of the library's */

/* Of bslz4_decode. */
enum {
    ITEMS,
    CHUNKS,
    CHUNKS_BYTES,
    FRAMES,
    FRAMES_BYTES,
    BLOCKS,
    BLOCKS_BYTES,
    JOB,
    IMAGES,
    IMAGES_BYTES,
    REPORTS
};

static void decode(unsigned char *memory, const uint64_t *args)
{
    const hcy_bslz4_job *job = (const void *)(memory + args[JOB]);
    const hcy_bslz4_frame *frames = (const void *)(memory + args[FRAMES]);
    hcy_frame_report *reports = (void *)(memory + args[REPORTS]);
    for (uint64_t i = 0; i < args[ITEMS]; i++) {
        const hcy_bslz4_frame *f = &frames[i];
        int32_t status = f->status;
        if (!status && (job->codec != HCY_CODEC_NONE || f->size != job->image_bytes ||
                        f->offset > args[CHUNKS_BYTES] || f->size > args[CHUNKS_BYTES] - f->offset))
            status = REFUSED;
        reports[i] = (hcy_frame_report){ .status = status };
        if (!status)
            memcpy(memory + args[IMAGES] + i * job->image_bytes, memory + args[CHUNKS] + f->offset, f->size);
    }
}

__attribute__((visibility("default")))
const hcy_hls_kernel hcy_hls_kernels[] = { { "bslz4_decode", decode }, { NULL, NULL } };
