/* arguments.c - what the kernels' arguments are: how many bytes of each an item has, and what a launch must satisfy.
 *
 * This is how a launch is checked, and how it is cut into runs.
 */
#include "xrt_priv.h"

#include "../../kernels_hls/azint/plan.h"

#include "arguments.h"
#include "azint/azint_format.h"
#include "bslz4/bslz4_format.h"

#include <string.h>

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)
#define IMAGE_AT(name)  HCY_ARG_AT(azint_image, name)
#define CODED_AT(name)  HCY_ARG_AT(bslz4_azint, name)

static int look_at_coding(const hcy_bslz4_job *job)
{
    uint32_t e = job->elem_size;
    if (job->codec > HCY_CODEC_BITSHUFFLE || !job->image_bytes || (e != 1 && e != 2 && e != 4 && e != 8))
        return hcy_fail(HCY_EINVAL, "bslz4: job of codec %u, elements of %u bytes, images of %llu bytes",
                        job->codec, e, (unsigned long long)job->image_bytes);
    return 0;
}

static int look_at_decode(const hcy_value *v, size_t item_bytes[])
{
    const hcy_bslz4_job *job = v[DECODE_AT(job)].bytes;
    item_bytes[DECODE_AT(frames)] = sizeof(hcy_bslz4_frame);
    item_bytes[DECODE_AT(images)] = job->image_bytes;
    item_bytes[DECODE_AT(reports)] = sizeof(hcy_frame_report);
    return look_at_coding(job);
}

/* Bytes of a pixel, 0 for what FPGA kernels do not add up. */
static uint32_t pixel_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {
        [HCY_PIXEL_U8] = 1, [HCY_PIXEL_U16] = 2, [HCY_PIXEL_U32] = 4,
        [HCY_PIXEL_I8] = 1, [HCY_PIXEL_I16] = 2, [HCY_PIXEL_I32] = 4,
    };
    return type < sizeof bytes ? bytes[type] : 0;
}

static int look_at_job(const hcy_azint_job *job, const hcy_value *plan)
{
    const struct xrt_memory *m = plan->block ? plan->block->handle : NULL;
    const hcy_azint_head *head = m && m->tables.size >= sizeof *head ? m->tables.data : NULL;
    if (!head)
        return hcy_fail(HCY_EINVAL, "azint: the plan's tables are not those of hcy_kernel_prepare()");
    if (!job->pixel_type || job->pixel_type > HCY_PIXEL_F64 || job->n_invalid > HCY_AZINT_MAX_INVALID)
        return hcy_fail(HCY_EINVAL, "azint: %s",
                        job->n_invalid > HCY_AZINT_MAX_INVALID ? "too many invalid ranges"
                                                               : "pixel type not one of HCY_PIXEL_*");
    if (!pixel_bytes(job->pixel_type))
        return hcy_fail(HCY_EUNSUPPORTED,
                        "FPGA kernels integrate integers of up to 4 bytes, no other pixels");
    if (job->n_pixels != head->n_pixels || job->n_bins != head->n_bins)
        return hcy_fail(HCY_EINVAL, "azint: the job has %llu pixels and %u bins, its plan %llu and %u",
                        (unsigned long long)job->n_pixels, job->n_bins, (unsigned long long)head->n_pixels,
                        head->n_bins);
    return 0;
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
    uint32_t bytes = pixel_bytes(job->pixel_type);
    item_bytes[CODED_AT(frames)] = sizeof(hcy_bslz4_frame);
    item_bytes[CODED_AT(sums)] = sums_bytes(job);
    item_bytes[CODED_AT(reports)] = sizeof(hcy_frame_report);
    int status = look_at_job(job, &v[CODED_AT(plan)]);
    if (!status)
        status = look_at_coding(coding);
    if (!status && (coding->elem_size != bytes || coding->image_bytes != job->n_pixels * bytes))
        status = hcy_fail(
            HCY_EINVAL,
            "azint: chunks of %llu bytes in elements of %u, where the job's images have %llu pixels of %u",
            (unsigned long long)coding->image_bytes, coding->elem_size, (unsigned long long)job->n_pixels,
            bytes);
    return status;
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
