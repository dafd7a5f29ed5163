/* room.c - rooms by device, and their expressions by text. */
#include "room.h"

#include "array_priv.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64, MOST_EXPRESSIONS = 1024, RECENT = 8 };

struct hcy__room {
    struct hcy__room *next;
    unsigned refs; /* under `rooms_lock` */
    hcy_device *dev;
    pthread_mutex_t lock; /* of the expressions, and of what a device makes of them */
    struct hcy__expression *expressions[BUCKETS];
    size_t n_expressions;
    /* Those that ran last, by the address of their text, each with the reference that its run had: whoever comes next
     * takes it over, without the lock and without a hash. */
    _Atomic(struct hcy__expression *) recent[RECENT];
    hcy_kernel *any; /* the kernel that runs any program; NULL: there is none */
    bool asked;      /* for it */
    hcy_kernel *moves[HCY__MOVES]; /* NULL: not asked for yet */
};

static pthread_mutex_t rooms_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hcy__room *rooms;

hcy_device *hcy__room_device(const struct hcy__room *room)
{
    return room->dev;
}

/* [rooms_lock] */
static struct hcy__room *new_room(hcy_device *dev)
{
    struct hcy__room *room = calloc(1, sizeof *room);
    if (!room)
        return NULL;
    pthread_mutex_init(&room->lock, NULL);
    room->dev = hcy_device_retain(dev);
    room->next = rooms;
    rooms = room;
    return room;
}

int hcy__room_get(struct hcy__room **out, hcy_device *dev)
{
    int status = hcy_fork_check();
    if (status)
        return status;
    pthread_mutex_lock(&rooms_lock);
    /* Found and counted under one lock: in between, another thread's last release could take the room away. */
    struct hcy__room *room = rooms;
    while (room && room->dev != dev)
        room = room->next;
    if (!room)
        room = new_room(dev);
    if (room)
        room->refs++;
    pthread_mutex_unlock(&rooms_lock);
    *out = room;
    return room ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for the arrays of a device");
}

struct hcy__room *hcy__room_retain(struct hcy__room *room)
{
    pthread_mutex_lock(&rooms_lock);
    room->refs++;
    pthread_mutex_unlock(&rooms_lock);
    return room;
}

static void forget_program(struct hcy__device_program *p)
{
    while (p->generated) {
        struct hcy__generated *g = p->generated;
        p->generated = g->next;
        hcy_kernel_release(g->kernel);
        free(g);
    }
    hcy_buffer_release(p->data);
}

static void free_expression(struct hcy__expression *x)
{
    if (!x)
        return;
    free_expression(x->apart);
    for (int i = 0; i < hcy__all_stages(&x->compiled); i++) {
        forget_program(&x->programs[i]);
        forget_program(&x->again[i]);
    }
    hcy__known_free(x);
    hcy__compiled_free(&x->compiled);
    free(x->key);
    free(x);
}

void hcy__room_release(struct hcy__room *room)
{
    /* In a forked child the lock may be another thread's for ever, and devices are none of its. */
    if (!room || hcy_fork_check())
        return;
    pthread_mutex_lock(&rooms_lock);
    bool last = --room->refs == 0;
    struct hcy__room **at = &rooms;
    while (last && *at != room)
        at = &(*at)->next;
    if (last)
        *at = room->next;
    pthread_mutex_unlock(&rooms_lock);
    if (!last)
        return;
    /* Nobody holds it or can find it any more, so that this needs no lock. */
    for (int i = 0; i < BUCKETS; i++)
        while (room->expressions[i]) {
            struct hcy__expression *x = room->expressions[i];
            room->expressions[i] = x->next;
            free_expression(x);
        }
    hcy_kernel_release(room->any);
    for (int i = 0; i < HCY__MOVES; i++)
        hcy_kernel_release(room->moves[i]);
    hcy_device_release(room->dev);
    pthread_mutex_destroy(&room->lock);
    free(room);
}

/* --- Expressions --- */

static char dtype_in_key(const hcy_operand *o)
{
    return (char)(o->kind == HCY_OPERAND_ARRAY && o->array ? o->array->dtype : 0);
}

/* What an expression is compiled for: its text, the operands' names, kinds and types.  Bytes, 0 after each string; cut
 * off at the end, where `size` says how many there are. */
