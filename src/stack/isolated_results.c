/* isolated_results.c - curves of HDF5 files that are isolated: the head at once, rows when they are asked for. */
#include "isolate.h"
#include "results.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

/* --- Here --- */

static size_t bins_of(const hcy__results_head *head)
{
    return head->n_radial * (head->n_azim ? head->n_azim : 1);
}

/* n numbers that there must be, or, where they `may_lack`, none. */
static double *take_doubles(hcy__packet *answer, size_t want, int may_lack)
{
    size_t n;
    double *values = hcy__packet_copy_array(&n, answer, sizeof *values);
    answer->bad |= n != want && !(may_lack && !n);
    return values;
}

static int take_head(hcy__results_head *head, hcy__packet *answer)
{
    size_t all;
    head->rows = hcy__packet_get_number(answer);
    head->n_radial = (size_t)hcy__packet_get_within(answer, 1, SIZE_MAX);
    head->n_azim = (size_t)hcy__packet_get_number(answer);
    head->has_sigma = (int)hcy__packet_get_within(answer, 0, 1);
    head->has_sums = (int)hcy__packet_get_within(answer, 0, 1);
    head->failed = hcy__packet_get_number(answer);
    head->first_failed = hcy__packet_get_number(answer);
    hcy__packet_copy_text(head->unit, sizeof head->unit, answer);
    hcy__packet_copy_text(head->azimuth_unit, sizeof head->azimuth_unit, answer);
    hcy__packet_copy_text(head->definition, sizeof head->definition, answer);
    if (hcy_size_mul(&all, head->n_radial, head->n_azim ? head->n_azim : 1) || hcy_size_mul(&all, all, sizeof(double)))
        answer->bad = 1;
    head->radial = take_doubles(answer, head->n_radial, 0);
    head->azimuthal = take_doubles(answer, head->n_azim, 0);
    head->pixels = take_doubles(answer, all / sizeof(double), 1);
    return hcy__answer_end(answer, head->path);
}

static int isolated_results_open(void **state, hcy__results_head *head)
{
    hcy_isolation limits;
    hcy__packet question = { 0 }, answer = { 0 };
    hcy__reader *reader;
    if (!hcy__isolates(&limits, NULL, head->path) || !hcy__looks_like_h5(head->path))
        return 0;
    int st = hcy__reader_new(&reader, &limits, head->path);
    hcy__packet_put_number(&question, HCY__ASK_RESULTS);
    hcy__packet_put_text(&question, head->path);
    if (!st)
        st = hcy__reader_ask(&answer, reader, &question);
    if (!st)
        st = take_head(head, &answer);
    if (!st)
        hcy__reader_keep(reader, &question);
    *state = reader;
    hcy__packet_free(&question);
    hcy__packet_free(&answer);
    return st;
}

static int isolated_results_read(void *state, const hcy__results_head *head, uint64_t row, uint64_t *frame,
                                 double *intensity, double *sigma)
{
    hcy__packet question = { 0 }, answer = { 0 };
    size_t n, n_sigma;
    hcy__packet_put_number(&question, HCY__ASK_ROW);
    hcy__packet_put_number(&question, row);
    hcy__packet_put_number(&question, sigma != NULL);
    int st = hcy__reader_ask(&answer, state, &question);
    if (!st) {
        *frame = hcy__packet_get_number(&answer);
        const void *from = hcy__packet_get_array(&n, &answer, sizeof *intensity);
        const void *errors = hcy__packet_get_array(&n_sigma, &answer, sizeof *sigma);
        answer.bad |= n != bins_of(head) || (sigma && n_sigma != n);
        st = hcy__answer_end(&answer, head->path);
        if (!st)
            memcpy(intensity, from, n * sizeof *intensity);
        if (!st && sigma)
            memcpy(sigma, errors, n * sizeof *sigma);
    }
    hcy__packet_free(&question);
    hcy__packet_free(&answer);
    return st;
}

static void isolated_results_close(void *state)
{
    hcy__reader_release(state);
}

const hcy__results_format hcy__results_isolated = { isolated_results_open, isolated_results_read,
                                                    isolated_results_close };

/* --- In the reader --- */

void hcy__results_forget(struct hcy__opened *opened)
{
    if (opened->results)
        hcy__results_h5.close(opened->results);
    if (opened->head) {
        free(opened->head->radial);
        free(opened->head->azimuthal);
        free(opened->head->pixels);
        free((char *)opened->head->path);
    }
    free(opened->head);
    opened->results = NULL;
    opened->head = NULL;
}

int hcy__answer_results(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    const char *path = hcy__packet_get_text(question);
    hcy__results_forget(opened);
    hcy__results_head *head = opened->head = calloc(1, sizeof *head);
    if (!path || !head || !(head->path = strdup(path)))
        return hcy_fail(HCY_ENOMEM, "no memory to read curves");
    int st = hcy__results_h5.open(&opened->results, head);
    if (!st && !opened->results)
        st = hcy_fail(HCY_EFORMAT, "%s is no HDF5 file", path);
    if (st)
        return st;
    hcy__packet_put_number(answer, head->rows);
    hcy__packet_put_number(answer, head->n_radial);
    hcy__packet_put_number(answer, head->n_azim);
    hcy__packet_put_number(answer, head->has_sigma != 0);
    hcy__packet_put_number(answer, head->has_sums != 0);
    hcy__packet_put_number(answer, head->failed);
    hcy__packet_put_number(answer, head->first_failed);
    hcy__packet_put_text(answer, head->unit);
    hcy__packet_put_text(answer, head->azimuth_unit);
    hcy__packet_put_text(answer, head->definition);
    hcy__packet_put_array(answer, head->radial, head->n_radial, sizeof *head->radial);
    hcy__packet_put_array(answer, head->azimuthal, head->n_azim, sizeof *head->azimuthal);
    hcy__packet_put_array(answer, head->pixels, head->pixels ? bins_of(head) : 0, sizeof *head->pixels);
    return 0;
}

int hcy__answer_row(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened)
{
    uint64_t row = hcy__packet_get_number(question), frame = row;
    int errors = (int)hcy__packet_get_within(question, 0, 1), st = 0;
    const hcy__results_head *head = opened->head;
    if (!opened->results || row >= head->rows || (errors && !head->has_sigma))
        return hcy_fail(HCY_ERANGE, "row %llu is not there", (unsigned long long)row);
    size_t n = bins_of(head), bytes;
    double *values = hcy_size_mul(&bytes, n, 2 * sizeof *values) ? NULL : malloc(bytes);
    if (!values)
        return hcy_fail(HCY_ENOMEM, "%s: no memory for its rows", head->path);
    st = hcy__results_h5.read(opened->results, head, row, &frame, values, errors ? values + n : NULL);
    if (!st) {
        hcy__packet_put_number(answer, frame);
        hcy__packet_put_array(answer, values, n, sizeof *values);
        hcy__packet_put_array(answer, values + n, errors ? n : 0, sizeof *values);
    }
    free(values);
    return st;
}
