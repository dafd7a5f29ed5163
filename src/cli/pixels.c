/* pixels.c - see pixels.h. */
#include "pixels.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void set_path(char *text, size_t size, const char *file, const char *dataset)
{
    char *whole = realpath(file, NULL);
    snprintf(text, size, "%s::%s", whole ? whole : file, dataset);
    free(whole);
}

void pixels_begin(struct pixels *p, uint64_t n, const char *whose)
{
    p->whose = whose;
    p->pixels = n;
    /* The first frame sets the least number, whatever it is. */
    p->least = UINT64_MAX;
}

unsigned pixels_wanted(const struct pixels *p)
{
    return (p->no_file_mask ? 0 : HCY_CORRECTION_MASK) | (p->no_file_flat || p->other_flat ? 0 : HCY_CORRECTION_FLAT);
}

int pixels_read(struct pixels *p, const hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    pixels_begin(p, (uint64_t)info->height * info->width, "file");
    if (hcy_corrections_read(&p->own, stack, NULL, pixels_wanted(p)))
        return cli_error("%s; --no-file-mask and --no-file-flatfield go without", hcy_last_error()->text);
    if (p->own->mask)
        set_path(p->file_mask, sizeof p->file_mask, info->path, p->own->mask_name);
    if (p->own->flat)
        set_path(p->file_flat, sizeof p->file_flat, info->path, p->own->flat_name);
    return CLI_OK;
}

uint64_t pixels_count(const uint8_t *mask, uint64_t n)
{
    uint64_t masked = 0;
    for (uint64_t i = 0; i < n; i++)
        masked += mask[i] != 0;
    return masked;
}

void pixels_take(struct pixels *p, const hcy_pipeline_frame *frame)
{
    if (!frame->result)
        return;
    uint64_t lost = frame->report->n_lost;
    p->frames++;
    p->total += lost;
    p->least = lost < p->least ? lost : p->least;
    p->most = lost > p->most ? lost : p->most;
}

/* --- The file's corrections --- */

/* Why the file's flat field is not used; NULL: it is. */
static const char *flat_refused(const struct pixels *p)
{
    if (p->no_file_flat)
        return "--no-file-flatfield";
    if (p->other_flat)
        return p->other_flat;
    if (p->own->flat_applied)
        return p->own->flat_applied > 0 ? "the detector has applied it"
                                        : "nothing says whether the detector has applied it; "
                                          "--flat would use it";
    return p->own->flat ? NULL : "it is 1 everywhere";
}

static const char *mask_applied(const hcy_corrections *own)
{
    if (own->mask_applied < 0)
        return "nothing says whether the detector had applied it";
    return own->mask_applied ? "the detector had applied it" : "the detector had not applied it";
}

static void HCY_PRINTF(2, 3) append_text(char text[PIXELS_TEXT], const char *fmt, ...)
{
    va_list args;
    size_t used = strlen(text);
    va_start(args, fmt);
    vsnprintf(text + used, PIXELS_TEXT - used, fmt, args);
    va_end(args);
}

void pixels_corrections(char text[PIXELS_TEXT], const struct pixels *p)
{
    const hcy_corrections *own = p->own;
    *text = 0;
    if (own->mask)
        append_text(text, "pixel mask of the %s: %s%s, %" PRIu64 " pixels; %s\n", p->whose, own->mask_name,
                    own->n_masks > 1 ? " and those beside it" : "", own->n_masked, mask_applied(own));
    /* A mask that is there and not used is told too, as it changes the curves. */
    else if (*own->mask_name)
        append_text(text, "pixel mask of the %s: %s is not used: --no-file-mask\n", p->whose, own->mask_name);
    const char *why = *own->flat_name ? flat_refused(p) : NULL;
    if (*own->flat_name)
        append_text(text, "flat field of the %s: %s is %s: %s\n", p->whose, own->flat_name, why ? "not used" : "used",
                    why ? why : "the detector had not applied it");
    /* Halcyon has no correction of count rates, so all that can be said is what the detector did. */
    if (own->countrate_applied > 0)
        append_text(text, "count rates: corrected by the detector\n");
    else if (!own->countrate_applied || *own->countrate_table)
        append_text(text, "count rates: not corrected here%s%s; %s\n", *own->countrate_table ? ", in spite of " : "",
                    own->countrate_table, own->countrate_applied < 0 ? "nothing says whether the detector did"
                                                             : "nor by the detector");
}

/* --- What is said --- */

