/* row_sort.h - points to bins of the grid, and an order of a bin's points that depends on what they are alone: a part
 * of rows.h, compiled with it for each variant and precision. */

/* --- Sorting: coordinates are folded in double, whatever the data are --- */

enum { NAME(BLOCK) = 64 };

/* A block of coordinates in periods. */
static INLINE void NAME(turns)(const struct nufft_fold *f, int axis, size_t at, size_t n, double *turn)
{
    const double period = 0.15915494309189533577;
    if (f->doubles)
        for (size_t i = 0; i < n; i++)
            turn[i] = ((const double *)f->points[axis])[at + i] * period;
    else
        for (size_t i = 0; i < n; i++)
            turn[i] = (double)((const REAL *)f->points[axis])[at + i] * period;
}

/* The first cell and t of a block of coordinates; bad ones count as 0, and are counted. */
static INLINE unsigned NAME(fold)(const struct nufft_axis *a, const double *turn, size_t n, int32_t *cell,
                                  REAL *t)
{
    unsigned bad = 0;
    const double cells = a->n, offset = a->offset;
    for (size_t i = 0; i < n; i++) {
        double turns = turn[i];
        /* Written so that NaN is wrong too.  Beyond 2^40 turns a double has too few bits left for its cell. */
        int wrong = !(turns < 0x1p40 && turns > -0x1p40);
        turns = (wrong ? 0 : turns) - offset;
        turns -= __builtin_floor(turns);
        double u = turns * cells, up = __builtin_ceil(u);
        int32_t c = (int32_t)up;
        cell[i] = c >= (int32_t)a->n ? 0 : c;
        t[i] = (REAL)(2 * (up - u) - 1);
        bad += (unsigned)wrong;
    }
    return bad;
}

static INLINE size_t NAME(find_keys)(const int dim, const struct nufft_fold *f)
{
    const struct nufft_layout *l = f->layout;
    size_t first_bad = SIZE_MAX;
    for (size_t at = f->begin; at < f->end; at += NAME(BLOCK)) {
        size_t n = f->end - at < NAME(BLOCK) ? f->end - at : NAME(BLOCK);
        int32_t cell[NAME(BLOCK)];
        uint32_t bin[NAME(BLOCK)] = { 0 }, sub[NAME(BLOCK)] = { 0 };
        REAL t[NAME(BLOCK)];
        double turn[NAME(BLOCK)];
        for (int d = dim - 1; d >= 0; d--) {
            const struct nufft_axis *a = &l->axis[d];
            NAME(turns)(f, d, at, n, turn);
            /* Bad coordinates are rare: the loop counts them and which they are is found out afterwards. */
            if (NAME(fold)(a, turn, n, cell, t))
                for (size_t i = n; i-- > 0;)
                    if (!(turn[i] < 0x1p40 && turn[i] > -0x1p40) && at + i < first_bad)
                        first_bad = at + i;
            for (size_t i = 0; i < n; i++) {
                bin[i] = bin[i] * a->bins + ((uint32_t)cell[i] >> a->log_bin);
                sub[i] = sub[i] * a->subs + ((uint32_t)cell[i] >> a->log_sub & (a->subs - 1));
            }
        }
        uint32_t subs = l->axis[0].subs * l->axis[1].subs * l->axis[2].subs;
        for (size_t i = 0; i < n; i++)
            f->keys[at + i] = bin[i] * subs + sub[i];
    }
    for (size_t i = f->begin; i < f->end; i++)
        f->counts[f->keys[i]]++;
    return first_bad;
}

static size_t NAME(keys)(const struct nufft_fold *f)
{
    unsigned dim = f->layout->dim;
    return dim == 1 ? NAME(find_keys)(1, f) : dim == 2 ? NAME(find_keys)(2, f) : NAME(find_keys)(3, f);
}

