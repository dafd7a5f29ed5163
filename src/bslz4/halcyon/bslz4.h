/* halcyon/bslz4.h - chunks of detector images: what is in them, making them, decoding them on a device.
 *
 * Codecs (HCY_CODEC_* in bslz4_format.h): HDF5 filter 32008, bitshuffle with LZ4 or without compression,
 * filter 32004, LZ4, and plain pixels.  Elements of 1, 2, 4 or 8 bytes, of any type, little-endian.
 *
 * A chunk is parsed on the host into a frame and its blocks, everything bounds-checked, before any device
 * sees it; the devices' kernel "bslz4_decode" and the fused kernels of other families take batches of such
 * frames.  The chunks of a batch lie next to one another in one buffer (HCY_BSLZ4_ALIGN, HCY_BSLZ4_PADDING), and
 * the tables say where.  For example:
 *
 *     uint32_t used = 0;
 *     for (size_t i = 0; i < n; i++) {
 *         hcy_bslz4_parse(&frames[i], blocks + used, capacity - used, &reports[i], &job, chunk[i], size[i]);
 *         frames[i].offset = offset[i]; // of the chunk in the buffer
 *         frames[i].first_block = used;
 *         used += frames[i].n_blocks;
 *     }
 *
 * A frame whose parse failed has no blocks and its status set: it may stay in the batch, devices leave it
 * alone.  All functions are free of state: any thread, nothing kept.  hcy_last_error() describes failures.
 */
#ifndef HALCYON_BSLZ4_H
#define HALCYON_BSLZ4_H

#include <halcyon/kernel.h>
#include "bslz4_format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Blocks of one chunk, for sizing the table: from the chunk's header, or, with `chunk` NULL, of a chunk of
 * the default block size (what nearly every file has).  HCY_EINVAL: the job makes no sense; HCY_ECORRUPT,
 * HCY_EUNSUPPORTED: the header. */
HCY_API int hcy_bslz4_block_count(size_t *n_blocks, const hcy_bslz4_job *job, const void *chunk,
                                  size_t size) HCY_MUST_USE;

/* Take a chunk apart: *frame and blocks[0 .. frame->n_blocks), every block and the tail proven to lie inside
 * the chunk and to add up to job->image_bytes.  What the LZ4 streams hold is not looked at.  frame->offset
 * and frame->first_block are set to 0: they are the caller's.
 * HCY_EINVAL: the job; HCY_ECORRUPT: truncated, garbage behind the end, sizes that contradict one another;
 * HCY_EUNSUPPORTED: 4 GiB and more, and blocks that cut elements; HCY_ERANGE: more than `capacity` blocks
 * (hcy_bslz4_block_count() says how many).  On failure frame->status is the status, frame->n_blocks is 0, and
 * *report (may be NULL) says where. */
HCY_API int hcy_bslz4_parse(hcy_bslz4_frame *frame, hcy_bslz4_block *blocks, size_t capacity,
                            hcy_frame_report *report, const hcy_bslz4_job *job, const void *chunk,
                            size_t size) HCY_MUST_USE;

/* Bytes a chunk of this job can at most take. */
HCY_API int hcy_bslz4_encode_bound(size_t *bound, const hcy_bslz4_job *job) HCY_MUST_USE;

/* Make a chunk of the job's codec from job->image_bytes of pixels; job->block_bytes decoded bytes a block (0:
 * 8192; a multiple of 8 elements).  *size bytes are written at `chunk`; HCY_ERANGE if they do not fit in
 * `capacity` (hcy_bslz4_encode_bound() always does); HCY_EINVAL, HCY_ENOMEM. */
HCY_API int hcy_bslz4_encode(size_t *size, void *chunk, size_t capacity, const hcy_bslz4_job *job,
                             const void *image) HCY_MUST_USE;

/* Decode n chunks to images (n * job->image_bytes of host memory) on the queue's device, and wait.  reports
 * (n, may be NULL) get each frame's verdict; a damaged frame does not disturb the others.  Returns 0 if all
 * frames are good, the status of the first that is not, or that of the queue.  For a few images; pipelines
 * keep their own buffers. */
HCY_API int hcy_bslz4_decode(void *images, hcy_frame_report *reports, hcy_queue *queue,
                             const hcy_bslz4_job *job, const hcy_span *chunks, size_t n) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
