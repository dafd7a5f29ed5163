/* regions.c - see regions.h. */
#include "regions.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a region, over the frames that were good. */
struct regions_total {
    uint64_t frames, valid, invalid;
    int64_t sum, min, max;
    int is_cut; /* the sum has no room in 64 bits */
};

/* A whole number of a column or a row, and the character behind it. */
static int read_place(uint32_t *place, const char **at, char end)
{
    char *stop;
    errno = 0;
    unsigned long long v = strtoull(*at, &stop, 10);
    /* strtoull takes a sign and blanks, which are no part of a column's number. */
    if (errno || !isdigit((unsigned char)**at) || v > UINT32_MAX || (end && *stop != end))
        return 0;
    *place = (uint32_t)v;
    *at = stop + (end != 0);
    return 1;
}

/* "X0,Y0,X1,Y1" or "X0,Y0,X1,Y1:NAME" at *at, which moves behind it; names are cut out of the text. */
static int read_region(struct regions *r, char **at)
{
    hcy_region *box = &r->boxes[r->n];
    const char *from = *at;
    if (!read_place(&box->x0, &from, ',') || !read_place(&box->y0, &from, ',') || !read_place(&box->x1, &from, ',') ||
        !read_place(&box->y1, &from, 0) || box->x0 >= box->x1 || box->y0 >= box->y1)
        return 0;
    *at = r->text + (from - r->text);
    if (**at == ':') {
        r->names[r->n] = *at + 1;
        *at += strcspn(*at, ",");
        /* Columns of text are parted by blanks. */
        if (*at == r->names[r->n] || strcspn(r->names[r->n], " \t\r\n") < (size_t)(*at - r->names[r->n]))
            return 0;
    }
    return !**at || **at == ',';
}

/* Names of regions that have none: roi1, roi2 ...; `room` takes them. */
static void name_regions(struct regions *r, char *room)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->names[i]) {
            r->names[i] = room;
            room += sprintf(room, "roi%zu", i + 1) + 1;
        }
}

static int read_regions(struct regions *r, const char *text)
{
    const size_t length = strlen(text) + 1;
    /* The list, which is cut into names, and room for names that it does not give. */
    r->text = calloc(length + HCY_PIPELINE_MAX_REGIONS * sizeof "roi256", 1);
    if (!r->text)
        return cli_error("out of memory for --roi");
    memcpy(r->text, text, length);
    /* The last place is the whole frame's. */
    for (char *at = r->text; r->n < HCY_PIPELINE_MAX_REGIONS - 1;) {
        if (!read_region(r, &at))
            break;
        r->n++;
        if (!*at) {
            name_regions(r, r->text + length);
            return CLI_OK;
        }
        *at++ = 0;
    }
    return cli_usage("--roi '%s' is not valid: X0,Y0,X1,Y1 or X0,Y0,X1,Y1:NAME is needed, X0 < X1 and Y0 < Y1 (X1 and "
                     "Y1 are not included), or up to %d of them with commas", text, HCY_PIPELINE_MAX_REGIONS - 1);
}

int regions_parse(struct regions *r, const struct integrate_values *v)
{
    r->above = v->above.given ? v->above.value : INT64_MAX;
    int status = v->roi ? read_regions(r, v->roi) : CLI_OK;
    if (!status && v->stats) {
        r->stats = 1;
        r->names[r->n++] = "frame";
    }
    for (size_t i = 0; i < r->n && !status; i++)
        for (size_t k = 0; k < i && !status; k++)
            if (!strcmp(r->names[i], r->names[k]))
                status = cli_usage("--roi: two regions are named %s", r->names[i]);
    return status;
}

/* Pixels whose corners in the detector's file are not finite, so that they are nowhere. */
static int mask_placeless(uint8_t *mask, const hcy_poni *poni, size_t height, size_t width)
{
    double *places = malloc(height * width * sizeof *places);
    if (!places)
        return cli_error("out of memory for the places of %zu x %zu pixels", height, width);
    int status = hcy_azint_map(places, NULL, poni, height, width, "2th_rad", 1);
    for (size_t i = 0; !status && i < height * width; i++)
        mask[i] |= !isfinite(places[i]);
    free(places);
    return status ? cli_fail(status) : CLI_OK;
}

/* What the plan leaves out of all frames: the masks that are given, and the detector's gaps, which are in one of these
 * where the detector's file has the pixels' corners. */
