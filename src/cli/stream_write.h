/* stream_write.h - messages as a detector sends them, for halcyon simulate and for tests.
 *
 * A series is described once; each message is made of it, in memory of its own, and freed with sent_free().  Functions
 * without state, any thread. */
#ifndef HCY_CLI_STREAM_WRITE_H
#define HCY_CLI_STREAM_WRITE_H

#include <halcyon/kernel.h>
#include <stdint.h>

enum { SENT_PARTS = 8, SENT_CHANNELS = 4 };

/* Of one message. */
struct sent {
    hcy_span parts[SENT_PARTS];
    size_t n;
    struct sent_text {
        uint8_t *bytes;
        size_t size, room;
        int failed;
    } texts[SENT_PARTS]; /* what the parts that are not the caller's own lie in */
};

struct sent_series {
    int version; /* 1 or 2 */
    uint64_t number, images;
    const char *id;           /* of this series alone (v2) */
    uint32_t height, width;
    uint32_t pixel_type, elem_size;
    uint32_t codec;           /* HCY_CODEC_NONE, BSLZ4 or LZ4: of the chunks, as the filters frame them */
    double pixel1, pixel2, wavelength; /* metres */
    double distance;          /* 0: it is not known, nor the beam's centre */
    double beam_x, beam_y;    /* pixels */
    const char *description;
    const uint32_t *mask;     /* [height][width], or NULL */
    size_t n_channels;        /* 1, or more (v2) */
};

/* HCY_ENOMEM, HCY_EINVAL. */
int sent_start(struct sent *message, const struct sent_series *series) HCY_MUST_USE;
/* One chunk a channel, coded as the series says; v1's blob stays the caller's, LZ4 of it loses its head. */
int sent_image(struct sent *message, const struct sent_series *series, uint64_t number,
               const hcy_span *chunks) HCY_MUST_USE;
int sent_end(struct sent *message, const struct sent_series *series) HCY_MUST_USE;
void sent_free(struct sent *message);

#endif