static size_t write_key(char *key, size_t room, const char *text, const hcy_operand *operands, size_t n)
{
    size_t at = strlen(text) + 1;
    if (at <= room)
        memcpy(key, text, at);
    /* Shapes, strides and numbers are no part of it: a launch brings them, and one program serves them all. */
    for (size_t i = 0; i < n; i++) {
        size_t length = operands[i].name ? strlen(operands[i].name) + 1 : 1;
        if (at + length + 2 <= room) {
            memcpy(key + at, operands[i].name ? operands[i].name : "", length);
            key[at + length] = (char)operands[i].kind;
            key[at + length + 1] = dtype_in_key(&operands[i]);
        }
        at += length + 2;
    }
    return at;
}

static uint64_t hash_key(const char *key, size_t size)
{
    uint64_t h = 14695981039346656037u, word;
    /* Eight bytes at once: each step waits for the product of the one before. */
    for (; size >= sizeof word; key += sizeof word, size -= sizeof word) {
        memcpy(&word, key, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    for (; size; key++, size--)
        h = (h ^ (unsigned char)*key) * 1099511628211u;
    return h ^ h >> 32;
}

/* [lock] */
static struct hcy__expression *find_expression(const struct hcy__room *room, uint64_t hash, const char *key,
                                               size_t size)
{
    struct hcy__expression *x = room->expressions[hash % BUCKETS];
    while (x && (x->hash != hash || x->key_size != size || memcmp(x->key, key, size)))
        x = x->next;
    return x;
}

static void give_back(struct hcy__expression *x)
{
    /* It stays for the next call with this text until drop_idle() takes it. */
    if (x)
        atomic_fetch_sub_explicit(&x->refs, 1, memory_order_release);
}

/* Where `x` was put, what was there before; its reference goes along. */
static struct hcy__expression *swap_recent(struct hcy__room *room, const char *text, struct hcy__expression *x)
{
    return atomic_exchange_explicit(&room->recent[((uintptr_t)text >> 4) % RECENT], x, memory_order_acq_rel);
}

/* The byte behind the string, if it begins what is there. */
static const char *skip_string(const char *key, const char *string)
{
    for (; *key == *string; key++, string++)
        if (!*key)
            return key + 1;
    return NULL;
}

/* Whether write_key() would write this expression's. */
static bool has_key(const struct hcy__expression *x, const char *text, const hcy_operand *operands, size_t n)
{
    /* A text is compared as a block, which takes a tenth of what it takes letter by letter; names are short. */
    const size_t size = strlen(text) + 1;
    const char *end = x->key + x->key_size,
               *at = size <= x->key_size && !memcmp(x->key, text, size) ? x->key + size : NULL;
    for (size_t i = 0; at && i < n; i++) {
        const hcy_operand *o = &operands[i];
        at = at < end ? skip_string(at, o->name ? o->name : "") : NULL;
        if (at && (at[0] != (char)o->kind || at[1] != dtype_in_key(o)))
            return false;
        at = at ? at + 2 : NULL;
    }
    return at == end;
}

/* [lock] A program that writes texts as it goes must not fill the memory: what is not running goes. */
static void drop_idle(struct hcy__room *room)
{
    for (int i = 0; i < RECENT; i++)
        give_back(atomic_exchange_explicit(&room->recent[i], NULL, memory_order_acq_rel));
    for (int i = 0; i < BUCKETS; i++)
        for (struct hcy__expression **at = &room->expressions[i]; *at;) {
            struct hcy__expression *x = *at;
            /* None of the table's is taken but under this lock; who gave one back has done with it. */
            if (atomic_load_explicit(&x->refs, memory_order_acquire) > 1) {
                at = &x->next;
                continue;
            }
            *at = x->next;
            room->n_expressions--;
            free_expression(x);
        }
}

static int compile_text(struct hcy__expression *x, const char *text, const hcy_operand *operands, size_t n,
                        bool apart)
{
    struct hcy__tree *tree = malloc(sizeof *tree);
    int status =
        tree ? hcy__parse(tree, text, operands, n) : hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (!status) {
        tree->apart = apart;
        status = hcy__compile(&x->compiled, tree, operands, n);
    }
    /* Stages keep nothing of the tree. */
    free(tree);
    for (int i = 0; !status && i < hcy__all_stages(&x->compiled); i++) {
        x->programs[i].program = &x->compiled.stages[i]->program;
        x->again[i].program = x->compiled.stages[i]->again;
        /* A scan's elements and the carries before them are of the same functions. */
        x->programs[i].fast = x->again[i].fast = x->compiled.fast;
    }
    return status;
}

/* [lock] */
static int add_expression(struct hcy__expression **out, struct hcy__room *room, const char *text,
                          const hcy_operand *operands, size_t n, size_t size)
{
    struct hcy__expression *x = calloc(1, sizeof *x);
    char *key = malloc(size);
    int status = x && key ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (room->n_expressions >= MOST_EXPRESSIONS)
        drop_idle(room);
    if (!status)
        status = compile_text(x, text, operands, n, false);
    /* Whoever failed to parse or compile has freed what was made so far. */
    if (status) {
        free(key);
        free(x);
        return status;
    }
    x->key = key;
    x->key_size = write_key(key, size, text, operands, n);
    x->hash = hash_key(key, size);
    atomic_init(&x->refs, 1);
    x->next = room->expressions[x->hash % BUCKETS];
    room->expressions[x->hash % BUCKETS] = x;
    room->n_expressions++;
    *out = x;
    return 0;
}

/* By its key, from the table. */
static int find_or_add(struct hcy__expression **out, struct hcy__room *room, const char *text,
                       const hcy_operand *operands, size_t n)
{
    char few[512], *key = few;
    size_t size = write_key(few, sizeof few, text, operands, n);
    /* Most keys fit here; a longer one is put together once more, in memory of its own. */
    if (size > sizeof few && !(key = malloc(size)))
        return hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (key != few)
        write_key(key, size, text, operands, n);
    int status = 0;
    /* It is compiled under the lock: two threads with one new text wait rather than compile it twice. */
    pthread_mutex_lock(&room->lock);
    *out = find_expression(room, hash_key(key, size), key, size);
    if (!*out)
        status = add_expression(out, room, text, operands, n, size);
    if (!status)
        atomic_fetch_add_explicit(&(*out)->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&room->lock);
    if (key != few)
        free(key);
    return status;
}

int hcy__expression_get(struct hcy__expression **out, struct hcy__room *room, const char *text,
                        const hcy_operand *operands, size_t n)
{
    struct hcy__expression *x = swap_recent(room, text, NULL);
    if (x && has_key(x, text, operands, n)) {
        *out = x;
        return 0;
    }
    give_back(x);
    return find_or_add(out, room, text, operands, n);
}

int hcy__expression_apart(struct hcy__expression **apart, struct hcy__room *room, struct hcy__expression *expression,
                          const char *text, const hcy_operand *operands, size_t n)
{
    int status = 0;
    pthread_mutex_lock(&room->lock);
    if (!expression->apart) {
        struct hcy__expression *x = calloc(1, sizeof *x);
        status = x ? compile_text(x, text, operands, n, true) : hcy_fail(HCY_ENOMEM, "out of memory for an expression");
        if (status)
            free(x);
        else
            expression->apart = x;
    }
    *apart = expression->apart;
    pthread_mutex_unlock(&room->lock);
    return status;
}

void hcy__expression_put(struct hcy__room *room, const char *text, struct hcy__expression *expression)
{
    give_back(swap_recent(room, text, expression));
}

/* --- What the device makes of a program --- */

/* [lock] The kernel that takes any program; NULL: the device has none. */
static int find_any(hcy_kernel **kernel, struct hcy__room *room)
{
    /* Whether a device has it does not change, so that it is asked once and not at each launch; another failure, such
     * as too little memory, may pass. */
    int status = room->asked ? 0 : hcy_kernel_get(&room->any, room->dev, "eval_run");
    room->asked = !status || status == HCY_EUNSUPPORTED;
    *kernel = room->any;
    return status == HCY_EUNSUPPORTED ? 0 : status;
}

int hcy__room_move(hcy_kernel **kernel, struct hcy__room *room, enum hcy__move move)
{
    static const char *const names[HCY__MOVES] = { "eval_take", "eval_put",  "eval_own",
                                                   "eval_count", "eval_sort", "eval_sort_values", "stencil",
                                                   "stencil_faces", "matrix", "matrix_twice" };
    int status = 0;
    pthread_mutex_lock(&room->lock);
    /* What a device compiles for it is kept with the kernel. */
    if (!room->moves[move])
        status = hcy_kernel_get(&room->moves[move], room->dev, names[move]);
    *kernel = room->moves[move];
    pthread_mutex_unlock(&room->lock);
    return status;
}

int hcy__room_launch(hcy_queue *queue, hcy_kernel *kernel, hcy_arg *args, size_t n, size_t scratch)
{
    hcy_buffer *memory = NULL;
    size_t bytes = 0;
    args[scratch] = hcy_arg_buf(NULL);
    int status = hcy_kernel_scratch_size(&bytes, kernel, 1, args, n);
    if (!status && bytes)
        status = hcy_buffer_create(&memory, hcy_queue_device(queue), HCY_MEM_DEVICE, bytes);
    args[scratch] = hcy_arg_buf(memory);
    if (!status)
        status = hcy_launch(queue, kernel, 1, args, n);
    hcy_buffer_release(memory);
    return status;
}

/* [lock] */
static int give_data(struct hcy__device_program *p, struct hcy__room *room)
{
    hcy_buffer *data = NULL;
    if (p->data)
        return 0;
    int status = hcy_buffer_create(&data, room->dev, HCY_MEM_DEVICE, sizeof *p->program);
    if (!status)
        status = hcy_buffer_write_now(data, 0, p->program, sizeof *p->program);
    if (status)
        hcy_buffer_release(data);
    else
        p->data = data;
    return status;
}

/* Compiled by whichever language the device has. */
static int generate_kernel(hcy_kernel **kernel, hcy_device *dev, const struct hcy__device_program *p,
                           struct hcy__form form, uint32_t n_operands)
{
    hcy_program *made = NULL;
    const hcy_device_info *info = hcy_device_get_info(dev);
    /* An FPGA card takes programs that were made long before. */
    if (!(info->caps & HCY_CAP_PROGRAMS) || info->kind == HCY_KIND_FPGA)
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no kernel that expressions run in, and compiles no programs; "
                                          "hcy_array_to_device() copies to a device that does", info->name);
    int status = HCY_EUNSUPPORTED;
    for (const struct hcy__eval_dialect *d = hcy__eval_dialects; d->format && status == HCY_EUNSUPPORTED;
         d++) {
        /* HCY_EUNSUPPORTED says that the device has no compiler for this dialect; any other failure is the answer,
         * and no further one is tried. */
        char *text = hcy__generate(p->program, d, form, n_operands, p->fast);
        status = text ? hcy_program_create(&made, dev, d->format, text, strlen(text), d->options)
                      : hcy_fail(HCY_ENOMEM, "out of memory for a kernel's text");
        free(text);
    }
    if (!status)
        status = hcy_program_kernel(kernel, made, "eval_run", NULL);
    hcy_program_release(made);
    return status;
}

/* [lock] */
static int find_generated(hcy_kernel **kernel, struct hcy__device_program *p, struct hcy__room *room,
                          struct hcy__form form, uint32_t n_operands)
{
    struct hcy__generated *g = p->generated;
    while (g && memcmp(&g->form, &form, sizeof form))
        g = g->next;
    if (!g) {
        g = calloc(1, sizeof *g);
        int status = g ? generate_kernel(&g->kernel, room->dev, p, form, n_operands)
                       : hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
        if (status) {
            free(g);
            return status;
        }
        g->form = form;
        g->next = p->generated;
        p->generated = g;
    }
    *kernel = g->kernel;
    return 0;
}

/* Whether elements or what lies between them are too many for 31 bits. */
static bool is_wide(const struct hcy__launch *l)
{
    bool wide = l->job.n > INT32_MAX;
    for (uint32_t k = 0; k < l->job.n_operands; k++)
        for (uint32_t d = 0; d < l->job.rank; d++) {
            int64_t stride = l->strides[k / 4].of[k % 4][d];
            wide = wide || stride > INT32_MAX || stride < INT32_MIN;
        }
    return wide;
}

int hcy__program_ready(hcy_kernel **kernel, int *generated, struct hcy__device_program *p,
                       struct hcy__room *room, const struct hcy__launch *launch)
{
    const hcy_eval_job *job = &launch->job;
    /* A map may be told of spans too, which mean nothing to it. */
    const bool folds = p->program->reduces || p->program->scans;
    struct hcy__form form = { (int)job->rank, is_wide(launch), folds && job->span != job->n, 0, 0, 0 };
    hcy__find_columns(&form, p->program, job, launch->strides);
    pthread_mutex_lock(&room->lock);
    /* The kernel that takes any program comes first, as it needs no compiler. */
    int status = find_any(kernel, room);
    *generated = !*kernel;
    if (!status)
        status = *kernel ? give_data(p, room) : find_generated(kernel, p, room, form, job->n_operands);
    pthread_mutex_unlock(&room->lock);
    return status;
}
