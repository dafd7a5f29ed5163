/* arguments.c - what the kernels' arguments are: how many bytes of each an item has, and what a launch must satisfy.
 *
 * This is how a launch is checked, and how it is cut into runs.
 */
#include "xrt_priv.h"

#include "../../kernels_hls/azint/plan.h"

#include "arguments.h"
#include "azint/azint_job.h"
#include "bslz4/bslz4_job.h"

#include <string.h>

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)
#define IMAGE_AT(name)  HCY_ARG_AT(azint_image, name)
#define CODED_AT(name)  HCY_ARG_AT(bslz4_azint, name)

static int look_at_decode(const hcy_value *v, size_t item_bytes[])
{
    const hcy_bslz4_job *job = v[DECODE_AT(job)].bytes;
    /* What is not named here has no items: the whole buffer goes to every run. */
    item_bytes[DECODE_AT(frames)] = sizeof(hcy_bslz4_frame);
    item_bytes[DECODE_AT(images)] = job->image_bytes;
    item_bytes[DECODE_AT(reports)] = sizeof(hcy_frame_report);
    return hcy_bslz4_check_launch("bslz4", job, UINT64_MAX);
}

/* Bytes of a pixel, 0 for what FPGA kernels do not add up. */
static uint32_t pixel_bytes(uint32_t type)
{
    const struct hcy_pixel_type *t = hcy_pixel_type(type);
    return t && !t->is_float && t->bytes <= 4 ? t->bytes : 0;
}

static int look_at_job(const hcy_azint_job *job, const hcy_value *plan)
{
    const struct xrt_memory *m = plan->block ? plan->block->handle : NULL;
    /* The plan's head was kept on the host, so that a launch is checked without asking the card. */
    const hcy_azint_head *head = m && m->tables.size >= sizeof *head ? m->tables.data : NULL;
    if (!head)
        return hcy_azint_no_plan("azint");
    int status = hcy_azint_check_job("azint", job, head->n_pixels, head->n_bins);
    if (status || pixel_bytes(job->pixel_type))
        return status;
    return hcy_fail(HCY_EUNSUPPORTED, "FPGA kernels integrate integers of up to 4 bytes, no other pixels");
}

static size_t sums_bytes(const hcy_azint_job *job)
{
    return HCY_AZINT_SUMS * sizeof(uint64_t) * (size_t)job->n_bins;
}

static int look_at_image(const hcy_value *v, size_t item_bytes[])
{
    const hcy_azint_job *job = v[IMAGE_AT(job)].bytes;
    item_bytes[IMAGE_AT(images)] = job->n_pixels * pixel_bytes(job->pixel_type);
    item_bytes[IMAGE_AT(sums)] = sums_bytes(job);
    item_bytes[IMAGE_AT(reports)] = sizeof(hcy_frame_report);
    return look_at_job(job, &v[IMAGE_AT(plan)]);
}

static int look_at_coded(const hcy_value *v, size_t item_bytes[])
{
    const hcy_bslz4_job *coding = v[CODED_AT(coding)].bytes;
    const hcy_azint_job *job = v[CODED_AT(job)].bytes;
    item_bytes[CODED_AT(frames)] = sizeof(hcy_bslz4_frame);
    item_bytes[CODED_AT(sums)] = sums_bytes(job);
    item_bytes[CODED_AT(reports)] = sizeof(hcy_frame_report);
    int status = look_at_job(job, &v[CODED_AT(plan)]);
    if (!status)
        status = hcy_bslz4_check_launch("bslz4", coding, UINT64_MAX);
    return status ? status : hcy_azint_check_coding("azint", job, coding);
}

/* --- What a run uses of its buffers --- */

/* As kernels look at frames before they read anything of them (hls_frame_check). */
static bool lies_within(const hcy_bslz4_frame *f, uint64_t bytes, uint64_t n_blocks)
{
    return f->offset <= bytes && f->size <= bytes - f->offset && f->first_block <= n_blocks &&
           f->n_blocks <= n_blocks - f->first_block;
}

static void widen(uint64_t reach[2], uint64_t first, uint64_t n)
{
    reach[0] = first < reach[0] ? first : reach[0];
    reach[1] = first + n > reach[1] ? first + n : reach[1];
}

