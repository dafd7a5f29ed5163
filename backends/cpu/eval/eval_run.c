/* eval_run.c - a program of steps over arrays, piece by piece: registers stay in a core's cache, and arrays are read
 * and written once.
 *
 * Pieces are shared out to the pool's threads.  A thread's registers are on its stack.  An operand that lies in memory
 * as a register does is not copied: the register is its place for that piece.
 */
#include "cpu_eval.h"

#include "arguments.h"

#include <string.h>

/* Pieces that a thread takes at once: what is less is not worth waking another thread for. */
#define GRAIN 16

union number {
    int32_t b32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
};

struct run {
    struct cpu_eval_call call;
    const struct cpu_eval_loops *loops;
    size_t span;     /* elements that are reduced to one, or scanned; all, where none are */
    size_t together; /* of short spans so many are loaded and computed at once */
    size_t pieces;   /* of a span; of several together 1 */
};

/* A stretch of consecutive elements along the last axis. */
struct stretch {
    uint64_t index[HCY_EVAL_AXES];
};

/* Elements of a piece. */
struct piece {
    size_t begin, n, number;
    struct stretch at; /* where it begins */
    bool is_stretch;   /* and no element lies behind the end of that */
};

static size_t count_pieces(struct run *run, const hcy_eval_job *job, bool has_spans)
{
    size_t n = (size_t)job->n;
    run->span = has_spans ? (size_t)job->span : n;
    /* A step costs much the same for a few elements as for many. */
    run->together = run->span < n && run->span <= HCY_EVAL_PIECE / 2 ? HCY_EVAL_PIECE / run->span : 1;
    run->pieces = (run->span - 1) / HCY_EVAL_PIECE + 1;
    if (run->span == n)
        return run->pieces;
    size_t spans = n / run->span;
    return run->together > 1 ? (spans - 1) / run->together + 1 : spans * run->pieces;
}

static void stretch_begin(struct stretch *s, const hcy_eval_job *job, size_t element)
{
    for (uint32_t d = job->rank; d-- > 1;) {
        s->index[d] = element ? element % job->shape[d] : 0;
        element = element ? element / (size_t)job->shape[d] : 0;
    }
    s->index[0] = element;
}

/* How many elements follow on this stretch, of `left`. */
static size_t stretch_length(const struct stretch *s, const hcy_eval_job *job, size_t left)
{
    size_t n = job->rank ? (size_t)(job->shape[job->rank - 1] - s->index[job->rank - 1]) : 1;
    return n < left ? n : left;
}

/* Through a pointer: a copy would be read in vectors of what was just written in words, which stalls. */
static void find_piece(struct piece *p, const struct run *run, size_t i)
{
    p->number = i * run->together;
    /* Most calls have one span, and a division costs as much as some vectors of numbers. */
    size_t all = (size_t)run->call.job->n,
           inside = i < run->pieces ? i * HCY_EVAL_PIECE : i % run->pieces * HCY_EVAL_PIECE, most = run->span - inside;
    if (run->together > 1)
        p->begin = p->number * run->span;
    else
        p->begin = i < run->pieces ? inside : i / run->pieces * run->span + inside;
    if (run->together > 1)
        most = run->together * run->span;
    p->n = all - p->begin < most ? all - p->begin : most;
    if (p->n > HCY_EVAL_PIECE)
        p->n = HCY_EVAL_PIECE;
    stretch_begin(&p->at, run->call.job, p->begin);
    p->is_stretch = stretch_length(&p->at, run->call.job, p->n) == p->n;
}

/* A thread's registers, and where they are for this piece. */
struct registers {
    const void *at[HCY_EVAL_REGISTERS];
    /* From a line of the cache on: vectors that straddle two take twice as long. */
    _Alignas(64) union number own[HCY_EVAL_REGISTERS][HCY_EVAL_PIECE];
};

static void stretch_next(struct stretch *s, const hcy_eval_job *job)
{
    uint32_t d = job->rank;
    if (!d)
        return;
    /* Only a piece's last stretch may end before its axis does, and no other follows it. */
    s->index[--d] = 0;
    while (d-- > 0) {
        if (++s->index[d] < job->shape[d])
            return;
        s->index[d] = 0;
    }
}

static char *element_at(const struct cpu_eval_operand *o, const struct stretch *s, uint32_t rank,
                        size_t component, size_t bytes)
{
    ptrdiff_t at = (ptrdiff_t)component;
    for (uint32_t d = 0; d < rank; d++)
        at += (ptrdiff_t)o->strides[d] * (ptrdiff_t)s->index[d];
    return o->at + at * (ptrdiff_t)bytes;
}

