/* raw.c - see raw.h. */
#include "raw.h"
#include <stdlib.h>

int cli_raw_convert(hcy_stack *stack, const struct cli_raw *raw)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    hcy_stack_raw_options opts = HCY_STACK_RAW_OPTIONS_INIT;
    float *pedestal = NULL, *gain = NULL;
    if (!raw->pedestal && !raw->gain && !raw->photon_energy.given)
        return CLI_OK;
    /* Either alone gives no photons: the pedestal is taken off, then the gain divides. */
    if (!raw->pedestal || !raw->gain)
        return cli_usage("raw frames need --pedestal and --gain");
    int status = hcy_images_read(&pedestal, 3, info->height, info->width, raw->pedestal);
    if (!status)
        status = hcy_images_read(&gain, 3, info->height, info->width, raw->gain);
    opts.pedestal = pedestal;
    opts.gain = gain;
    opts.photon_energy = raw->photon_energy.value;
    if (!status)
        status = hcy_stack_convert(stack, &opts);
    /* The conversion keeps copies of its own. */
    hcy_list_free(pedestal);
    hcy_list_free(gain);
    return status ? cli_fail(status) : CLI_OK;
}

bool cli_raw_is_photons(const struct cli_raw *raw)
{
    return raw->pedestal && raw->photon_energy.given;
}

void cli_raw_invalid(hcy_azint_options *o, const struct cli_raw *raw)
{
    if (!raw->pedestal || o->sentinels == HCY_SENTINELS_OFF)
        return;
    o->sentinels = HCY_SENTINELS_OFF; /* a detector's own are among the counts that noise makes, -1 or -2 */
    if (!raw->photon_energy.given)
        return;
    /* Photons are whole numbers, so pixels without a value can have the ends of the type. */
    o->use_dummy = 1;
    o->dummy = INT32_MIN;
    o->delta_dummy = 0;
    o->saturation = INT32_MAX - 1.0;
}
