/* halcyon/backend.h - for authors of backends: what a backend fills in, and what the HAL does for it.
 *
 * A backend is a table of functions and a list of the kernels it brings.  As a module (hcy_NAME.so) it exports
 * hcy_backend_entry(); built in, the same function stands in the generated table of static backends.
 * halcyon_backend(3) says what each slot must do; the guide, backends/null/README.md, and the conformance suite,
 * tests/cts_*.c, which says when a backend is right, are installed in share/doc/halcyon/backend.
 *
 * Contract: functions return 0 or HCY_E* with hcy_fail(); they never print, abort or exit.  The HAL has checked
 * arguments, ranges, overflow and device-lost before it calls.  Every function may be called from any thread; calls
 * on the same queue are serialised by the HAL, all others are not.  A table's slots may be NULL (unsupported), and
 * a table may be shorter than the HAL's (`size`): both mean HCY_EUNSUPPORTED.
 */
#ifndef HALCYON_BACKEND_H
#define HALCYON_BACKEND_H

#include <halcyon/family.h>
#include <halcyon/fft.h>
#include <halcyon/kernel.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCY_BACKEND_ABI 1u

/* A device string taken apart and percent-decoded.  Strings belong to it. */
typedef struct hcy_spec_option {
    const char *key, *value;
} hcy_spec_option;
typedef struct hcy_spec {
    const char *text;     /* as the user wrote it */
    const char *backend;
    const char *selector; /* "" if none */
    const hcy_spec_option *options;
    size_t n_options;
} hcy_spec;

/* A piece of memory as the backend knows it. */
typedef struct hcy_block {
    void *handle;     /* the backend's own */
    uint64_t address; /* the device's address, if it has one */
    void *host;       /* the host's address, NULL if the host cannot reach it */
    size_t size;
} hcy_block;

/* One end of a copy: a block of this device plus offset, or plain host memory. */
typedef struct hcy_place {
    const hcy_block *block; /* NULL: host */
    void *host;
    int mem;                /* HCY_MEM_* of the block */
    struct hcy_device *dev; /* the block's device; not the queue's device for a peer copy */
    size_t offset, row_stride, slice_stride;
} hcy_place;

/* A command's objects, kept alive by the backend until it has run: see hcy_keep. */
typedef struct hcy_keep hcy_keep;

typedef struct hcy_copy {
    hcy_place dst, src;
    size_t extent[3]; /* bytes, rows, slices */
} hcy_copy;

/* What the trace calls a copy, by its direction as the host sees it: a place without a block is the caller's memory. */
static inline const char *hcy_copy_name(const hcy_copy *copy)
{
    if (!copy->src.block)
        return "write";
    return copy->dst.block ? "copy" : "read";
}

/* An argument as it reaches the backend: checked, structures copied into `bytes`. */
typedef struct hcy_value {
    int type;                 /* HCY_ARG_*: the signature's */
    uint32_t size;            /* bytes of a scalar or structure */
    const hcy_block *block;   /* buffers; NULL for an absent one */
    size_t offset;            /* of a sub-buffer in its block */
    size_t bytes_left;        /* the buffer's size */
    const void *bytes;        /* scalars and structures */
} hcy_value;

typedef struct hcy_launch_desc {
    size_t items;           /* logical launch; 0 for a grid launch */
    const hcy_grid *grid;   /* NULL for a logical launch */
    const hcy_value *values;
    size_t n_values;
    int together;           /* all groups of the grid at once; of devices with HCY_CAP_TOGETHER alone */
} hcy_launch_desc;

#define HCY_SHARE_NAME 64 /* bytes */

