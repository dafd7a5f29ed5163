/* command_records.c - the records of commands in flight, with the references they hold, used again: queues that run
 * steadily allocate nothing.
 *
 * A note belongs to a device, and while it is in use it holds a reference on it.  There are two sizes, for copies and
 * for launches; what is larger is allocated and freed.  Each queue, when there are more than ever before, brings
 * enough of both for the commands it usually has in flight; what a burst adds is kept too, up to a bound.
 * Thread-safe.
 */
#include "hal_priv.h"

#include <stdlib.h>

#define MOST_KEPT   512
#define MOST_QUEUES 16 /* that bring notes */

static const struct {
    size_t size, a_queue;
} sizes[HCY__NOTE_SIZES] = { { 512, 24 }, { 4096, 8 } };

struct note {
    struct note *next; /* while it is kept */
    hcy_device *dev;   /* while it is in use */
    size_t kind;       /* HCY__NOTE_SIZES: too large to be kept */
    max_align_t data[];
};

void hcy__notes_init(struct hcy__notes *notes)
{
    pthread_mutex_init(&notes->lock, NULL);
    atomic_init(&notes->in_use, 0);
}

void hcy__notes_destroy(struct hcy__notes *notes)
{
    /* Nobody else has the device any more, so the lock is not taken. */
    for (size_t k = 0; k < HCY__NOTE_SIZES; k++)
        while (notes->kept[k]) {
            struct note *note = notes->kept[k];
            notes->kept[k] = note->next;
            free(note);
        }
    pthread_mutex_destroy(&notes->lock);
}

/* Keeps a record for later; 0 if enough of that kind are kept. */
static int keep_note(struct hcy__notes *notes, struct note *note)
{
    pthread_mutex_lock(&notes->lock);
    /* The bound keeps what one burst of commands has needed from staying allocated for ever. */
    int kept = note->kind < HCY__NOTE_SIZES && notes->n_kept[note->kind] < MOST_KEPT;
    if (kept) {
        note->next = notes->kept[note->kind];
        notes->kept[note->kind] = note;
        notes->n_kept[note->kind]++;
    }
    pthread_mutex_unlock(&notes->lock);
    return kept;
}

static struct note *make_note(size_t kind, size_t size)
{
    struct note *note = malloc(sizeof *note + (kind < HCY__NOTE_SIZES ? sizes[kind].size : size));
    if (note)
        note->kind = kind;
    return note;
}

/* Notes that cannot be had now are asked for again when a command needs them. */
void hcy__notes_add_queue(struct hcy__notes *notes)
{
    pthread_mutex_lock(&notes->lock);
    /* A queue that takes the place of a released one finds that one's notes, so only a new highest number
     * brings more. */
    int more = ++notes->queues > notes->most_queues && notes->queues <= MOST_QUEUES;
    if (more)
        notes->most_queues = notes->queues;
    pthread_mutex_unlock(&notes->lock);
    /* Allocated outside of the lock: other queues of the device go on submitting. */
    for (size_t k = 0; more && k < HCY__NOTE_SIZES; k++)
        for (size_t i = 0; i < sizes[k].a_queue; i++) {
            struct note *note = make_note(k, 0);
            if (note && !keep_note(notes, note))
                free(note);
        }
}

void hcy__notes_remove_queue(struct hcy__notes *notes)
{
    pthread_mutex_lock(&notes->lock);
    notes->queues--;
    pthread_mutex_unlock(&notes->lock);
}

void *hcy__note_new(hcy_device *dev, size_t size)
{
    struct hcy__notes *notes = &dev->notes;
    struct note *note = NULL;
    size_t k = 0;
    /* The first size that is large enough; what is larger than all of them is allocated each time. */
    while (k < HCY__NOTE_SIZES && size > sizes[k].size)
        k++;
    if (k < HCY__NOTE_SIZES) {
        pthread_mutex_lock(&notes->lock);
        if ((note = notes->kept[k])) {
            notes->kept[k] = note->next;
            notes->n_kept[k]--;
        }
        pthread_mutex_unlock(&notes->lock);
    }
    if (!note && !(note = make_note(k, size)))
        return NULL;
    /* A command in flight keeps its device, and so the place that the note comes back to. */
    note->dev = hcy_device_retain(dev);
    atomic_fetch_add(&notes->in_use, 1);
    return note->data;
}

void hcy__note_free(void *data)
{
    if (!data)
        return;
    struct note *note = (struct note *)((char *)data - offsetof(struct note, data));
    /* Read before the note goes back: another thread may take it at once. */
    hcy_device *dev = note->dev;
    atomic_fetch_sub(&dev->notes.in_use, 1);
    if (!keep_note(&dev->notes, note))
        free(note);
    /* Last, because this reference may be the one that keeps the notes' lock alive. */
    hcy_device_release(dev);
}

/* --- Keeps: references --- */

hcy_keep *hcy__keep_new(hcy_device *dev, size_t n, size_t extra, void **storage)
{
    const size_t align = _Alignof(max_align_t);
    size_t head = sizeof(hcy_keep) + n * sizeof(struct hcy__object *);
    /* The storage behind the references holds values of any type, so it begins where any type may. */
    head = (head + align - 1) / align * align;
    hcy_keep *keep = hcy__note_new(dev, head + extra);
    if (!keep)
        return NULL;
    keep->n = 0;
    if (storage)
        *storage = (char *)keep + head;
    return keep;
}

void hcy__keep_add(hcy_keep *keep, void *object)
{
    if (object)
        keep->objects[keep->n++] = hcy__retain(object);
}

void hcy_keep_release(hcy_keep *keep)
{
    if (!keep)
        return;
    /* In reverse order: what was added first may be what the others belong to. */
    for (size_t i = keep->n; i-- > 0;)
        hcy__release(keep->objects[i]);
    /* The note has a reference on the device of its own, so the device outlives all of the objects. */
    hcy__note_free(keep);
}