size_t cpu_eval_wide(unsigned memory)
{
    if (memory == HCY_EVAL_M_BOOL)
        return 4;
    return memory == HCY_EVAL_M_F16 || memory == HCY_EVAL_M_F32 ? 4 : 8;
}

bool cpu_eval_is_as_it_lies(unsigned memory)
{
    return memory == HCY_EVAL_M_I64 || memory == HCY_EVAL_M_U64 || memory == HCY_EVAL_M_F32 ||
           memory == HCY_EVAL_M_F64;
}

static void load_piece(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    const hcy_eval_job *job = run->call.job;
    const struct cpu_eval_operand *o = &run->call.operands[s->a];
    ptrdiff_t stride = job->rank ? (ptrdiff_t)o->strides[job->rank - 1] : 0;
    size_t bytes = cpu_eval_bytes[s->memory], wide = cpu_eval_wide(s->memory);
    /* Read where it lies: no step reads this register behind one that stores there (joint.c sees to it). */
    if (stride == 1 && p->is_stretch && cpu_eval_is_as_it_lies(s->memory)) {
        r->at[s->to] = element_at(o, &p->at, job->rank, s->b, bytes);
        return;
    }
    struct stretch at = p->at;
    char *to = (char *)r->own[s->to];
    r->at[s->to] = to;
    for (size_t done = 0, some; done < p->n; done += some, stretch_next(&at, job)) {
        some = stretch_length(&at, job, p->n - done);
        run->loops->load[s->memory](to + done * wide, element_at(o, &at, job->rank, s->b, bytes), stride,
                                    some);
    }
}

static void store_piece(const struct run *run, const struct registers *r, const hcy_eval_step *s,
                        const struct piece *p)
{
    const hcy_eval_job *job = run->call.job;
    const struct cpu_eval_operand *o = &run->call.operands[s->to];
    struct stretch at = p->at;
    ptrdiff_t stride = job->rank ? (ptrdiff_t)o->strides[job->rank - 1] : 1;
    size_t bytes = cpu_eval_bytes[s->memory], wide = cpu_eval_wide(s->memory);
    const char *from = r->at[s->a];
    for (size_t done = 0, some; done < p->n; done += some, stretch_next(&at, job)) {
        some = stretch_length(&at, job, p->n - done);
        run->loops->store[s->memory](element_at(o, &at, job->rank, s->b, bytes), stride, from + done * wide,
                                     some);
    }
}

static bool lies_apart(const char *a, const void *b, size_t bytes)
{
    const uintptr_t one = (uintptr_t)a, other = (uintptr_t)b;
    return one + bytes <= other || other + bytes <= one;
}

/* An operation and a store of its result, the program's last steps: a simple one whose results lie in memory as in a
 * register makes them there.  false: nothing was done. */
static bool run_stored(const struct run *run, const struct registers *r, const hcy_eval_step *s,
                       const struct piece *p)
{
    const hcy_eval_job *job = run->call.job;
    const hcy_eval_step *store = s + 1;
    cpu_eval_loop *loop = run->loops->stored[s->op];
    if (!loop || store->op != HCY_EVAL_STORE || store->a != s->to || !cpu_eval_is_as_it_lies(store->memory))
        return false;
    const struct cpu_eval_operand *o = &run->call.operands[store->to];
    if (!job->rank || o->strides[job->rank - 1] != 1 || !p->is_stretch)
        return false;
    const size_t wide = cpu_eval_bytes[store->memory], bytes = p->n * wide;
    char *place = element_at(o, &p->at, job->rank, store->b, wide);
    /* In place, a loop could read again what it has written. */
    if (!lies_apart(place, r->at[s->a], bytes) || !lies_apart(place, r->at[s->b], bytes) ||
        !lies_apart(place, r->at[s->c], bytes))
        return false;
    loop(place, r->at[s->a], r->at[s->b], r->at[s->c], p->n);
    return true;
}

void cpu_eval_spread(const struct cpu_eval_loops *loops, void *to, uint64_t bits, unsigned type, size_t n)
{
    union number x;
    memcpy(&x, &bits, sizeof x);
    const uint8_t truth = bits != 0;
    /* A load of one number for all elements has the variant's vectors: in a call over few elements a loop of this
     * file's would be much of the work. */
    if (type == HCY_EVAL_B32) {
        loops->load[HCY_EVAL_M_BOOL](to, &truth, 0, n);
    } else if (type == HCY_EVAL_F32) {
        /* A float's number comes as a double too, and is narrowed here once. */
        const float narrow = (float)x.f64;
        loops->load[HCY_EVAL_M_F32](to, &narrow, 0, n);
    } else {
        loops->load[HCY_EVAL_M_U64](to, &bits, 0, n);
    }
}

