/* curves_edf.c - images in radius and azimuth as EDF: single precision, one image of the file a frame.
 *
 * The header has the keys that pyFAI writes: the ranges of both axes, and the geometry.  A failed frame is an
 * image of NaN.
 */
#include "curves_priv.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512 }; /* headers are whole blocks */

struct edf {
    hcy_output *output;
    FILE *out; /* its stream */
    char *path, *keys; /* of every header */
    float *row;        /* an image */
    size_t n_radial, n_azim;
    uint64_t written;
};

static int fail_edf_write(const struct edf *edf, int number)
{
    char words[128];
    return hcy_fail(HCY_EIO, "%s: writing failed: %s", edf->path, hcy__errno_text(number, words, sizeof words));
}

static int make_keys(struct edf *edf, const hcy__curves_head *head)
{
    const hcy_azint_plan_info *plan = &head->plan;
    const hcy_poni *p = &plan->poni;
    size_t size;
    FILE *out = open_memstream(&edf->keys, &size);
    if (out) {
        /* The axes are even, so that their ends say all of them; EDF has no place for more. */
        fprintf(out, "%s_min = %.15g ;\n%s_max = %.15g ;\n", plan->unit->name, plan->radial[0], plan->unit->name,
                plan->radial[edf->n_radial - 1]);
        const char *chi = plan->options.azimuth_unit ? plan->options.azimuth_unit : "chi";
        fprintf(out, "%s_min = %.15g ;\n%s_max = %.15g ;\n", chi, plan->azimuthal[0], chi,
                plan->azimuthal[edf->n_azim - 1]);
        /* Two units of one list: which of them is whose would be a guess. */
        if (plan->options.azimuth_unit)
            fprintf(out, "azimuth_unit = %s ;\n", chi);
        fprintf(out, "Distance = %.15g ;\nPoni1 = %.15g ;\nPoni2 = %.15g ;\n", p->dist, p->poni1, p->poni2);
        fprintf(out, "Rot1 = %.15g ;\nRot2 = %.15g ;\nRot3 = %.15g ;\n", p->rot1, p->rot2, p->rot3);
        fprintf(out, "Wavelength = %.15g ;\nDetector = %s ;\n", p->wavelength,
                p->detector ? p->detector->name : "Detector");
        fprintf(out, "Program = halcyon %s ;\nPlan = %s ;\n", hcy_version(), plan->hash);
    }
    if (!out || fclose(out))
        return hcy_fail(HCY_ENOMEM, "no memory for the header of %s", head->path);
    return 0;
}

static void put_edf_header(struct edf *edf, uint64_t frame)
{
    char head[512];
    int n = snprintf(head, sizeof head,
                     "{\nHeaderID = EH:%06llu:000000:000000 ;\nImage = %llu ;\nByteOrder = LowByteFirst ;\n"
                     "DataType = FloatValue ;\nDim_1 = %zu ;\nDim_2 = %zu ;\nSize = %zu ;\nframe = %llu ;\n",
                     (unsigned long long)edf->written + 1, (unsigned long long)edf->written + 1, edf->n_radial,
                     edf->n_azim, edf->n_radial * edf->n_azim * sizeof(float), (unsigned long long)frame);
    /* Readers find the pixels by the header's length, which is a multiple of 512: blanks fill it up. */
    size_t used = (size_t)n + strlen(edf->keys) + 2;
    fputs(head, edf->out);
    fputs(edf->keys, edf->out);
    fprintf(edf->out, "%*s}\n", (int)((BLOCK - used % BLOCK) % BLOCK), "");
}

static int edf_curves_append(void *state, uint64_t frame, const hcy_azint_result *result,
                             const hcy_region_sums *regions, const char *why)
{
    (void)regions; /* there are none */
    struct edf *edf = state;
    size_t n = edf->n_radial * edf->n_azim;
    (void)why;
    /* A failed frame keeps its place, so that image k is frame k. */
    for (size_t i = 0; i < n; i++)
        edf->row[i] = result ? (float)result->intensity[i] : NAN;
    put_edf_header(edf, frame);
    fwrite(edf->row, sizeof(float), n, edf->out);
    edf->written++;
    return fflush(edf->out) || ferror(edf->out) ? fail_edf_write(edf, errno) : 0;
}

static const char *edf_curves_place(void *state)
{
    return hcy_output_place(((struct edf *)state)->output);
}

static int edf_curves_close(void *state, enum hcy__curves_end end)
{
    struct edf *edf = state;
    int st = 0;
    /* A stopped run's images are all whole, and stay under the name that they have. */
    if (edf->output && end == HCY__WHOLE)
        st = hcy_output_commit(edf->output, 0);
    else if (edf->output && end == HCY__STOPPED)
        st = hcy_output_keep(edf->output);
    else
        hcy_output_discard(edf->output);
    free(edf->path);
    free(edf->keys);
    free(edf->row);
    free(edf);
    return st;
}

static int fill_edf_curves(struct edf *edf, const hcy__curves_head *head)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    edf->n_radial = head->plan.n_radial;
    edf->n_azim = head->plan.n_azim;
    if (!edf->n_azim)
        return hcy_fail(HCY_EINVAL, "%s: EDF is for images in radius and azimuth; use .dat, .xy or .h5 for curves",
                        head->path);
    edf->path = strdup(head->path);
    edf->row = malloc(edf->n_radial * edf->n_azim * sizeof *edf->row);
    if (!edf->path || !edf->row || !plain)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    /* The keys of all headers are made once; only these have numbers with a decimal point. */
    locale_t before = uselocale(plain);
    int st = make_keys(edf, head);
    uselocale(before);
    freelocale(plain);
    if (!st)
        st = hcy_output_open(&edf->output, head->path, 0);
    if (!st && !(edf->out = hcy_output_stream(edf->output)))
        st = hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    return st;
}

static int edf_curves_open(void **state, const hcy__curves_head *head)
{
    struct edf *edf = calloc(1, sizeof *edf);
    if (!edf)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    int st = fill_edf_curves(edf, head);
    if (st) {
        /* Closing may set an error of its own: the first one is told. */
        hcy_error why = *hcy_last_error();
        (void)!edf_curves_close(edf, HCY__DISCARDED);
        return hcy_fail_again(&why);
    }
    *state = edf;
    return 0;
}

const hcy__curves_format hcy__curves_edf = { "edf", edf_curves_open, edf_curves_append, edf_curves_place,
                                              edf_curves_close, NULL, NULL };
