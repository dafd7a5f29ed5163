/* isolated_stack.c - stacks of HDF5 files that are isolated: what the reader finds, and what this process makes of it.
 *
 * The reader opens a stack as hcy__h5_open() does and tells all of it: its numbers, its parts with the names of their
 * files, and the places of its frames.  Here the files of parts are opened anew, and the places are believed no more
 * than those of a damaged file; frames that only HDF5 can read are asked for.
 */
#include "isolate.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

/* --- Here --- */

static void put_stack_question(hcy__packet *question, const hcy_stack *stack)
{
    hcy__packet_put_number(question, HCY__ASK_STACK);
    hcy__packet_put_text(question, stack->path);
    hcy__packet_put_text(question, stack->wanted);
    hcy__packet_put_text(question, stack->channel);
    hcy__packet_put_number(question, (uint64_t)stack->growing);
}

/* Sizes are multiplied and found too large by whoever uses them, as those that a file says are. */
static void take_numbers_of_stack(hcy_stack *stack, hcy__packet *answer)
{
    hcy_stack_info *info = &stack->info;
    info->height = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    info->width = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    info->pixel_type = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    info->codec = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    info->block_bytes = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    info->direct = (uint32_t)hcy__packet_get_within(answer, 0, 1);
    info->expected = hcy__packet_get_number(answer);
    info->channel = (uint32_t)hcy__packet_get_within(answer, 0, UINT32_MAX);
    hcy__packet_copy_text(stack->channel_name, sizeof stack->channel_name, answer);
    const hcy__pixel *pixel = hcy__pixel_of_type(info->pixel_type);
    size_t bytes = 0;
    /* Of a stack that grows there may be no frame yet that says what they are. */
    int is_codec = info->codec == HCY_CODEC_NONE || info->codec == HCY_CODEC_BSLZ4 || info->codec == HCY_CODEC_LZ4 ||
                   info->codec == HCY_CODEC_BITSHUFFLE;
    if ((!pixel && !stack->growing) || !is_codec || hcy_size_mul(&bytes, info->height, info->width) ||
        hcy_size_mul(&bytes, bytes, pixel ? pixel->size : 0))
        answer->bad = 1;
    info->frame_bytes = bytes;
}