/* The same number for all elements: made once for all pieces of a thread, which have up to n. */
static void spread_value(const struct run *run, struct registers *r, const hcy_eval_step *s, size_t n)
{
    r->at[s->to] = r->own[s->to];
    cpu_eval_spread(run->loops, r->own[s->to], run->call.job->values[s->a], s->memory, n);
}

static void number_elements(struct registers *r, unsigned to, size_t begin, size_t n)
{
    r->at[to] = r->own[to];
    for (size_t i = 0; i < n; i++)
        r->own[to][i].i64 = (int64_t)(begin + i);
}

static void number_places(const struct run *run, struct registers *r, unsigned to, const struct piece *p)
{
    size_t place = p->begin % run->span;
    r->at[to] = r->own[to];
    for (size_t i = 0; i < p->n; i++, place = place + 1 == run->span ? 0 : place + 1)
        r->own[to][i].i64 = (int64_t)place;
}

/* The number of a piece, or those of spans that are together, go where the step says. */
static void reduce_piece(const struct run *run, const struct registers *r, const hcy_eval_step *s,
                         const struct piece *p)
{
    union number one;
    size_t wide = cpu_eval_wide(s->memory), bytes = cpu_eval_bytes[s->memory],
           size = run->together > 1 ? run->span : p->n;
    const char *from = r->at[s->a];
    cpu_eval_reduce *reduce = run->loops->reduction[s->op];
    if (size == HCY_EVAL_PIECE && r->at[s->a] == r->own[s->a])
        reduce = run->loops->whole[s->op];
    /* Each has a place of its own, so that threads need neither a lock nor an order. */
    char *to = run->call.operands[s->to].at + (p->number * s->c + s->b) * bytes;
    for (size_t done = 0; done < p->n; done += size, to += s->c * bytes) {
        reduce(&one, from + done * wide, size);
        run->loops->store[s->memory](to, 1, &one, 1);
    }
}

/* A whole piece's floats as doubles, and their sum, the program's last steps.  false: nothing was done. */
static bool run_sum(const struct run *run, const struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    const hcy_eval_step *sum = s + 1;
    if (s->op != HCY_EVAL_TOF64_F32 || sum->op != HCY_EVAL_SUM_F64 || sum->a != s->to || p->n != HCY_EVAL_PIECE ||
        run->together > 1)
        return false;
    double one;
    run->loops->sum_floats(&one, r->at[s->a], p->n);
    run->loops->store[sum->memory](run->call.operands[sum->to].at +
                                       (p->number * sum->c + sum->b) * cpu_eval_bytes[sum->memory], 1, &one, 1);
    return true;
}

/* The same by the program's own join, of both components at once where there are two. */
static void reduce_own_piece(const struct run *run, const struct registers *r, const hcy_eval_step *s,
                             const struct cpu_eval_own *own, const struct piece *p)
{
    union number one[2];
    void *const results[2] = { &one[0], &one[1] };
    size_t bytes = cpu_eval_bytes[s->memory], size = run->together > 1 ? run->span : p->n;
    const char *first = r->at[s[0].a], *second = own->components > 1 ? r->at[s[1].a] : first;
    char *to = run->call.operands[s->to].at + p->number * s->c * bytes;
    for (size_t done = 0; done < p->n; done += size, to += s->c * bytes) {
        const void *const from[2] = { first + done * own->bytes, second + done * own->bytes };
        cpu_eval_reduce_own(results, own, from, size);
        for (unsigned k = 0; k < own->components; k++)
            run->loops->store[s->memory](to + k * bytes, 1, &one[k], 1);
    }
}

/* A number for the whole piece; none where it begins its span. */
static void load_carry(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    size_t bytes = cpu_eval_bytes[s->memory];
    const char *from = run->call.operands[s->a].at + (p->number * s->c + s->b) * bytes;
    r->at[s->to] = r->own[s->to];
    if (p->begin % run->span)
        run->loops->load[s->memory](r->own[s->to], from, 1, 1);
}

