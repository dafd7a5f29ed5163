/* detector.h - what a detector has that its public description has no words for.  Constant tables, any thread. */
#ifndef HCY_AZINT_DETECTOR_H
#define HCY_AZINT_DETECTOR_H

#include <halcyon/azint.h>

/* What is masked beside the gaps between modules. */
enum detector_mask {
    DETECTOR_GAPS = 0,
    DETECTOR_DISC,       /* outside the circle that the rows' middle lies on */
    DETECTOR_CHIP_EDGES, /* first and last pixels of each period, both ways */
    DETECTOR_JOINTS,     /* four pixels where chips of 256 meet that are 2 apart, within each period */
    DETECTOR_CHIPS       /* outside the chips */
};

/* Where pixels are that are no grid; those have corners of their own. */
enum detector_pixels {
    DETECTOR_GRID = 0,
    DETECTOR_APART,   /* a grid for each period of rows, `gap` apart */
    DETECTOR_BENT,    /* columns along a circle around the sample, which touches the plane at column 0 */
    DETECTOR_ROUND,   /* Cirpad: twenty modules, each turned against the one before */
    DETECTOR_HEXAGONS /* pointed upwards, every other row half a pixel further */
};

/* A size of images, `side` pixels both ways, that is no whole binning. */
struct hcy__detector_mode {
    uint32_t side;
    double pixel;
};

struct hcy__detector_layout {
    enum detector_mask mask;
    enum detector_pixels pixels;
    uint32_t period[2];                     /* of the mask and of what is apart; 0, 0: the chips' */
    double border;                          /* pixels at chips' inner edges over the others; 0: 2 */
    double gap, radius;                     /* metres */
    const struct hcy__detector_mode *modes; /* up to one with side 0 */
    const uint16_t (*chips)[2];             /* first pixels of chips of 256 x 256 */
    size_t n_chips;
};

/* Whether the names are the same but for case, blanks, - and _.  `a` ends at a 0 or at '|'. */
int hcy__is_same_name(const char *a, const char *b);
/* Whether its pixels are where a distortion file says, given one: it is of one piece, and no other file says that. */
int hcy__detector_may_have_spline(const hcy_detector *detector);
/* That of a detector; all zeros where it has none. */
const struct hcy__detector_layout *hcy__detector_layout(const hcy_detector *detector);
/* The size of pixels in images of this shape that have a mode of their own, or 0. */
double hcy__detector_mode(const hcy_detector *detector, size_t height, size_t width);
/* How many detector pixels make one of an image of this shape, each way, of a detector of height x width; HCY_EINVAL
 * without an error record. */
int hcy__detector_binning(uint32_t bin[2], uint32_t height, uint32_t width, size_t image_height, size_t image_width);

#endif
