/* detector.c - the detectors known by name: sizes, gaps, spellings.  Constant tables, any thread.
 *
 * Names, sizes and gaps are pyFAI's (its detectors/_dectris.py and _psi.py), checked against it by
 * tests/azint_poni.c.  A detector whose shape is 0 takes that of its images.
 */
#include "azint_priv.h"

#include <ctype.h>
#include <string.h>

#define EIGER(name, aliases, h, w) \
    { name, aliases, 75e-6, 75e-6, h, w, { 514, 1030 }, { 37, 10 }, { 0, 0 }, 0, 1, 3 }
#define EIGER2(name, aliases, h, w, columns) \
    { name, aliases, 75e-6, 75e-6, h, w, { 512, 1028 }, { 38, 12 }, { 0, 0 }, columns, 1, 3 }
#define PILATUS(name, aliases, h, w, columns) \
    { name, aliases, 172e-6, 172e-6, h, w, { 195, 487 }, { 17, 7 }, { 0, 0 }, columns, 1, 3 }
#define PILATUS4(name, aliases, h, w, columns) \
    { name, aliases, 150e-6, 150e-6, h, w, { 255, 513 }, { 20, 7 }, { 0, 0 }, columns, 1, 3 }
#define JUNGFRAU(name, aliases, h, w) \
    { name, aliases, 75e-6, 75e-6, h, w, { 514, 1030 }, { 36, 8 }, { 0, 0 }, 0, 1, 3 }

static const hcy_detector detectors[] = {
    { "Detector", "generic", 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3 },
    { "NexusDetector", "", 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3 },
    EIGER("Eiger", "", 0, 0),
    EIGER("Eiger500k", "", 514, 1030),
    EIGER("Eiger1M", "", 1065, 1030),
    EIGER("Eiger4M", "", 2167, 2070),
    EIGER("Eiger9M", "", 3269, 3110),
    EIGER("Eiger16M", "", 4371, 4150),
    EIGER2("Eiger2", "", 0, 0, 0),
    EIGER2("Eiger2_250k", "", 512, 512, 0),
    EIGER2("Eiger2_500k", "", 512, 1028, 0),
    EIGER2("Eiger2_1M", "", 1062, 1028, 0),
    EIGER2("Eiger2_1MW", "", 512, 2068, 0),
    EIGER2("Eiger2_2MW", "", 512, 4148, 0),
    EIGER2("Eiger2_4M", "", 2162, 2068, 0),
    EIGER2("Eiger2_9M", "", 3262, 3108, 0),
    EIGER2("Eiger2_16M", "", 4362, 4148, 0),
    EIGER2("Eiger2CdTe", "", 0, 0, 2),
    EIGER2("Eiger2CdTe_500k", "", 512, 1028, 2),
    EIGER2("Eiger2CdTe_1M", "", 1062, 1028, 2),
    EIGER2("Eiger2CdTe_1MW", "", 512, 2068, 2),
    EIGER2("Eiger2CdTe_2MW", "", 512, 4148, 2),
    EIGER2("Eiger2CdTe_4M", "", 2162, 2068, 2),
    EIGER2("Eiger2CdTe_9M", "", 3262, 3108, 2),
    EIGER2("Eiger2CdTe_16M", "", 4362, 4148, 2),
    PILATUS("Pilatus", "", 0, 0, 0),
    PILATUS("Pilatus100k", "", 195, 487, 0),
    PILATUS("Pilatus200k", "", 407, 487, 0),
    PILATUS("Pilatus300k", "", 619, 487, 0),
    PILATUS("Pilatus300kw", "", 195, 1475, 0),
    PILATUS("Pilatus900k", "", 619, 1475, 0),
    PILATUS("Pilatus1M", "", 1043, 981, 0),
    PILATUS("Pilatus2M", "", 1679, 1475, 0),
    PILATUS("Pilatus6M", "", 2527, 2463, 0),
    PILATUS("PilatusCdTe", "", 0, 0, 3),
    PILATUS("PilatusCdTe300k", "Pilatus 300k CdTe", 619, 487, 3),
    PILATUS("PilatusCdTe300kw", "Pilatus 300kw CdTe", 195, 1475, 3),
    PILATUS("PilatusCdTe900kw", "Pilatus 900kw CdTe", 195, 4439, 3),
    PILATUS("PilatusCdTe1M", "Pilatus 1M CdTe", 1043, 981, 3),
    PILATUS("PilatusCdTe2M", "Pilatus 2M CdTe", 1679, 1475, 3),
    PILATUS4("Pilatus4", "", 0, 0, 0),
    PILATUS4("Pilatus4_1M", "", 1080, 1033, 0),
    PILATUS4("Pilatus4_2M", "", 1630, 1553, 0),
    PILATUS4("Pilatus4_4M", "", 2180, 2073, 0),
    PILATUS4("Pilatus4_260k", "", 530, 513, 0),
    PILATUS4("Pilatus4_260kw", "", 255, 1033, 0),
    PILATUS4("Pilatus4_CdTe", "", 0, 0, 1),
    PILATUS4("Pilatus4_CdTe_1M", "Pilatus4 1M CdTe", 1080, 1033, 1),
    PILATUS4("Pilatus4_CdTe_2M", "Pilatus4 2M CdTe", 1630, 1553, 1),
    PILATUS4("Pilatus4_CdTe_4M", "Pilatus4 4M CdTe", 2180, 2073, 1),
    PILATUS4("Pilatus4_CdTe_260k", "Pilatus4 260k CdTe", 530, 513, 1),
    PILATUS4("Pilatus4_CdTe_260kw", "Pilatus4 260kw CdTe", 255, 1033, 1),
    { "Jungfrau", "Jungfrau 500k", 75e-6, 75e-6, 512, 1024, { 256, 256 }, { 0, 0 }, { 256, 256 }, 0, 0, 3 },
    JUNGFRAU("Jungfrau1M", "", 1064, 1030),
    JUNGFRAU("Jungfrau4M", "", 2164, 2068),
};
#define MAX_BINNING 16 /* more is a mistake */
#define N_DETECTORS (sizeof(detectors) / sizeof(detectors[0]))