/* `impl` is the backend's own pointer in each HAL object. */
typedef struct hcy_backend_ops {
    size_t size;

    /* Devices.  list: *infos allocated with malloc, opens nothing. */
    int (*list)(hcy_device_info **infos, size_t *n);
    int (*open)(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec);
    void (*close)(void *impl);
    int (*get_i64)(int64_t *value, void *impl, const char *key);
    int (*mem_info)(uint64_t *free_bytes, uint64_t *total_bytes, void *impl);

    /* Memory. */
    int (*alloc)(hcy_block *block, void *impl, int mem, size_t size);
    void (*free)(void *impl, int mem, hcy_block *block);
    int (*import_host)(hcy_block *block, void *impl, void *host, size_t size);
    int (*import_device)(hcy_block *block, void *impl, uint64_t handle, size_t size);
    void (*unimport)(void *impl, hcy_block *block);

    /* Queues.  Each command takes over `keep` (to be released with hcy_keep_release() after it ran, failed or was
     * skipped); on an error return the HAL keeps it. */
    int (*queue_create)(void **qimpl, void *impl, hcy_queue *queue);
    void (*queue_destroy)(void *qimpl); /* after its last command has run */
    int (*copy)(void *qimpl, const hcy_copy *copy, hcy_keep *keep);
    int (*fill)(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
                hcy_keep *keep);
    int (*launch)(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep);
    int (*fft_execute)(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                       const hcy_value *work, hcy_keep *keep);
    int (*finish)(void *qimpl);                      /* wait; the queue's first failure */
    int (*finished)(void *qimpl);                    /* 0, the same failure, or HCY_ETIMEOUT: not yet; may be NULL */
    int (*status)(void *qimpl);                      /* the same, without waiting */
    int (*record)(void **eimpl, void *qimpl);
    int (*wait)(void *qimpl, hcy_event *event);      /* HCY_EUNSUPPORTED: the HAL waits on the host instead */

    /* Events. */
    int (*event_wait)(void *eimpl, uint64_t timeout_ns);
    int (*event_query)(int *done, void *eimpl);
    int (*event_time)(uint64_t *ns, void *eimpl);
    void (*event_destroy)(void *eimpl);

    /* Kernels.  kernel_get: HCY_EUNSUPPORTED if this device lacks it. */
    int (*kernel_get)(void **kimpl, const char **variant, void *impl, const hcy_signature *signature);
    void (*kernel_release)(void *kimpl);
    /* *tables is freed with free(HCY_MEM_DEVICE). */
    int (*prepare)(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n);
    int (*scratch_size)(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n);
    int (*preferred_batch)(size_t *items, void *kimpl, const hcy_value *values, size_t n);
    int (*program_create)(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                          const char *options);
    void (*program_release)(void *pimpl);
    int (*program_kernel)(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature);

    /* FFT. */
    int (*fft_create)(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc);
    void (*fft_release)(void *fimpl);

    /* Numbers by their key, handles of the vendor's among them; HCY_ENOENT, naming the key, for others. */
    int (*buffer_i64)(int64_t *value, void *impl, const hcy_block *block, size_t offset, const char *key);
    int (*queue_i64)(int64_t *value, void *qimpl, const char *key);
    int (*kernel_i64)(int64_t *value, void *kimpl, const char *key);

    /* As prepare, for tables that a few items in all will be launched with; NULL: prepare serves. */
    int (*prepare_few)(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n);

    /* A launch that is worth no hand-over, on a queue whose commands have all run: it runs before this returns, so that
     * its values need not be kept, and has then the same order and failures as one that was submitted.  The HAL does
     * not serialise it.  The thread is the host's, whose stack may be small, and who may have set another rounding.
     * HCY_EUNSUPPORTED, without a message: it is to be submitted.  NULL: all are. */
    int (*launch_now)(void *qimpl, void *kimpl, const hcy_launch_desc *launch);

    /* Device memory that other processes can have; *simpl is the backend's record of it.  share_name: what
     * share_open() of another process finds it by, zeros behind it.  HCY_ENOENT: there is no such memory of so many
     * bytes (any more); a name may be anybody's bytes.  share_close: of what either has made. */
    int (*share_create)(hcy_block *block, void **simpl, void *impl, size_t size);
    int (*share_name)(unsigned char name[HCY_SHARE_NAME], void *impl, void *simpl);
    int (*share_open)(hcy_block *block, void **simpl, void *impl, const unsigned char name[HCY_SHARE_NAME],
                      size_t size);
    void (*share_close)(void *impl, void *simpl);

    /* Tells the vendor's profiler where what it is to look at begins (1), and ends (0).  HCY_EUNSUPPORTED: there is no
     * such call here, whether the slot is NULL or the driver lacks it. */
    int (*profile)(void *impl, int begin);

    /* A command that does nothing: its keep is released when the queue's stream has passed it, and what others have put
     * there before.  NULL: the HAL waits for the queue. */
    int (*queue_keep)(void *qimpl, hcy_keep *keep);

    /* As queue_create, of which commands go before other queues' that wait; NULL: queue_create serves. */
    int (*queue_create_urgent)(void **qimpl, void *impl, hcy_queue *queue);

    /* The memory of a program's variable, which stays the program's: as import_device, unimport comes at the end.
     * HCY_ENOENT: it has none of that name. */
    int (*program_global)(hcy_block *block, void *pimpl, const char *name);

    /* 1 where a command hangs, and may use for ever what it was given: memory that was lent then stays in use, without
     * a done().  NULL: none does. */
    int (*hangs)(void *impl);
} hcy_backend_ops;

