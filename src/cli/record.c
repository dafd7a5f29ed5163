/* record.c - see record.h. */
#include "record.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <halcyon/stream.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16, LENGTH = 8 };
/* Of a part; a length above it is that of a file of another kind. */
#define MOST_BYTES ((uint64_t)1 << 30)

struct record {
    FILE *file;         /* while writing, of `output` */
    hcy_output *output; /* NULL: it is read */
    char *path;
    int version, failed; /* reading: of the stream, 0 before the first message; writing: something was not written */
    int broken;          /* reading: what comes next cannot be read, as was said */
    uint64_t at;
    hcy_span parts[PARTS];
    uint8_t *ahead; /* the first part of the next message, read already; NULL: none */
    uint64_t ahead_size;
};

static struct record *new_record(const char *path)
{
    struct record *r = calloc(1, sizeof *r);
    if (r && (r->path = strdup(path)))
        return r;
    free(r);
    cli_error("out of memory for %s", path);
    return NULL;
}

int record_create(struct record **record, const char *path)
{
    struct record *r = new_record(path);
    if (!r)
        return CLI_FAILED;
    int status = hcy_output_open(&r->output, path, 0);
    if (!status && !(r->file = hcy_output_stream(r->output)))
        status = hcy_fail(HCY_ENOMEM, "no memory to write %s", path);
    if (!status) {
        *record = r;
        return CLI_OK;
    }
    status = cli_fail(status);
    hcy_output_discard(r->output);
    free(r->path);
    free(r);
    return status;
}

int record_open(struct record **record, const char *path)
{
    struct record *r = new_record(path);
    if (!r)
        return CLI_FAILED;
    r->file = fopen(path, "rb");
    if (!r->file) {
        int number = errno;
        (void)record_close(r);
        return cli_error("%s: %s", path, strerror(number));
    }
    *record = r;
    return CLI_OK;
}

void record_add(struct record *r, const hcy_span *parts, size_t n)
{
    for (size_t i = 0; !r->failed && i < n; i++) {
        /* The byte order is fixed, so that a recording can be played on any machine. */
        uint8_t length[LENGTH];
        for (int k = 0; k < LENGTH; k++)
            length[k] = (uint8_t)((uint64_t)parts[i].size >> 8 * k);
        if (fwrite(length, 1, LENGTH, r->file) != LENGTH ||
            fwrite(parts[i].data, 1, parts[i].size, r->file) != parts[i].size) {
            r->failed = 1;
            cli_write_failed(r->path, errno);
            cli_note("nothing more is recorded; the run goes on");
        }
        r->at += LENGTH + parts[i].size;
    }
}

/* The next part, to be freed: 1, 0 at the end, -1. */
static int read_part(uint8_t **bytes, uint64_t *size, struct record *r)
{
    uint8_t length[LENGTH];
    size_t got = fread(length, 1, LENGTH, r->file);
    if (!got && !ferror(r->file))
        return 0;
    *size = 0;
    for (int k = LENGTH; k--;)
        *size = *size << 8 | length[k];
    /* The length is the file's word: beyond any message's it would ask for memory without end. */
    *bytes = got == LENGTH && *size <= MOST_BYTES ? malloc(*size ? (size_t)*size : 1) : NULL;
    if (!*bytes || fread(*bytes, 1, (size_t)*size, r->file) != *size) {
        free(*bytes);
        *bytes = NULL;
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
    if (r->broken)
        return -1;
    for (;;) {
        if (!r->ahead)
            got = read_part(&r->ahead, &r->ahead_size, r);
        r->broken = got < 0;
        /* Each part of Stream v2 is a message, so what came before is a whole one. */
        if (r->broken && *n && r->version == 2)
            return 1;
        if (got <= 0)
            return got < 0 ? -1 : *n > 0;
        /* Where a message ends is not written down: it does where another begins. */
        if (*n && hcy_stream_begins(r->ahead, (size_t)r->ahead_size, r->version))
            return 1;
        if (!r->version)
            r->version = r->ahead_size && *r->ahead == '{' ? 1 : 2;
        if (*n < PARTS)
            r->parts[(*n)++] = (hcy_span){ r->ahead, (size_t)r->ahead_size };
        else
            free(r->ahead);
        r->ahead = NULL;
    }
}

/* What came until the end, or until a signal, is a recording and takes the file's name; what was written before a
 * failure stays beside it, and where nothing came an earlier recording stays. */
static int end_output(struct record *r)
{
    char place[4096];
    snprintf(place, sizeof place, "%s", hcy_output_place(r->output));
    /* Committing would take away what could not be written to its end. */
    int status = !r->failed && fflush(r->file) ? cli_write_failed(r->path, errno) : CLI_OK;
    r->failed |= status != CLI_OK;
    if (!r->at && !r->failed) {
        hcy_output_discard(r->output);
        cli_not_written(r->path);
        return CLI_OK;
    }
    int ended = r->failed ? hcy_output_keep(r->output) : hcy_output_commit(r->output, 0);
    if (!r->failed)
        return ended ? cli_fail(ended) : CLI_OK;
    if (strcmp(place, r->path)) {
        cli_note("what was recorded is in %s", place);
        cli_not_written(r->path);
    }
    return CLI_FAILED;
}

int record_close(struct record *r)
{
    if (!r)
        return CLI_OK;
    int status = r->output ? end_output(r) : CLI_OK;
    if (!r->output) {
        if (r->file)
            fclose(r->file);
        free_parts(r);
    }
    free(r->ahead);
    free(r->path);
    free(r);
    return status;
}