/* Targets are scattered over memory: fetched a block at a time before they are written. */
#define SCATTER(dim)                                                                                         \
    static void NAME(scatter##dim)(const struct nufft_fold *f)                                               \
    {                                                                                                        \
        struct NAME(record##dim) *records = f->records, *to[NAME(BLOCK)];                                    \
        for (size_t at = f->begin; at < f->end; at += NAME(BLOCK)) {                                         \
            size_t n = f->end - at < NAME(BLOCK) ? f->end - at : NAME(BLOCK);                                \
            uint32_t place[NAME(BLOCK)] = { 0 };                                                             \
            int32_t cell[NAME(BLOCK)];                                                                       \
            REAL t[dim][NAME(BLOCK)];                                                                        \
            double turn[NAME(BLOCK)];                                                                        \
            for (int d = 0; d < dim; d++) {                                                                  \
                const struct nufft_axis *a = &f->layout->axis[d];                                            \
                NAME(turns)(f, d, at, n, turn);                                                              \
                NAME(fold)(a, turn, n, cell, t[d]);                                                          \
                for (size_t i = 0; i < n; i++)                                                               \
                    place[i] |= ((uint32_t)cell[i] & ((1u << a->log_bin) - 1)) << 10 * d;                    \
            }                                                                                                \
            for (size_t i = 0; i < n; i++) {                                                                 \
                to[i] = records + f->counts[f->keys[at + i]]++;                                              \
                __builtin_prefetch(to[i], 1);                                                                \
                __builtin_prefetch((char *)(to[i] + 1) - 1, 1);                                              \
            }                                                                                                \
            for (size_t i = 0; i < n; i++) {                                                                 \
                for (int d = 0; d < dim; d++)                                                                \
                    to[i]->t[d] = t[d][i];                                                                   \
                to[i]->place = place[i];                                                                     \
                to[i]->number = (uint32_t)(at + i);                                                          \
            }                                                                                                \
        }                                                                                                    \
    }
SCATTER(1)
SCATTER(2)
SCATTER(3)
#undef SCATTER

static void NAME(scatter)(const struct nufft_fold *f)
{
    unsigned dim = f->layout->dim;
    dim == 1 ? NAME(scatter1)(f) : dim == 2 ? NAME(scatter2)(f) : NAME(scatter3)(f);
}

/* --- An order of points by what they are alone --- */

/* By their bits. */
static int NAME(compare_strengths)(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(REAL));
}

/* Records of a key by place and t, which are all that a point's share of the grid depends on but for its
 * strength; ties stay in some order (NAME(settle)).  Quicksort: the pivot is the median of three, so neither
 * part is empty.  NAME(order) returns the longest run of ties. */
#define ORDER(dim)                                                                                           \
    typedef struct NAME(record##dim) NAME(r##dim);                                                           \
    static INLINE bool NAME(less##dim)(const NAME(r##dim) * a, const NAME(r##dim) * b)                       \
    {                                                                                                        \
        for (int d = 0; d < dim && a->place == b->place; d++)                                                \
            if (a->t[d] < b->t[d] || a->t[d] > b->t[d])                                                      \
                return a->t[d] < b->t[d];                                                                    \
        return a->place < b->place;                                                                          \
    }                                                                                                        \
    static INLINE const NAME(r##dim) * NAME(median##dim)(const NAME(r##dim) * a, const NAME(r##dim) * b,     \
                                                         const NAME(r##dim) * c)                             \
    {                                                                                                        \
        if (NAME(less##dim)(b, a))                                                                           \
            return NAME(less##dim)(c, b) ? b : NAME(less##dim)(c, a) ? c : a;                                \
        return NAME(less##dim)(c, a) ? a : NAME(less##dim)(c, b) ? c : b;                                    \
    }                                                                                                        \
    static void NAME(sort##dim)(NAME(r##dim) * r, size_t n)                                                  \
    {                                                                                                        \
        while (n > 24) {                                                                                     \
            NAME(r##dim) pivot = *NAME(median##dim)(&r[0], &r[n / 2], &r[n - 1]), swap;                      \
            size_t i = 0, j = n - 1;                                                                         \
            for (;; r[i++] = r[j], r[j--] = swap) {                                                          \
                while (NAME(less##dim)(&r[i], &pivot))                                                       \
                    i++;                                                                                     \
                while (NAME(less##dim)(&pivot, &r[j]))                                                       \
                    j--;                                                                                     \
                if (i >= j)                                                                                  \
                    break;                                                                                   \
                swap = r[i];                                                                                 \
            }                                                                                                \
            bool left = i < n - i; /* the smaller part */                                                    \
            NAME(sort##dim)(left ? r : r + i, left ? i : n - i);                                             \
            r += left ? i : 0;                                                                               \
            n = left ? n - i : i;                                                                            \
        }                                                                                                    \
        for (size_t i = 1; i < n; i++) {                                                                     \
            NAME(r##dim) mine = r[i];                                                                        \
            size_t at = i;                                                                                   \
            for (; at && NAME(less##dim)(&mine, &r[at - 1]); at--)                                           \
                r[at] = r[at - 1];                                                                           \
            r[at] = mine;                                                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static size_t NAME(order##dim)(NAME(r##dim) * r, size_t n)                                               \
    {                                                                                                        \
        size_t longest = n > 0, run = 1;                                                                     \
        NAME(sort##dim)(r, n);                                                                               \
        for (size_t i = 1; i < n; i++) {                                                                     \
            run = NAME(less##dim)(&r[i - 1], &r[i]) ? 1 : run + 1;                                           \
            longest = run > longest ? run : longest;                                                         \
        }                                                                                                    \
        return longest;                                                                                      \
    }                                                                                                        \
    static void NAME(settle##dim)(const NAME(r##dim) * r, size_t n, REAL *c, REAL *room)                     \
    {                                                                                                        \
        for (size_t first = 0, end; first < n; first = end) { /* keys follow each other in another order */  \
            for (end = first + 1; end < n && !NAME(less##dim)(&r[first], &r[end]); end++)                    \
                if (NAME(less##dim)(&r[end], &r[first]))                                                     \
                    break;                                                                                   \
            for (size_t i = first; i < end; i++)                                                             \
                memcpy(room + 2 * (i - first), c + 2 * (size_t)r[i].number, 2 * sizeof *c);                  \
            if (end - first > 1)                                                                             \
                qsort(room, end - first, 2 * sizeof *c, NAME(compare_strengths));                            \
            for (size_t i = first; i < end; i++)                                                             \
                memcpy(c + 2 * (size_t)r[i].number, room + 2 * (i - first), 2 * sizeof *c);                  \
        }                                                                                                    \
    }

ORDER(1)
ORDER(2)
ORDER(3)
#undef ORDER

static size_t NAME(order)(unsigned dim, void *records, size_t n)
{
    return dim == 1 ? NAME(order1)(records, n) : dim == 2 ? NAME(order2)(records, n) : NAME(order3)(records, n);
}

static void NAME(settle)(unsigned dim, const void *records, size_t n, void *c, void *room)
{
    dim == 1   ? NAME(settle1)(records, n, c, room)
    : dim == 2 ? NAME(settle2)(records, n, c, room)
               : NAME(settle3)(records, n, c, room);
}
