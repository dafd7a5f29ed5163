/* detector.c - the detectors known by name: sizes, gaps, spellings.  Constant tables, any thread.
 *
 * Names, sizes and gaps are pyFAI's, checked against it by tests/azint_detectors.c and tests/peers.t.  A detector whose
 * shape is 0 takes that of its images; shape and pixels are those of the whole detector, unbinned.
 */
#include "azint_priv.h"
#include "detector.h"

#include <ctype.h>
#include <string.h>

#define EIGER(name, aliases, h, w) \
    { name, aliases, 75e-6, 75e-6, h, w, { 514, 1030 }, { 37, 10 }, { 0, 0 }, 0, 1, 3, NULL, 0 }
#define EIGER2(name, aliases, h, w, columns) \
    { name, aliases, 75e-6, 75e-6, h, w, { 512, 1028 }, { 38, 12 }, { 0, 0 }, columns, 1, 3, NULL, 0 }
#define PILATUS(name, aliases, h, w, columns) \
    { name, aliases, 172e-6, 172e-6, h, w, { 195, 487 }, { 17, 7 }, { 0, 0 }, columns, 1, 3, NULL, 0 }
#define PILATUS4(name, aliases, h, w, columns) \
    { name, aliases, 150e-6, 150e-6, h, w, { 255, 513 }, { 20, 7 }, { 0, 0 }, columns, 1, 3, NULL, 0 }
#define JUNGFRAU(name, aliases, h, w) \
    { name, aliases, 75e-6, 75e-6, h, w, { 514, 1030 }, { 36, 8 }, { 0, 0 }, 0, 1, 3, NULL, 0 }

/* One piece, or what is made of modules that lie in the image without a gap. */
#define PLAIN(name, aliases, pixel, h, w) \
    { name, aliases, pixel, pixel, h, w, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, NULL, 0 }
#define MEDIPIX(name, aliases, h, w) \
    { name, aliases, 55e-6, 55e-6, h, w, { 256, 256 }, { 4, 4 }, { 0, 0 }, 0, 0, 3, NULL, 0 }
#define SPECIAL(name, aliases, pixel, h, w, layout) \
    { name, aliases, pixel, pixel, h, w, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, layout, 0 }
/* Pixels that are no grid. */
#define ODD(name, aliases, pixel, h, w, layout) \
    { name, aliases, pixel, pixel, h, w, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, layout, 1 }
#define XPAD(name, aliases, h, w, chip_h, chip_w, layout, odd) \
    { name, aliases, 130e-6, 130e-6, h, w, { 0, 0 }, { 0, 0 }, { chip_h, chip_w }, 0, 0, 3, layout, odd }
#define PIXIRAD(name, w) \
    { name, "", 0.5 * SQRT3 * 60e-6, 60e-6, 476, w, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, &hexagons, 1 }
#define SQRT3 1.7320508075688772

/* Images whose pixels are not whole multiples of the smallest ones: how many there are across, and how large. */
static const struct hcy__detector_mode mar345_modes[] = { { 3450, 100e-6 }, { 3000, 100e-6 }, { 2400, 100e-6 },
                                                          { 1800, 100e-6 }, { 2300, 150e-6 }, { 2000, 150e-6 },
                                                          { 1600, 150e-6 }, { 1200, 150e-6 }, { 0, 0 } };
static const struct hcy__detector_mode sx165_modes[] = { { 1364, 118.616e-6 }, { 1365, 118.616e-6 }, { 0, 0 } };
static const struct hcy__detector_mode mx225_modes[] = { { 2048, 109.971e-6 }, { 768, 292.969e-6 }, { 0, 0 } };
static const struct hcy__detector_mode mx300_modes[] = { { 2730, 109.971e-6 }, { 1024, 292.969e-6 }, { 0, 0 } };
static const struct hcy__detector_mode mx325_modes[] = {
    { 2730, 119.135e-6 }, { 2048, 158.691e-6 }, { 1024, 317.383e-6 }, { 0, 0 }
};

static const struct hcy__detector_layout disc = { .mask = DETECTOR_DISC },
                                         mar345 = { .mask = DETECTOR_DISC, .modes = mar345_modes },
                                         sx165 = { .mask = DETECTOR_DISC, .modes = sx165_modes },
                                         mx225 = { .modes = mx225_modes }, mx300 = { .modes = mx300_modes },
                                         mx325 = { .modes = mx325_modes };
