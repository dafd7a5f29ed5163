/* publish.c - see publish.h. */
#include "publish.h"
#include <stdlib.h>
#include <string.h>

enum { AT_SIZE = 8, AT_FLAGS = 12, AT_SERIES = 16, AT_FRAME = 24, AT_RADIAL = 32, AT_AZIM = 36, AT_UNITS = 40 };
enum { LEAST_UNITS = 24, HAS_SIGMA = 1, HAS_FAILED = 2 };

static void put_number(uint8_t *at, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Returns what lies behind them. */
static uint8_t *put_doubles(uint8_t *at, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++, at += 8) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put_number(at, bits, 8);
    }
    return at;
}

int publish_begin(struct publish *p, const hcy_azint_plan *plan, uint64_t series)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    int status = hcy_azint_plan_get_info(&info, plan);
    if (status)
        return cli_fail(status);
    /* With a 0 behind each at least, and arrays at a multiple of their numbers' size. */
    const size_t radial = strlen(info.unit->name) + 1, azim = info.n_azim ? strlen(info.azimuth_unit->name) + 1 : 0;
    const size_t units = radial + azim < LEAST_UNITS ? LEAST_UNITS : (radial + azim + 7) / 8 * 8;
    const size_t head = AT_UNITS + units;
    p->n_bins = info.n_bins;
    p->with_sigma = info.options.error_model != HCY_ERRORS_NONE;
    p->axes = head + 8 * (info.n_radial + info.n_azim);
    p->room = p->axes + 8 * info.n_bins * (p->with_sigma ? 2 : 1);
    p->bytes = calloc(1, p->room);
    if (!p->bytes)
        return cli_error("out of memory for curves to publish");
    /* Head and axes are the same for all frames, so they are written once and only the rest anew. */
    memcpy(p->bytes, "HCYCURV1", 8);
    put_number(p->bytes + AT_SIZE, head, 4);
    put_number(p->bytes + AT_SERIES, series, 8);
    put_number(p->bytes + AT_RADIAL, info.n_radial, 4);
    put_number(p->bytes + AT_AZIM, info.n_azim, 4);
    memcpy(p->bytes + AT_UNITS, info.unit->name, radial);
    if (azim)
        memcpy(p->bytes + AT_UNITS + radial, info.azimuth_unit->name, azim);
    uint8_t *at = put_doubles(p->bytes + head, info.radial, info.n_radial);
    put_doubles(at, info.azimuthal, info.n_azim);
    return CLI_OK;
}

int publish_frame(struct publish *p, const hcy_pipeline_frame *frame)
{
    const hcy_azint_result *result = frame->result;
    if (!p->wire)
        return 0;
    put_number(p->bytes + AT_FLAGS, result ? p->with_sigma ? HAS_SIGMA : 0 : HAS_FAILED, 4);
    put_number(p->bytes + AT_FRAME, frame->number, 8);
    uint8_t *end = p->bytes + p->axes;
    if (result)
        end = put_doubles(end, result->intensity, p->n_bins);
    if (result && p->with_sigma)
        end = put_doubles(end, result->sigma, p->n_bins);
    hcy_span part = { p->bytes, (size_t)(end - p->bytes) };
    /* Readers that do not keep up lose messages, which PUB does for them: the run waits for none. */
    return wire_send(p->wire, &part, 1, 0) < 0 ? -1 : 0;
}

void publish_end(struct publish *p)
{
    free(p->bytes);
    p->bytes = NULL;
}