void xrt_narrow(struct xrt_reach reach[XRT_PARTS], hcy_bslz4_frame *frames, size_t n, const bool narrow[XRT_PARTS])
{
    static const size_t units[XRT_PARTS] = { 1, sizeof(hcy_bslz4_block) };
    const uint64_t bytes = reach[XRT_PART_CHUNKS].end, n_blocks = reach[XRT_PART_BLOCKS].end / sizeof(hcy_bslz4_block);
    uint64_t used[XRT_PARTS][2] = { { bytes, 0 }, { n_blocks, 0 } };
    for (size_t i = 0; i < n; i++) {
        hcy_bslz4_frame *f = &frames[i];
        /* A part may be where the frame is said to be, and still is not it. */
        if (!f->status && !lies_within(f, bytes, n_blocks))
            f->status = HCY_EINVAL;
        if (f->status)
            continue;
        widen(used[XRT_PART_CHUNKS], f->offset, f->size);
        widen(used[XRT_PART_BLOCKS], f->first_block, f->n_blocks);
    }
    /* Chunks keep their alignment. */
    used[XRT_PART_CHUNKS][0] -= used[XRT_PART_CHUNKS][0] % HCY_BSLZ4_ALIGN;
    for (int k = 0; k < XRT_PARTS; k++) {
        /* No frame at all: nothing is used. */
        uint64_t first = narrow[k] && used[k][0] < used[k][1] ? used[k][0] : 0;
        if (narrow[k])
            reach[k] = (struct xrt_reach){ units[k] * first, units[k] * used[k][1] };
        used[k][0] = first;
    }
    for (size_t i = 0; i < n; i++)
        if (!frames[i].status) {
            frames[i].offset -= used[XRT_PART_CHUNKS][0];
            frames[i].first_block -= (uint32_t)used[XRT_PART_BLOCKS][0];
        }
}

bool xrt_by_rows(const hcy_azint_job *job)
{
    return job->n_bins >= HCY_AZINT_BY_ROWS;
}

size_t xrt_rows_written(struct xrt_reach rows[XRT_MOST_ROWS], const hcy_azint_job *job, const hcy_frame_report *report)
{
    const size_t row = sizeof(uint64_t) * (size_t)job->n_bins;
    const bool narrow = job->flags & HCY_AZINT_NARROW;
    size_t n = 0;
    /* Sums of a frame with a status mean nothing. */
    if (report->status)
        return 0;
    rows[n++] = (struct xrt_reach){ row * HCY_SUM_SIGNAL_LO, row * (narrow ? HCY_SUM_SIGNAL_HI : HCY_SUM_LOST_COUNT) };
    if (narrow && job->flags & HCY_AZINT_WANT_VARIANCE)
        rows[n++] = (struct xrt_reach){ row * HCY_SUM_VARIANCE_LO, row * HCY_SUM_VARIANCE_HI };
    if (report->n_lost)
        rows[n++] = (struct xrt_reach){ row * HCY_SUM_LOST_COUNT, row * HCY_AZINT_SUMS };
    return n;
}

const struct xrt_shape *xrt_shape_of(const char *kernel)
{
    static const struct xrt_coded decode_coded = { DECODE_AT(frames), { DECODE_AT(chunks), DECODE_AT(blocks) } },
                                  azint_coded = { CODED_AT(frames), { CODED_AT(chunks), CODED_AT(blocks) } };
    static const struct xrt_sums image_sums = { IMAGE_AT(sums), IMAGE_AT(reports), IMAGE_AT(job) },
                                 azint_sums = { CODED_AT(sums), CODED_AT(reports), CODED_AT(job) };
    static const struct xrt_shape shapes[] = {
        { "bslz4_decode", look_at_decode, NULL, &decode_coded, NULL },
        { "azint_image", look_at_image, hcy__hls_records, NULL, &image_sums },
        { "bslz4_azint", look_at_coded, hcy__hls_records, &azint_coded, &azint_sums },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (!strcmp(shapes[i].kernel, kernel))
            return &shapes[i];
    return NULL;
}