/* What masks pixels in single frames. */
static const char *in_frames(const struct pixels *p)
{
    if (p->use_dummy)
        return p->sentinels ? "dummy, sentinels" : "dummy";
    return p->sentinels ? "sentinels" : "not a number";
}

/* The same, for who has not read the manual. */
static const char *words_in_frames(const struct pixels *p)
{
    if (p->use_dummy)
        return p->sentinels ? "by the dummy and marks of bad pixels" : "by the dummy";
    return p->sentinels ? "by marks of bad pixels" : "as they are not a number";
}

void pixels_summary(const struct pixels *p)
{
    char text[PIXELS_TEXT], own[64];
    snprintf(own, sizeof own, "the %s's pixel_mask", p->whose);
    /* The sources may overlap, so their counts need not add up to all masked pixels. */
    const struct {
        const char *name;
        uint64_t n;
    } sources[] = { { own, p->own->n_masked },
                    { "--mask", p->by_mask },
                    { "--mask-from-frame", p->by_frame },
                    { "the detector's", p->by_detector } };
    pixels_corrections(text, p);
    fputs(text, stderr);
    fprintf(stderr, "masked: %" PRIu64 " of %" PRIu64 " pixels in every frame", p->masked, p->pixels);
    const char *between = " (";
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (sources[i].n) {
            fprintf(stderr, "%s%s %" PRIu64, between, sources[i].name, sources[i].n);
            between = ", ";
        }
    fputs(*between == ',' ? ")" : "", stderr);
    if (p->frames)
        fprintf(stderr, "; in single frames, %s, %" PRIu64 " to %" PRIu64 ", %" PRIu64 " in all", words_in_frames(p),
                p->least, p->most, p->total);
    putc('\n', stderr);
    /* A background that was taken off makes such values by chance, and they would be lost silently. */
    if (p->has_marks && p->total)
        fputs("hint: values from -3.5 to -0.5 are this detector's marks of invalid pixels; if they are values of these frames"
              " (a background was taken off), --no-sentinels\n", stderr);
}

static void put_flag(struct cli_json *json, const char *key, int flag)
{
    if (flag < 0)
        cli_json_text(json, key, NULL);
    else
        cli_json_bool(json, key, flag);
}

static void put_name(struct cli_json *json, const char *key, const char *name)
{
    cli_json_text(json, key, *name ? name : NULL);
}

void pixels_json(struct cli_json *json, const struct pixels *p)
{
    const hcy_corrections *own = p->own;
    /* "used" and "applied_by_detector" are apart: a correction may be neither, or unknown. */
    cli_json_open(json, "corrections", '{');
    cli_json_open(json, "pixel_mask", '{');
    put_name(json, "dataset", own->mask_name);
    cli_json_bool(json, "used", own->mask != NULL);
    put_flag(json, "applied_by_detector", own->mask_applied);
    cli_json_close(json, '}');
    cli_json_open(json, "flatfield", '{');
    put_name(json, "dataset", own->flat_name);
    cli_json_bool(json, "used", own->flat != NULL);
    put_flag(json, "applied_by_detector", own->flat_applied);
    cli_json_close(json, '}');
    /* Count rates are never corrected here, but the key is there for programs that ask. */
    cli_json_open(json, "countrate", '{');
    put_name(json, "dataset", own->countrate_table);
    cli_json_bool(json, "used", 0);
    put_flag(json, "applied_by_detector", own->countrate_applied);
    cli_json_close(json, '}');
    cli_json_close(json, '}');
    /* The static mask by its sources, then what single frames lost. */
    cli_json_open(json, "masked", '{');
    cli_json_int(json, "pixels", (int64_t)p->pixels);
    cli_json_int(json, "every_frame", (int64_t)p->masked);
    cli_json_int(json, "file", (int64_t)own->n_masked);
    cli_json_int(json, "mask", (int64_t)p->by_mask);
    cli_json_int(json, "mask_from_frame", (int64_t)p->by_frame);
    cli_json_int(json, "detector", (int64_t)p->by_detector);
    cli_json_text(json, "in_single_frames_by", in_frames(p));
    /* Without a good frame there is no least number. */
    cli_json_int(json, "least_in_a_frame", p->frames ? (int64_t)p->least : 0);
    cli_json_int(json, "most_in_a_frame", (int64_t)p->most);
    cli_json_int(json, "in_all_frames", (int64_t)p->total);
    cli_json_close(json, '}');
}
