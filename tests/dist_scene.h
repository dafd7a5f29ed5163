/* dist_scene.h - what the parts of tests/dist share: who the ranks are, a check that all of them make, comparisons. */
#ifndef DIST_SCENE_H
#define DIST_SCENE_H

#include <halcyon/dist.h>
#include <halcyon/operator.h>
#include <stdbool.h>

/* Of a rank; ranks may be threads of one process, so that what tests keep between calls is each thread's own. */
struct scene {
    hcy_dist *comm;
    int rank, n_ranks;
    hcy_device *dev;
    hcy_queue *queue;
    const char *name; /* of what is tested, in front of each check */
};
extern _Thread_local struct scene scene;

/* Collective: whether it holds on all ranks; those where it does not say so. */
#define every(holds, ...) check_on_all(!!(holds), __FILE__, __LINE__, __VA_ARGS__)
bool check_on_all(int holds, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* dist.c: so many checks are not made, and why. */
void skip_checks(int n, const char *why);

/* dist_compare.c.  Random numbers, the same on all ranks. */
hcy_array *draw_numbers(int dtype, int rank, const int64_t *shape, int seed);
/* How far an operator over ranks is from that of one device, whose vectors are the whole ones, by a measure of two
 * arrays: of y = A x, or x = A^H y.  1e300: it could not be found out. */
typedef double dist_distance(hcy_array *a, hcy_array *b);
/* Such a one: the largest difference over the largest number. */
dist_distance apart;
double distance_to_serial(dist_distance *distance, hcy_operator *op, hcy_operator *serial, hcy_dist_layout *to,
                          hcy_dist_layout *from, bool adjoint);
/* Of ten pairs of the dot test, or of two of what is tried in many layouts; 1e300 without an operator. */
typedef double dist_mismatch(hcy_operator *op);
dist_mismatch mismatch_of, mismatch_of_few;
/* dist_grids.c: a layout over a grid of ranks; `deal`: 0 even, 1 uneven, 2 with ranks that have no rows. */
int deal_grid(hcy_dist_layout **layout, int rank, const int64_t *shape, const int *grid, int deal);
void test_layouts(void);
void test_long_sums(void);
void test_grids(void);
void test_free_sums(void);
void test_squares(void);
void test_operators(void);
void test_solvers_like_one(void);
void test_grid_solvers(void);
void test_stacks(void);
void test_overlap(void);
void test_faces(void);
void test_transforms(void);
void test_ffts(void);
void test_matrices(void);
void test_timers(void);
/* Where no kernel runs; whether messages are to take arrays as they lie. */
void test_copies(bool direct);
/* Messages above 2 GiB: as much memory for each rank, and half as much again for sums. */
void test_large(void);
/* Two ranks, of which one has no memory. */
void test_failing(void);

#endif
