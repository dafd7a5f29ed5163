/* compare_nufft.c - non-uniform FFTs on each device: the cells of `halcyon bench nufft`. */
#include "bench_nufft.h"
#include "compare.h"
#include "interrupt.h"
#include <halcyon/backend.h>
#include <math.h>

static json_t *figures_of(const struct nufft_row *row, const struct nufft_figures *f)
{
    json_t *figures = json_object();
    value_put(figures, "points_ms", 1e3 * f->set);
    value_put(figures, "execute_ms", 1e3 * f->run);
    value_put(figures, "mpoints_per_s", 1e-6 * (double)row->points / f->run);
    value_put(figures, "error", f->error);
    return figures;
}

static void take_row(void *payload, const struct nufft_row *row)
{
    json_t *entry = figures_of(row, &row->ours);
    value_put_text(entry, "cell", row->name);
    value_put(entry, "dim", row->dim);
    value_put(entry, "type", row->type);
    value_put_text(entry, "precision", row->single ? "single" : "double");
    value_put(entry, "eps", row->eps);
    if (row->has_peer)
        json_object_set_new(entry, "finufft", figures_of(row, &row->peer));
    json_array_append_new(payload, entry);
}

static int run_transforms(json_t *object, const struct compare_job *job, const void *what)
{
    const struct compare_values *v = job->values;
    hcy_device *device = NULL;
    json_t *cells = json_array();
    json_object_set_new(object, "cells", cells);
    int status = hcy_device_open(&device, what);
    if (status)
        return status;
    /* A transform's memory is laid out by what kernels have counted, and those of such a device may count nothing. */
    if (hcy_device_get_info(device)->caps & HCY_CAP_VIRTUAL) {
        hcy_device_release(device);
        return hcy_fail(HCY_EUNSUPPORTED, "%s is virtual and computes no transforms: leave it out with --nufft",
                        (const char *)what);
    }
    /* FINUFFT has the machine for itself while it runs, as each device has. */
    if (bench_nufft_rows(device, v->cells, (int)hcy_processors(), v->finufft, v->points.value, take_row,
                         cells))
        value_put_text(object, "error", *hcy_last_error()->text ? hcy_last_error()->text : "see the messages above");
    hcy_device_release(device);
    return 0;
}

int compare_check_nufft(json_t *object, const struct compare_job *job, const void *what)
{
    (void)object, (void)what;
    return bench_nufft_check_peer(job->values->finufft);
}

void compare_nufft(json_t *report, const struct compare_job *job, const json_t *devices)
{
    json_t *nufft = json_object(), *list = json_array();
    const json_t *device;
    size_t i;
    json_array_foreach(devices, i, device)
    {
        if (interrupt_came())
            break;
        json_t *entry = compare_apart(job, run_transforms, compare_name(device));
        value_put_text(entry, "device", compare_name(device));
        value_put_text(entry, "virtual", value_string(device, "virtual"));
        json_array_append_new(list, entry);
    }
    value_put(nufft, "points", (double)job->values->points.value);
    json_object_set_new(nufft, "devices", list);
    json_object_set_new(report, "nufft", nufft);
}
