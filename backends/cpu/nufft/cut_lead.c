/* cut_lead.c - Fourier transforms between one long axis and its modes with the same bits as on all devices: the first
 * passes are taken one by one over the whole axis, by all threads; what they leave are columns, which are
 * transformed in a thread's buffer.  Twiddles between two halves of the axis, as cut_fft.c has them, would round
 * once more. */
#include "cut_fft.h"

struct lead {
    const struct fft *f;
    const char *from;
    char *to;
    unsigned pass;
};

static void lead_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct lead *l = context;
    const size_t part = cpu_fft_part(l->f->rows, l->pass), last = end * LONG_COLUMN;
    (void)thread;
    cpu_fft_pass(l->f->rows, l->pass, l->from, l->to, begin * LONG_COLUMN, last < part ? last : part);
}

/* Columns of what the passes have left; they end where the grid is. */
static void lead_columns(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct lead *l = context;
    const struct fft *f = l->f;
    char *buffer = f->buffers + thread * f->buffer;
    for (size_t i = begin; i < end; i++) {
        const size_t first = i * COLUMNS, left = f->n1 - first, stride = f->n1 * f->size;
        const size_t n = left < COLUMNS ? left : COLUMNS;
        gather_columns(f, buffer, 0, l->from + first * f->size, stride, f->n2, n);
        cpu_fft_many_run(f->slow, buffer, 1, 0, buffer + f->columns);
        give_columns_back(f, buffer, 0, l->to + first * f->size, stride, f->n2, n);
    }
}

/* Modes of the vector at hand times factors, out of the grid or into it: pieces of both spans, one behind the other. */
static void weigh_pieces(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct fft *f = context;
    const struct nufft_cut *c = &f->c;
    char *grid = c->grid + f->item * c->cells * f->size, *modes = c->modes + f->item * c->all * f->size;
    (void)thread;
    for (int k = 0; k < 2; k++) {
        const struct nufft_span *s = &c->spans[0][k];
        const size_t first = begin * LONG_COLUMN, last = end * LONG_COLUMN < s->n ? end * LONG_COLUMN : s->n;
        char *g = grid + (s->grid + first) * f->size, *m = modes + (s->mode + first) * f->size;
        const char *factors = c->factors[0] + (s->factor + first) * c->real;
        if (first < last)
            c->ops->weigh(c->crops ? m : g, c->crops ? g : m, factors, 1, last - first);
    }
}

void nufft_run_lead(struct fft *f, struct cpu_pool *pool, size_t items)
{
    const struct nufft_cut *c = &f->c;
    const size_t pieces = c->spans[0][0].n / LONG_COLUMN + 1; /* the other span is no longer */
    for (f->item = 0; f->item < items; f->item++) {
        char *grid = c->grid + f->item * c->cells * f->size;
        if (!c->crops) {
            nufft_zero(pool, grid, c->cells * f->size);
            cpu_pool_for(pool, pieces, 1, weigh_pieces, f);
        }
        /* Each pass reads all numbers and writes all: to and fro between the grid and a memory as large. */
        struct lead l = { f, grid, f->turned, 0 };
        for (; l.pass < f->lead; l.pass++) {
            cpu_pool_for(pool, cpu_fft_part(f->rows, l.pass) / LONG_COLUMN + 1, 1, lead_range, &l);
            l.from = l.to;
            l.to = l.to == grid ? f->turned : grid;
        }
        l.to = grid;
        cpu_pool_for(pool, (f->n1 + COLUMNS - 1) / COLUMNS, 1, lead_columns, &l);
        if (c->crops)
            cpu_pool_for(pool, pieces, 1, weigh_pieces, f);
    }
}
