/* detector_mask.c - which pixels of a detector known by name are none, and what image sizes it has.  No state; any
 * thread. */
#include "azint_priv.h"
#include "detector.h"

#include <math.h>
#include <string.h>

#define MAX_BINNING 16 /* more is a mistake */
#define CHIP        256

const struct hcy__detector_layout *hcy__detector_layout(const hcy_detector *detector)
{
    static const struct hcy__detector_layout none = { .mask = DETECTOR_GAPS };

    return detector && detector->layout ? detector->layout : &none;
}

double hcy__detector_mode(const hcy_detector *detector, size_t height, size_t width)
{
    const struct hcy__detector_mode *mode = hcy__detector_layout(detector)->modes;

    for (; mode && mode->side; mode++)
        if (mode->side == height && mode->side == width)
            return mode->pixel;
    return 0;
}

/* How many detector pixels make one of the image's; 0: they do not fit. */
static uint32_t binning(uint32_t whole, size_t image)
{
    size_t bin = image ? whole / image : 0;

    return bin && bin <= MAX_BINNING && whole / bin == image ? (uint32_t)bin : 0;
}

int hcy__detector_binning(uint32_t bin[2], uint32_t height, uint32_t width, size_t image_height, size_t image_width)
{
    bin[0] = height ? binning(height, image_height) : 1;
    bin[1] = width ? binning(width, image_width) : 1;
    return bin[0] && bin[1] ? 0 : HCY_EINVAL;
}

/* --- Masks of rows and columns --- */

/* Whether the k-th row or column of a detector has pixels to be masked. */
struct lines {
    enum detector_mask mask;
    uint32_t period, gap, columns; /* the last: masked in the middle of each period */
};

static int is_masked_line(const struct lines *l, size_t k)
{
    /* Modules repeat with their gap, and the last one needs none behind it, so the remainder says where a row lies. */
    size_t at = k % (l->period + l->gap), from = l->period / 2 - l->columns / 2, in_chip = at % (CHIP + 2);

    if (l->mask == DETECTOR_CHIP_EDGES)
        return at == 0 || at == l->period - 1;
    /* A module's own outer edges are no joints. */
    if (l->mask == DETECTOR_JOINTS)
        return (in_chip >= CHIP - 1 && at + 1 < l->period) || (in_chip == 0 && at > 0);
    return at >= l->period || (at >= from && at < from + l->columns);
}

static void mark_lines(uint8_t *marks, size_t n, uint32_t bin, const struct lines *l)
{
    for (size_t i = 0; i < n; i++) {
        marks[i] = 0;
        for (size_t k = i * bin; l->period && k < (i + 1) * bin; k++)
            marks[i] |= is_masked_line(l, k) != 0;
    }
}

/* A pixel is masked if its row or its column is: two short lists say all. */
static int mask_lines(uint8_t *mask, const hcy_detector *d, size_t height, size_t width, const uint32_t bin[2])
{
    const struct hcy__detector_layout *layout = hcy__detector_layout(d);
    uint8_t *marks = malloc(height + width);

    if (!marks)
        return hcy_fail(HCY_ENOMEM, "no memory for the mask of %zu x %zu pixels", height, width);
    for (int axis = 0; axis < 2; axis++) {
        uint32_t period = layout->period[axis] ? layout->period[axis] : d->chip[axis];
        const struct lines l = { layout->mask, layout->mask == DETECTOR_GAPS ? d->module[axis] : period,
                                 layout->mask == DETECTOR_GAPS ? d->gap[axis] : 0, axis ? d->masked_columns : 0 };

        mark_lines(axis ? marks + height : marks, axis ? width : height, bin[axis], &l);
    }
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++)
            mask[i * width + j] = marks[i] | marks[height + j];
    free(marks);
    return 0;
}

/* --- Masks of other shapes --- */

/* Pixels whose centre lies outside the circle around the image's middle: pyFAI's, also of binned images. */
static void mask_disc(uint8_t *mask, size_t height, size_t width)
{
    double middle = (double)(height / 2), centre = (double)(width / 2);

    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++) {
            double y = (double)i + 0.5 - middle, x = (double)j + 0.5 - centre;

            mask[i * width + j] = y * y + x * x > middle * middle;
        }
}

/* An image's pixel counts where all of its detector pixels are chips'. */
static void mask_outside_chips(uint8_t *mask, const struct hcy__detector_layout *layout, size_t height, size_t width,
                               const uint32_t bin[2])
{
    memset(mask, 1, height * width);
    for (size_t c = 0; c < layout->n_chips; c++) {
        size_t i0 = layout->chips[c][0], j0 = layout->chips[c][1];

        for (size_t i = (i0 + bin[0] - 1) / bin[0]; (i + 1) * bin[0] <= i0 + CHIP && i < height; i++)
            for (size_t j = (j0 + bin[1] - 1) / bin[1]; (j + 1) * bin[1] <= j0 + CHIP && j < width; j++)
                mask[i * width + j] = 0;
    }
}

int hcy_detector_mask(uint8_t *mask, const hcy_detector *detector, size_t height, size_t width)
{
    const struct hcy__detector_layout *layout = hcy__detector_layout(detector);
    uint32_t bin[2] = { 1, 1 };
    size_t n;

    if (!mask || !detector)
        return hcy_fail(HCY_EINVAL, "hcy_detector_mask: %s is NULL", mask ? "detector" : "mask");
    if (hcy__detector_mode(detector, height, width) <= 0 &&
        hcy__detector_binning(bin, detector->height, detector->width, height, width))
        return hcy_fail(HCY_EINVAL,
                        "the %s has %u x %u pixels: a mask of %zu x %zu does not fit it, binned or not",
                        detector->name, detector->height, detector->width, height, width);
    if (hcy_size_mul(&n, height, width))
        return hcy_fail(HCY_ERANGE, "a mask of %zu x %zu pixels is too large", height, width);
    memset(mask, 0, n);
    if (layout->mask == DETECTOR_DISC)
        mask_disc(mask, height, width);
    else if (layout->mask == DETECTOR_CHIPS)
        mask_outside_chips(mask, layout, height, width, bin);
    else if (layout->mask != DETECTOR_GAPS || detector->module[0])
        return mask_lines(mask, detector, height, width, bin);
    return 0;
}
