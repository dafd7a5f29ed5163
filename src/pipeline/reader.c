/* reader.c - threads that read a stack's chunks into slots (the pull form's producers).  Each reserves the
 * next frame under the lock and reads and parses it without; frames enter slots in order, their reading
 * overlaps. */
#include "pipeline_priv.h"
#include "thread.h"

#include <stdlib.h>
#include <unistd.h>

#include <halcyon/backend.h>

#define MOST_BESIDE_CPUS 16
#define MOST_BESIDE_ONE  20              /* accelerator; half as many more for each other one */
#define ENDLESS         (UINT64_MAX / 2) /* frames of a push: sums with it stay in 64 bits */

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* Readers take a CPU's time from its kernels.  An accelerator takes all that they can read: one H200 got half as many
 * frames again from 14 of 16 processors as from 8, and fewer from all 16, for then nobody was left to start its
 * launches and to take its curves; of 32 processors one took most from 20 readers, two from 27 to 29. */
uint32_t hcy__readers_default(const hcy_pipeline *p)
{
    const uint32_t processors = hcy_processors();
    uint32_t beside_cpus = 0, accelerators = 0;
    for (size_t i = 0; i < hcy__n_devices(&p->workers); i++) {
        const hcy_device_info *info = hcy_device_get_info(hcy__device_at(&p->workers, i));
        /* One that stands by, or was left out, takes no frames that would have to be read beside the others'. */
        if (!hcy__device_works(&p->workers, i))
            continue;
        if (info->kind == HCY_KIND_CPU)
            beside_cpus += (info->units + 1) / 2;
        else
            accelerators++;
    }
    if (!accelerators)
        return at_most(beside_cpus ? beside_cpus : 1, MOST_BESIDE_CPUS);
    const uint32_t left = processors > accelerators + 1 ? processors - accelerators - 1 : 0;
    const uint32_t most = at_most(MOST_BESIDE_ONE / 2 * (accelerators + 1), PIPE_MAX_READERS);
    return at_most(left > 2 ? left : 2, most);
}

/* On a CPU readers compete with the kernels, where one thread that is interrupted keeps all the others
 * waiting at the end of a launch.  So readers step back, and take what is left over at just those ends (with 16
 * threads, a fifth more frames were measured).  While kernels wait for frames, nobody is in the readers' way.  Beside
 * an accelerator it is the other way round: it does more with what a processor reads than the processor could. */
static void step_back(const hcy_pipeline *p)
{
    if (hcy__has_accelerators(&p->workers))
        return;
#ifdef __linux__ /* elsewhere it would be the whole process that steps back */
    if (nice(10) == -1)
        return; /* reading goes on without */
#endif
}

/* [lock] A place for the run's next frame, or 0 if there is none now.  *status says what is known to be
 * wrong. */
static int reserve_frame(hcy_pipeline *p, struct pipe_seat *place, uint64_t *number, int *status)
{
    struct pipe_reader *r = &p->reader;
    size_t size = 0;
    *number = r->next;
    *status = hcy_stack_frame_size(&size, r->stack, *number);
    /* The place is only as large as any frame was said to be, so one that claims more is never read. */
    if (!*status && size > p->capacity)
        *status =
            hcy_fail(HCY_ERANGE, "its %zu bytes are more than any frame of the stack was said to have (%zu)",
                     size, p->capacity);
    /* A frame that is known to be bad takes a place all the same: the sink is told of it in its turn. */
    if (!hcy__slot_reserve(p, *status ? 0 : size, NULL, place))
        return 0;
    /* Nothing will fill this slot any further, and no device would take it otherwise. */
    if (++r->next == r->last)
        hcy__slot_close(p);
    return 1;
}

/* Of whole units, as places are. */
static size_t passage_size(const hcy_pipeline *p)
{
    return (p->source.max_chunk + HCY_BSLZ4_ALIGN - 1) / HCY_BSLZ4_ALIGN * HCY_BSLZ4_ALIGN;
}

/* Where slots are only copied from, chunks go through a piece of memory that stays in the reader's caches; NULL: they
 * need not, or there is no memory for it, which is slower and no failure. */
