/* curves_dat.c - curves as pyFAI's text: a header of `#` lines, then rows of radial, intensity and sigma. And
 * the rows alone (.xy, and .xye with errors), for programs that want nothing else; Fit2D's text (.chi) and that of GSAS
 * and GSAS-II (.fxye), which have one curve a file.
 *
 * Every frame is flushed when it was written, so whoever reads along sees it, and a full disk is noticed at
 * once.
 */
#include "curves_priv.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { PYFAI, ROWS, ROWS_AND_ERRORS, FIT2D, GSAS };

struct dat {
    enum kind kind;
    hcy_output *output; /* NULL between the files of a numbered path */
    FILE *out;          /* its stream */
    char *path;        /* "-": standard output */
    hcy__numbered numbered; /* a path with %d: one file a frame */
    hcy_stack_file *read;   /* [n_read] which are never written over */
    size_t n_read;
    char *header;      /* up to the line with the file's name */
    double *radial;
    size_t n_bins;
    const char *unit, *label; /* of the static table of units */
    int with_sigma, keep_existing;
    int growing; /* the file is there from the first frame on, and says when it is complete */
    uint64_t written; /* frames */
    char **regions;    /* [n_regions] names */
    size_t n_regions;
    locale_t plain;   /* numbers with a point, whatever the program's locale */
};

enum { NUMBER = 32 }; /* room for one, with its blanks */

#define PI 3.14159265358979323846
static const double degrees = 180 / PI;

/* --- The header --- */

/* Fit2D's way to say the same geometry, as pyFAI converts it. */
static void put_fit2d(FILE *out, const hcy_poni *p)
{
    double cos_tilt = cos(p->rot1) * cos(p->rot2), sin_tilt = sqrt(1 - cos_tilt * cos_tilt);
    double cos_plane = 1, sin_plane = 0, shift = 0;
    /* Without a tilt its plane has no direction, and 0 is as good as any. */
    if (sin_tilt > 0) {
        cos_plane = fmax(-1, fmin(1, -cos(p->rot2) * sin(p->rot1) / sin_tilt));
        sin_plane = sin(p->rot2) / sin_tilt;
        shift = p->dist * sin_tilt / cos_tilt;
    }
    double plane = acos(cos_plane) * degrees;
    fprintf(out, "# == Fit2d calibration ==\n# Distance Sample-beamCenter: %.3f mm\n",
            1e3 * p->dist / cos_tilt);
    fprintf(out, "# Center: x=%.3f, y=%.3f pix\n", (p->poni2 + shift * cos_plane) / p->pixel2,
            (p->poni1 + shift * sin_plane) / p->pixel1);
    fprintf(out, "# Tilt: %.3f deg  TiltPlanRot: %.3f deg\n# \n", acos(fmin(1, cos_tilt)) * degrees,
            sin_plane < 0 ? -plane : plane);
}

static void put_geometry(FILE *out, const hcy_poni *p)
{
    fprintf(out, "# == pyFAI calibration ==\n# Distance Sample to Detector: %.15g m\n", p->dist);
    fprintf(out, "# PONI: %.3e, %.3e m\n", p->poni1, p->poni2);
    fprintf(out, "# Rotations: %.6f %.6f %.6f rad\n# \n", p->rot1, p->rot2, p->rot3);
    put_fit2d(out, p);
    fprintf(out, "# Detector %s\t PixelSize= %.3e, %.3e m\n", p->detector ? p->detector->name : "Detector",
            p->pixel1, p->pixel2);
    if (p->wavelength > 0)
        fprintf(out, "# Wavelength: %.15g m\n", p->wavelength);
}

/* Writes a text as header lines, one for each of its own. */
static void put_lines(FILE *out, const char *what, const char *text)
{
    if (!text)
        return;
    fprintf(out, "# %s: ", what);
    for (; *text; text++) {
        /* Every line of it begins with #, or readers would take it for numbers. */
        if (*text == '\n' && text[1])
            fputs("\n#   ", out);
        else if (*text != '\n' && *text != '\r')
            putc(*text, out);
    }
    putc('\n', out);
}

