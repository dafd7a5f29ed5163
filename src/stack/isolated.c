/* isolated.c - what else HDF5 files say, through a reader: names of corrections, detectors, numbers, arrays, parts of
 * what stack they are; and whether a file can be read at all.
 *
 * Each is asked for on one side and answered on the other, by the functions that read it without a reader.
 */
#include "isolate.h"
#include "h5_driver.h"
#include "h5_read.h"
#include "h5_shard.h"
#include "host_array.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

static hcy__packet question_about(enum hcy__question question, const char *path, const char *name)
{
    hcy__packet packet = { 0 };
    hcy__packet_put_number(&packet, question);
    hcy__packet_put_text(&packet, path);
    hcy__packet_put_text(&packet, name);
    return packet;
}

/* The file and the name of a question; what there must be of them. */
static int take_question(const char **path, const char **name, hcy__packet *question)
{
    *path = hcy__packet_get_text(question);
    *name = hcy__packet_get_text(question);
    return *path && !question->bad ? 0 : hcy_fail(HCY_EINVAL, "no question about a file");
}

/* --- Corrections --- */

int hcy__corrections_find(struct hcy__correction_names *names, const hcy_stack_info *stack, const hcy_isolation *own,
                          const char *path)
{
    hcy_isolation limits;
    hcy__packet answer;
    if (!hcy__isolates(&limits, own, path))
        return hcy__h5_corrections_find(names, stack, path);
    if (!hcy__looks_like_h5(path))
        return 0;
    hcy__packet question = question_about(HCY__ASK_CORRECTIONS, path, stack->path);
    hcy__packet_put_text(&question, stack->dataset);
    hcy__packet_put_text(&question, stack->channel ? stack->channel_name : NULL);
    int st = hcy__reader_ask_once(&answer, &limits, path, &question);
    names->n_masks = st ? 0 : (int)hcy__packet_get_within(&answer, 0, HCY__CORRECTION_MASKS);
    for (int i = 0; i < names->n_masks; i++)
        hcy__packet_copy_text(names->masks[i], sizeof names->masks[i], &answer);
    hcy__packet_copy_text(names->flat, sizeof names->flat, &answer);
    hcy__packet_copy_text(names->table, sizeof names->table, &answer);
    /* -1 is sent as 0. */
    int *const flags[] = { &names->mask_applied, &names->flat_applied, &names->countrate_applied };
    for (size_t i = 0; !st && i < 3; i++)
        *flags[i] = (int)hcy__packet_get_within(&answer, 0, 2) - 1;
    names->flat_multiplies = st ? 0 : (int)hcy__packet_get_within(&answer, 0, 1);
    if (!st)
        st = hcy__answer_end(&answer, path);
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

static void put_correction_names(hcy__packet *answer, const struct hcy__correction_names *names)
{
    const uint64_t flags[] = { (uint64_t)(names->mask_applied + 1), (uint64_t)(names->flat_applied + 1),
                               (uint64_t)(names->countrate_applied + 1), names->flat_multiplies != 0 };
    hcy__packet_put_number(answer, (uint64_t)names->n_masks);
    for (int i = 0; i < names->n_masks; i++)
        hcy__packet_put_text(answer, names->masks[i]);
    hcy__packet_put_text(answer, names->flat);
    hcy__packet_put_text(answer, names->table);
    hcy__packet_put(answer, flags, sizeof flags);
}

int hcy__answer_corrections(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *of;
    (void)opened;
    int st = take_question(&path, &of, question);
    if (st)
        return st;
    const char *dataset = hcy__packet_get_text(question), *channel = hcy__packet_get_text(question);
    hcy_stack_info stack = { .path = of ? of : "", .dataset = dataset ? dataset : "", .channel = channel != NULL,
                             .channel_name = channel ? channel : "" };
    struct hcy__correction_names *names = calloc(1, sizeof *names);
    if (!names)
        return hcy_fail(HCY_ENOMEM, "no memory to find corrections");
    names->mask_applied = names->flat_applied = names->countrate_applied = -1;
    st = hcy__h5_corrections_find(names, &stack, path);
    if (!st)
        put_correction_names(answer, names);
    free(names);
    return st;
}

/* --- Detectors --- */

/* Takes an array of height x width elements; none is fine. */
static void *take_pixel_array(hcy__packet *answer, const hcy_detector_info *info, size_t element)
{
    size_t n, want;
    void *array = hcy__packet_copy_array(&n, answer, element);
    if (hcy_size_mul(&want, info->height, info->width) || (array && n != want))
        answer->bad = 1;
    return array;
}

/* The numbers between the pointers, in one order for both sides. */
#define DETECTOR_NUMBERS(X)                                                                                           \
    X(pixel1) X(pixel2) X(dummy) X(delta_dummy) X(distance) X(beam_x) X(beam_y) X(wavelength) X(saturation)           \
    X(underload) X(corner[0]) X(corner[1]) X(corner[2]) X(slow[0]) X(slow[1]) X(slow[2])                              \
    X(fast[0]) X(fast[1]) X(fast[2])
#define DETECTOR_FLAGS(X) X(orientation) X(has_dummy) X(has_beam) X(has_underload) X(has_frame)

int hcy__isolated_detector(hcy_detector_info *info, const hcy_isolation *limits, const char *path, const char *dataset)
{
    hcy__packet answer, question = question_about(HCY__ASK_DETECTOR, path, dataset);
    int st = hcy__reader_ask_once(&answer, limits, path, &question);
    if (!st) {
        info->height = (uint32_t)hcy__packet_get_within(&answer, 0, UINT32_MAX);
        info->width = (uint32_t)hcy__packet_get_within(&answer, 0, UINT32_MAX);
#define TAKE_NUMBER(member) info->member = hcy__packet_get_real(&answer);
#define TAKE_FLAG(member)   hcy__packet_get(&info->member, sizeof info->member, &answer);
        DETECTOR_NUMBERS(TAKE_NUMBER)
        DETECTOR_FLAGS(TAKE_FLAG)
        hcy__packet_copy_text(info->description, sizeof info->description, &answer);
        hcy__packet_copy_text(info->frame_problem, sizeof info->frame_problem, &answer);
        info->corners = take_pixel_array(&answer, info, 12 * sizeof *info->corners);
        info->mask = take_pixel_array(&answer, info, sizeof *info->mask);
        info->flat = take_pixel_array(&answer, info, sizeof *info->flat);
        info->dark = take_pixel_array(&answer, info, sizeof *info->dark);
        st = hcy__answer_end(&answer, path);
    }
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

static void put_detector(hcy__packet *answer, const hcy_detector_info *info)
{
    size_t n = (size_t)info->height * info->width;
    hcy__packet_put_number(answer, info->height);
    hcy__packet_put_number(answer, info->width);
#define PUT_NUMBER(member) hcy__packet_put_real(answer, info->member);
#define PUT_FLAG(member)   hcy__packet_put(answer, &info->member, sizeof info->member);
    DETECTOR_NUMBERS(PUT_NUMBER)
    DETECTOR_FLAGS(PUT_FLAG)
    hcy__packet_put_text(answer, info->description);
    hcy__packet_put_text(answer, info->frame_problem);
    hcy__packet_put_array(answer, info->corners, info->corners ? n : 0, 12 * sizeof *info->corners);
    hcy__packet_put_array(answer, info->mask, info->mask ? n : 0, sizeof *info->mask);
    hcy__packet_put_array(answer, info->flat, info->flat ? n : 0, sizeof *info->flat);
    hcy__packet_put_array(answer, info->dark, info->dark ? n : 0, sizeof *info->dark);
}

int hcy__answer_detector(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *dataset;
    (void)opened;
    int st = take_question(&path, &dataset, question);
    if (st)
        return st;
    hcy_detector_info *info = calloc(1, sizeof *info);
    if (!info)
        return hcy_fail(HCY_ENOMEM, "no memory for the detector of %s", path);
    st = hcy__h5_detector_read(info, path, dataset ? dataset : "");
    if (!st)
        put_detector(answer, info);
    hcy_detector_info_free(info);
    return st;
}

/* --- Numbers --- */

int hcy__isolated_numbers(double **values, size_t *n, const hcy_isolation *limits, const char *path, const char *name)
{
    hcy__packet answer, question = question_about(HCY__ASK_NUMBERS, path, name);
    int st = hcy__reader_ask_once(&answer, limits, path, &question);
    if (!st)
        *values = hcy__packet_copy_array(n, &answer, sizeof **values);
    /* An empty list is a list. */
    if (!st && !*values && !answer.bad && !(*values = malloc(sizeof **values)))
        st = hcy_fail(HCY_ENOMEM, "no memory for the numbers of %s", path);
    if (!st)
        st = hcy__answer_end(&answer, path);
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

int hcy__answer_numbers(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *name;
    double *values = NULL;
    size_t n = 0;
    (void)opened;
    int st = take_question(&path, &name, question);
    if (!st)
        st = hcy__h5_numbers(&values, &n, path, name ? name : "");
    if (!st)
        hcy__packet_put_array(answer, values, n, sizeof *values);
    free(values);
    return st;
}

/* --- Arrays --- */

int hcy__isolated_array(hcy_host_array *a, const hcy_isolation *limits, const char *path, const char *name)
{
    hcy__packet answer, question = question_about(HCY__ASK_ARRAY, path, name);
    size_t n, want = 0;
    int st = hcy__reader_ask_once(&answer, limits, path, &question);
    if (!st) {
        a->is_complex = (int)hcy__packet_get_within(&answer, 0, 1);
        a->bytes = hcy__packet_get_within(&answer, 0, 1) ? 8 : 4;
        a->rank = (int)hcy__packet_get_within(&answer, 0, HCY_HOST_ARRAY_MAX_RANK);
        for (int i = 0; i < a->rank; i++)
            a->shape[i] = hcy__packet_get_number(&answer);
        a->data = hcy__packet_copy_array(&n, &answer, a->bytes * (a->is_complex ? 2u : 1u));
        /* What no packet could hold does not fit, whatever the shape says. */
        answer.bad |= hcy_host_array_count(&want, a) || n != want;
        st = hcy__answer_end(&answer, path);
    }
    if (!st && !a->data && !(a->data = malloc(1)))
        st = hcy_fail(HCY_ENOMEM, "no memory for %s:%s", path, name);
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

int hcy__answer_array(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *name;
    hcy_host_array a = HCY_HOST_ARRAY_INIT;
    size_t n = 0;
    (void)opened;
    int st = take_question(&path, &name, question);
    if (!st)
        st = hcy__host_array_read_h5(&a, path, name ? name : "");
    if (!st)
        st = hcy_host_array_count(&n, &a);
    if (!st) {
        hcy__packet_put_number(answer, a.is_complex != 0);
        hcy__packet_put_number(answer, a.bytes == 8);
        hcy__packet_put_number(answer, (uint64_t)a.rank);
        hcy__packet_put(answer, a.shape, (size_t)a.rank * sizeof *a.shape);
        hcy__packet_put_array(answer, a.data, n, a.bytes * (a.is_complex ? 2u : 1u));
    }
    hcy_host_array_free(&a);
    return st;
}

/* --- Parts of stacks --- */

int hcy__isolated_shard(hcy_shard *shard, char kind[16], const hcy_isolation *limits, const char *path)
{
    hcy__packet answer, question = question_about(HCY__ASK_SHARD, path, NULL);
    *shard = (hcy_shard){ 0 };
    *kind = 0;
    int st = hcy__reader_ask_once(&answer, limits, path, &question);
    if (!st) {
        hcy__packet_get(shard, sizeof *shard, &answer);
        hcy__packet_copy_text(kind, 16, &answer);
        /* A count of 0: it is no part. */
        answer.bad |= shard->count && !hcy__shard_is_sound(shard);
        st = hcy__answer_end(&answer, path);
    }
    if (st)
        *shard = (hcy_shard){ 0 };
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

int hcy__answer_shard(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *name;
    hcy_shard shard;
    char kind[16];
    (void)opened;
    int st = take_question(&path, &name, question);
    if (!st)
        st = hcy__h5_read_shard(&shard, kind, path);
    if (!st) {
        hcy__packet_put(answer, &shard, sizeof shard);
        hcy__packet_put_text(answer, kind);
    }
    return st;
}

/* --- Files that are read by more calls than there are questions --- */

static int try_one(const hcy_isolation *limits, const char *path)
{
    hcy__packet answer, question = question_about(HCY__ASK_TRY, path, NULL);
    int st = hcy__reader_ask_once(&answer, limits, path, &question);
    if (!st)
        st = hcy__answer_end(&answer, path);
    hcy__packet_free(&answer);
    hcy__packet_free(&question);
    return st;
}

int hcy__isolated_try(const char *const *paths, size_t n)
{
    hcy_isolation limits;
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        if (hcy__isolates(&limits, NULL, paths[i]) && hcy__looks_like_h5(paths[i]))
            st = try_one(&limits, paths[i]);
    return st;
}

int hcy__answer_try(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path, *name;
    (void)answer, (void)opened;
    int st = take_question(&path, &name, question);
    return st ? st : hcy__h5_try(path);
}