#define HCY_HAS_OP(ops, op) ((ops)->size >= offsetof(hcy_backend_ops, op) + sizeof((ops)->op) && (ops)->op)

typedef struct hcy_backend {
    uint32_t abi; /* HCY_BACKEND_ABI */
    size_t size;  /* sizeof(hcy_backend) */
    const char *name;
    const hcy_backend_ops *ops;
    const hcy_family *const *families; /* those it was built with, NULL-terminated; new ones become known */
} hcy_backend;

/* What a module exports.  *backend stays valid for ever.  An error means: nothing of it here (its vendor's library
 * is missing, say), with the reason; that is quiet, `halcyon devices` shows it. */
typedef int (*hcy_backend_entry_fn)(const hcy_backend **backend, uint32_t host_abi);
#define HCY_BACKEND_ENTRY "hcy_backend_entry"

/* The head of that function, for its declaration and its definition.  Linked into the library it has a name of its own
 * there, and is not exported. */
#ifdef HCY_BACKEND_STATIC
#define HCY_BACKEND_SYMBOL(name) hcy_backend_entry_##name
#define HCY_BACKEND_EXPORT
#else
#define HCY_BACKEND_SYMBOL(name) hcy_backend_entry
#define HCY_BACKEND_EXPORT HCY_API
#endif
#define HCY_BACKEND_HEAD(name) \
    HCY_BACKEND_EXPORT int HCY_BACKEND_SYMBOL(name)(const hcy_backend **backend, uint32_t host_abi)

/* --- Services of the HAL --- */

/* One option of a backend's device strings, and where its value goes: the settings' member at `offset`, whose type is
 * that of the kind.  A table ends with a key of NULL. */
enum hcy_option_kind {
    HCY_OPTION_BOOL,   /* bool: 0 or 1 */
    HCY_OPTION_INT,    /* int64_t: from `least` to `most`; INT64_MAX: any that large */
    HCY_OPTION_SIZE,   /* uint64_t: bytes, one at least */
    HCY_OPTION_WORD,   /* int: which of `words`, counted from 0 */
    HCY_OPTION_STRING, /* const char *, until the device is open; "" is refused */
};
typedef struct hcy_option {
    const char *key;
    int kind;
    size_t offset;
    const char *help; /* what it is, for messages */
    int64_t least, most;
    const char *words; /* "none noop": separated by blanks */
} hcy_option;
/* Reads all options of a device string.  What it does not name keeps the value that is there: the caller sets defaults
 * before.  HCY_EINVAL for values that are not wanted, saying which are, and for unknown keys, naming those there are.
 * The options of hal/faults.c ("fail-alloc=", ...) are every device's, and never seen by its backend. */
