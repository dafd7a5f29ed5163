/* cpu_faces.c - sums of neighbours around a box inside of a part, whose neighbours may be ghosts.
 *
 * Threads share the lines of all faces.  Where elements of a line have ghosts along another axis, these are lines, too,
 * so that the loops are those of other lines; along the last axis few elements have some, and go one by one.  Faces of
 * that axis have lines of one or two: there an element goes together with those of the lines behind.
 */
#include "cpu_stencil.h"

#include "stencil_job.h"

struct faces_run {
    struct cpu_stencil_sums sums;
    const hcy_stencil_faces *faces; /* of each axis */
    const char *ghosts;
    size_t lines[2 * HCY_STENCIL_AXES]; /* of each face: two an axis */
};

/* A line of a face, and where it lies in the part, in reals. */
struct face_line {
    struct cpu_stencil_lines known;
    uint64_t across[HCY_STENCIL_AXES], behind[HCY_STENCIL_AXES]; /* what place_of_ghost() wants */
    ptrdiff_t place;
};

/* --- Elements of a line --- */

/* Where the tap of an element, number x of its line, begins. */
static const char *find_neighbour(const struct face_line *l, const struct faces_run *run,
                                  const struct cpu_stencil_taps *taps, uint32_t k, uint64_t x)
{
    const hcy_stencil_job *job = run->sums.job;
    const uint32_t d = taps->axes[k], last = job->rank - 1;
    const uint64_t width = (uint64_t)job->axes[last].stride;
    const int64_t i = (int64_t)(d == last ? x : l->known.index[d]) + taps->shifts[k];
    if (!is_ghost(i, job->axes[d].size))
        return run->sums.from + (l->place + (ptrdiff_t)(x * width) + taps->offsets[k]) * (ptrdiff_t)job->bytes;
    return run->ghosts + place_of_ghost(i, &job->axes[d], &run->faces[d], l->across[d],
                                        l->behind[d] + (d == last ? 0 : x * width)) * (int64_t)job->bytes;
}

/* Elements [x, x + n) of result q, of which the last axis's row is the same, and of several of which no neighbour
 * along it is a ghost. */
static void sum_elements(const struct face_line *l, const struct faces_run *run, uint32_t q, uint32_t row, uint64_t x,
                         uint64_t n)
{
    const hcy_stencil_job *job = run->sums.job;
    const struct cpu_stencil_taps *taps = &l->known.taps[row][q];
    const uint64_t width = (uint64_t)job->axes[job->rank - 1].stride;
    const void *from[CPU_STENCIL_MOST_TAPS];
    for (uint32_t k = 0; k < taps->n; k++)
        from[k] = find_neighbour(l, run, taps, k, x);
    char *to = run->sums.to + (l->place + (ptrdiff_t)(x * width + q * job->to_step)) * (ptrdiff_t)job->bytes;
    run->sums.sum(to, from, taps, (size_t)(n * width));
}

#define DEFINE_ACROSS(t, c_of_taps)                                                                          \
    static void sum_across_##t(void *to_, const void *const *from, const ptrdiff_t *steps, ptrdiff_t to_step, \
                               const struct cpu_stencil_taps *taps, uint64_t n)                              \
    {                                                                                                        \
        t *to = to_;                                                                                         \
        for (uint64_t j = 0; j < n; j++) {                                                                   \
            t sum = 0;                                                                                       \
            for (uint32_t k = 0; k < taps->n; k++)                                                           \
                sum += taps->c.c_of_taps[k] * ((const t *)from[k])[(ptrdiff_t)j * steps[k]];                 \
            to[(ptrdiff_t)j * to_step] = sum;                                                                \
        }                                                                                                    \
    }
DEFINE_ACROSS(float, f32)
DEFINE_ACROSS(double, f64)

/* Element x of n lines, that follow each other along the axis before the last, of which they have the same row, and no
 * ghosts. */
static void sum_lines(const struct face_line *l, const struct faces_run *run, uint64_t x, uint64_t n)
{
    const hcy_stencil_job *job = run->sums.job;
    const uint32_t last = job->rank - 1;
    const hcy_stencil_axis *a = &job->axes[last];
    const uint64_t width = (uint64_t)a->stride;
    const ptrdiff_t step = (ptrdiff_t)job->axes[last - 1].stride, bytes = (ptrdiff_t)job->bytes;
    const void *from[CPU_STENCIL_MOST_TAPS];
    ptrdiff_t steps[CPU_STENCIL_MOST_TAPS];
    for (uint32_t q = 0; q < run->sums.results; q++) {
        const struct cpu_stencil_taps *taps = &l->known.taps[row_of_element(x, a->size, a->head, a->tail)][q];
        for (uint64_t part = 0; part < width; part++) {
            for (uint32_t k = 0; k < taps->n; k++) {
                const bool has_ghosts = taps->axes[k] == last && is_ghost((int64_t)x + taps->shifts[k], a->size);
                from[k] = find_neighbour(l, run, taps, k, x) + (ptrdiff_t)part * bytes;
                /* Ghosts of the last axis lie line by line. */
                steps[k] = has_ghosts ? (ptrdiff_t)width : step;
            }
            char *to = run->sums.to + (l->place + (ptrdiff_t)(x * width + part + q * job->to_step)) * bytes;
            (bytes == 4 ? sum_across_float : sum_across_double)(to, from, steps, step, taps, n);
        }
    }
}

