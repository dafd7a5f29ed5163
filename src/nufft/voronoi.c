/* voronoi.c - see voronoi.h.  A call's memory is its own; its threads share the tree, which none of them changes any
 * more, and a cell is one thread's alone.
 *
 * Each cell begins as a box about its point, and every neighbour that may lie nearer to some corner of it cuts a piece
 * off: planes half-way (as C. Rycroft's Voro++ has it, Chaos 19 (2009) 041111).  Neighbours come from a k-d tree, the
 * near ones first, so that a cell is soon small and all others are out of question.  Cells of one or two axes are boxes
 * of height 1 along the others, which no plane cuts.
 */
#include "voronoi.h"

#include "thread.h"

#include <halcyon/backend.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A place's coordinates, in units of 2^-UNITS of a period, so that places that rounding made different are one. */
enum { UNITS = 44, MOST_THREADS = 256 };
struct place {
    int64_t at[3];
    size_t point;
    int axis; /* along which it divides its part of the tree */
};

/* The corners of one cell, relative to its point: of each face one behind the other. */
struct cell {
    double (*corners)[3];
    size_t n_corners, room;
    size_t *ends; /* of faces */
    size_t n_faces, face_room;
};

struct voronoi {
    int dim;
    double reach[3];
    struct place *places; /* a k-d tree: the middle one of each part divides it, along its longest axis */
    size_t n;
    struct cell cells[2];
    struct cell *cell, *next; /* of these two */
    double (*cap)[4];         /* a new face's corners, with angles about its middle */
    size_t n_cap, cap_room;
    double radius;            /* of the farthest corner */
    const struct place *of;
    double shift[3];          /* by periods, of the place that is looked from */
    bool failed;              /* no memory */
};

/* --- Cells --- */

static bool grow(void *array, size_t *room, size_t wanted, size_t each)
{
    void **at = array;
    if (wanted <= *room)
        return true;
    size_t more = 2 * wanted, bytes;
    void *grown = hcy_size_mul(&bytes, more, each) ? NULL : realloc(*at, bytes);
    if (grown) {
        *at = grown;
        *room = more;
    }
    return grown != NULL;
}

static bool add_corner(struct cell *c, const double corner[3])
{
    void *corners = c->corners;
    bool done = grow(&corners, &c->room, c->n_corners + 1, sizeof *c->corners);
    c->corners = corners;
    if (done)
        memcpy(c->corners[c->n_corners++], corner, sizeof *c->corners);
    return done;
}

/* What was added since the last face is one, unless it is too little. */
static bool end_face(struct cell *c)
{
    void *ends = c->ends;
    const size_t begin = c->n_faces ? c->ends[c->n_faces - 1] : 0;
    bool done = grow(&ends, &c->face_room, c->n_faces + 1, sizeof *c->ends);
    c->ends = ends;
    if (c->n_corners < begin + 3)
        c->n_corners = begin;
    else if (done)
        c->ends[c->n_faces++] = c->n_corners;
    return done;
}

static double length_of(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void measure_radius(struct voronoi *v)
{
    v->radius = 0;
    for (size_t i = 0; i < v->cell->n_corners; i++) {
        double flat[3] = { 0, 0, 0 };
        memcpy(flat, v->cell->corners[i], sizeof *flat * (size_t)v->dim);
        v->radius = fmax(v->radius, length_of(flat));
    }
}

static void make_box(struct voronoi *v)
{
    v->cell->n_corners = v->cell->n_faces = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1; side += 2) {
            static const int around[4][2] = { { -1, -1 }, { -1, 1 }, { 1, 1 }, { 1, -1 } };
            for (int i = 0; i < 4; i++) {
                double corner[3];
                corner[axis] = side * v->reach[axis];
                corner[(axis + 1) % 3] = around[i][0] * v->reach[(axis + 1) % 3];
                corner[(axis + 2) % 3] = around[i][1] * v->reach[(axis + 2) % 3];
                v->failed |= !add_corner(v->cell, corner);
            }
            v->failed |= !end_face(v->cell);
        }
    measure_radius(v);
}

