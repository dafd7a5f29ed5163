/* isolate.h - HDF5 files that a process of its own reads, halcyon-h5-reader, so that a damaged one costs that process.
 *
 * Who reads HDF5 asks hcy__isolates(); where it says so, the same functions run in the reader, and their results come
 * through a socket as packets, which isolated*.c make and check.  A reader is started when the first question is
 * asked; one that keeps a file open may be ended in between, and is started again when it is needed.  Any number of
 * threads may ask one reader, one after the other.  Nothing of the host's is touched: no handler, no signal of any
 * other process, no descriptor that a child would inherit.
 */
#ifndef HCY_STACK_ISOLATE_H
#define HCY_STACK_ISOLATE_H

#include "corrections.h"
#include "packet.h"
#include "stack_priv.h"
#include <halcyon/host_array.h>

enum hcy__question {
    HCY__ASK_STACK = 1, /* opens a stack, or looks again at the one that is open and grows */
    HCY__ASK_FRAME,     /* a frame of it that HDF5 reads */
    HCY__ASK_CORRECTIONS,
    HCY__ASK_DETECTOR,
    HCY__ASK_NUMBERS,
    HCY__ASK_ARRAY,
    HCY__ASK_RESULTS, /* opens a file of curves */
    HCY__ASK_ROW,     /* one of its rows */
    HCY__ASK_SHARD,   /* of what part of a stack it is */
    HCY__ASK_TRY      /* whether it can be read at all */
};
#define HCY__READER_SOCKET 3          /* the reader's end */
#define HCY__READER_OTHER_VERSION 112 /* its exit status where library and reader are not of one version */

/* The isolation that a stack asks for, `own` (NULL or its files 0: none), or the program's, HCY_ISOLATE_NONE where it
 * does not concern this file. 1: the file is isolated, within *use; 0: it is not. */
int hcy__isolates(hcy_isolation *use, const hcy_isolation *own, const char *path);
/* Does it look like HDF5?  Without HDF5. */
int hcy__looks_like_h5(const char *path);

typedef struct hcy__reader hcy__reader;
/* Nothing is started yet. */
int hcy__reader_new(hcy__reader **reader, const hcy_isolation *limits, const char *path);
hcy__reader *hcy__reader_share(hcy__reader *reader);
/* Ends the process with the last that lets go; NULL is fine. */
void hcy__reader_release(hcy__reader *reader);
/* Asks, and waits for the answer, to be freed also after a failure.  The status is the reader's own; or HCY_ECORRUPT:
 * HDF5 crashed; HCY_ETIMEOUT, HCY_ENOMEM: limits, or this process has no memory for the answer; HCY_EFORK: this process
 * is a fork of the one that started the reader; HCY_ENOENT, HCY_EABI: no such program, or of another version; HCY_EIO:
 * it ended by itself, or HDF5 had not the memory that it wanted and says so. */
int hcy__reader_ask(hcy__packet *answer, hcy__reader *reader, const hcy__packet *question);
/* More will be asked of what `opening`, which the reader takes over, has opened.  Beyond eight such readers, this call
 * or an answer ends the process of the one that was asked longest ago. */
void hcy__reader_keep(hcy__reader *reader, hcy__packet *opening);
/* Asks a reader of its own, once. */
int hcy__reader_ask_once(hcy__packet *answer, const hcy_isolation *limits, const char *path,
                         const hcy__packet *question);
/* 0, or HCY_ECORRUPT where what was read of an answer did not fit. */
int hcy__answer_end(const hcy__packet *answer, const char *path);

/* --- Questions: what is asked here is answered by the same file's functions there --- */

/* A stack (isolated_stack.c): parts and places of an empty one, as hcy__h5_open() fills it. */
int hcy__isolated_open(hcy_stack *stack, const hcy_isolation *limits);
/* The rest (isolated.c), as the functions of HDF5's that are named so.  They ask, where the file is isolated. */
int hcy__corrections_find(struct hcy__correction_names *names, const hcy_stack_info *stack, const hcy_isolation *own,
                          const char *path);
int hcy__isolated_detector(hcy_detector_info *info, const hcy_isolation *limits, const char *path, const char *dataset);
int hcy__isolated_numbers(double **values, size_t *n, const hcy_isolation *limits, const char *path, const char *name);
int hcy__isolated_array(hcy_host_array *array, const hcy_isolation *limits, const char *path, const char *name);

int hcy__isolated_shard(hcy_shard *shard, char kind[16], const hcy_isolation *limits, const char *path);

/* The list of numbers at `name`, without a reader (numbers.c). */
int hcy__h5_numbers(double **values, size_t *n, const char *path, const char *name);

/* Those of `paths` that are isolated can be read by this process as well: 0, or what the first one does to HDF5. */
int hcy__isolated_try(const char *const *paths, size_t n);
/* Reads a file for nothing, without a reader (h5_try.c). */
int hcy__h5_try(const char *path);

/* In the reader: what is open between questions. */
struct hcy__results_head;
struct hcy__opened {
    hcy_stack *stack;
    void *results;
    struct hcy__results_head *head;
};
/* They read a question behind its number, and write the answer without its status, which they return. */
int hcy__answer_stack(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_frame(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_corrections(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_detector(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_numbers(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_shard(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_try(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_array(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_results(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
int hcy__answer_row(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);
void hcy__results_forget(struct hcy__opened *opened);

#endif