static int fetch_isolated(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__location *place,
                          void *dst)
{
    hcy__packet question = { 0 }, answer;
    size_t n;
    hcy__packet_put_number(&question, HCY__ASK_FRAME);
    hcy__packet_put_number(&question, place->offset);
    int st = hcy__reader_ask(&answer, part->reader, &question);
    const void *pixels = st ? NULL : hcy__packet_get_array(&n, &answer, 1);
    if (!st)
        st = hcy__answer_end(&answer, part->name);
    /* The file may have changed since it was opened, if the reader had to open it again. */
    if (!st && n != place->size)
        st = hcy_fail(HCY_ECORRUPT, "frame %llu of %s is of another size than it was", (unsigned long long)frame,
                      stack->path);
    if (!st)
        memcpy(dst, pixels, n);
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

static void drop_reader(hcy__part *part)
{
    hcy__reader_release(part->reader);
}

static int take_part(hcy_stack *stack, hcy__packet *answer, hcy__reader *reader)
{
    hcy__part *part;
    const char *name = hcy__packet_get_text(answer), *file = hcy__packet_get_text(answer);
    uint64_t first = hcy__packet_get_number(answer);
    if (!name)
        answer->bad = 1;
    int st = hcy__answer_end(answer, stack->path);
    if (!st)
        st = hcy__stack_add_part(&part, stack, name);
    if (st)
        return st;
    part->first = first;
    if (file) {
        part->fetch = hcy__fetch_pread;
        return hcy__open_file(&part->fd, file);
    }
    part->reader = hcy__reader_share(reader);
    part->fetch = fetch_isolated;
    part->drop = drop_reader;
    return 0;
}

/* A place that no file can have would be believed by whoever makes room for the largest frame. */
static int is_sound_place(const hcy_stack *stack, const hcy__location *place)
{
    const uint32_t flags = LOCATION_MISSING | LOCATION_PLAIN | LOCATION_ABSENT | LOCATION_ZSTD;
    const hcy_stack_info *info = &stack->info;
    if (place->flags & ~flags)
        return 0;
    if (place->flags & LOCATION_ABSENT)
        return place->flags & LOCATION_MISSING && place->part < stack->n_absent;
    if (place->flags & LOCATION_MISSING)
        return 1;
    if (!hcy__pixel_of_type(info->pixel_type) || place->part >= stack->n_parts || place->offset > INT64_MAX)
        return 0;
    /* Chunks have 32-bit sizes, which are checked when they are read; all else is as large as its pixels. */
    return (!stack->parts[place->part].reader && place->size <= UINT32_MAX) || place->size == info->frame_bytes;
}

static int take_places(hcy_stack *stack, hcy__packet *answer)
{
    size_t n;
    const unsigned char *from = hcy__packet_get_array(&n, answer, sizeof(hcy__location));
    hcy__location *places;
    int st = hcy__answer_end(answer, stack->path);
    if (!st)
        st = hcy__stack_add_places(&places, stack, n);
    for (size_t i = 0; !st && i < n; i++) {
        memcpy(&places[i], from + i * sizeof *places, sizeof *places);
        answer->bad |= !is_sound_place(stack, &places[i]);
        /* Frames that are asked for go by their number in the reader's stack. */
        if (!(places[i].flags & LOCATION_MISSING) && !answer->bad && stack->parts[places[i].part].reader)
            places[i].offset = i;
    }
    stack->info.frames = st ? 0 : n;
    return st ? st : hcy__answer_end(answer, stack->path);
}

static int take_stack(hcy_stack *stack, hcy__packet *answer, hcy__reader *reader)
{
    hcy__location none;
    take_numbers_of_stack(stack, answer);
    const char *dataset = hcy__packet_get_text(answer);
    int st = hcy__answer_end(answer, stack->path);
    if (!st && dataset && !(stack->dataset = strdup(dataset)))
        st = hcy_fail(HCY_ENOMEM, "no memory to open %s", stack->path);
    /* Every count is of things that follow, so that a wrong one soon comes to the packet's end. */
    for (uint64_t n = hcy__packet_get_number(answer); !st && n; n--)
        st = take_part(stack, answer, reader);
    for (uint64_t n = hcy__packet_get_number(answer); !st && n; n--) {
        const char *reason = hcy__packet_get_text(answer);
        st = reason ? hcy__stack_absent(&none, stack, reason) : hcy__answer_end(answer, stack->path);
        answer->bad |= !reason;
    }
    for (uint64_t n = hcy__packet_get_number(answer); !st && n; n--) {
        const char *file = hcy__packet_get_text(answer);
        answer->bad |= !file;
        st = file ? hcy__note_path(&stack->read_by_h5, &stack->n_read_by_h5, file, stack)
                  : hcy__answer_end(answer, stack->path);
    }
    return st ? st : take_places(stack, answer);
}

int hcy__isolated_open(hcy_stack *stack, const hcy_isolation *limits)
{
    hcy__packet question = { 0 }, answer = { 0 };
    hcy__reader *reader = NULL;
    /* A growing stack's reader has it open, and looks for what is new alone. */
    int st = 0;
    if (stack->known && stack->known->reader)
        reader = hcy__reader_share(stack->known->reader);
    else
        st = hcy__reader_new(&reader, limits, stack->path);
    put_stack_question(&question, stack);
    if (!st)
        st = hcy__reader_ask(&answer, reader, &question);
    if (!st)
        st = take_stack(stack, &answer, reader);
    if (!st && (stack->growing || !stack->info.direct))
        hcy__reader_keep(reader, &question);
    if (!st && stack->growing)
        stack->reader = hcy__reader_share(reader);
    /* What the failure was must be known after the process is gone. */
    hcy_error why = *hcy_last_error();
    hcy__reader_release(reader);
    hcy__packet_free(&question);
    hcy__packet_free(&answer);
    return st ? hcy_fail_again(&why) : 0;
}

/* --- In the reader --- */

struct files {
    hcy__packet names;
    uint64_t n;
};

static void note_file(void *list, const char *path)
{
    struct files *files = list;
    hcy__packet_put_text(&files->names, path);
    files->n++;
}

static void put_stack(hcy__packet *answer, const hcy_stack *stack)
{
    const hcy_stack_info *info = &stack->info;
    const uint64_t numbers[] = { info->height, info->width, info->pixel_type, info->codec, info->block_bytes,
                                 info->direct, info->expected, info->channel };
    struct files files = { { 0 }, 0 };
    hcy__packet_put(answer, numbers, sizeof numbers);
    hcy__packet_put_text(answer, stack->channel_name);
    hcy__packet_put_text(answer, stack->dataset);
    hcy__packet_put_number(answer, stack->n_parts);
    for (size_t i = 0; i < stack->n_parts; i++) {
        const hcy__part *part = &stack->parts[i];
        hcy__packet_put_text(answer, part->name);
        hcy__packet_put_text(answer, part->file);
        hcy__packet_put_number(answer, part->first);
        if (part->dataset >= 0)
            hcy__h5_read_files(part->dataset, stack->path, note_file, &files);
    }
    hcy__packet_put_number(answer, stack->n_absent);
    for (size_t i = 0; i < stack->n_absent; i++)
        hcy__packet_put_text(answer, stack->absent[i]);
    hcy__packet_put_number(answer, files.n);
    hcy__packet_put(answer, files.names.bytes, files.names.size);
    answer->bad |= files.names.bad;
    hcy__packet_free(&files.names);
    hcy__packet_put_array(answer, stack->places, stack->places ? info->frames : 0, sizeof *stack->places);
}

static char *copy_or_null(const char *text)
{
    return text ? strdup(text) : NULL;
}

int hcy__answer_stack(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    hcy_stack *stack = calloc(1, sizeof *stack);
    if (!stack)
        return hcy_fail(HCY_ENOMEM, "no memory to open a stack");
    stack->path = copy_or_null(hcy__packet_get_text(question));
    stack->wanted = copy_or_null(hcy__packet_get_text(question));
    stack->channel = copy_or_null(hcy__packet_get_text(question));
    stack->growing = (int)hcy__packet_get_within(question, 0, 1);
    /* What is known of a growing stack need not be looked for again. */
    stack->known = opened->stack;
    int st = question->bad || !stack->path ? hcy_fail(HCY_EINVAL, "no question about a stack") : hcy__h5_open(stack);
    stack->known = NULL;
    if (st) {
        hcy_error why = *hcy_last_error();
        hcy_stack_close(stack);
        return hcy_fail_again(&why);
    }
    put_stack(answer, stack);
    hcy_stack_close(opened->stack);
    opened->stack = stack;
    return 0;
}

int hcy__answer_frame(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    uint64_t frame = hcy__packet_get_number(question);
    const hcy_stack *stack = opened->stack;
    const hcy__location *place = stack && frame < stack->info.frames ? &stack->places[frame] : NULL;
    if (!place || place->flags & LOCATION_MISSING)
        return hcy_fail(HCY_ERANGE, "frame %llu is not there", (unsigned long long)frame);
    void *pixels = malloc(place->size ? place->size : 1);
    if (!pixels)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for frame %llu", stack->path, (unsigned long long)frame);
    const hcy__part *part = &stack->parts[place->part];
    int st = part->fetch(stack, part, frame, place, pixels);
    if (!st)
        hcy__packet_put_array(answer, pixels, place->size, 1);
    free(pixels);
    return st;
}