static void scan_piece(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    r->at[s->to] = r->own[s->to];
    run->loops->scan[s->op](r->own[s->to], r->at[s->a], p->begin % run->span ? r->at[s->b] : NULL,
                            s->memory ? r->at[s->c] : NULL, run->together > 1 ? run->span : p->n, p->n);
}

static void scan_own_piece(const struct run *run, struct registers *r, const hcy_eval_step *s,
                           const struct cpu_eval_own *own, const struct piece *p)
{
    /* Without a second component its place is the first one's, which nothing touches twice. */
    const hcy_eval_step *t = &s[own->components - 1];
    const void *const from[2] = { r->at[s->a], r->at[t->a] }, *const carry[2] = { r->at[s->b], r->at[t->b] },
               *const first[2] = { r->at[s->c], r->at[t->c] };
    void *const to[2] = { r->own[s->to], r->own[t->to] };
    cpu_eval_scan_own(to, own, from, p->begin % run->span ? carry : NULL, s->memory ? first : NULL,
                      run->together > 1 ? run->span : p->n, p->n);
    r->at[s->to] = to[0];
    r->at[t->to] = to[1];
}

/* The steps from this one on that the program's own join is for; how many they are. */
static uint32_t run_own(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    const hcy_eval_program *program = run->call.program;
    bool reduces = s->op >= HCY_EVAL_FIRST_REDUCTION;
    bool narrow = s->op == HCY_EVAL_OWN_F32 || s->op == HCY_EVAL_SCAN_OWN_F32;
    struct cpu_eval_own own = { &program->join, run->call.job->values, run->loops,
                                reduces ? program->reduces : program->scans, narrow ? 4 : 8 };
    if (reduces)
        reduce_own_piece(run, r, s, &own, p);
    else
        scan_own_piece(run, r, s, &own, p);
    return own.components;
}

static void run_step(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    size_t begin = p->begin, n = p->n;
    switch (s->op) {
    case HCY_EVAL_VALUE:
        spread_value(run, r, s, n);
        break;
    case HCY_EVAL_INDEX:
        number_elements(r, s->to, begin, n);
        break;
    case HCY_EVAL_PLACE:
        number_places(run, r, s->to, p);
        break;
    case HCY_EVAL_CARRY:
        load_carry(run, r, s, p);
        break;
    case HCY_EVAL_LOAD:
        load_piece(run, r, s, p);
        break;
    case HCY_EVAL_STORE:
        store_piece(run, r, s, p);
        break;
    default:
        if (s->op >= HCY_EVAL_FIRST_SCAN) {
            s->op >= HCY_EVAL_FIRST_REDUCTION ? reduce_piece(run, r, s, p) : scan_piece(run, r, s, p);
            break;
        }
        /* A load may have left this register in the middle of an array, which must not be written. */
        r->at[s->to] = r->own[s->to];
        run->loops->op[s->op](r->own[s->to], r->at[s->a], r->at[s->b], r->at[s->c], n);
    }
}

bool cpu_eval_is_pair(const struct cpu_eval_loops *loops, const hcy_eval_step *s)
{
    const hcy_eval_step *t = s + 1;
    bool loads = s->op == HCY_EVAL_LOAD;
    return (loads || s->op == HCY_EVAL_STORE) && t->op == s->op && s->b == 0 && t->b == 1 && s->memory == t->memory &&
           loops->load_pair[s->memory] && (loads ? s->a == t->a : s->to == t->to);
}

/* The step and the next one as one, where they are both parts of complex numbers that lie in a row: a loop over every
 * other number costs twice as much. */
static bool run_pair(const struct run *run, struct registers *r, const hcy_eval_step *s, const struct piece *p)
{
    const hcy_eval_job *job = run->call.job;
    const hcy_eval_step *t = s + 1;
    bool loads = s->op == HCY_EVAL_LOAD;
    if (!cpu_eval_is_pair(run->loops, s))
        return false;
    const struct cpu_eval_operand *o = &run->call.operands[loads ? s->a : s->to];
    /* With a stride of 2, counted in components, parts and elements follow one another without a gap. */
    if (!job->rank || o->strides[job->rank - 1] != 2 || !p->is_stretch)
        return false;
    char *place = element_at(o, &p->at, job->rank, 0, cpu_eval_bytes[s->memory]);
    if (!loads) {
        run->loops->store_pair[s->memory](place, r->at[s->a], r->at[t->a], p->n);
        return true;
    }
    /* Parts are taken apart into registers, as none lies in memory the way that a register does. */
    r->at[s->to] = r->own[s->to];
    r->at[t->to] = r->own[t->to];
    run->loops->load_pair[s->memory](r->own[s->to], r->own[t->to], place, p->n);
    return true;
}

