/* eval_radix.h - radix sorts of rows on the CPU: what eval_order.c asks of eval_radix.c. */
#ifndef HCY_CPU_EVAL_RADIX_H
#define HCY_CPU_EVAL_RADIX_H

#include "cpu_eval.h"
#include "eval_pick_job.h"

/* Words, and what goes with each; places NULL: nothing, and only words of 8 bytes have some. */
struct cpu_radix_lane {
    char *words;
    int64_t *places;
};

/* Of a thread. */
enum { CPU_RADIX_DIGITS = 512 };
struct cpu_radix_part {
    size_t counts[CPU_RADIX_DIGITS];
    uint64_t least, most, differ; /* of the keys; bits that are not the same in all */
    bool plain;
};

struct cpu_radix {
    const struct hcy__sort_rule *rule;
    struct cpu_pool *pool;        /* NULL: the caller is one of its threads, and is to take no other */
    struct cpu_radix_part *parts; /* one for each of the pool's threads; or one */
};

/* The bits of a row's keys that say its order: of what they are above the smallest one, so many from `low` on. */
struct cpu_radix_span {
    uint64_t least;
    unsigned low, bits;
    bool plain; /* floats, no NaN and no -0.0 among them: a key is of one word alone */
};

/* n at least 1. */
struct cpu_radix_span cpu_radix_measure(const struct cpu_radix *r, struct cpu_radix_lane from, size_t n);
/* How many passes it takes. */
unsigned cpu_radix_passes(const struct cpu_radix_span *span, size_t n);
/* In so many passes, or more; the last one writes to `to`, the one before it to `other`, and so on.  `from` may be
 * what the first one does not write.  Places come out as where each word was in `from`. */
void cpu_radix_sort(const struct cpu_radix *r, struct cpu_radix_lane to, struct cpu_radix_lane other,
                    struct cpu_radix_lane from, size_t n, const struct cpu_radix_span *span, unsigned passes);

#endif