static void put_dat_header(FILE *out, const hcy__curves_head *head)
{
    const hcy_azint_options *options = &head->plan.options;
    put_geometry(out, &head->plan.poni);
    fprintf(out, "# Mask applied: %s\n", hcy__curves_mask_words(head));
    fprintf(out, "# Dark current applied: %s\n", head->plan.has_dark ? "provided" : "False");
    fprintf(out, "# Flat field applied: %s\n", head->plan.has_flat ? "provided" : "False");
    if (options->use_polarization)
        fprintf(out, "# Polarization factor: %.15g\n", options->polarization);
    else
        fputs("# Polarization factor: None\n", out);
    fprintf(out, "# Normalization factor: %.15g\n", options->normalization);
    fprintf(out, "# Program: halcyon %s\n# Plan: %s\n", hcy_version(), head->plan.hash);
    put_lines(out, "Devices", head->opts.devices);
    if (head->opts.source) {
        const hcy_stack_info *info = hcy_stack_get_info(head->opts.source);
        fprintf(out, "# Frames from: %s%s%s", info->path, *info->dataset ? "::" : "", info->dataset);
        if (head->opts.source->n_also)
            fprintf(out, " and %zu file%s more", head->opts.source->n_also, head->opts.source->n_also > 1 ? "s" : "");
        fputc('\n', out);
    }
    put_lines(out, "Mask from", head->opts.mask);
    put_lines(out, "Configuration", head->opts.config);
}

static int make_header(struct dat *dat, const hcy__curves_head *head)
{
    size_t size;
    FILE *out = open_memstream(&dat->header, &size);
    if (out)
        put_dat_header(out, head);
    if (!out || fclose(out))
        return hcy_fail(HCY_ENOMEM, "no memory for the header of %s", head->path);
    return 0;
}

/* --- Files --- */

static int fail_dat_write(const char *path, int number)
{
    char words[128];
    return hcy_fail(HCY_EIO, "%s: writing failed: %s", strcmp(path, "-") ? path : "standard output",
                    hcy__errno_text(number, words, sizeof words));
}

/* Programs that want rows alone stumble over comments.  Fit2D begins with a title, two labels and a number; GSAS with a
 * title of 80 characters, and a line that says how the rows are meant: of constant steps, in hundredths of a degree. */
static void put_foreign_header(const struct dat *dat, const char *path)
{
    double step = dat->n_bins > 1 ? (dat->radial[dat->n_bins - 1] - dat->radial[0]) / (double)(dat->n_bins - 1) : 0;
    if (dat->kind == FIT2D)
        fprintf(dat->out, "%s\n%s\nIntensity\n%12zu\n", path, dat->label, dat->n_bins);
    else if (dat->kind == GSAS)
        fprintf(dat->out, "%-80.80s\nBANK 1 %zu %zu CONS %.8g %.8g 0 0 FXYE\n", path, dat->n_bins, dat->n_bins,
                100 * dat->radial[0], 100 * step);
}

static int open_out(struct dat *dat, const char *path)
{
    int st = hcy_output_open(&dat->output, path, 0);
    if (st)
        return st;
    dat->out = hcy_output_stream(dat->output);
    if (!dat->out)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    if (dat->kind != PYFAI) {
        put_foreign_header(dat, path);
        return 0;
    }
    fputs(dat->header, dat->out);
    if (dat->growing)
        fputs("# Status: grows frame by frame; the last line of what is complete is `# complete`\n", dat->out);
    fprintf(dat->out, "# --> %s\n", path);
    if (dat->with_sigma)
        fprintf(dat->out, "#%14s  %14s  %14s\n", dat->unit, "I ", "sigma ");
    else
        fprintf(dat->out, "#%14s %14s\n", dat->unit, "I ");
    return dat->growing ? hcy_output_show(dat->output) : 0;
}