const hcy_detector *hcy_detector_list(size_t *n)
{
    if (n)
        *n = N_DETECTORS;
    return detectors;
}

/* Whether the names are the same but for case, blanks, - and _.  `a` ends at a 0 or at '|'. */
static int same_name(const char *a, const char *b)
{
    for (;;) {
        while (*a == ' ' || *a == '-' || *a == '_')
            a++;
        while (*b == ' ' || *b == '-' || *b == '_')
            b++;
        if (!*a || *a == '|' || !*b)
            return (!*a || *a == '|') && !*b;
        if (tolower((unsigned char)*a++) != tolower((unsigned char)*b++))
            return 0;
    }
}

static int has_alias(const char *aliases, const char *name)
{
    while (*aliases) {
        /* Aliases are one text, parted by bars. */
        if (same_name(aliases, name))
            return 1;
        aliases += strcspn(aliases, "|");
        aliases += *aliases == '|';
    }
    return 0;
}

int hcy_detector_find(const hcy_detector **detector, const char *name)
{
    if (!detector || !name)
        return hcy_fail(HCY_EINVAL, "hcy_detector_find: %s is NULL", detector ? "name" : "detector");
    for (size_t i = 0; i < N_DETECTORS; i++) {
        if (same_name(detectors[i].name, name) || has_alias(detectors[i].aliases, name)) {
            *detector = &detectors[i];
            return 0;
        }
    }
    return hcy_fail(HCY_ENOENT,
                    "no detector is called '%.80s': there are the sizes of Eiger, Eiger2, Eiger2CdTe, "
                    "Pilatus, PilatusCdTe, Pilatus4, Pilatus4_CdTe and Jungfrau (Eiger4M, Eiger2_9M, "
                    "Pilatus1M, ...), 'Detector' with pixel1 and pixel2 for any other, and 'NexusDetector' with a file",
                    name);
}

/* How many detector pixels make one of the image's; 0: they do not fit. */
static uint32_t binning(uint32_t whole, size_t image)
{
    size_t bin = image ? whole / image : 0;

    return bin && bin <= MAX_BINNING && whole / bin == image ? (uint32_t)bin : 0;
}

int hcy__detector_binning(uint32_t bin[2], uint32_t height, uint32_t width, size_t image_height,
                          size_t image_width)
{
    bin[0] = height ? binning(height, image_height) : 1;
    bin[1] = width ? binning(width, image_width) : 1;
    return bin[0] && bin[1] ? 0 : HCY_EINVAL;
}

/* marks[i] |= 1 where the i-th row or column of the image has detector pixels in a gap, or in the `columns`
 * masked ones in the middle of a module. */
static void mark_gaps(uint8_t *marks, size_t n, uint32_t bin, uint32_t module, uint32_t gap, uint32_t columns)
{
    for (size_t i = 0; i < n; i++) {
        marks[i] = 0;
        for (size_t k = i * bin; k < (i + 1) * bin; k++) {
            /* Modules repeat with their gap, and the last one needs none behind it, so the remainder says
             * where a row lies. */
            size_t at = k % (module + gap), from = module / 2 - columns / 2;

            marks[i] |= at >= module || (at >= from && at < from + columns);
        }
    }
}

int hcy_detector_mask(uint8_t *mask, const hcy_detector *detector, size_t height, size_t width)
{
    uint32_t bin[2];
    size_t n;
    uint8_t *rows;

    if (!mask || !detector)
        return hcy_fail(HCY_EINVAL, "hcy_detector_mask: %s is NULL", mask ? "detector" : "mask");
    if (hcy__detector_binning(bin, detector->height, detector->width, height, width))
        return hcy_fail(HCY_EINVAL,
                        "the %s has %u x %u pixels: a mask of %zu x %zu does not fit it, binned or not",
                        detector->name, detector->height, detector->width, height, width);
    if (hcy_size_mul(&n, height, width))
        return hcy_fail(HCY_ERANGE, "a mask of %zu x %zu pixels is too large", height, width);
    memset(mask, 0, n);
    /* A detector of one piece has no gaps to mask. */
    if (!detector->module[0])
        return 0;
    if (!(rows = malloc(height + width)))
        return hcy_fail(HCY_ENOMEM, "no memory for the mask of %zu x %zu pixels", height, width);
    /* A pixel is in a gap if its row or its column is: two short lists say all. */
    mark_gaps(rows, height, bin[0], detector->module[0], detector->gap[0], 0);
    mark_gaps(rows + height, width, bin[1], detector->module[1], detector->gap[1], detector->masked_columns);
    for (size_t i = 0; i < height; i++) {
        for (size_t j = 0; j < width; j++)
            mask[i * width + j] = rows[i] | rows[height + j];
    }
    free(rows);
    return 0;
}
