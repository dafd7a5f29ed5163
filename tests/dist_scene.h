/* dist_scene.h - what the parts of tests/dist share: who the ranks are, and a check that all of them make. */
#ifndef DIST_SCENE_H
#define DIST_SCENE_H

#include <halcyon/dist.h>
#include <stdbool.h>

struct scene {
    hcy_dist *comm;
    int rank, n_ranks;
    hcy_device *dev;
    hcy_queue *queue;
    const char *name; /* of what is tested, in front of each check */
};
extern struct scene scene;

/* Collective: whether it holds on all ranks; those where it does not say so. */
#define every(holds, ...) check_on_all(!!(holds), __FILE__, __LINE__, __VA_ARGS__)
bool check_on_all(int holds, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void test_layouts(void);
void test_operators(void);
void test_transforms(void);
void test_matrices(void);

#endif