HCY_API int hcy_options_read(void *settings, const hcy_spec *spec, const hcy_option *options);

/* 0, or the failure that the device string asked for.  A backend calls it once for each launch, where that runs; what
 * it returns fails the queue as the device's own failure would. */
HCY_API int hcy_fault_launch(hcy_device *dev);

/* A command has run, failed or was refused: what it kept alive goes.  Any thread, once. */
HCY_API void hcy_keep_release(hcy_keep *keep);
/* What the backend's open() and record() gave; the device is not retained. */
HCY_API void *hcy_device_impl(const hcy_device *dev);
HCY_API void *hcy_event_impl(const hcy_event *event);
HCY_API hcy_device *hcy_event_device(const hcy_event *event);
/* Declares the device lost, for good; the first cause is kept.  Returns HCY_ELOST. */
HCY_API int hcy_device_lose(hcy_device *dev, const char *fmt, ...) HCY_PRINTF(2, 3);

/* ns of CLOCK_MONOTONIC, the time base of events and traces. */
HCY_API uint64_t hcy_now_ns(void);
/* One span of the timeline that HALCYON_TRACE asks for; `lane`: the queue that queue_create() was called for. */
HCY_API void hcy_trace_span(const hcy_device *dev, const void *lane, const char *what, uint64_t start_ns,
                            uint64_t end_ns, uint64_t bytes);
HCY_API int hcy_trace_on(void);
/* The queue's row in it has a name; and its spans, from here on until this is said again, are about frames `first` to
 * `first` + n - 1 (n 0: about none).  What was submitted before must have run. */
HCY_API void hcy_trace_name_queue(const hcy_queue *queue, const char *name);
HCY_API void hcy_trace_frames(const hcy_queue *queue, uint64_t first, uint64_t n);
/* A span of the host's own work, in a row of the calling thread: hcy_trace_begin() is when it began, 0 where there is
 * no timeline, and hcy_trace_end() draws it from then to now; of a 0 it draws nothing.  The row is the thread's from
 * hcy_trace_name_thread() on until NULL gives it back, which a thread does that ends: another of that name has it
 * then. */
HCY_API uint64_t hcy_trace_begin(void);
HCY_API void hcy_trace_end(uint64_t since, const char *what, uint64_t first, uint64_t n, uint64_t bytes);
HCY_API void hcy_trace_name_thread(const char *name);
/* Who sees commands as they are brought to a device, by the names of their spans: a profiler attached to the process.
 * Both are called in the thread that does it, from any thread, nested, with a queue's locks held: they call nothing of
 * the library.  The table stays valid for ever.  HCY_ESTATE: there is one already. */
typedef struct hcy_trace_sink {
    size_t size; /* sizeof(hcy_trace_sink) */
    void (*push)(const char *what);
    void (*pop)(void);
} hcy_trace_sink;
HCY_API int hcy_trace_attach(const hcy_trace_sink *sink);
/* A command begins in this thread: what hcy_trace_pop() then gets, so that it ends what has begun and nothing else. */
HCY_API int hcy_trace_push(const char *what);
HCY_API void hcy_trace_pop(int pushed);

/* 0, or HCY_EFORK in a child of a process that had opened a device: its threads are not there, its locks may be held
 * for ever.  For what is built on devices and has threads or locks of its own. */
HCY_API int hcy_fork_check(void);

/* a * b and a + b without overflow: 0 or HCY_ERANGE. */
HCY_API int hcy_size_mul(size_t *out, size_t a, size_t b);
HCY_API int hcy_size_add(size_t *out, size_t a, size_t b);

/* The folder for what a backend keeps from run to run, of HALCYON_CACHE_DIR or the user's cache, made if need be, to
 * `path`; HCY_ENOENT without a description: there is none. */
