/* uncached.c - frames read past the page cache are the same bytes, from any thread, and leave nothing in it; a file
 * that was cut short is an error of its frames. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mincore */
#endif
#include "pipeline_scene.h"

#include <fcntl.h>
#include <halcyon/stack.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_BYTES = PIXELS * 4, THREADS = 4 };

static char path[64];

static hcy_stack *open_stack(int uncached)
{
    hcy_stack_options opts = HCY_STACK_OPTIONS_INIT;
    hcy_stack *stack;
    opts.uncached = uncached;
    if (hcy_stack_open_with(&stack, path, &opts))
        bail_out("%s: %s", path, hcy_last_error()->text);
    return stack;
}

/* How many of its frames are as they were made. */
static void *count_right(void *stack)
{
    uint32_t want[PIXELS], got[PIXELS];
    size_t n = 0, size;
    for (uint64_t i = 0; i < FRAMES; i++) {
        make_frame(want, i);
        memset(got, 0, sizeof got);
        n += !hcy_stack_read(&size, got, sizeof got, stack, i) && size == sizeof got && !memcmp(got, want, sizeof got);
    }
    return (void *)(uintptr_t)n;
}

static size_t cached_pages(int drop)
{
    int fd = open(path, O_RDONLY);
    const size_t size = (size_t)lseek(fd, 0, SEEK_END), pages = (size + 4095) / 4096;
    size_t n = 0;
    if (drop) {
        fsync(fd);
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    unsigned char *there = calloc(pages, 1);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || !there || mincore(map, size, there))
        bail_out("%s: no pages", path);
    for (size_t i = 0; i < pages; i++)
        n += there[i] & 1;
    munmap(map, size);
    free(there);
    close(fd);
    return n;
}

static void test_bytes(void)
{
    hcy_stack *stack = open_stack(1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count_right, stack))
            bail_out("no thread");
    for (int i = 0; i < THREADS; i++) {
        void *n;
        pthread_join(threads[i], &n);
        is_int((intmax_t)(uintptr_t)n, FRAMES, "a thread's frames are as they were made");
    }
    hcy_stack_close(stack);
}

/* Another thread may have had a lock when a process was forked: its child reads by the cache, without one. */
static bool reads_after_fork(hcy_stack *stack)
{
    int status = -1;
    const pid_t child = fork();
    if (!child)
        _exit(count_right(stack) != (void *)(uintptr_t)FRAMES);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void test_cache(void)
{
    int fd = open(path, O_RDONLY | O_DIRECT);
    const size_t before = cached_pages(1);
    if (fd >= 0)
        close(fd);
    hcy_stack *stack = open_stack(1);
    is_int((intmax_t)hcy_stack_get_info(stack)->uncached, fd >= 0, "the stack says what is read so");
    const size_t opened = cached_pages(0);
    count_right(stack);
    const size_t after = cached_pages(0);
    ok(reads_after_fork(stack), "a child of fork() reads the same");
    const size_t by_child = cached_pages(0);
    hcy_stack_close(stack);
    stack = open_stack(0);
    count_right(stack);
    hcy_stack_close(stack);
    if (fd < 0 || before || cached_pages(0) < FRAMES)
        skip(2, "this file system has no way past the page cache, or keeps pages there");
    else {
        ok(after <= opened + 1, "%zu pages of the file are in the cache, %zu were when it was opened", after, opened);
        ok(by_child >= FRAMES, "... and %zu when the child had read, without what threads share", by_child);
    }
}

static void test_cut(void)
{
    hcy_stack *stack = open_stack(1);
    uint32_t got[PIXELS];
    size_t size;
    if (truncate(path, 128 + 7 * FRAME_BYTES + 100))
        bail_out("%s cannot be cut", path);
    is_int(hcy_stack_read(&size, got, sizeof got, stack, 6), 0, "the last whole frame of a file that was cut short");
    is_int(hcy_stack_read(&size, got, sizeof got, stack, 7), HCY_ECORRUPT, "and what is behind it");
    ok(strstr(hcy_last_error()->text, "the file is truncated, 12188 of the frame's 12288 bytes") != NULL,
       "in the words of other reads: %s", hcy_last_error()->text);
    is_int(hcy_stack_read(&size, got, sizeof got, stack, FRAMES - 1), HCY_ECORRUPT, "far behind it");
    hcy_stack_close(stack);
}

int main(void)
{
    snprintf(path, sizeof path, "uncached-%ld.npy", (long)getpid());
    make_npy(path);
    test_bytes();
    test_cache();
    test_cut();
    unlink(path);
    return done_testing();
}