static uint8_t *create_passage(hcy_pipeline *p)
{
    hcy__pipe_lock(&p->control);
    const size_t copying = hcy__count_devices(&p->workers, 0);
    hcy__pipe_unlock(&p->control);
    if (!copying || !p->source.max_chunk)
        return NULL;
    return aligned_alloc(HCY_BSLZ4_ALIGN, passage_size(p) + HCY_BSLZ4_PADDING);
}

/* The chunk to its place, and where to parse it from. */
static int read_chunk(struct pipe_seat *place, const hcy_pipeline *p, uint8_t *passage, uint64_t number)
{
    hcy_stack *stack = p->reader.stack;
    if (!passage || place->capacity > passage_size(p))
        return hcy_stack_read(&place->size, place->into, place->capacity, stack, number);
    int status = hcy_stack_read(&place->size, passage, place->capacity, stack, number);
    if (status)
        return status;
    hcy_copy_past_caches(place->into, passage, place->size);
    /* Taking a chunk apart reads a few bytes here and there, which would come from memory, one by one. */
    place->at = passage;
    return 0;
}

static void *read_frames(void *pipeline)
{
    hcy_pipeline *p = pipeline;
    struct pipe_parser parser = { NULL, 0 };
    struct pipe_seat place;
    uint64_t number, waits = 0;
    int status;
    hcy_trace_name_thread("reader");
    hcy__stay_near_all(&p->workers);
    uint8_t *passage = create_passage(p);
    step_back(p);
    hcy__pipe_lock(&p->control);
    while (!hcy__is_stopped(&p->control) && hcy__frames_left(&p->reader)) {
        if (!reserve_frame(p, &place, &number, &status)) {
            uint64_t since = hcy_now_ns();
            waits = waits ? waits : hcy_trace_begin();
            hcy__pipe_wait(&p->control, PIPE_SPACE);
            hcy__stats_waited(&p->stats, since);
            continue;
        }
        hcy__pipe_unlock(&p->control);
        /* Only now, because the timeline is a file; and once a frame, however often this thread woke. */
        hcy_trace_end(waits, "wait for room", number, 1, 0);
        waits = 0;
        /* The place is this thread's until it commits, so reading and parsing need no lock. */
        hcy__output_begin(place.output, number);
        uint64_t since = hcy_trace_begin();
        place.size = 0;
        if (!status)
            status = read_chunk(&place, p, passage, number);
        hcy_trace_end(since, "read", number, 1, place.size);
        if (status)
            hcy__output_fail(place.output, status);
        hcy__slot_parse(p, &place, &parser);
        hcy__pipe_lock(&p->control);
        hcy__slot_commit(p, &place, 1, &parser);
    }
    hcy__pipe_unlock(&p->control);
    /* The statistics have counted this wait, too, though another thread got the last frame. */
    hcy_trace_end(waits, "wait for room", 0, 0, 0);
    free(parser.blocks);
    free(passage);
    hcy_trace_name_thread(NULL);
    return NULL;
}

void hcy__reader_begin(struct pipe_reader *r, hcy_stack *stack, uint64_t first, uint64_t last)
{
    r->stack = stack;
    r->first = r->next = stack ? first : 0;
    r->last = stack ? last : ENDLESS;
    r->n_threads = 0;
}

int hcy__readers_start(hcy_pipeline *p)
{
    struct pipe_reader *r = &p->reader;
    uint64_t frames = hcy__frames_of_run(r);
    /* Fewer threads than were asked for read more slowly, which is no failure; none at all is one. */
    while (r->n_threads < p->opts.readers && r->n_threads < frames &&
           !hcy__thread_create(&r->threads[r->n_threads], read_frames, p))
        r->n_threads++;
    return r->n_threads ? 0 : hcy_fail(HCY_ENOMEM, "a thread that reads");
}

void hcy__readers_join(struct pipe_reader *r)
{
    for (size_t i = 0; i < r->n_threads; i++)
        pthread_join(r->threads[i], NULL);
    r->n_threads = 0;
}