static double cell_volume(const struct cell *c)
{
    double sum = 0;
    for (size_t f = 0; f < c->n_faces; f++)
        for (size_t i = (f ? c->ends[f - 1] : 0) + 2; i < c->ends[f]; i++) {
            const double *a = c->corners[f ? c->ends[f - 1] : 0], *b = c->corners[i - 1], *d = c->corners[i];
            /* Pyramids with their top at the point, which is inside. */
            sum += fabs(a[0] * (b[1] * d[2] - b[2] * d[1]) + a[1] * (b[2] * d[0] - b[0] * d[2]) +
                        a[2] * (b[0] * d[1] - b[1] * d[0])) / 6;
        }
    return sum;
}

/* --- Cutting --- */

static bool add_to_cap(struct voronoi *v, const double corner[3])
{
    void *cap = v->cap;
    bool done = grow(&cap, &v->cap_room, v->n_cap + 1, sizeof *v->cap);
    v->cap = cap;
    if (done)
        memcpy(v->cap[v->n_cap++], corner, 3 * sizeof *corner);
    return done;
}

/* How far a corner is behind the plane half-way to a neighbour, which is `distance` away. */
static double behind_plane(const double corner[3], const double unit[3], double distance)
{
    return corner[0] * unit[0] + corner[1] * unit[1] + corner[2] * unit[2] - distance / 2;
}

static int compare_angles(const void *a, const void *b)
{
    const double x = ((const double *)a)[3], y = ((const double *)b)[3];
    return (x > y) - (x < y);
}

/* Corners of the plane, which come in pairs from the faces that it cuts, around its middle. */
static void sort_cap(struct voronoi *v, const double unit[3])
{
    double middle[3] = { 0, 0, 0 }, across[3] = { 0, 0, 0 }, up[3];
    int least = 0;
    for (int d = 1; d < 3; d++)
        least = fabs(unit[d]) < fabs(unit[least]) ? d : least;
    /* Two directions in the plane. */
    across[(least + 1) % 3] = unit[(least + 2) % 3];
    across[(least + 2) % 3] = -unit[(least + 1) % 3];
    for (int d = 0; d < 3; d++)
        up[d] = unit[(d + 1) % 3] * across[(d + 2) % 3] - unit[(d + 2) % 3] * across[(d + 1) % 3];
    for (size_t i = 0; i < v->n_cap; i++)
        for (int d = 0; d < 3; d++)
            middle[d] += v->cap[i][d] / (double)v->n_cap;
    for (size_t i = 0; i < v->n_cap; i++) {
        double x = 0, y = 0;
        for (int d = 0; d < 3; d++) {
            x += (v->cap[i][d] - middle[d]) * across[d];
            y += (v->cap[i][d] - middle[d]) * up[d];
        }
        v->cap[i][3] = atan2(y, x);
    }
    qsort(v->cap, v->n_cap, sizeof *v->cap, compare_angles);
}

/* One face's part on this side of the plane. */
static void cut_face(struct voronoi *v, size_t begin, size_t end, const double unit[3], double distance)
{
    const double (*corners)[3] = (const double (*)[3])v->cell->corners;
    double last = behind_plane(corners[end - 1], unit, distance);
    for (size_t i = begin; i < end; i++) {
        const double *a = corners[i > begin ? i - 1 : end - 1], *b = corners[i];
        const double here = behind_plane(b, unit, distance);
        if ((last > 0) != (here > 0)) {
            double t = last / (last - here), on[3];
            for (int d = 0; d < 3; d++)
                on[d] = a[d] + t * (b[d] - a[d]);
            v->failed |= !add_corner(v->next, on) || !add_to_cap(v, on);
        }
        if (here <= 0)
            v->failed |= !add_corner(v->next, b);
        last = here;
    }
    v->failed |= !end_face(v->next);
}

/* A neighbour takes what is nearer to it. */
static void cut_cell(struct voronoi *v, const double neighbour[3], double distance)
{
    const struct cell *c = v->cell;
    const double unit[3] = { neighbour[0] / distance, neighbour[1] / distance, neighbour[2] / distance };
    bool cuts = false;
    for (size_t i = 0; i < c->n_corners && !cuts; i++)
        cuts = behind_plane(c->corners[i], unit, distance) > 1e-13 * v->radius;
    if (!cuts)
        return;
    v->next->n_corners = v->next->n_faces = v->n_cap = 0;
    for (size_t f = 0; f < c->n_faces; f++)
        cut_face(v, f ? c->ends[f - 1] : 0, c->ends[f], unit, distance);
    sort_cap(v, unit);
    for (size_t i = 0; i < v->n_cap && !v->failed; i++)
        v->failed |= !add_corner(v->next, v->cap[i]);
    v->failed |= !end_face(v->next);
    struct cell *old = v->cell;
    v->cell = v->next;
    v->next = old;
    measure_radius(v);
}