/* How many lines from this one on sum_lines() takes, of `most`. */
static uint64_t count_together(const struct face_line *l, const struct faces_run *run, uint64_t most)
{
    const uint32_t d = run->sums.job->rank - 2;
    const hcy_stencil_axis *a = &run->sums.job->axes[d];
    const hcy_stencil_faces *f = &run->faces[d];
    const uint64_t head = a->is_term ? a->head : 0, tail = a->is_term ? a->tail : 0, i = l->known.index[d];
    const uint64_t low = head > f->front ? head : f->front, back = tail > f->back ? tail : f->back;
    const uint64_t high = a->size > back ? a->size - back : 0;
    if (i < low || i >= high)
        return 1;
    return high - i < most ? high - i : most;
}

static void sum_line(const struct face_line *l, const struct faces_run *run, uint64_t first, uint64_t end)
{
    const hcy_stencil_job *job = run->sums.job;
    const hcy_stencil_axis *a = &job->axes[job->rank - 1];
    const hcy_stencil_faces *f = &run->faces[job->rank - 1];
    const uint64_t head = a->is_term ? a->head : 0, tail = a->is_term ? a->tail : 0;
    /* All between these are alike. */
    const uint64_t low = head > f->front ? head : f->front, back = tail > f->back ? tail : f->back;
    const uint64_t high = a->size > low + back ? a->size - back : low;
    for (uint32_t q = 0; q < run->sums.results; q++)
        for (uint64_t x = first, next; x < end; x = next) {
            const bool is_inner = x >= low && x < high;
            next = !is_inner ? x + 1 : high < end ? high : end;
            sum_elements(l, run, q, is_inner ? HCY_STENCIL_EDGE : row_of_element(x, a->size, a->head, a->tail), x,
                         next - x);
        }
}

/* --- Lines --- */

/* Line number `line` of a face. */
static void find_line(struct face_line *l, const struct faces_run *run, uint32_t face, size_t line)
{
    const hcy_stencil_job *job = run->sums.job;
    const uint32_t last = job->rank - 1;
    uint64_t first, end, across = 0;
    l->place = 0;
    for (uint32_t d = last; d-- > 0;) {
        find_face(&first, &end, job, run->faces, face / 2, face % 2, d);
        l->known.index[d] = first + line % (end - first);
        line /= (size_t)(end - first);
        l->behind[d] = (uint64_t)l->place;
        l->place += (ptrdiff_t)l->known.index[d] * (ptrdiff_t)job->axes[d].stride;
    }
    l->behind[last] = 0;
    for (uint32_t d = 0; d <= last; d++) {
        l->across[d] = across;
        across = across * job->axes[d].size + (d < last ? l->known.index[d] : 0);
    }
}

static void run_lines(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct faces_run *run = context;
    const uint32_t last = run->sums.job->rank - 1;
    struct face_line l;
    uint64_t first, behind;
    (void)thread;
    l.known.known = false;
    for (uint32_t face = 0; face <= 2 * last + 1; face++) {
        const size_t n = run->lines[face];
        find_face(&first, &behind, run->sums.job, run->faces, face / 2, face % 2, last);
        const size_t most = end < n ? end : n;
        for (size_t line = begin, together = 1; line < most; line += together) {
            find_line(&l, run, face, line);
            cpu_stencil_know(&l.known, &run->sums);
            together = last && face / 2 == last ? (size_t)count_together(&l, run, most - line) : 1;
            if (together == 1)
                sum_line(&l, run, first, behind);
            for (uint64_t x = first; together > 1 && x < behind; x++)
                sum_lines(&l, run, x, together);
        }
        /* What is left counts from the next face's first line. */
        begin = begin > n ? begin - n : 0;
        end = end > n ? end - n : 0;
    }
}

/* --- The kernel --- */

/* Counts the lines of each face, 0 of those that have no elements; together, and the reals of all. */
static size_t count_lines(struct faces_run *run, size_t *reals)
{
    const hcy_stencil_job *job = run->sums.job;
    const uint32_t last = job->rank - 1;
    size_t all = 0;
    *reals = 0;
    for (uint32_t face = 0; face <= 2 * last + 1; face++) {
        uint64_t first, end, n = 1;
        for (uint32_t d = 0; d < last; d++) {
            find_face(&first, &end, job, run->faces, face / 2, face % 2, d);
            n *= end - first;
        }
        find_face(&first, &end, job, run->faces, face / 2, face % 2, last);
        run->lines[face] = end > first ? (size_t)n : 0;
        all += run->lines[face];
        *reals += run->lines[face] * (size_t)(end - first) * (size_t)job->axes[last].stride;
    }
    return all;
}

int cpu_stencil_run_faces(const struct cpu_call *call)
{
    hcy_stencil_faces faces[HCY_STENCIL_AXES];
    struct faces_run run = { .faces = faces };
    hcy_stencil_job job;
    size_t reals;
    int status = hcy__stencil_open_faces(&job, faces, call->values);
    if (status)
        return status;
    cpu_stencil_begin(&run.sums, call, &job, HCY_ARG_AT(stencil_faces, from), HCY_ARG_AT(stencil_faces, to));
    run.ghosts = cpu_arg(call, HCY_ARG_AT(stencil_faces, ghosts));
    const size_t lines = count_lines(&run, &reals);
    if (!lines)
        return 0;
    size_t tasks = reals / CPU_STENCIL_TASK_REALS + 1, most = (size_t)cpu_pool_threads(call->pool) * CPU_STENCIL_TASKS;
    tasks = tasks < most ? tasks : most;
    cpu_pool_for(call->pool, lines, (lines - 1) / tasks + 1, run_lines, &run);
    return 0;
}
