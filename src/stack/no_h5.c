/* no_h5.c - what a build without HDF5 answers. */
#include "stack_priv.h"

static int absent(const char *what)
{
    return hcy_fail(HCY_EUNSUPPORTED, "%s: this build of Halcyon has no HDF5", what);
}

int hcy_stack_create(hcy_stack_writer **writer, const char *path, const hcy_stack_writer_opts *opts)
{
    (void)opts;
    if (writer)
        *writer = NULL;
    return absent(path ? path : "hcy_stack_create");
}

int hcy_stack_write(hcy_stack_writer *writer, uint64_t frame, const void *pixels)
{
    (void)writer;
    (void)frame;
    (void)pixels;
    return absent("hcy_stack_write");
}

int hcy_stack_write_chunk(hcy_stack_writer *writer, uint64_t frame, const void *chunk, size_t size)
{
    (void)writer;
    (void)frame;
    (void)chunk;
    (void)size;
    return absent("hcy_stack_write_chunk");
}

uint64_t hcy_stack_writer_bytes(const hcy_stack_writer *writer)
{
    (void)writer;
    return 0;
}

int hcy_stack_writer_close(hcy_stack_writer *writer)
{
    (void)writer;
    return 0;
}