/* --- Neighbours --- */

static double place_coordinate(const struct place *p, int axis)
{
    return ldexp((double)p->at[axis], -UNITS);
}

/* All places of a part of the tree that are nearer than twice the cell's radius, where cells can still be cut. */
static void visit_part(struct voronoi *v, size_t begin, size_t end)
{
    if (begin >= end || v->failed)
        return;
    const size_t middle = begin + (end - begin) / 2;
    const struct place *p = &v->places[middle];
    const int axis = p->axis;
    double to[3] = { 0, 0, 0 };
    for (int d = 0; d < v->dim; d++)
        to[d] = ldexp((double)(p->at[d] - v->of->at[d]), -UNITS) + v->shift[d];
    const bool beyond = to[axis] > 0; /* this place, of the one that is looked from */
    visit_part(v, beyond ? begin : middle + 1, beyond ? middle : end);
    const double distance = length_of(to);
    if (distance > 0 && distance < 2 * v->radius)
        cut_cell(v, to, distance);
    if (fabs(to[axis]) < 2 * v->radius)
        visit_part(v, beyond ? middle + 1 : begin, beyond ? end : middle);
}

/* The tree, seen from the place as it is, then with the period's other images where a cell reaches beyond its end. */
static void visit_images(struct voronoi *v)
{
    static const int order[3] = { 0, 1, -1 };
    const int images = v->dim == 3 ? 27 : v->dim == 2 ? 9 : 3;
    for (int i = 0; i < images; i++) {
        bool near = true;
        int at = i;
        for (int d = 0; d < v->dim; d++) {
            const int turn = order[at % 3];
            const double x = place_coordinate(v->of, d);
            at /= 3;
            v->shift[d] = turn;
            near = near && (!turn || turn * x > 0.5 - 2 * v->radius);
        }
        if (near)
            visit_part(v, 0, v->n);
    }
}

/* --- The tree --- */

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    for (int d = 0; d < 3; d++)
        if (x->at[d] != y->at[d])
            return x->at[d] < y->at[d] ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static void swap_places(struct place *a, struct place *b)
{
    struct place other = *a;
    *a = *b;
    *b = other;
}

/* Moves the places so that the one in the middle is not above those behind it along the axis, nor below those before
 * (Hoare's selection). */
static void select_middle(struct place *p, size_t n, int axis)
{
    const size_t middle = n / 2;
    size_t begin = 0, end = n;
    while (end - begin > 1) {
        const int64_t pivot = p[begin + (end - begin) / 2].at[axis];
        size_t low = begin, at = begin, high = end;
        while (at < high)
            if (p[at].at[axis] < pivot)
                swap_places(&p[low++], &p[at++]);
            else if (p[at].at[axis] > pivot)
                swap_places(&p[at], &p[--high]);
            else
                at++;
        if (middle >= low && middle < high)
            return;
        begin = middle < low ? begin : high;
        end = middle < low ? low : end;
    }
}

/* Points of a line, or of a plane, are divided along it alone. */
static int longest_axis(const struct place *p, size_t n, int dim)
{
    int64_t longest = -1;
    int axis = 0;
    for (int d = 0; d < dim; d++) {
        int64_t least = p[0].at[d], most = p[0].at[d];
        for (size_t i = 1; i < n; i++) {
            least = p[i].at[d] < least ? p[i].at[d] : least;
            most = p[i].at[d] > most ? p[i].at[d] : most;
        }
        if (most - least > longest) {
            longest = most - least;
            axis = d;
        }
    }
    return axis;
}

static void make_tree(struct place *p, size_t n, int dim)
{
    if (!n)
        return;
    const int axis = longest_axis(p, n, dim);
    select_middle(p, n, axis);
    p[n / 2].axis = axis;
    make_tree(p, n / 2, dim);
    make_tree(p + n / 2 + 1, n - n / 2 - 1, dim);
}

/* Places, each once; same[i]: the point that has point i's place, which is the first one there. */
static void merge_places(struct voronoi *v, size_t *same, size_t n)
{
    qsort(v->places, n, sizeof *v->places, compare_places);
    v->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct place p = v->places[i];
        if (!v->n || memcmp(v->places[v->n - 1].at, p.at, sizeof p.at))
            v->places[v->n++] = p;
        same[p.point] = v->places[v->n - 1].point;
    }
}

