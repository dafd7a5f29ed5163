/* h5_mrd_grid.c - what an ISMRMRD file's header says: the matrices and fields of view, and where acquisitions without a
 * trajectory lie.
 *
 * The header is XML.  Elements of one encoding are looked for by their names, whatever their prefix, and inside of
 * others where there are more of the same name.
 */
#include "h5_mrd.h"
#include "h5_read.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 1024, MOST_HEADER = 1 << 20 };

/* What follows the start of an element; NULL: there is none, or nothing in it (<x/>). */
static const char *find_element(const char *at, const char *name)
{
    while (at && (at = strchr(at, '<'))) {
        size_t n = strcspn(++at, " \t\r\n/>");
        const char *colon = memchr(at, ':', n), *local = colon ? colon + 1 : at;
        n -= (size_t)(local - at);
        if (n == strlen(name) && !memcmp(local, name, n))
            return (at = strchr(local, '>')) && at[-1] != '/' ? at + 1 : NULL;
    }
    return NULL;
}

/* Where an element of that name ends; NULL: nowhere. */
static const char *find_end(const char *at, const char *element)
{
    for (; at && (at = strstr(at, "</")); at += 2) {
        const char *name = at + 2, *colon;
        size_t n = strcspn(name, " \t\r\n>");
        if ((colon = memchr(name, ':', n))) {
            n -= (size_t)(colon + 1 - name);
            name = colon + 1;
        }
        if (n == strlen(element) && !memcmp(name, element, n))
            return at;
    }
    return NULL;
}

/* What follows the start of an element that is before its parent's end; NULL: there is none. */
static const char *find_inside(const char *parent_at, const char *parent, const char *name)
{
    const char *at = find_element(parent_at, name), *end = find_end(parent_at, parent);
    return at && (!end || at < end) ? at : NULL;
}

/* The whole number that an element is, or `otherwise`. */
static unsigned number_in(const char *at, const char *parent, const char *name, unsigned otherwise)
{
    at = find_inside(at, parent, name);
    if (at)
        at += strspn(at, " \t\r\n");
    /* What has a sign is none. */
    const unsigned long number = at && *at >= '0' && *at <= '9' ? strtoul(at, NULL, 10) : otherwise;
    return number <= UINT16_MAX ? (unsigned)number : otherwise;
}

static const char *const sizes[] = { "x", "y", "z" };

/* The number of a parameter that has a name, NAN if it is none; false: no parameter has it. */
static bool find_parameter(double *number, const char *at, const char *name)
{
    const size_t n = strlen(name);
    *number = NAN;
    while ((at = find_element(at, "name")))
        if (!strncmp(at, name, n) && at[n] == '<') {
            const char *value = find_element(at, "value"), *next = find_element(at, "name");
            char *end = NULL;
            const double said = value && (!next || value < next) ? strtod(value, &end) : 0;
            *number = end && end != value ? said : NAN;
            return true;
        }
    return false;
}

/* What one lobe of EPI's gradient is: all of it, or nothing, as what is left out would bend images. */
static int parse_lobe(struct hcy__mrd_grid *grid, const char *encoding, const char *path)
{
    static const char *const names[] = { "rampUpTime", "flatTopTime", "rampDownTime", "dwellTime" };
    enum { MOST = 1000000 }; /* us; no lobe takes a second */
    const char *at = find_element(encoding, "trajectoryDescription");
    double *const numbers[] = { &grid->up, &grid->flat, &grid->down, &grid->dwell };
    int named = 0, good = 0;
    for (int i = 0; i < 4; i++) {
        named += find_parameter(numbers[i], at, names[i]);
        good += *numbers[i] >= 0 && *numbers[i] <= MOST;
    }
    if (!named)
        grid->dwell = 0;
    /* Converters write 0 where the scanner says nothing. */
    if (!named || !find_parameter(&grid->delay, at, "acqDelayTime"))
        grid->delay = 0;
    return !named || (good == 4 && grid->up + grid->flat + grid->down > 0 && grid->dwell >= 1.0 / MOST)
               ? 0
               : hcy_fail(HCY_EFORMAT, "%s: its header (xml) describes EPI's gradient by a rampUpTime of %g us, a flatTopTime "
                                       "of %g, a rampDownTime of %g and a dwellTime of %g (nan: is not there), which are no "
                                       "lobe; all four of them are needed in its trajectoryDescription, or none", path,
                          grid->up, grid->flat, grid->down, grid->dwell);
}