HCY_API int hcy_cache_folder(char *path, size_t size, const char *folder);
/* Bytes that a folder of plans may have, with what devices keep beside them: HALCYON_CACHE_SIZE.  Above it what was
 * used longest ago goes, so a file of more than half of it is better not kept.  UINT64_MAX: there is no limit. */
HCY_API uint64_t hcy_cache_limit(void);
/* A file in such a folder to be read: *fd, or all of it, malloced, with a zero behind it, if it has `most` bytes at
 * most.  HCY_ENOENT without a description: it is not there, cannot be read, or is not to be relied on, because it or
 * its folder belongs to another user who is not root, or everybody may write to it. */
HCY_API int hcy_cache_open(int *fd, const char *path);
HCY_API int hcy_cache_read(void **data, size_t *size, const char *path, size_t most);
/* FNV-1a of bytes, by which who reads them knows that they are what was written. */
HCY_API uint64_t hcy_cache_sum(const void *data, size_t size);
/* A file of a head and data in such a folder, whole or not at all, as hcy_output_open() has it.  Folders are made if
 * need be.  HCY_ENOENT without a description: it cannot be written, or would not be read.  The same in pieces: begun,
 * written by hcy_output_write(), and ended as by hcy_output_commit(), in any case where it was begun. */
HCY_API int hcy_cache_write(const char *path, const void *head, size_t head_size, const void *data, size_t size);
typedef struct hcy_output hcy_output;
HCY_API int hcy_cache_begin(hcy_output **output, const char *path);
HCY_API int hcy_cache_end(hcy_output *output, int status);

/* Bytes of host memory that this process may still take, by the machine's MemAvailable, its cgroups' limits and its
 * own: for who needs much and would rather say so than be killed.  UINT64_MAX: nothing says. */
HCY_API uint64_t hcy_memory_left(void);

/* memcpy() to memory that this processor will not read soon (a device will): where it can, it neither reads the
 * destination's lines before it writes them nor keeps them in its caches.  Fastest from a source that lies in those. */
HCY_API void hcy_copy_past_caches(void *dst, const void *src, size_t n);
/* Processors that this process may use, by its affinity and its cgroups' quotas: 1 at least. */
HCY_API unsigned hcy_processors(void);

/* A file that is whole, or not there: it is written beside `path`, as PATH.partial-PID, and takes that name when it is
 * committed; an earlier file stays until then, and gives it its permissions.  Symbolic links are followed.  "-" is
 * standard output, which gets its bytes at once, from where it is on, as do pipes, devices, and files in folders where
 * none may be made.  HCY_EIO: it cannot be written. */
#define HCY_OUTPUT_REPLACES 1u /* a pipe or device of that name is replaced, not written to */
HCY_API int hcy_output_open(hcy_output **output, const char *path, unsigned flags) HCY_MUST_USE;
HCY_API int hcy_output_fd(const hcy_output *output); /* for reading too, where it is a file */
/* Writes so many bytes at `offset`, from any thread.  HCY_EIO. */
HCY_API int hcy_output_write(hcy_output *output, const void *bytes, size_t size, uint64_t offset) HCY_MUST_USE;
/* The same for text, to be used in its place; NULL: no memory. */
HCY_API FILE *hcy_output_stream(hcy_output *output);
/* It takes its name now, for who reads it as it grows, and keeps it however it ends: to be called when what was written
 * is worth more than an earlier file.  HCY_EIO: what was written did not arrive, and nothing has changed. */
HCY_API int hcy_output_show(hcy_output *output) HCY_MUST_USE;
/* The name that it will have, from the root on where it is a file; the one by which it is found now: PATH.partial-PID
 * from the root on, or `path` as it was given where it is not written beside, or no more (hcy_output_show()).  Both are
 * the output's own; the second lasts until hcy_output_show(). */
