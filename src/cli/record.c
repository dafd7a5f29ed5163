/* record.c - see record.h. */
#include "record.h"
#include <errno.h>
#include <halcyon/stream.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16, LENGTH = 8 };
/* Of a part; a length above it is that of a file of another kind. */
#define MOST_BYTES ((uint64_t)1 << 30)

struct record {
    FILE *file;
    char *path;
    int writes, version; /* reading: of the stream, 0 before the first message */
    uint64_t at;
    hcy_span parts[PARTS];
    uint8_t *ahead; /* the first part of the next message, read already; NULL: none */
    uint64_t ahead_size;
};

static int open_record(struct record **out, const char *path, int writes)
{
    struct record *r = calloc(1, sizeof *r);
    if (r) {
        r->writes = writes;
        r->path = strdup(path);
    }
    if (!r || !r->path) {
        free(r);
        return cli_error("out of memory for %s", path);
    }
    r->file = fopen(path, writes ? "wb" : "rb");
    if (!r->file) {
        int number = errno;
        (void)record_close(r);
        return writes ? cli_write_failed(path, number) : cli_error("%s cannot be read", path);
    }
    *out = r;
    return CLI_OK;
}

int record_create(struct record **record, const char *path)
{
    return open_record(record, path, 1);
}

int record_open(struct record **record, const char *path)
{
    return open_record(record, path, 0);
}

int record_add(struct record *r, const hcy_span *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* The byte order is fixed, so that a recording can be played on any machine. */
        uint8_t length[LENGTH];
        for (int k = 0; k < LENGTH; k++)
            length[k] = (uint8_t)((uint64_t)parts[i].size >> 8 * k);
        if (fwrite(length, 1, LENGTH, r->file) != LENGTH ||
            fwrite(parts[i].data, 1, parts[i].size, r->file) != parts[i].size)
            return cli_write_failed(r->path, errno);
    }
    return CLI_OK;
}

/* The next part, to be freed: 1, 0 at the end, -1. */
static int read_part(uint8_t **bytes, uint64_t *size, struct record *r)
{
    uint8_t length[LENGTH];
    size_t got = fread(length, 1, LENGTH, r->file);
    if (!got)
        return 0;
    *size = 0;
    for (int k = LENGTH; k--;)
        *size = *size << 8 | length[k];
    /* The length is the file's word: beyond any message's it would ask for memory without end. */
    *bytes = got == LENGTH && *size <= MOST_BYTES ? malloc(*size ? (size_t)*size : 1) : NULL;
    if (!*bytes || fread(*bytes, 1, (size_t)*size, r->file) != *size) {
        free(*bytes);
        cli_error("%s: at byte %llu it is not a recording, or ends too soon", r->path, (unsigned long long)r->at);
        return -1;
    }
    r->at += LENGTH + *size;
    return 1;
}

static void free_parts(struct record *r)
{
    for (size_t i = 0; i < PARTS; i++)
        free((void *)r->parts[i].data);
    memset(r->parts, 0, sizeof r->parts);
}

int record_next(const hcy_span **parts, size_t *n, struct record *r)
{
    int got = 1;
    free_parts(r);
    *n = 0;
    *parts = r->parts;
    for (;;) {
        if (!r->ahead)
            got = read_part(&r->ahead, &r->ahead_size, r);
        if (got <= 0)
            return got < 0 ? -1 : *n > 0;
        /* Where a message ends is not written down: it does where another begins. */
        if (*n && hcy_stream_begins(r->ahead, (size_t)r->ahead_size, r->version))
            return 1;
        if (!r->version)
            r->version = *r->ahead == '{' ? 1 : 2;
        if (*n < PARTS)
            r->parts[(*n)++] = (hcy_span){ r->ahead, (size_t)r->ahead_size };
        else
            free(r->ahead);
        r->ahead = NULL;
    }
}

int record_close(struct record *r)
{
    if (!r)
        return CLI_OK;
    int status = CLI_OK;
    if (r->file && fclose(r->file) && r->writes)
        status = cli_write_failed(r->path, errno);
    if (!r->writes)
        free_parts(r);
    free(r->ahead);
    free(r->path);
    free(r);
    return status;
}
