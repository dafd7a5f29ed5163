/* pages.c - memory of the CPU backend, aligned, of huge pages where they pay.  Any thread.
 *
 * Blobs that are mapped are in a list, under a lock: whoever frees one does not know where it came from. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise() */
#endif
#include "cpu_priv.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

/* A blob's mapping. */
struct mapping {
    struct mapping *next;
    void *blob;
    size_t size;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

void *cpu_pages_alloc(size_t size, bool huge)
{
    size_t align = huge && size >= 4 * HUGE_PAGE ? HUGE_PAGE : ALIGN;
    if (size > SIZE_MAX - align)
        return NULL;
    /* Sizes are rounded up, as aligned_alloc() wants multiples of the alignment. */
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
#ifdef MADV_HUGEPAGE
    if (p && align == HUGE_PAGE)
        madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void *cpu_blob_alloc(size_t size)
{
    return cpu_pages_alloc(size, true);
}

static size_t whole_pages(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return size > SIZE_MAX - page ? SIZE_MAX : (size + page - 1) / page * page;
}

static void *map_pages(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* [lock] The place of the blob's mapping in the list, whose end it is if it has none. */
static struct mapping **find_mapping(const void *blob)
{
    struct mapping **at = &mappings;
    while (*at && (*at)->blob != blob)
        at = &(*at)->next;
    return at;
}

/* Puts the blob into the list; without memory for that it is unmapped, and NULL. */
static void *note_mapping(void *blob, size_t size)
{
    struct mapping *mapping = malloc(sizeof *mapping);
    if (!mapping) {
        munmap(blob, size);
        return NULL;
    }
    *mapping = (struct mapping){ .blob = blob, .size = size };
    pthread_mutex_lock(&lock);
    mapping->next = mappings;
    mappings = mapping;
    pthread_mutex_unlock(&lock);
    return blob;
}

void *cpu_blob_map(size_t room)
{
    size_t size = whole_pages(room);
    uint8_t *memory = size < SIZE_MAX - HUGE_PAGE ? map_pages(size + HUGE_PAGE) : NULL;
    if (!memory)
        return NULL;
    /* Huge pages are aligned; what stands before the first one, and as much behind the last, goes back. */
    size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(memory, before);
    munmap(memory + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(memory + before, size, MADV_HUGEPAGE);
#endif
    return note_mapping(memory + before, size);
}

void *cpu_blob_map_file(int fd, off_t at, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, at);
    return p == MAP_FAILED ? NULL : note_mapping(p, whole_pages(size));
}

void cpu_blob_trim(void *blob, size_t size)
{
    pthread_mutex_lock(&lock);
    struct mapping *mapping = *find_mapping(blob);
    size_t left = whole_pages(size);
    if (left < mapping->size) {
        munmap((uint8_t *)blob + left, mapping->size - left);
        mapping->size = left;
    }
    pthread_mutex_unlock(&lock);
}

void cpu_blob_free(void *blob, size_t size)
{
    (void)size;
    pthread_mutex_lock(&lock);
    struct mapping **at = find_mapping(blob), *mapping = *at;
    if (mapping)
        *at = mapping->next;
    pthread_mutex_unlock(&lock);
    if (mapping)
        munmap(blob, mapping->size);
    else
        free(blob);
    free(mapping);
}
