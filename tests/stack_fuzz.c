/* Fuzz target: a file of any bytes is an image file or a stack whose frames are read, or refused.  Corpus: small
 * TIFF, EDF, CBF, NumPy and HDF5 files (what tests/stack_files and tests/stack_h5 make). */
#include <halcyon/stack.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST ((uint64_t)1 << 24) /* bytes of a frame that is read */

static void read_frames(hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    void *pixels = info->max_chunk <= MOST ? malloc(info->max_chunk) : NULL;
    size_t n;
    for (uint64_t i = 0; pixels && i < info->frames && i < 8; i++)
        if (!hcy_stack_read(&n, stack, i, pixels, info->max_chunk) && n > info->max_chunk)
            abort();
    free(pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/dev/shm/halcyon-fuzz-XXXXXX";
    hcy_stack *stack = NULL;
    int fd = mkstemp(path);
    if (fd < 0)
        abort();
    if (write(fd, data, size) == (ssize_t)size && !hcy_stack_open(&stack, path, NULL))
        read_frames(stack);
    hcy_stack_close(stack);
    close(fd);
    unlink(path);
    return 0;
}