static bool parse_header(struct hcy__mrd_grid *grid, const char *xml)
{
    static const char *const steps[] = { "kspace_encoding_step_1", "kspace_encoding_step_2" };
    const char *encoding = find_element(xml, "encoding"), *kind = find_element(encoding, "trajectory"),
               *matrix = find_inside(find_element(encoding, "encodedSpace"), "encodedSpace", "matrixSize"),
               *limits = find_element(encoding, "encodingLimits");
    if (!matrix || !kind || (strncmp(kind, "cartesian<", 10) && strncmp(kind, "epi<", 4)))
        return false;
    for (int d = 0; d < 3; d++)
        grid->sizes[d] = number_in(matrix, "matrixSize", sizes[d], 0);
    for (int i = 0; i < 2; i++)
        grid->middle[i] = number_in(find_element(limits, steps[i]), steps[i], "center", grid->sizes[i + 1] / 2);
    grid->is_epi = *kind == 'e';
    return grid->sizes[0] && grid->sizes[1] && grid->sizes[2];
}

/* What stands in comments is no element. */
static void blank_comments(char *xml)
{
    for (char *at = xml; (at = strstr(at, "<!--"));) {
        const char *end = strstr(at + 4, "-->");
        memset(at, ' ', end ? (size_t)(end + 3 - at) : strlen(at));
    }
}

/* Leaves of the text one encoding alone: what is optional must not be found in the next one. */
static void keep_encoding(char *xml, unsigned encoding)
{
    const char *begin = xml, *end = find_end(xml, "encoding");
    for (; encoding && end; encoding--) {
        begin = end + 2;
        end = find_end(begin, "encoding");
    }
    if (end)
        xml[end - xml] = 0;
    memmove(xml, encoding ? "" : begin, encoding ? 1 : strlen(begin) + 1);
}

char *hcy__mrd_read_header(hid_t dataset, unsigned encoding)
{
    char name[MOST_NAME] = "", *xml = NULL, *slash;
    hid_t file = H5Iget_file_id(dataset);
    if (file >= 0 && H5Iget_name(dataset, name, sizeof name - 4) > 0 && (slash = strrchr(name, '/')) &&
        (xml = malloc(MOST_HEADER))) {
        strcpy(slash + 1, "xml");
        hcy__h5_get_field(xml, MOST_HEADER, file, name);
        blank_comments(xml);
        keep_encoding(xml, encoding);
    }
    if (file >= 0)
        H5Fclose(file);
    return xml;
}

bool hcy__mrd_calibrates_image(const char *xml)
{
    const char *mode = find_element(find_element(find_element(xml, "encoding"), "parallelImaging"), "calibrationMode");
    /* Of another scan they are in modes that are "separate" or "external". */
    return mode && (!strncmp(mode, "embedded<", 9) || !strncmp(mode, "interleaved<", 12));
}

/* --- Spaces --- */

/* The number above 0 that an element is, or 0. */
static double real_in(const char *at, const char *parent, const char *name)
{
    at = find_inside(at, parent, name);
    const double number = at ? strtod(at, NULL) : 0;
    return isfinite(number) && number > 0 ? number : 0;
}

double hcy__mrd_noise_bandwidth(const char *xml)
{
    static const char system[] = "acquisitionSystemInformation";
    return real_in(find_element(xml, system), system, "relativeReceiverNoiseBandwidth");
}

int hcy__mrd_fill_space(hcy_host_array *a, const char *xml, const char *path)
{
    static const char *const spaces[] = { "encodedSpace", "reconSpace" };
    double numbers[2][2][3];
    const char *encoding = find_element(xml, "encoding");
    for (int i = 0; i < 2; i++) {
        const char *space = find_element(encoding, spaces[i]), *matrix = find_inside(space, spaces[i], "matrixSize"),
                   *view = find_inside(space, spaces[i], "fieldOfView_mm");
        for (int d = 0; d < 3; d++) {
            numbers[i][0][d] = number_in(matrix, "matrixSize", sizes[d], 0);
            numbers[i][1][d] = real_in(view, "fieldOfView_mm", sizes[d]);
        }
    }
    if (!(numbers[0][0][0] > 0 || numbers[1][0][0] > 0))
        return hcy_fail(HCY_ENOENT, "%s: no header beside its acquisitions (xml) says the sizes of an image", path);
    *a = (hcy_host_array){ .size = a->size, .bytes = 8, .rank = 3, .shape = { 2, 2, 3 },
                            .data = malloc(sizeof numbers) };
    if (!a->data)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for its spaces", path);
    memcpy(a->data, numbers, sizeof numbers);
    return 0;
}