static const struct hcy__detector_layout imxpad = { .mask = DETECTOR_CHIP_EDGES, .period = { 0, 0 }, .border = 2.5 };
/* Modules of 120 rows, 3.57 mm apart, and twenty of seven chips around the sample. */
static const struct hcy__detector_layout xpad_flat = {
    .mask = DETECTOR_CHIP_EDGES, .period = { 120, 80 }, .border = 2.5, .pixels = DETECTOR_APART, .gap = 3.57e-3
};
static const struct hcy__detector_layout cirpad = {
    .mask = DETECTOR_CHIP_EDGES, .period = { 80, 120 }, .border = 2.5, .pixels = DETECTOR_ROUND
};
static const struct hcy__detector_layout aarhus = { .pixels = DETECTOR_BENT, .radius = 0.29989 },
                                         rapid = { .pixels = DETECTOR_BENT, .radius = 0.12726 },
                                         hexagons = { .pixels = DETECTOR_HEXAGONS };
/* Modules whose images have two pixels for what is between chips, beside which the chips' own are masked too. */
static const struct hcy__detector_layout jungfrau_cor = { .mask = DETECTOR_JOINTS, .period = { 514, 1030 } };
/* The first pixels of chips of 256 x 256. */
static const uint16_t jungfrau8m_chips[][2] = {
    { 1, 607 }, { 1, 866 }, { 1, 1124 }, { 1, 1382 }, { 69, 1646 }, { 69, 1905 }, { 69, 2163 },
    { 69, 2421 }, { 259, 607 }, { 259, 866 }, { 259, 1124 }, { 259, 1382 }, { 328, 1646 }, { 328, 1905 },
    { 328, 2163 }, { 328, 2421 }, { 550, 607 }, { 550, 866 }, { 550, 1124 }, { 550, 1382 }, { 619, 1646 },
    { 619, 1905 }, { 619, 2163 }, { 619, 2421 }, { 667, 2698 }, { 667, 2957 }, { 809, 607 }, { 809, 866 },
    { 809, 1124 }, { 809, 1382 }, { 597, 69 }, { 597, 328 }, { 856, 69 }, { 856, 328 }, { 878, 1646 },
    { 878, 1905 }, { 878, 2163 }, { 878, 2421 }, { 926, 2698 }, { 926, 2957 }, { 1185, 2698 },
    { 1185, 2957 }, { 1100, 607 }, { 1100, 866 }, { 1100, 1124 }, { 1100, 1382 }, { 1114, 69 },
    { 1114, 328 }, { 1169, 1646 }, { 1169, 1905 }, { 1169, 2163 }, { 1169, 2421 }, { 1359, 607 },
    { 1359, 866 }, { 1359, 1124 }, { 1359, 1382 }, { 1372, 69 }, { 1372, 328 }, { 1428, 1646 },
    { 1428, 1905 }, { 1428, 2163 }, { 1428, 2421 }, { 1442, 2698 }, { 1442, 2957 }, { 1636, 1 },
    { 1636, 259 }, { 1650, 538 }, { 1650, 797 }, { 1650, 1055 }, { 1650, 1313 }, { 1706, 2629 },
    { 1706, 2888 }, { 1719, 1577 }, { 1719, 1836 }, { 1719, 2094 }, { 1719, 2352 }, { 1895, 1 },
    { 1895, 259 }, { 1909, 538 }, { 1909, 797 }, { 1909, 1055 }, { 1909, 1313 }, { 1965, 2629 },
    { 1965, 2888 }, { 1978, 1577 }, { 1978, 1836 }, { 1978, 2094 }, { 1978, 2352 }, { 2153, 1 },
    { 2153, 259 }, { 2200, 538 }, { 2200, 797 }, { 2200, 1055 }, { 2200, 1313 }, { 2223, 2629 },
    { 2223, 2888 }, { 2269, 1577 }, { 2269, 1836 }, { 2269, 2094 }, { 2269, 2352 }, { 2411, 1 },
    { 2411, 259 }, { 2459, 538 }, { 2459, 797 }, { 2459, 1055 }, { 2459, 1313 }, { 2481, 2629 },
    { 2481, 2888 }, { 2528, 1577 }, { 2528, 1836 }, { 2528, 2094 }, { 2528, 2352 }, { 2750, 538 },
    { 2750, 797 }, { 2750, 1055 }, { 2750, 1313 }, { 2819, 1577 }, { 2819, 1836 }, { 2819, 2094 },
    { 2819, 2352 }, { 3009, 538 }, { 3009, 797 }, { 3009, 1055 }, { 3009, 1313 }, { 3078, 1577 },
    { 3078, 1836 }, { 3078, 2094 }, { 3078, 2352 },
};
static const struct hcy__detector_layout jungfrau8m = {
    .mask = DETECTOR_CHIPS, .chips = jungfrau8m_chips, .n_chips = sizeof jungfrau8m_chips / sizeof jungfrau8m_chips[0]
};