HCY_API const char *hcy_output_name(const hcy_output *output);
HCY_API const char *hcy_output_place(const hcy_output *output);
/* Each closes and frees: the file takes its name, if `status` is 0 (HCY_EIO: not all arrived, and nothing is left of
 * it), else it is taken away and that status returned, with the last error as it is; it stays under the name that it
 * has; it is taken away (NULL is fine).  What is not written beside stays in any case. */
HCY_API int hcy_output_commit(hcy_output *output, int status) HCY_MUST_USE;
HCY_API int hcy_output_keep(hcy_output *output) HCY_MUST_USE;
HCY_API void hcy_output_discard(hcy_output *output);
/* For the handler of a signal that ends the process: takes away all files that are written beside others. */
HCY_API void hcy_output_abandon(void);

/* A queue for backends whose device has none of its own (hal/hostqueue.c): a thread that runs commands in order,
 * with events, sticky failures and the trace.  `run` gets a private copy of `size` bytes of `command`. */
typedef struct hcy_hostqueue hcy_hostqueue;
typedef int (*hcy_hostqueue_fn)(void *command);
/* `queue`: whose commands these are, as the trace names them; NULL: no queue's of the HAL. */
HCY_API int hcy_hostqueue_create(hcy_hostqueue **hq, hcy_device *dev, const hcy_queue *queue);
HCY_API void hcy_hostqueue_destroy(hcy_hostqueue *hq);
/* `name` must be a string constant; bytes are for the trace. */
HCY_API int hcy_hostqueue_submit(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                                 const void *command, size_t size, hcy_keep *keep);
/* The same, of a device that runs in order what it is given: `run` starts the command there, and `settle`, with the
 * same bytes, returns when that and all that was started before has run, or failed.  It is called for the last of some
 * commands, before anything else of the queue's begins; a NULL stands for a `run` that has waited itself, as it should
 * where times are asked for (hcy_trace_on()). */
HCY_API int hcy_hostqueue_start(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                                hcy_hostqueue_fn settle, const void *command, size_t size, hcy_keep *keep);
/* A command of the caller's thread, where the queue's have all run: in order with those before and behind it, a failure
 * is kept as that of any command, and 0 is returned.  `run` gets the command itself; it must be short and must not use
 * the queue.  HCY_EUNSUPPORTED, without a message: something is still to run, and this is to be submitted behind it. */
HCY_API int hcy_hostqueue_run_now(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                                  const void *command);
/* For `run`, in its thread: from when to when (hcy_now_ns()) the device ran the command that is being run.  A time
 * outside the call is not taken. */
HCY_API void hcy_hostqueue_ran(uint64_t start_ns, uint64_t end_ns);
/* hcy_host_copy() and hcy_host_fill() as commands. */
HCY_API int hcy_hostqueue_copy(hcy_hostqueue *hq, const hcy_copy *copy, hcy_keep *keep);
HCY_API int hcy_hostqueue_fill(hcy_hostqueue *hq, const hcy_place *dst, size_t size, const void *pattern,
                               size_t pattern_size, hcy_keep *keep);
HCY_API int hcy_hostqueue_finish(hcy_hostqueue *hq);
HCY_API int hcy_hostqueue_finished(hcy_hostqueue *hq);
HCY_API int hcy_hostqueue_status(hcy_hostqueue *hq);
HCY_API int hcy_hostqueue_record(void **eimpl, hcy_hostqueue *hq);
HCY_API int hcy_hostqueue_wait(hcy_hostqueue *hq, hcy_event *event); /* of any device */
HCY_API int hcy_hostevent_wait(void *eimpl, uint64_t timeout_ns);
HCY_API int hcy_hostevent_query(int *done, void *eimpl);
HCY_API int hcy_hostevent_time(uint64_t *ns, void *eimpl);
HCY_API void hcy_hostevent_destroy(void *eimpl);
/* Copies and fills where the host reaches both ends. */
HCY_API int hcy_host_copy(const hcy_copy *copy);
HCY_API int hcy_host_fill(const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size);

#ifdef __cplusplus
}
#endif
#endif