static int close_out(struct dat *dat, enum hcy__curves_end end)
{
    hcy_output *output = dat->output;
    if (output && end == HCY__WHOLE && dat->growing)
        fputs("# complete\n", dat->out);
    /* The output is gone after any of the three, whether it succeeded or not. */
    dat->output = NULL;
    dat->out = NULL;
    if (!output)
        return 0;
    if (end == HCY__WHOLE)
        return hcy_output_commit(output, 0);
    if (end == HCY__STOPPED)
        return hcy_output_keep(output);
    hcy_output_discard(output);
    return 0;
}

/* --- Frames --- */

/* The fast way of put_decimal(): 7 digits of a power of ten near the value.  -1: a value that needs the slow
 * way, because it is out of the table's reach or so near to the middle between two decimals that one rounding
 * could decide. */
static int seven_digits(uint32_t *digits, int *exponent, double value)
{
    static const double ten[23] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (!(value >= 1e-15 && value < 1e21))
        return -1;
    int binary, e;
    /* The decimal exponent from the binary one, without a logarithm. */
    frexp(value, &binary);
    e = (int)floor((binary - 1) * 0.30102999566398120); /* of the power of two: right, or one too small */
    /* Powers up to 1e22 are exact, so that there is just this one rounding. */
    double scaled = e <= 6 ? value * ten[6 - e] : value / ten[e - 6];
    if (scaled >= 1e7) {
        e++;
        scaled = e <= 6 ? value * ten[6 - e] : value / ten[e - 6];
    }
    uint32_t whole = (uint32_t)scaled;
    double rest = scaled - whole;
    /* The rounding's error is far below 1e-5, so that only a rest this near to a half could go the other
     * way. */
    if (whole < 1000000 || whole >= 9999999 || fabs(rest - 0.5) < 1e-5)
        return -1;
    *digits = whole + (rest > 0.5);
    *exponent = e;
    return 0;
}

/* printf("%14.6e"), which would take most of the time of writing, but for NaN, which has no sign: infinite pixels give
 * one or the other, by the processor. Returns the end. */
static char *put_decimal(char *at, double value)
{
    uint32_t digits;
    int exponent;
    if (seven_digits(&digits, &exponent, fabs(value)))
        return at + snprintf(at, NUMBER, "%14.6e", isnan(value) ? NAN : value);
    memset(at, ' ', 2);
    if (value < 0)
        at[1] = '-';
    for (int i = 9; i > 3; i--, digits /= 10)
        at[i] = (char)('0' + digits % 10);
    at[3] = '.';
    at[2] = (char)('0' + digits);
    int size = abs(exponent);
    at[10] = 'e';
    at[11] = exponent < 0 ? '-' : '+';
    at[12] = (char)('0' + size / 10);
    at[13] = (char)('0' + size % 10);
    return at + 14;
}

/* result NULL: rows of NaN. */
static void put_rows(const struct dat *dat, const hcy_azint_result *result)
{
    for (size_t i = 0; i < dat->n_bins; i++) {
        char row[3 * NUMBER], *at = put_decimal(row, dat->kind == GSAS ? 100 * dat->radial[i] : dat->radial[i]);
        *at++ = ' ';
        *at++ = ' ';
        at = put_decimal(at, result ? result->intensity[i] : NAN);
        if (dat->with_sigma) {
            *at++ = ' ';
            at = put_decimal(at, result ? result->sigma[i] : NAN);
        }
        *at++ = '\n';
        fwrite(row, 1, (size_t)(at - row), dat->out);
    }
}

/* A line each, whose words are pairs of a name and a number. */
static void put_dat_regions(const struct dat *dat, const hcy_region_sums *regions)
{
    for (size_t i = 0; regions && i < dat->n_regions; i++) {
        uint64_t row[HCY__REGION_VALUES];
        hcy__region_row(row, &regions[i]);
        fprintf(dat->out, "# region %s", dat->regions[i]);
        /* Counts of pixels are no larger than a signed number can be. */
        for (size_t k = 0; k < HCY__REGION_VALUES; k++)
            fprintf(dat->out, " %s %lld", hcy__region_values[k], (long long)row[k]);
        fputc('\n', dat->out);
    }
}