/* The next of `left` steps, with those behind it that are done together with it; how many these are. */
static uint32_t run_steps(const struct run *run, struct registers *r, const hcy_eval_step *s, uint32_t left,
                          const struct piece *p)
{
    if (s->op == HCY_EVAL_LOAD || s->op == HCY_EVAL_STORE) {
        /* Of most numbers there is no part 1, which is seen at once. */
        if (left > 1 && s[1].b == 1 && run_pair(run, r, s, p))
            return 2;
    } else if (HCY_EVAL_IS_OWN(s->op)) {
        return run_own(run, r, s, p);
    } else if (left == 2 && (run_stored(run, r, s, p) || run_sum(run, r, s, p))) {
        return 2;
    }
    run_step(run, r, s, p);
    return 1;
}

/* Pieces from `first` on, by one thread. */
static void run_pieces(void *context, size_t first, size_t end, unsigned thread)
{
    const struct run *run = context;
    const hcy_eval_program *p = run->call.program;
    const size_t total = (size_t)run->call.job->n;
    struct registers r;
    struct piece piece;
    (void)thread;
    /* Arguments that an operation has not are any register's address. */
    for (uint32_t i = 0; i < p->n_registers; i++)
        r.at[i] = r.own[i];
    /* No other step makes these registers, so that all pieces of this thread find them as they are. */
    for (uint32_t i = 0; i < p->n_fixed; i++)
        spread_value(run, &r, &p->steps[i], total < HCY_EVAL_PIECE ? total : HCY_EVAL_PIECE);
    for (size_t k = first; k < end; k++) {
        find_piece(&piece, run, k);
        for (uint32_t i = p->n_fixed; i < p->n_steps;)
            i += run_steps(run, &r, &p->steps[i], p->n_steps - i, &piece);
    }
}

static const struct cpu_eval_loops *loops_of(enum cpu_simd simd)
{
    /* Their bits are the same, as no operation is contracted: the choice shows in the time alone. */
#ifdef HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        return &cpu_eval_avx512;
    if (simd >= CPU_SIMD_AVX2)
        return &cpu_eval_avx2;
#endif
    (void)simd;
    return &cpu_eval_portable;
}

static int run_eval(const struct cpu_call *call)
{
    struct run run = { .loops = loops_of(call->simd) };
    int status = cpu_eval_open(&run.call, call);
    if (status || !run.call.job->n)
        return status;
    if (cpu_eval_columns(&run.call, run.loops, call->pool))
        return 0;
    /* A piece is never cut between threads, so that its number does not depend on how many there are. */
    size_t pieces = count_pieces(&run, run.call.job, run.call.program->reduces || run.call.program->scans);
    /* What one thread takes at once needs no turn of the pool's: it may run beside another queue's job. */
    if (pieces <= GRAIN)
        run_pieces(&run, 0, pieces, 0);
    else
        cpu_pool_for(call->pool, pieces, GRAIN, run_pieces, &run);
    return 0;
}

/* A piece takes a few microseconds, unless it has very many steps.  How many is not known here: the program's buffer
 * may be written by what the queue still has to run. */
static bool is_small_eval(const struct cpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_run, job)].bytes;
    return job->n <= HCY_EVAL_PIECE;
}

static enum cpu_simd eval_variant(enum cpu_simd simd)
{
    enum cpu_simd built = cpu_simd_built(simd);
    return built == CPU_SIMD_AVX512 || built == CPU_SIMD_AVX2 ? built : CPU_SIMD_PORTABLE;
}

/* What moves elements has nothing for vectors. */
static enum cpu_simd only_variant(enum cpu_simd simd)
{
    (void)simd;
    return CPU_SIMD_PORTABLE;
}

const struct cpu_kernel cpu_eval_kernels[] = {
    { .name = "eval_run", .run = run_eval, .variant = eval_variant, .is_small = is_small_eval },
    { .name = "eval_take", .run = cpu_eval_take, .variant = only_variant },
    { .name = "eval_put", .run = cpu_eval_put, .variant = only_variant },
    { .name = "eval_own", .run = cpu_eval_own, .variant = only_variant },
    { .name = "eval_count", .run = cpu_eval_count, .variant = only_variant },
    { .name = "eval_sort", .run = cpu_eval_sort, .variant = only_variant },
    { .name = "eval_sort_values", .run = cpu_eval_sort_values, .variant = only_variant },
    { .name = NULL },
};
