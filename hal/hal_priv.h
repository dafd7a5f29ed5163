/* hal_priv.h - the HAL's own view of its objects.  Not installed; backends see backend.h only.
 *
 * Every object begins with a struct hcy__object: a count of references and the function that destroys it.  A command
 * in flight holds references on all its objects through a hcy_keep.
 */
#ifndef HCY_HAL_PRIV_H
#define HCY_HAL_PRIV_H

#include <halcyon/backend.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct hcy__object {
    atomic_uint refs;
    void (*destroy)(void *object);
};
void hcy__object_init(void *object, void (*destroy)(void *));
void *hcy__retain(void *object); /* NULL is fine, for both */
void hcy__release(void *object);

/* The folder of the file that this library was loaded from, or, linked in, of the program.  0, or -1. */
int hcy__own_folder(char folder[PATH_MAX]);
/* The module PREFIXNAME.so in the first folder of those that loader.c looks in; -1: there is none. */
int hcy__module_path(char path[PATH_MAX], const char *prefix, const char *name);

/* This process's cgroup that has the controller, "cpu" or "memory"; "": there is none (processors.c). */
void hcy__own_cgroup(char group[PATH_MAX], const char *controller);

struct hcy__pool;

/* Records of commands, used again (command_records.c). */
#define HCY__NOTE_SIZES 2
struct hcy__notes {
    pthread_mutex_t lock;
    struct note *kept[HCY__NOTE_SIZES];
    size_t n_kept[HCY__NOTE_SIZES], queues, most_queues;
    atomic_size_t in_use; /* of commands that have not ended, or whose objects are still to be released */
};

/* Faults to inject (faults.c): 0 never, else how many are still to come. */
struct hcy__faults {
    bool on; /* any of them was asked for */
    atomic_llong fail_alloc, fail_launch, lose_launch;
};

struct hcy_device {
    struct hcy__object obj;
    const hcy_backend *backend;
    void *impl;
    hcy_device_info info;
    struct hcy__pool *pool;
    struct hcy__notes notes;
    struct hcy__faults faults;
    pthread_mutex_t lock; /* of `lost` */
    atomic_bool is_lost;
    hcy_error lost;
};

/* Where a buffer's memory comes from, and so how it goes. */
enum hcy__origin { HCY__POOLED, HCY__SUB, HCY__IMPORTED, HCY__TABLES, HCY__SHARED };

struct hcy_buffer {
    struct hcy__object obj;
    hcy_device *dev;
    enum hcy__origin origin;
    int mem;
    hcy_block block;   /* the root's; a sub-buffer copies it */
    size_t offset, size;
    hcy_buffer *parent;
    void (*done)(void *);
    void *payload;
    void *share; /* the backend's, of HCY__SHARED */
    bool others; /* another process has made it */
};

struct hcy_queue {
    struct hcy__object obj;
    hcy_device *dev;
    void *impl;
    pthread_mutex_t lock; /* serialises the backend's calls on this queue */
    hcy_error inherited;  /* under lock: the failure of an event that the HAL waited for in the backend's place */
    atomic_bool has_inherited; /* set behind it, for good: commands ask this first, and take no lock for it */
};

struct hcy_event {
    struct hcy__object obj;
    hcy_device *dev;
    void *impl;
    hcy_error inherited; /* its queue's, when it was recorded */
};

struct hcy_program {
    struct hcy__object obj;
    hcy_device *dev;
    void *impl;
    char *log;
};

struct hcy_kernel {
    struct hcy__object obj;
    hcy_device *dev;
    hcy_program *program;           /* NULL for a named kernel */
    const hcy_signature *signature; /* NULL: untyped */
    hcy_signature *own_signature;   /* the same where it is a copy of the user's; else NULL */
    const hcy_kernel_code *code;    /* of a named kernel that is a program; else NULL */
    void *impl;
    const char *variant;
};

struct hcy_fft {
    struct hcy__object obj;
    hcy_device *dev;
    hcy_fft_desc desc;
    size_t workspace;
    void *impl;
};

struct hcy_keep {
    size_t n;
    struct hcy__object *objects[];
};
/* A keep for n objects with `extra` bytes of storage behind it (at *storage) that live as long; NULL: out of memory. */
hcy_keep *hcy__keep_new(hcy_device *dev, size_t n, size_t extra, void **storage);
void hcy__keep_add(hcy_keep *keep, void *object);

/* status.c; the status alone of this thread's record: with 0 there, it shows whether a callback fails with words of its
 * own.  Returns the one before. */
int hcy__swap_status(int status);

/* What is to be said behind two devices' names: that these are one only by name, where they are. */
const char *hcy__opened_twice(const hcy_device *a, const hcy_device *b);

/* 0, or why nothing can be done on dev: HCY_EFORK, HCY_ELOST, HCY_EINVAL for NULL. */
int hcy__device_check(hcy_device *dev);
/* Notes that a device was opened in this process; forked children are told apart from then on. */
void hcy__fork_watch(void);
bool hcy__forked(void);
/* hcy_fail(HCY_EUNSUPPORTED) naming the backend and what it lacks. */
int hcy__unsupported(const hcy_device *dev, const char *what);

