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

const struct xrt_shape *xrt_shape_of(const char *kernel)
{
    static const struct xrt_shape shapes[] = {
        { "bslz4_decode", look_at_decode, NULL },
        { "azint_image", look_at_image, hcy__hls_records },
        { "bslz4_azint", look_at_coded, hcy__hls_records },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (!strcmp(shapes[i].kernel, kernel))
            return &shapes[i];
    return NULL;
}
