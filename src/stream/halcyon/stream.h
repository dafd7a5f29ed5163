/* halcyon/stream.h - messages of live detectors: bytes in, a plain structure out.
 *
 * Nothing here opens a socket: whoever receives a message (from ZeroMQ, a file, a test) hands over its bytes.  Images
 * are not copied: what stands in the structure points into the message, which has to stay as it is meanwhile.
 *
 *   DECTRIS Stream v1     messages of several parts: JSON, and blobs (SIMPLON API 1.8, "legacy")
 *   DECTRIS Stream v2     one part, CBOR (github.com/dectris/documentation, stream_v2/README.md), with the typed arrays
 *                         of RFC 8746 and compression's tag 56500 wherever a byte string may stand; with and without
 *                         the prefix d9 d9 f7
 *   Jungfraujoch          likewise; its further kinds of messages are HCY_STREAM_OTHER
 *
 * Messages come from a network, so nothing in them is trusted: lengths, nesting and numbers are checked before they are
 * used, and what an image's compressed bytes hold is for hcy_bslz4_parse() and the devices to distrust.  For example:
 *
 *     hcy_stream_message message = HCY_STREAM_MESSAGE_INIT;
 *     hcy_span part = { chunk[0], size[0] };
 *     int status = hcy_stream_decode(&message, &part, 1);
 *     if (!status && message.kind == HCY_STREAM_IMAGE)
 *         job = (hcy_bslz4_job){ message.channels[0].image.codec, message.channels[0].image.elem_size,
 *                                message.channels[0].image.bytes, 0, 0 };
 *
 * Threads: functions without state, any thread.  hcy_last_error() says where a message is damaged.
 */
#ifndef HALCYON_STREAM_H
#define HALCYON_STREAM_H

#include <halcyon/kernel.h>
#include <halcyon/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hcy_stream_kind {
    HCY_STREAM_OTHER = 0, /* a message that is none of these, of no use for images */
    HCY_STREAM_START = 1, /* a series begins: the detector, its masks and corrections */
    HCY_STREAM_IMAGE = 2, /* one exposure, an image for each energy threshold */
    HCY_STREAM_END = 3    /* a series is over */
};

/* Energy thresholds that are looked at, at most. */
#define HCY_STREAM_CHANNELS 8

/* An array as it stands in a message. */
typedef struct hcy_stream_array {
    const void *data; /* NULL: there is none */
    size_t size;      /* bytes as coded */
    uint32_t height, width;
    uint32_t pixel_type; /* HCY_PIXEL_* of azint_format.h, little-endian */
    uint32_t elem_size;  /* bytes of a pixel */
    uint32_t codec;      /* HCY_CODEC_* of bslz4_format.h */
    uint32_t bare;       /* 1: HCY_CODEC_LZ4 without the filter's head, as Stream v1 has it: see hcy_stream_chunk() */
    uint64_t bytes;      /* decoded */
    uint32_t zstd;       /* 1: HCY_CODEC_BITSHUFFLE below Zstandard (Jungfraujoch's bszstd): see there, too */
} hcy_stream_array;

typedef struct hcy_stream_channel {
    char name[32];          /* "threshold_1", "default"; Stream v1: "" */
    hcy_stream_array image; /* HCY_STREAM_IMAGE */
    hcy_stream_array mask, flat; /* HCY_STREAM_START */
} hcy_stream_channel;

/* What a message says; 0, NAN or "" where it does not. */
typedef struct hcy_stream_message {
    size_t size;           /* sizeof this struct */
    int kind;              /* HCY_STREAM_* */
    int version;           /* 1 or 2 */
    uint64_t series;       /* its number at this detector */
    char series_id[64];    /* of this series alone: two with one number are told apart by it; Stream v1: "" */
    uint64_t number;       /* HCY_STREAM_IMAGE: from 0 */
    double start, stop, real; /* HCY_STREAM_IMAGE: seconds since the series began, and exposed */
    uint32_t n_channels;
    hcy_stream_channel channels[HCY_STREAM_CHANNELS];
    /* HCY_STREAM_START */
    uint64_t images;          /* of the series */
    uint32_t height, width;   /* of each */
    double pixel1, pixel2;    /* metres, slow and fast axis */
    double distance;          /* metres */
    double beam_x, beam_y;    /* pixels, from the outer corner of the first one */
    double wavelength;        /* metres */
    double saturation;        /* counts above it are not valid */
    char description[128];    /* "Dectris EIGER2 Si 16M" */
    int mask_applied, flat_applied, countrate_applied; /* by the detector: 1, 0; -1: it does not say */
    int has_countrate_table;  /* which is not used: it acts on each count */
} hcy_stream_message;
#define HCY_STREAM_MESSAGE_INIT                                                                     \
    { sizeof(hcy_stream_message), 0, 0, 0, "", 0, 0, 0, 0, 0,                                       \
      { { "", { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 },             \
          { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 } } },                                                  \
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "", 0, 0, 0, 0 }

/* Takes the parts of one message apart; message->size is set before, all else is overwritten.  HCY_EFORMAT: no message
 * of these kinds; HCY_ECORRUPT: cut off, or contradicting itself; HCY_EUNSUPPORTED: pixels or a coding that Halcyon has
 * not, images stored by columns, or a build without jansson (Stream v1). */
HCY_API int hcy_stream_decode(hcy_stream_message *message, const hcy_span *parts, size_t n) HCY_MUST_USE;

/* 1 if these bytes are the first part of a message, and not a later one, of the `version` that a recording's first
 * record has (0: that record itself). */
HCY_API int hcy_stream_begins(const void *bytes, size_t size, int version);

/* The index of a channel: by its name, or its number from 1 ("2"); NULL is the first.  HCY_EINVAL with the names there
 * are. */
HCY_API int hcy_stream_find_channel(size_t *index, const hcy_stream_message *message, const char *name) HCY_MUST_USE;

/* An array as the pipeline and hcy_bslz4_parse() take it.  Most are that as they are: *chunk is the array's own bytes,
 * and `buffer` is not touched.  LZ4 without a head is copied behind one, and what is below Zstandard decompressed, to
 * `buffer` of hcy_stream_chunk_room() bytes.  HCY_ERANGE: it has fewer; HCY_ECORRUPT; HCY_EUNSUPPORTED: no libzstd. */
HCY_API int hcy_stream_chunk(hcy_span *chunk, void *buffer, size_t capacity,
                             const hcy_stream_array *array) HCY_MUST_USE;
HCY_API size_t hcy_stream_chunk_room(const hcy_stream_array *array); /* 0: no buffer is needed */

/* The detector of a HCY_STREAM_START, for hcy_detector_geometry().  *info, zeroed here, owns nothing. */
HCY_API void hcy_stream_detector(hcy_detector_info *info, const hcy_stream_message *start);

/* Mask, flat field and flags of one channel of a HCY_STREAM_START, as hcy_corrections_read() has those of a file;
 * `which`: HCY_CORRECTION_*.  They are decoded on `device` (NULL: the CPU), copied, and freed by
 * hcy_corrections_free().  HCY_EFORMAT: of another shape than the images; HCY_ECORRUPT, HCY_ENOMEM. */
HCY_API int hcy_stream_corrections(hcy_corrections **corrections, const hcy_stream_message *start, size_t channel,
                                   unsigned which, hcy_device *device) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