static const hcy_detector detectors[] = {
    { "Detector", "generic", 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, NULL, 0 },
    { "NexusDetector", "", 0, 0, 0, 0, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, NULL, 0 },
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
    { "Jungfrau", "Jungfrau 500k", 75e-6, 75e-6, 512, 1024, { 256, 256 }, { 0, 0 }, { 256, 256 }, 0, 0, 3, NULL, 0 },
    JUNGFRAU("Jungfrau1M", "", 1064, 1030),
    JUNGFRAU("Jungfrau4M", "", 2164, 2068),
    SPECIAL("Jungfrau8M", "", 75e-6, 3333, 3212, &jungfrau8m),
    { "Jungfrau_16M_cor", "", 75e-6, 75e-6, 16448, 1030, { 0, 0 }, { 0, 0 }, { 514, 1030 }, 0, 0, 3, &jungfrau_cor, 0 },
    { "Mythen", "Mythen 1280", 8e-3, 50e-6, 1, 1280, { 0, 0 }, { 0, 0 }, { 0, 0 }, 0, 0, 3, NULL, 0 },
    PLAIN("ADSC_Q4", "Quantum 4", 51e-6, 2304, 2304),
    PLAIN("ADSC_Q210", "Quantum 210", 51e-6, 4096, 4096),
    PLAIN("ADSC_Q270", "Quantum 270", 51e-6, 4168, 4168),
    PLAIN("ADSC_Q315", "Quantum 315", 51e-6, 6144, 6144),
    PLAIN("HF_130K", "", 150e-6, 256, 512),
    PLAIN("HF_262k", "", 150e-6, 512, 512),
    PLAIN("HF_1M", "", 150e-6, 1024, 1024),
    PLAIN("HF_2M", "HF-2.4M", 150e-6, 1536, 1536),
    PLAIN("HF_4M", "", 150e-6, 2048, 2048),
    PLAIN("HF_9M", "HF-9.4M", 150e-6, 3072, 3072),
    PLAIN("FReLoN", "", 50e-6, 2048, 2048),
    MEDIPIX("Maxipix", "Maxipix 1x1", 256, 256),
    MEDIPIX("Maxipix2x2", "", 516, 516),
    MEDIPIX("Maxipix5x1", "", 256, 1296),
    MEDIPIX("Lambda60k", "", 256, 256),
    MEDIPIX("Lambda250k", "", 516, 516),
    MEDIPIX("Lambda750k", "", 516, 1556),
    MEDIPIX("Lambda2M", "", 1556, 1556),
    MEDIPIX("Lambda7M5", "Lambda 7.5M", 2596, 2596),
    MEDIPIX("Lambda10M", "", 2596, 4676),
    PLAIN("Lambda9M", "", 55e-6, 3868, 3227), /* its gaps differ from one to the next */
    PIXIRAD("Pixirad1", 512),
    PIXIRAD("Pixirad2", 1024),
    PIXIRAD("Pixirad4", 2048),
    PIXIRAD("Pixirad8", 4096),
    XPAD("ImXPadS10", "", 120, 80, 120, 80, &imxpad, 0),
    XPAD("ImXPadS70", "", 120, 560, 120, 80, &imxpad, 0),
    XPAD("ImXPadS70V", "", 560, 120, 80, 120, &imxpad, 0),
    XPAD("ImXPadS140", "", 240, 560, 120, 80, &imxpad, 0),
    XPAD("Xpad_flat", "Xpad S540 flat|d5", 960, 560, 0, 80, &xpad_flat, 1),
    XPAD("Cirpad", "XCirpad", 11200, 120, 80, 0, &cirpad, 1),
    ODD("Aarhus", "", 24.893e-6, 1000, 16000, &aarhus),
    ODD("Rapid", "RapidII", 100e-6, 2560, 4700, &rapid),
    PLAIN("Apex2", "ApexII|Bruker", 120e-6, 1024, 1024),
    PLAIN("Basler", "aca1300", 3.75e-6, 966, 1296),
    PLAIN("Dexela2923", "", 75e-6, 3888, 3072),
    PLAIN("Fairchild", "Condor|Fairchild Condor 486:90", 15e-6, 4096, 4096),
    PLAIN("Perkin", "Perkin detector|Perkin Elmer", 100e-6, 4096, 4096),
    PLAIN("Pixium", "Pixium 4700|Pixium 4700 detector|Thales Electronics", 154e-6, 1910, 2480),
    PLAIN("RaspberryPi5M", "Picam v1", 1.4e-6, 1944, 2592),
    PLAIN("RaspberryPi8M", "Picam v2", 1.12e-6, 2464, 3280),
    PLAIN("RaspberryPi12M", "Picam HQ", 1.55e-6, 3040, 4056),
    PLAIN("Titan", "Titan 2k x 2k|OXD Titan|Agilent Titan", 60e-6, 2048, 2048),
    SPECIAL("Mar345", "Mar3450", 100e-6, 3450, 3450, &mar345),
    PLAIN("Mar555", "", 139e-6, 3072, 2560),
    SPECIAL("Rayonix133", "MAR 133", 32e-6, 4096, 4096, &disc),
    PLAIN("RayonixLx170", "Rayonix LX170-HS", 44.2708e-6, 1920, 3840),
    PLAIN("RayonixLx255", "Rayonix LX255-HS|RayonixLX225HS", 44.2708e-6, 1920, 5760),
    PLAIN("RayonixMx170", "Rayonix MX170-HS", 44.2708e-6, 3840, 3840),
    SPECIAL("RayonixMx225", "MAR 225", 36.621e-6, 6144, 6144, &mx225),
    PLAIN("RayonixMx225hs", "", 39.0625e-6, 5760, 5760),
    SPECIAL("RayonixMx300", "MAR 300", 36.621e-6, 8192, 8192, &mx300),
    PLAIN("RayonixMx300hs", "", 39.0625e-6, 7680, 7680),
    SPECIAL("RayonixMx325", "", 39.673e-6, 8192, 8192, &mx325),
    PLAIN("RayonixMx340hs", "", 44.2708e-6, 7680, 7680),
    PLAIN("RayonixMx425hs", "", 44.2708e-6, 9600, 9600),
    SPECIAL("RayonixSx165", "MAR 165", 39.5e-6, 4096, 4096, &sx165),
    PLAIN("RayonixSx200", "", 48e-6, 4096, 4096),
    PLAIN("RayonixSx30hs", "", 15.625e-6, 1920, 1920),
    PLAIN("RayonixSx85hs", "", 44.2708e-6, 1920, 1920),
};
#define N_DETECTORS (sizeof(detectors) / sizeof(detectors[0]))

