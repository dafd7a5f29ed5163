/* scene.h - the frames that benchmarks work on: simulated ones, drawn as `halcyon simulate` draws them, or the stored
 * ones of a file.  Whatever fails ends the program with its reason. */
#ifndef BENCH_SCENE_H
#define BENCH_SCENE_H

#include <halcyon/azint.h>
#include <halcyon/bslz4.h>

#include <stddef.h>
#include <stdint.h>

/* SCENE_RINGS: `counts` times a pattern of seven rings and air, which is 0.66 on average.  Of 4 counts an EIGER 4M's
 * frame is coded in 1.94 MB.  SCENE_FLAT: the same mean everywhere. */
enum scene_kind { SCENE_RINGS, SCENE_FLAT };

/* A Poisson distribution of this mean gives flat frames of an EIGER 4M that are coded in 2.05 MB. */
#define SCENE_FLAT_COUNTS 3.5

struct scene {
    enum scene_kind kind;
    int height, width;
    unsigned elem_size;    /* 2 or 4 bytes */
    double counts;
    double peaks;          /* share of the pixels that hold any number up to `highest` instead */
    uint32_t highest;
    uint8_t *gaps;         /* made by scene_open: 1 for each pixel between an EIGER's modules */
    struct sim_counter *counter;
};

/* What stands above `gaps` is filled in by the caller. */
void scene_open(struct scene *scene);
void scene_close(struct scene *scene);
/* Curves of them: a pattern's beam centre, Poisson errors, gaps masked; split: HCY_SPLIT_*. */
hcy_azint_plan *scene_plan(const struct scene *scene, int split, uint32_t bins);
/* Pixels of one frame; gaps hold the greatest value.  The same for the same number. */
void scene_draw(void *image, const struct scene *scene, uint64_t number);

/* --- Coded frames --- */

enum { STORED_FRAMES = 256 };
struct stored {
    hcy_bslz4_job coding;
    uint32_t pixel_type; /* HCY_PIXEL_* */
    uint32_t height, width;
    size_t n, bytes; /* frames, and of all of them */
    struct stored_frame {
        uint8_t *chunk; /* with HCY_BSLZ4_PADDING zeros behind it */
        size_t size;
    } frames[STORED_FRAMES];
};

/* EIGER 4M, 4 bytes a pixel, flat: n frames. */
void stored_make_flat(struct stored *stored, size_t n);
void stored_make(struct stored *stored, const struct scene *scene, size_t n);
/* The first frames of a stack with filter 32008 and LZ4, `most` of them. */
void stored_read(struct stored *stored, const char *path, const char *dataset, size_t most);
void stored_free(struct stored *stored);

#endif
