/* program.c - the user's own xclbin: the card's program, and kernels of it by the arguments that its metadata name.
 *
 * A card has one program at a time.  The user's becomes it while nothing holds the one that is there; a device may have
 * been opened with it (@xclbin=FILE), too.  Thread-safe.
 */
#include "xrt_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    struct xrt_device *device; /* held: the program is its */
};

int xrt_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                       const char *options)
{
    (void)log;
    (void)options;
    if (strcmp(format, "xclbin"))
        return hcy_fail(HCY_EUNSUPPORTED, "FPGA cards do not know the format \"%s\" of a program; they know \"xclbin\"",
                        format);
    struct program *p = malloc(sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    p->device = impl;
    int status = xrt_use_program(p->device, data, size);
    if (status)
        free(p);
    else
        *pimpl = p;
    return status;
}

void xrt_program_release(void *pimpl)
{
    struct program *p = pimpl;
    xrt_let_go(p->device);
    free(p);
}

int xrt_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature)
{
    const struct program *p = pimpl;
    struct xrt_own *own = calloc(1, sizeof *own);
    size_t n = 0;
    if (!own)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    int status = xclbin_arguments(own->arguments, &n, XRT_MOST_VALUES, &p->device->xclbin, name);
    for (size_t i = 0; i < n; i++)
        own->args[i] = (hcy_hls_arg){ own->arguments[i].name,
                                      own->arguments[i].is_buffer ? HCY_HLS_ADDRESS : HCY_HLS_SCALAR };
    snprintf(own->name, sizeof own->name, "%s", name);
    own->layout = (hcy_hls_layout){ own->name, own->args, n };
    own->typed = signature != NULL;
    if (status)
        free(own);
    return status ? status : xrt_kernel_open(kimpl, p->device, NULL, own);
}

/* Whether a number goes into the registers of this argument: as that number, or else by its bits. */
static bool fits_argument(const struct xclbin_argument *a, const hcy_value *v)
{
    const bool real = v->type == HCY_ARG_F32 || v->type == HCY_ARG_F64;
    return v->type != HCY_ARG_STRUCT && (a->is_real ? real && v->size == a->size : v->size == (a->size <= 4 ? 4 : 8));
}

static const char *what_fits(const struct xclbin_argument *a)
{
    if (a->is_buffer)
        return "buffer";
    if (a->is_real)
        return a->size == 4 ? "float" : "double";
    return a->size <= 4 ? "number of 4 bytes" : "number of 8 bytes";
}

int xrt_own_check(const struct xrt_own *own, const hcy_launch_desc *launch)
{
    const hcy_grid *g = launch->grid;
    for (int i = 0; i < 3; i++)
        if (g->groups[i] != 1 || g->group[i] != 1)
            return hcy_fail(HCY_EINVAL, "kernel %s: an FPGA card's kernel is one run, a grid of 1 x 1 x 1 groups of one"
                                        " item; its arguments say how much there is to do", own->name);
    if (launch->n_values != own->layout.n_args)
        return hcy_fail(HCY_EINVAL, "kernel %s takes %zu arguments, not %zu", own->name, own->layout.n_args,
                        launch->n_values);
    for (size_t i = 0; i < launch->n_values; i++) {
        const struct xclbin_argument *a = &own->arguments[i];
        const hcy_value *v = &launch->values[i];
        const bool is_buffer = v->type <= HCY_ARG_TABLES;
        if (a->is_buffer != is_buffer || (!is_buffer && !fits_argument(a, v)))
            return hcy_fail(HCY_EINVAL, "kernel %s: argument %zu (%s) must be a %s", own->name, i + 1, a->name,
                            what_fits(a));
    }
    return 0;
}