static int64_t quantize(double turns)
{
    const int64_t half = (int64_t)1 << (UNITS - 1), q = (int64_t)floor(ldexp(turns, UNITS) + 0.5);
    return q >= half ? q - 2 * half : q < -half ? q + 2 * half : q;
}

/* --- All cells --- */

enum { PLACES_AT_ONCE = 64 };

/* What threads share: each takes the next places, as some cells have many more neighbours than others. */
struct measuring {
    const struct voronoi *all;
    double *volumes, flat;
    const size_t *shared; /* points at one place, by the first of them */
    atomic_size_t next;
    atomic_bool failed;
};

static void free_room(struct voronoi *v)
{
    for (int i = 0; i < 2; i++) {
        free(v->cells[i].corners);
        free(v->cells[i].ends);
    }
    free(v->cap);
}

static void *measure_some(void *payload)
{
    struct measuring *m = payload;
    struct voronoi v = *m->all;
    size_t begin;
    v.cell = &v.cells[0];
    v.next = &v.cells[1];
    while ((begin = atomic_fetch_add(&m->next, PLACES_AT_ONCE)) < v.n && !m->failed) {
        const size_t end = v.n - begin < PLACES_AT_ONCE ? v.n : begin + PLACES_AT_ONCE;
        for (size_t i = begin; i < end && !v.failed; i++) {
            v.of = &v.places[i];
            make_box(&v);
            visit_images(&v);
            m->volumes[v.of->point] = cell_volume(v.cell) / m->flat / (double)m->shared[v.of->point];
        }
        if (v.failed)
            m->failed = true;
    }
    free_room(&v);
    return NULL;
}

static void measure_all(struct measuring *m, unsigned threads)
{
    pthread_t others[MOST_THREADS];
    const size_t most = (m->all->n - 1) / PLACES_AT_ONCE + 1;
    unsigned started = 0;
    /* Where no thread is to be had this one measures what is left. */
    while (started < MOST_THREADS && started + 1 < threads && started + 1 < most &&
           !hcy__thread_create(&others[started], measure_some, m))
        started++;
    measure_some(m);
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

static int measure_cells(double *volumes, const struct voronoi *v, const size_t *same, size_t n, unsigned threads)
{
    struct measuring m = { .all = v, .volumes = volumes, .flat = 1 };
    for (int d = v->dim; d < 3; d++)
        m.flat *= 2 * v->reach[d];
    size_t *shared = calloc(n, sizeof *shared);
    if (!shared)
        return hcy_fail(HCY_ENOMEM, "density: no memory for %zu points", n);
    for (size_t i = 0; i < n; i++)
        shared[same[i]]++;
    m.shared = shared;
    measure_all(&m, threads);
    for (size_t i = 0; i < n; i++)
        volumes[i] = volumes[same[i]];
    free(shared);
    return m.failed ? hcy_fail(HCY_ENOMEM, "density: no memory for the cells of %zu points", n) : 0;
}

int hcy__voronoi_volumes(double *volumes, const double *turns, int dim, const double reach[3], size_t n,
                         unsigned threads)
{
    struct voronoi v = { .dim = dim, .reach = { 0.5, 0.5, 0.5 } };
    size_t bytes;
    memcpy(v.reach, reach, sizeof *reach * (size_t)dim);
    if (hcy_size_mul(&bytes, n, sizeof *v.places))
        return hcy_fail(HCY_ERANGE, "density: %zu points are more than can be addressed", n);
    size_t *same = calloc(n, sizeof *same);
    v.places = calloc(n, sizeof *v.places);
    int status = same && v.places ? 0 : hcy_fail(HCY_ENOMEM, "density: no memory for %zu points", n);
    for (size_t i = 0; i < n && !status; i++) {
        v.places[i].point = i;
        for (int d = 0; d < dim; d++)
            v.places[i].at[d] = quantize(turns[i * (size_t)dim + (size_t)d]);
    }
    if (!status) {
        merge_places(&v, same, n);
        make_tree(v.places, v.n, dim);
        status = measure_cells(volumes, &v, same, n, threads);
    }
    free(v.places);
    free(same);
    return status;
}
