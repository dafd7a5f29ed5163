/* scale_time.c - what each job computes and sends on a number of ranks (scale_time.h). */
#include "scale_time.h"
#include "dist_sum.h"

#include <math.h>

/* Ranks that have rows, and the most rows that one of them has. */
struct split {
    double busy, rows;
};

static struct split split_rows(double rows, double ranks)
{
    return (struct split){ fmin(ranks, rows), ceil(rows / ranks) };
}

static double send_time(const struct scale_machine *m, double messages, double bytes)
{
    return messages * m->alpha + bytes / m->beta;
}

/* On one rank: as it was measured, or `passes` over memory. */
static double local_time(const struct scale_job *job, const struct scale_machine *m, double bytes)
{
    return job->local > 0 ? job->local : bytes / m->rate;
}

/* Laplacian of a cube in blocks of its first axis (dist_overlap.c): a ghost row from each neighbour.  All rows but one
 * at each end with a neighbour are computed meanwhile. */
static void time_halo(struct scale_time *t, const struct scale_job *job, const struct scale_machine *m,
                      double ranks)
{
    const struct split s = split_rows(job->size, ranks);
    const double sides = fmin(2, s.busy - 1), row = job->size * job->size * job->word;
    t->compute = local_time(job, m, 2 * job->size * row) * s.rows / job->size;
    t->exchange = send_time(m, sides, sides * row);
    t->hidden = fmin(t->exchange, t->compute * fmax(0, s.rows - sides) / s.rows);
}

/* A dot of two vectors (dist_sum.c).  Each round makes of a piece's numbers one, and a rank gives the head
 * of its part to the rank where that piece begins; at last all send to all what they have left. */
static void time_reduction(struct scale_time *t, const struct scale_job *job, const struct scale_machine *m,
                           double ranks)
{
    const struct split s = split_rows(job->size, ranks);
    const double number = sizeof(double);
    double left = job->size;
    t->compute = local_time(job, m, 2 * job->size * job->word) * s.rows / job->size;
    if (ranks == 1)
        return;
    if (job->is_tree) {
        const double steps = ceil(log2(ranks));
        t->exchange = send_time(m, steps, steps * number);
        return;
    }
    for (; left > HCY_SUM_FEW; left = ceil(left / HCY_SUM_PIECE))
        t->exchange += send_time(m, 1, (HCY_SUM_PIECE - 1) * number);
    t->exchange += send_time(m, ranks - 1, left * number * (ranks - 1) / ranks);
}

/* Fourier transform of a complex cube over its three axes (dist_fft.c): to blocks of another axis and back.  Rows go
 * or come in one piece, so that a part is copied once each time; what also turns axes unpacks it. */
static void time_transpose(struct scale_time *t, const struct scale_job *job, const struct scale_machine *m,
                           double ranks)
{
    const struct split s = split_rows(job->size, ranks);
    const double plane = job->size * job->size * 2 * job->word, part = s.rows * plane, others = s.busy - 1;
    const double message = s.rows * s.rows * job->size * 2 * job->word;
    /* An axis is a pass that reads and writes; so is a copy. */
    t->compute = local_time(job, m, 3 * 2 * job->size * plane) * s.rows / job->size;
    if (others < 1)
        return;
    t->compute += 2 * (2 * part / m->rate + 2 * part / m->turn);
    t->exchange = 2 * send_time(m, others, others * message);
}

/* An iteration of conjugate gradients on SENSE's normal equations with the coils dealt out (dist_nufft.c):
 * the image is replicated, so each rank goes through all of CG's vectors, and their dots are its own.
 * What coils give is added up by an allreduce that halves and doubles. */
static void time_sense(struct scale_time *t, const struct scale_job *job, const struct scale_machine *m,
                       double ranks)
{
    const struct split s = split_rows(job->coils, ranks);
    const double image = job->size * job->size * job->size * 2 * job->word, share = (ranks - 1) / ranks;
    /* Three updates that read two vectors and write one, and two dots. */
    const double vectors = fmin(job->local, (3 * 3 + 2 + 1) * image / m->rate);
    t->compute = vectors + (job->local - vectors) * s.rows / job->coils + 3 * image * share / m->rate;
    t->exchange = send_time(m, 2 * ceil(log2(ranks)), 2 * image * share);
}

void scale_time_get(struct scale_time *time, const struct scale_job *job, const struct scale_machine *machine,
                    double ranks)
{
    static void (*const times[])(struct scale_time *, const struct scale_job *, const struct scale_machine *,
                                 double) = { [SCALE_HALO] = time_halo,
                                             [SCALE_REDUCTION] = time_reduction,
                                             [SCALE_TRANSPOSE] = time_transpose,
                                             [SCALE_SENSE] = time_sense };
    *time = (struct scale_time){ 0, 0, 0, 0 };
    times[job->kind](time, job, machine, ranks);
    time->total = time->compute + time->exchange - time->hidden;
}