static int make_region_mask(struct regions *r, const hcy_azint_plan_info *info, const hcy_poni *poni,
                            const uint8_t *mask)
{
    const size_t n = info->height * info->width;
    int status = CLI_OK;
    r->mask = calloc(n, 1);
    if (!r->mask)
        return cli_error("out of memory for a mask of %zu x %zu", info->height, info->width);
    if (poni->corners)
        status = mask_placeless(r->mask, poni, info->height, info->width);
    else if (info->options.detector_mask &&
             hcy_detector_mask(r->mask, info->poni.detector, info->height, info->width))
        status = cli_fail(hcy_last_error()->status);
    for (size_t i = 0; mask && i < n; i++)
        r->mask[i] |= mask[i];
    return status;
}

/* The pipeline refuses the same in these words, but it is made when the output is open already. */
static int check_region_pixels(const struct regions *r, uint32_t pixel_type)
{
    if (pixel_type == HCY_PIXEL_F32 || pixel_type == HCY_PIXEL_F64)
        return cli_error("sums of regions are of integer pixels, and these frames are of floats");
    if (r->above < 0 && pixel_type >= HCY_PIXEL_U8 && pixel_type <= HCY_PIXEL_U64)
        return cli_error("pixels above %lld are counted, and these frames have no negative ones", (long long)r->above);
    return CLI_OK;
}

int regions_prepare(struct regions *r, const hcy_azint_plan *plan, const hcy_poni *poni, uint32_t pixel_type,
                    const uint8_t *mask)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    if (!r->n)
        return CLI_OK;
    if (check_region_pixels(r, pixel_type))
        return CLI_FAILED;
    int status = hcy_azint_plan_get_info(&info, plan);
    if (status)
        return cli_fail(status);
    if (r->stats)
        r->boxes[r->n - 1] = (hcy_region){ 0, 0, (uint32_t)info.width, (uint32_t)info.height, NULL };
    for (size_t i = 0; i < r->n; i++)
        /* X1 and Y1 are not included, so they may equal the width and the height. */
        if (r->boxes[i].x1 > info.width || r->boxes[i].y1 > info.height)
            return cli_error("--roi: %s ends at column %u, row %u; the frames have %zu columns, %zu rows", r->names[i],
                             r->boxes[i].x1, r->boxes[i].y1, info.width, info.height);
    r->totals = calloc(r->n, sizeof *r->totals);
    return r->totals ? make_region_mask(r, &info, poni, mask) : cli_error("out of memory for %zu regions", r->n);
}

void regions_ask(hcy_pipeline_options *options, const struct regions *r)
{
    options->regions = r->boxes;
    options->n_regions = r->n;
    options->region_mask = r->mask;
    options->region_above = r->above;
}

void regions_name(hcy_curves_options *options, const struct regions *r)
{
    options->regions = r->boxes;
    options->region_names = r->names;
    options->n_regions = r->n;
}

void regions_take(struct regions *r, const hcy_pipeline_frame *frame)
{
    for (size_t i = 0; frame->regions && i < r->n; i++) {
        const hcy_region_sums *s = &frame->regions[i];
        struct regions_total *t = &r->totals[i];
        /* A frame without a valid pixel has no smallest and no largest value. */
        if (s->valid) {
            t->min = !t->valid || s->min < t->min ? s->min : t->min;
            t->max = !t->valid || s->max > t->max ? s->max : t->max;
        }
        t->frames++;
        t->valid += s->valid;
        t->invalid += s->invalid;
        if (s->sum > 0 ? t->sum > INT64_MAX - s->sum : t->sum < INT64_MIN - s->sum)
            t->is_cut = 1;
        else
            t->sum += s->sum;
    }
}

void regions_json(struct cli_json *json, const struct regions *r)
{
    if (!r->n)
        return;
    cli_json_open(json, "regions", '[');
    for (size_t i = 0; i < r->n && r->totals; i++) {
        const struct regions_total *t = &r->totals[i];
        const hcy_region *box = &r->boxes[i];
        const uint32_t places[] = { box->x0, box->y0, box->x1, box->y1 };
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", r->names[i]);
        cli_json_open(json, "box", '[');
        for (int k = 0; k < 4; k++)
            cli_json_int(json, NULL, places[k]);
        cli_json_close(json, ']');
        cli_json_int(json, "frames", (int64_t)t->frames);
        if (t->is_cut)
            cli_json_text(json, "sum", NULL);
        else
            cli_json_int(json, "sum", t->sum);
        cli_json_int(json, "min", t->min);
        cli_json_int(json, "max", t->max);
        cli_json_int(json, "valid", (int64_t)t->valid);
        cli_json_int(json, "invalid", (int64_t)t->invalid);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

void regions_free(struct regions *r)
{
    free(r->text);
    free(r->mask);
    free(r->totals);
}