/* A failed frame is a comment, or rows of NaN where there are no comments. */
static void put_dat_frame(const struct dat *dat, uint64_t frame, const hcy_azint_result *result,
                          const hcy_region_sums *regions, const char *why)
{
    put_dat_regions(dat, regions);
    if (result || dat->kind != PYFAI)
        put_rows(dat, result);
    else
        fprintf(dat->out, "# frame %llu failed: %s\n", (unsigned long long)frame, why);
}

static int append_block(struct dat *dat, uint64_t frame, const hcy_azint_result *result,
                        const hcy_region_sums *regions, const char *why)
{
    if (dat->written && (dat->kind == FIT2D || dat->kind == GSAS))
        return hcy_fail(HCY_EINVAL, "%s is for one curve: name a file for each, by %%d", dat->path);
    if (dat->written++)
        fputs("\n\n", dat->out);
    if (result && dat->kind == PYFAI)
        fprintf(dat->out, "# frame %llu\n", (unsigned long long)frame);
    put_dat_frame(dat, frame, result, regions, why);
    /* A full disk is noticed at the frame that it lost. */
    if (fflush(dat->out) || ferror(dat->out))
        return fail_dat_write(dat->path, errno);
    return 0;
}

/* A frame that failed has no file, nor one of an earlier run, which would be taken for its curve. */
static int write_file(struct dat *dat, const char *path, uint64_t frame, const hcy_azint_result *result,
                      const hcy_region_sums *regions)
{
    int st = hcy__may_write(path, dat->keep_existing, NULL);
    /* The pattern may name one of the frames' own files with some number. */
    if (!st && hcy__is_among(dat->read, dat->n_read, path))
        st = hcy_fail(HCY_EINVAL, "%s is read; name other files for the results", path);
    if (!st && !result) {
        unlink(path);
        return 0;
    }
    if (!st)
        st = open_out(dat, path);
    if (!st) {
        put_dat_frame(dat, frame, result, regions, "");
        st = close_out(dat, HCY__WHOLE);
    }
    return st;
}

static int dat_append(void *state, uint64_t frame, const hcy_azint_result *result, const hcy_region_sums *regions,
                      const char *why)
{
    struct dat *dat = state;
    int st;
    /* The caller's thread may have any locale; printf() would write its decimal comma. */
    locale_t before = uselocale(dat->plain);
    if (dat->numbered.length) {
        char *path = hcy__numbered_path(&dat->numbered, frame);
        st = path ? write_file(dat, path, frame, result, regions)
                  : hcy_fail(HCY_ENOMEM, "no memory for a file's name");
        free(path);
    } else {
        st = append_block(dat, frame, result, regions, why);
    }
    uselocale(before);
    return st;
}

static const char *dat_place(void *state)
{
    const struct dat *dat = state;
    return dat->output ? hcy_output_place(dat->output) : NULL;
}

static int dat_close(void *state, enum hcy__curves_end end)
{
    struct dat *dat = state;
    int st = close_out(dat, end);
    if (dat->plain)
        freelocale(dat->plain);
    hcy_list_free(dat->read);
    for (size_t i = 0; i < dat->n_regions; i++)
        free(dat->regions[i]);
    free(dat->regions);
    free(dat->header);
    free(dat->radial);
    free(dat->path);
    free(dat);
    return st;
}

static int copy_region_names(struct dat *dat, const hcy__curves_head *head)
{
    const size_t n = head->opts.n_regions;
    dat->regions = n ? calloc(n, sizeof *dat->regions) : NULL;
    for (size_t i = 0; dat->regions && i < n; i++) {
        dat->regions[i] = strdup(head->opts.region_names[i]);
        dat->n_regions += dat->regions[i] != NULL;
        if (!dat->regions[i])
            break;
    }
    return dat->n_regions == n ? 0 : hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
}