const hcy_detector *hcy_detector_list(size_t *n)
{
    if (n)
        *n = N_DETECTORS;
    return detectors;
}

int hcy__is_same_name(const char *a, const char *b)
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
        if (hcy__is_same_name(aliases, name))
            return 1;
        aliases += strcspn(aliases, "|");
        aliases += *aliases == '|';
    }
    return 0;
}

int hcy__detector_may_have_spline(const hcy_detector *d)
{
    return !d->module[0] && !d->chip[0] && !d->layout && strcmp(d->name, "NexusDetector");
}

int hcy_detector_find(const hcy_detector **detector, const char *name)
{
    if (!detector || !name)
        return hcy_fail(HCY_EINVAL, "hcy_detector_find: %s is NULL", detector ? "name" : "detector");
    for (size_t i = 0; i < N_DETECTORS; i++) {
        if (hcy__is_same_name(detectors[i].name, name) || has_alias(detectors[i].aliases, name)) {
            *detector = &detectors[i];
            return 0;
        }
    }
    return hcy_fail(HCY_ENOENT,
                    "no detector is called '%.80s': there are those of pyFAI by its names (Eiger4M, Eiger2CdTe_9M, "
                    "Pilatus1M, Pilatus4_2M, Jungfrau1M, RayonixMx225, Mar345, Maxipix2x2, Lambda750k, ImXPadS140, "
                    "Perkin, ...), 'Detector' with pixel1 and pixel2 for any other, and 'NexusDetector' with a file",
                    name);
}