/* A buffer around what a backend's prepare() made; takes the block over. */
int hcy__buffer_tables(hcy_buffer **buf, hcy_device *dev, const hcy_block *block);
/* A buffer of a record alone; a share's block is still to come. */
hcy_buffer *hcy__buffer_new(hcy_device *dev, enum hcy__origin origin, int mem, size_t size);
/* Drops a buffer that never got its memory. */
void hcy__buffer_drop(hcy_buffer *buf);
/* hcy_buffer_create() of HCY_MEM_SHARED, its arguments checked (share.c). */
int hcy__share_create(hcy_buffer **buf, hcy_device *dev, size_t size);

/* --- Device strings (spec.c) --- */
struct hcy__spec {
    hcy_spec spec;
    hcy_spec_option options[16];
    char *text;
};
int hcy__spec_parse(struct hcy__spec *spec, const char *text);
void hcy__spec_free(struct hcy__spec *spec);

/* --- Their options (options.c), and those of every device (faults.c) --- */
const hcy_option *hcy__option_find(const hcy_option *options, const char *key); /* NULL: none */
int hcy__option_read(void *settings, const hcy_spec *spec, const hcy_option *option, const char *value);
extern const hcy_option hcy__fault_options[];
/* Takes these options out of the string. */
int hcy__faults_take(struct hcy__faults *faults, struct hcy__spec *spec);
/* 0, or the failure of this allocation that was asked for. */
int hcy__fault_alloc(hcy_device *dev);

/* --- Backends (loader.c) --- */
typedef struct {
    const char *name;
    hcy_backend_entry_fn entry;
} hcy__static_backend;
/* What the library is made of besides the HAL, handed over by whoever puts it together: backends/no_static.c, or a
 * generated table.  The HAL itself names neither a family nor a backend. */
struct hcy__library {
    const hcy_family *const *families;   /* NULL at the end */
    const hcy__static_backend *backends; /* name NULL at the end */
};
extern const struct hcy__library hcy__library;

/* --- Families (family.c) --- */
const hcy_signature *hcy__signature_find(const char *kernel); /* NULL: no family has it */
/* The code that was registered for it; NULL: none. */
const hcy_kernel_code *hcy__code_find(const char *kernel, const char *backend);

/* Names of all backends that could be there and that HALCYON_BACKENDS lets through, accelerators first;
 * free with hcy_list_free().  `null` is among them only if it is named there. */
int hcy__backend_names(char (**names)[24], size_t *n);
/* Loads a backend at its first use; HCY_ENODEV and others with the reason.  Also fills *info if not NULL. */
int hcy__backend_load(const hcy_backend **backend, const char *name, hcy_backend_info *info);

/* --- Memory (pool.c) --- */
int hcy__pool_create(struct hcy__pool **pool, hcy_device *dev);
void hcy__pool_destroy(struct hcy__pool *pool);
int hcy__pool_alloc(struct hcy__pool *pool, int mem, size_t size, hcy_block *block);
void hcy__pool_free(struct hcy__pool *pool, int mem, hcy_block *block);
void hcy__pool_trim(struct hcy__pool *pool);
void hcy__pool_get_stats(struct hcy__pool *pool, hcy_pool_stats *stats);

/* --- Notes (command_records.c) --- */
void hcy__notes_init(struct hcy__notes *notes);
void hcy__notes_destroy(struct hcy__notes *notes);
/* A queue more or less on the device: how many notes are wanted. */
void hcy__notes_add_queue(struct hcy__notes *notes);
void hcy__notes_remove_queue(struct hcy__notes *notes);
/* So many bytes, not cleared; NULL: out of memory.  The device stays until they are freed. */
void *hcy__note_new(hcy_device *dev, size_t size);
void hcy__note_free(void *note); /* NULL is fine */

/* The next device at this address is another one; so is this queue than the one before (trace.c). */
void hcy__trace_forget(const hcy_device *dev);
void hcy__trace_begin_queue(const hcy_queue *queue);

/* Whether a buffer begins at a multiple of so many bytes, as far as is known where its block does (copy.c). */
bool hcy__begins_at_multiple(const hcy_buffer *buf, size_t size);
/* Whether both are views of one block; whether two ranges share bytes of one (copy.c). */
bool hcy__same_block(const hcy_buffer *a, const hcy_buffer *b);
bool hcy__overlap(const hcy_buffer *a, size_t a_at, size_t a_size, const hcy_buffer *b, size_t b_at,
                  size_t b_size);

/* A kernel of which the backend's part is still to come (kernel.c); NULL: out of memory. */
hcy_kernel *hcy__kernel_new(hcy_device *dev, const hcy_signature *signature);

/* --- Queues --- */
/* 0, or why nothing can be submitted: no queue, its device's reasons, a failure it inherited (queue.c). */
int hcy__queue_check(hcy_queue *queue);
#define HCY__ON_QUEUE(status, queue, call)            \
    do {                                              \
        pthread_mutex_lock(&(queue)->lock);           \
        (status) = (call);                            \
        pthread_mutex_unlock(&(queue)->lock);         \
    } while (0)

#endif