static int fill_dat(struct dat *dat, const hcy__curves_head *head)
{
    dat->n_bins = head->plan.n_bins;
    dat->unit = head->plan.unit->name;
    dat->label = head->plan.unit->label;
    dat->with_sigma = head->with_sigma && dat->kind != FIT2D;
    if ((dat->kind == ROWS_AND_ERRORS || dat->kind == GSAS) && !head->with_sigma)
        return hcy_fail(HCY_EINVAL, "%s has a column of errors, and there are none: choose an error model, or .xy",
                        head->path);
    if (dat->kind == GSAS && strcmp(dat->unit, "2th_deg"))
        return hcy_fail(HCY_EINVAL, "%s is in 2theta, and the curves are in %s: choose the unit 2th_deg", head->path,
                        dat->unit);
    dat->keep_existing = head->opts.keep_existing;
    dat->path = strdup(head->path);
    dat->radial = malloc(dat->n_bins * sizeof *dat->radial);
    dat->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!dat->path || !dat->radial || !dat->plain)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    int st = copy_region_names(dat, head);
    if (st)
        return st;
    /* The plan may be gone before the last frame comes. */
    memcpy(dat->radial, head->plan.radial, dat->n_bins * sizeof *dat->radial);
    locale_t before = uselocale(dat->plain);
    st = make_header(dat, head);
    if (!st)
        st = hcy__numbered_parse(&dat->numbered, dat->path);
    /* Which files are read is asked once, not for each frame. */
    if (!st && dat->numbered.length && head->opts.source)
        st = hcy_stack_files(&dat->read, &dat->n_read, head->opts.source);
    /* A file a frame is complete as soon as it is there, and standard output has no name to grow under. */
    dat->growing = head->opts.growing && dat->kind == PYFAI && !dat->numbered.length && strcmp(dat->path, "-");
    if (!st && !dat->numbered.length)
        st = open_out(dat, dat->path);
    uselocale(before);
    return st;
}

static int open_text(void **state, const hcy__curves_head *head, enum kind kind)
{
    struct dat *dat = calloc(1, sizeof *dat);
    if (!dat)
        return hcy_fail(HCY_ENOMEM, "no memory to write %s", head->path);
    dat->kind = kind;
    int st = fill_dat(dat, head);
    /* A header that does not fit onto the disk is noticed before the first frame is computed. */
    if (!st && dat->out && (fflush(dat->out) || ferror(dat->out)))
        st = fail_dat_write(dat->path, errno);
    if (st) {
        /* Closing may set another error, which would hide the reason. */
        hcy_error why = *hcy_last_error();
        (void)!dat_close(dat, HCY__DISCARDED);
        return hcy_fail_again(&why);
    }
    *state = dat;
    return 0;
}

/* Between frames; where each has a file of its own there is none that it could stand in. */
static int dat_remark(void *state, const char *name, const char *text)
{
    struct dat *dat = state;
    if (!dat->out)
        return 0;
    put_lines(dat->out, name, text);
    return fflush(dat->out) || ferror(dat->out) ? fail_dat_write(dat->path, errno) : 0;
}

#define TEXT_FORMAT(name, kind, remark)                                                                                \
    static int name##_open(void **state, const hcy__curves_head *head)                                                 \
    {                                                                                                                  \
        return open_text(state, head, kind);                                                                           \
    }                                                                                                                  \
    const hcy__curves_format hcy__curves_##name = { #name,     name##_open, dat_append, dat_place,                     \
                                                    dat_close, remark,      NULL };
TEXT_FORMAT(dat, PYFAI, dat_remark)
TEXT_FORMAT(xy, ROWS, NULL)
TEXT_FORMAT(xye, ROWS_AND_ERRORS, NULL)
TEXT_FORMAT(chi, FIT2D, NULL)
TEXT_FORMAT(fxye, GSAS, NULL)
