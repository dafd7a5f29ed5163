/* info.c - halcyon info: what files are, and what would be done with them.
 *
 * Each kind of file has a function that says whether the file is of it, with what is to be said about it; they are
 * asked in turn, those that are surest of themselves first. */
#include "cli.h"
#include "geometry.h"
#include "info_arrays.h"
#include "inputs.h"
#include "plot.h"
#include <azint/azint_pixels.h>
#include <bslz4/bslz4_job.h>
#include <fcntl.h>
#include <halcyon/azint.h>
#include <halcyon/stack.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct values {
    const char *dataset, *channel;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in a stack (default: found)", 0, 0, NULL },
    { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2, difference ...", 0, 0, NULL },
    CLI_ISOLATE_OPTIONS,
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_info_command = {
    "info", "what a file is, and what would be done with it", "FILE...", 1, INT_MAX, options,
    "FILE may be a stack of frames, a mask or another image, a geometry, a\n"
    "configuration, a detector, or results of integrate.\n"
    "Exit status: 0 if all are known, 1 if not, 2 if the command line is wrong."
};

enum { KNOWN = 1 };

void info_say(const char *what, const char *fmt, ...)
{
    char text[2 * CLI_WORD];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    printf("  %-12s ", what);
    cli_print_words(stdout, text);
    putchar('\n');
}

static void say_geometry(const char *what, const hcy_poni *p)
{
    info_say(what, "%s, %g m away, PONI (%g, %g) m, turned by (%g, %g, %g) rad%s", p->detector ? p->detector->name : "a detector",
        p->dist, p->poni1, p->poni2, p->rot1, p->rot2, p->rot3, p->wavelength > 0 ? "" : "; no wavelength: units in q need one");
    if (p->wavelength > 0)
        info_say("", "wavelength %g A", 1e10 * p->wavelength);
    /* A thickness that is not said is one that absorbs all. */
    char thick[48] = "";
    if (p->sensor_thickness > 0)
        snprintf(thick, sizeof thick, ", %g um", 1e6 * p->sensor_thickness);
    if (*p->sensor_material)
        info_say("sensor", "%s%s%s", p->sensor_material, thick, p->parallax ? "; corrected for parallax" : "");
}

/* --- Texts --- */

/* The beginning of a file, as text: 0 if there is any and it has no zero in it. */
static int read_head(char *head, size_t size, const char *path)
{
    struct stat is;
    /* A pipe may have nobody who writes to it, and what is taken from it is gone for those who look next. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 && !fstat(fd, &is) && S_ISREG(is.st_mode) ? read(fd, head, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    head[n > 0 ? n : 0] = 0;
    return n <= 0 || memchr(head, 0, (size_t)n);
}

static int tell_json(const char *path, const char *head)
{
    char word[CLI_WORD];
    hcy_config *config;
    if (head[strspn(head, " \t\r\n")] != '{')
        return 0;
    /* A goniometer's file is JSON as well: where a geometry is wanted it is named, in builds without jansson too. */
    hcy_poni poni = HCY_PONI_INIT;
    if (hcy_poni_parse(&poni, head, strlen(head), path) == HCY_EUNSUPPORTED) {
        puts(hcy_last_error()->text);
        return KNOWN;
    }
    int status = hcy_config_read(&config, path);
    if (status) {
        printf("%s: JSON, and no configuration that can be used: %s\n", path, hcy_last_error()->text);
        return status == HCY_EUNSUPPORTED ? KNOWN : 0;
    }
    printf("%s: a configuration of pyFAI's (JSON)\n", path);
    if (config->has_poni)
        say_geometry("geometry", &config->poni);
    info_say("bins", "%zu%s of %s", config->options.npt, config->options.npt_azim ? " and more in azimuth," : "",
        config->options.unit);
    if (config->mask)
        info_say("mask", "%s", config->mask);
    info_say("then", "halcyon integrate STACK -j %s", cli_shell_word(word, sizeof word, path));
    hcy_config_free(config);
    return KNOWN;
}

static int tell_poni(const char *path, const char *head)
{
    char word[CLI_WORD];
    hcy_poni poni = HCY_PONI_INIT;
    /* Every version has these two keys. */
    if (!strstr(head, "Poni1") || !strstr(head, "Dist"))
        return 0;
    if (hcy_poni_read(&poni, path)) {
        printf("%s: a PONI file that cannot be used: %s\n", path, hcy_last_error()->text);
        return KNOWN;
    }
    printf("%s: a geometry (PONI file)\n", path);
    say_geometry("geometry", &poni);
    if (*poni.detector_file)
        info_say("detector", "of the file %s", poni.detector_file);
    info_say("then", "halcyon integrate STACK -p %s", cli_shell_word(word, sizeof word, path));
    return KNOWN;
}

/* --- Results --- */

static int tell_results(const char *path)
{
    char word[CLI_WORD];
    hcy_results *results;
    if (hcy_results_open(&results, path))
        return 0;
    const hcy_results_info *info = hcy_results_get_info(results);
    printf("%s: %llu %s of integration\n", path, (unsigned long long)info->rows,
           info->n_azim ? (info->rows == 1 ? "cake (image in radius and azimuth)" : "cakes (images in radius and azimuth)")
                        : (info->rows == 1 ? "pattern (curve)" : "patterns (curves)"));
    info_say("axis", "%zu bins of %s, %g to %g", info->n_radial, *info->unit ? info->unit : "an unknown unit", info->radial[0],
        info->radial[info->n_radial - 1]);
    if (info->n_azim)
        info_say("azimuth", "%zu bins%s%s, %g to %g%s", info->n_azim, strcmp(info->azimuth_unit, "chi_deg") ? " of " : "",
            strcmp(info->azimuth_unit, "chi_deg") ? info->azimuth_unit : "", info->azimuthal[0],
            info->azimuthal[info->n_azim - 1], strcmp(info->azimuth_unit, "chi_deg") ? "" : " degrees");
    info_say("errors", "%s", info->has_sigma ? "yes" : "none");
    if (info->failed)
        info_say("failed", "%llu of the frames, which have no curve, frame %llu first", (unsigned long long)info->failed,
            (unsigned long long)info->first_failed);
    if (info->pixels)
        info_say("sums", "%s", info->has_sums ? "of each frame's bins: they can be added and rebinned"
                                         : "data x norm, where a frame has lost no pixel (integrate --sums: of each frame)");
    if (*info->definition)
        info_say("definition", "%s (NeXus)", info->definition);
    tell_regions(path);
    info_say("then", "halcyon plot %s", cli_shell_word(word, sizeof word, path));
    hcy_results_close(results);
    return KNOWN;
}

/* --- Images --- */

/* A single image of zeros and something else is most likely a mask. */
static int is_mask(const hcy_stack_info *info, const char *path)
{
    hcy_image *image;
    if (info->frames != 1 || info->pixel_type == HCY_PIXEL_F32 || info->pixel_type == HCY_PIXEL_F64 ||
        hcy_image_read(&image, path))
        return 0;
    const unsigned char *at = image->pixels;
    int is = 1;
    /* Little-endian: a 0 or a 1 has zeros behind its first byte. */
    for (size_t i = 0; i < image->bytes && is; i++)
        is = at[i] <= (i % image->elem_size == 0);
    hcy_image_free(image);
    return is;
}

static void say_corrections(const hcy_stack *stack)
{
    hcy_corrections *own;
    if (hcy_corrections_read(&own, stack, NULL, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT)) {
        info_say("corrections", "cannot be read: %s", hcy_last_error()->text);
        return;
    }
    if (own->mask)
        info_say("mask", "%s, %llu pixels; used, unless --no-file-mask", own->mask_name, (unsigned long long)own->n_masked);
    if (*own->flat_name)
        info_say("flat field", "%s; %s", own->flat_name, own->flat ? "used, unless --no-file-flatfield" : "not used");
    hcy_corrections_free(own);
}

static int say_own_geometry(const hcy_stack_info *info)
{
    hcy_detector_info *detector = cli_own_detector(info);
    hcy_poni poni = HCY_PONI_INIT;
    if (!detector)
        return 0;
    int whole = !hcy_detector_geometry(&poni, detector, info->height, info->width);
    if (whole)
        say_geometry("geometry", &poni);
    else
        info_say("geometry", "%s: give -p", hcy_last_error()->text);
    hcy_detector_info_free(detector);
    return whole;
}

/* The command that integrates what is shown here, of which the user may have named a part. */
static void say_integrate(const char *path, const struct values *v, int has_geometry)
{
    char file[CLI_WORD], dataset[CLI_WORD], channel[CLI_WORD];
    info_say("then", "halcyon integrate %s%s%s%s%s%s", cli_shell_word(file, sizeof file, path),
             v->dataset ? " --dataset " : "", v->dataset ? cli_shell_word(dataset, sizeof dataset, v->dataset) : "",
             v->channel ? " --channel " : "", v->channel ? cli_shell_word(channel, sizeof channel, v->channel) : "",
             has_geometry ? "" : " -p GEOMETRY.poni");
}

/* Plain pixels are found by counting, so that a file that was cut off is opened as any other: its last frame is asked
 * for, which costs one read. */
static void say_truncated(hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    size_t size = 0;
    void *bytes = info->codec == HCY_CODEC_NONE && !*info->dataset && info->frames ? malloc(info->frame_bytes) : NULL;
    if (bytes && hcy_stack_read(&size, bytes, info->frame_bytes, stack, info->frames - 1) == HCY_ECORRUPT)
        info_say("damaged", "%s", hcy_last_error()->text);
    free(bytes);
}

static void tell_frames(hcy_stack *stack, const char *path, const struct values *v)
{
    char word[CLI_WORD];
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    if (is_mask(info, path)) {
        printf("%s: a mask of %u x %u pixels, or an image of zeros and ones\n", path, info->height, info->width);
        info_say("then", "halcyon integrate STACK -p GEOMETRY.poni --mask %s", cli_shell_word(word, sizeof word, path));
        return;
    }
    printf("%s: %s%llu %s of %u x %u %s\n", path, info->frames == 1 ? "" : "a stack of ", (unsigned long long)info->frames,
           info->frames == 1 ? "frame" : "frames", info->height, info->width, hcy_pixel_name(info->pixel_type));
    if (*info->dataset)
        info_say("dataset", "%s", info->dataset);
    if (*info->channel_name)
        info_say("channel", "%s", info->channel_name);
    const char *coded =
        info->codec == HCY_CODEC_NONE ? "plain, or decoded while it is read" : hcy_bslz4_codec_name(info->codec);
    info_say("stored", "%s; %.1f MB of pixels in %.1f MB", coded, 1e-6 * (double)info->raw_bytes,
        1e-6 * (double)info->stored_bytes);
    if (info->expected > info->frames)
        info_say("expected", "%llu frames: --follow waits for the others", (unsigned long long)info->expected);
    say_truncated(stack);
    say_corrections(stack);
    /* Only a stack that is a dataset of a file can have its detector described beside it. */
    int has_geometry = *info->dataset && say_own_geometry(info);
    say_integrate(path, v, has_geometry);
}

static int tell_detector(const char *path)
{
    char word[CLI_WORD];
    hcy_detector_info *detector;
    if (hcy_detector_read(&detector, path))
        return 0;
    /* A master without its data has the pixels' size as well, and why it is no stack says more. */
    if (!detector->height) {
        hcy_detector_info_free(detector);
        return 0;
    }
    printf("%s: a detector%s%s of %u x %u pixels\n", path, *detector->description ? ", " : "", detector->description,
           detector->height, detector->width);
    info_say("pixels", "%g x %g um%s", 1e6 * detector->pixel1, 1e6 * detector->pixel2,
        detector->corners ? ", each with corners of its own" : "");
    info_say("then", "halcyon integrate STACK -p GEOMETRY.poni --detector %s", cli_shell_word(word, sizeof word, path));
    hcy_detector_info_free(detector);
    return KNOWN;
}

/* --- The command --- */

/* After tell_array(): BART's files are arrays, whatever is wrong with them, NumPy's are where they are NumPy's, and so
 * are NIfTI's, which nothing here reads. */
static bool is_broken_array(const char *path)
{
    const char *format;
    const bool is_of_format = hcy_last_error()->status != HCY_EFORMAT;
    return !hcy_format_of(&format, path, HCY_WRITE_ARRAY) &&
           (!strcmp(format, "cfl") || (!strcmp(format, "nii") && !access(path, F_OK)) ||
            (is_of_format && (!strcmp(format, "npy") || !strcmp(format, "npz"))));
}

static int tell(const char *path, const char *const *files, size_t n, const struct values *v)
{
    char head[8192];
    hcy_stack *stack;
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    opts.dataset = v->dataset;
    opts.channel = v->channel;
    int is_text = !read_head(head, sizeof head, path);
    /* Texts come first, as they are told apart by their first bytes; stacks and detectors, by opening them. */
    if (n == 1 && is_text && (tell_json(path, head) || tell_poni(path, head)))
        return CLI_OK;
    /* Results may be HDF5 too, and would be taken for a stack; who names a dataset means that. */
    if (n == 1 && !v->dataset && (tell_results(path) || tell_kind(path)))
        return CLI_OK;
    int status = hcy_stack_open_files(&stack, files, n, &opts);
    if (!status) {
        if (n > 1)
            printf("%zu files from %s on, as one stack\n", n, files[0]);
        tell_frames(stack, path, v);
        hcy_stack_close(stack);
        return CLI_OK;
    }
    /* If it is no detector either, why it is no stack says most, but of a file that was to be an array. */
    hcy_error why = *hcy_last_error();
    if (n == 1 && (tell_detector(path) || tell_array(path)))
        return CLI_OK;
    return cli_fail(n == 1 && is_broken_array(path) ? hcy_last_error()->status : hcy_fail_again(&why));
}

/* FILE.h5:DATASET: an array of a file that is there, and no file's own name. */
static bool names_array(const char *word)
{
    char file[PATH_MAX];
    const size_t n = hcy_file_length(word);
    if (!word[n] || !plot_is_array(word) || n >= sizeof file)
        return false;
    memcpy(file, word, n);
    file[n] = 0;
    return access(word, F_OK) && !access(file, F_OK);
}

int cli_info(int argc, char **argv)
{
    struct values values = { 0 };
    int status, unknown = 0;
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return cli_error("out of memory for %d words", argc);
    if (cli_parse(&cli_info_command, argc, argv, &values, words, &status)) {
        free(words);
        return status;
    }
    for (size_t i = 0; words[i]; i++) {
        struct inputs in;
        if (names_array(words[i])) {
            if (!tell_array(words[i]))
                unknown |= cli_fail(hcy_last_error()->status) != CLI_OK;
            continue;
        }
        status = inputs_find(&in, words + i, 1);
        if (!status)
            status = tell(in.n == 1 ? in.files[0] : words[i], in.files, in.n, &values);
        /* One file that is not known does not keep the others from being told. */
        unknown |= status != CLI_OK;
        inputs_free(&in);
    }
    free(words);
    return cli_close_stdout(unknown ? CLI_FAILED : CLI_OK);
}