/* --- Grids --- */

/* The gradient's area up to a time, of its height. */
static double area_until(const struct hcy__mrd_grid *grid, double time)
{
    const double all = grid->up + grid->flat + grid->down, t = fmin(fmax(time, 0), all), left = all - t;
    if (t < grid->up)
        return t * t / (2 * grid->up);
    if (left < grid->down)
        return grid->up / 2 + grid->flat + (grid->down - left * left / grid->down) / 2;
    return t - grid->up / 2;
}

/* Where half of the area has passed, which is what the lobe in front of a line has taken back, must be sampled. */
static int check_delay(const struct hcy__mrd_grid *grid, const char *path)
{
    const double half = (grid->up / 2 + grid->flat + grid->down / 2) / 2;
    return !(grid->dwell > 0) || grid->delay == 0 ||
                   (grid->delay > 0 && area_until(grid, grid->delay) < half &&
                    area_until(grid, grid->delay + grid->samples * grid->dwell) > half)
               ? 0
               : hcy_fail(HCY_EFORMAT, "%s: its header (xml) says an acqDelayTime of %g us (nan: is no number), with which %u "
                                       "samples of %g us each are not around the middle of EPI's gradient, of %g + %g + %g us",
                          path, grid->delay, grid->samples, grid->dwell, grid->up, grid->flat, grid->down);
}

int hcy__mrd_find_grid(struct hcy__mrd_grid *grid, const char *xml, const char *path)
{
    if (!parse_header(grid, xml))
        return hcy_fail(HCY_ENOENT, "%s: its acquisitions have no trajectory, and no header beside them (xml) that says on "
                                    "which Cartesian grid they are", path);
    const int st = parse_lobe(grid, grid->is_epi ? find_element(xml, "encoding") : NULL, path);
    return st ? st : check_delay(grid, path);
}

/* A line's samples are once around.  Frequency 0 is where half of the gradient's area has passed; where the header does
 * not say when the first sample is, the centre's is in the middle of it.  Whoever leaves the centre out (0) has it in
 * the middle of the samples.  A reversed line's lobe is the same in time; its sign is another. */
double hcy__mrd_place_of(const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *line, unsigned sample)
{
    const double step = (double)sample - (line->centre ? line->centre : grid->samples / 2);
    const double middle = (grid->up + grid->flat + grid->down) / 2, all = grid->dwell * grid->samples,
                 before = (grid->up / 2 + grid->flat + grid->down / 2) / 2;
    const double first = grid->delay > 0 ? grid->delay : middle - all / 2,
                 last = grid->delay > 0 ? first + all : middle + all / 2,
                 time = grid->delay > 0 ? first + sample * grid->dwell : middle + step * grid->dwell;
    const double place = grid->dwell > 0
                             ? (area_until(grid, time) - before) / (area_until(grid, last) - area_until(grid, first))
                             : step / grid->sizes[0];
    return line->is_reversed ? -place : place;
}

static int check_line(const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *lines, uint64_t number,
                      const char *path)
{
    const struct hcy__mrd_line *line = &lines[number];
    if (line->centre >= grid->samples || line->counters[0] >= grid->sizes[1] || line->counters[1] >= grid->sizes[2])
        return hcy_fail(HCY_EFORMAT, "%s: acquisition %llu of the image, of encoding steps %u and %u with the centre at "
                                     "sample %u, is not in the encoded matrix, %u x %u x %u", path,
                        (unsigned long long)number, line->counters[0], line->counters[1], line->centre, grid->sizes[0],
                        grid->sizes[1], grid->sizes[2]);
    return 0;
}

int hcy__mrd_fill_grid(hcy_host_array *a, const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *lines,
                       const char *path)
{
    int st = 0;
    float *to = a->data;
    for (uint64_t i = 0; !st && i < a->shape[0]; i++) {
        const struct hcy__mrd_line *line = &lines[i];
        st = check_line(grid, lines, i, path);
        for (uint64_t s = 0; s < a->shape[1]; s++) {
            *to++ = (float)hcy__mrd_place_of(grid, line, (unsigned)s + grid->pre);
            for (uint64_t d = 1; d < a->shape[2]; d++)
                *to++ = (float)(((double)line->counters[d - 1] - grid->middle[d - 1]) / grid->sizes[d]);
        }
    }
    return st;
}
