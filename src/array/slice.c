/* slice.c - what stands between NumPy's brackets. */
#include "array_priv.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text, and the view as far as it is made. */
struct slicing {
    const char *text, *at;
    const hcy_array *of;
    hcy_array *view;
    int axis; /* of the array, the next one */
    int left; /* items that take an axis, not yet read */
};

static int refuse_slice(const struct slicing *s, const char *what)
{
    return hcy_fail(HCY_EINVAL, "\"%s\", column %zu: %s", s->text, (size_t)(s->at - s->text) + 1, what);
}

static void skip_blanks(struct slicing *s)
{
    while (isspace((unsigned char)*s->at))
        s->at++;
}

/* A number, if one stands here. */
static int read_number(int64_t *x, bool *there, struct slicing *s)
{
    const char *digits = s->at + (*s->at == '-' || *s->at == '+');
    *there = isdigit((unsigned char)*digits);
    if (!*there)
        return 0;
    char *end = NULL;
    long long value = strtoll(s->at, &end, 10);
    /* Beyond any array, where strtoll() stops too. */
    if (value > INT64_MAX / 4 || value < -(INT64_MAX / 4))
        return refuse_slice(s, "a number that no array has");
    s->at = end;
    *x = value;
    skip_blanks(s);
    return 0;
}

static int add_axis(struct slicing *s, int64_t size, int64_t stride)
{
    if (s->view->rank == HCY_ARRAY_MAX_RANK)
        return refuse_slice(s, "more axes than an array has");
    s->view->shape[s->view->rank] = size;
    s->view->strides[s->view->rank++] = stride;
    return 0;
}

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    if (x < least)
        return least;
    return x > most ? most : x;
}

/* START:STOP:STEP of an axis, each of which may be missing. */
static int take_range(struct slicing *s, bool has_start, int64_t start)
{
    int64_t n = s->of->shape[s->axis], stop = 0, step = 1;
    bool has_stop = false, has_step = false;
    s->at++;
    skip_blanks(s);
    int status = read_number(&stop, &has_stop, s);
    if (!status && *s->at == ':') {
        s->at++;
        skip_blanks(s);
        status = read_number(&step, &has_step, s);
    }
    if (!status && step == 0)
        status = refuse_slice(s, "a step of 0");
    if (status)
        return status;
    /* Backwards, a range begins at the last element and ends before the first. */
    int64_t least = step < 0 ? -1 : 0, most = step < 0 ? n - 1 : n;
    start = has_start ? clamp(start < 0 ? start + n : start, least, most) : (step < 0 ? most : least);
    stop = has_stop ? clamp(stop < 0 ? stop + n : stop, least, most) : (step < 0 ? least : most);
    int64_t width = step < 0 ? start - stop : stop - start, stride = step < 0 ? -step : step;
    int64_t size = width > 0 ? (width - 1) / stride + 1 : 0;
    /* An empty range may begin behind the last element, where the offset must not go. */
    if (size)
        s->view->offset += start * s->of->strides[s->axis];
    /* With one element a step may be longer than what can be addressed. */
    status = add_axis(s, size, size > 1 ? step * s->of->strides[s->axis] : 1);
    s->axis++;
    return status;
}

static int take_index(struct slicing *s, int64_t i)
{
    int64_t n = s->of->shape[s->axis];
    if (i < -n || i >= n)
        return hcy_fail(HCY_ERANGE, "\"%s\": axis %d has %lld elements, none with the number %lld", s->text,
                        s->axis, (long long)n, (long long)i);
    s->view->offset += (i < 0 ? i + n : i) * s->of->strides[s->axis++];
    return 0;
}

/* All axes that what follows does not name. */
static int take_rest(struct slicing *s)
{
    int status = 0;
    for (int n = s->of->rank - s->axis - s->left; !status && n > 0; n--, s->axis++)
        status = add_axis(s, s->of->shape[s->axis], s->of->strides[s->axis]);
    return status;
}

static int take_item(struct slicing *s)
{
    int64_t x = 0;
    bool there = false;
    /* These two need no axis of the array, and so may stand where none is left. */
    if (!strncmp(s->at, "...", 3)) {
        s->at += 3;
        return take_rest(s);
    }
    if (!strncmp(s->at, "new", 3)) {
        s->at += 3;
        return add_axis(s, 1, 0);
    }
    if (s->axis >= s->of->rank)
        return refuse_slice(s, "more items than the array has axes");
    int status = read_number(&x, &there, s);
    if (status)
        return status;
    s->left--;
    if (*s->at == ':')
        return take_range(s, there, x);
    return there ? take_index(s, x)
                 : refuse_slice(s, "a number, a range START:STOP:STEP, \"...\" or \"new\" is wanted");
}

/* Items that take an axis; -1: "..." comes twice. */
static int count_items(const char *text)
{
    int n = 0, rests = 0;
    /* "..." has to know how many axes the items behind it want, so that all are counted before the first is
     * taken. */
    for (const char *at = text; at; at = strchr(at, ',')) {
        at += *at == ',';
        at += strspn(at, " \t\n\v\f\r");
        rests += !strncmp(at, "...", 3);
        n += *at && strncmp(at, "...", 3) && strncmp(at, "new", 3);
    }
    return rests > 1 ? -1 : n;
}

static int take_items(struct slicing *s)
{
    int status = 0;
    skip_blanks(s);
    while (!status && *s->at) {
        status = take_item(s);
        if (status)
            return status;
        skip_blanks(s);
        if (*s->at && *s->at != ',')
            return refuse_slice(s, "a comma is wanted");
        s->at += *s->at == ',';
        skip_blanks(s);
    }
    /* Axes that no item names are taken whole, as if "..." stood at the end. */
    s->left = 0;
    return take_rest(s);
}

int hcy_array_slice(hcy_array **out, const hcy_array *array, const char *format, ...)
{
    char text[256];
    struct slicing s = { .text = text, .at = text, .of = array };
    int status = hcy__array_check(array, "hcy_array_slice");
    if (!status && (!out || !format))
        status = hcy_fail(HCY_EINVAL, "hcy_array_slice: no %s", out ? "text" : "place for the view");
    if (status)
        return status;
    va_list ap;
    va_start(ap, format);
    int length = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    /* A text that was cut off could be another slice, and a valid one. */
    if (length < 0 || (size_t)length >= sizeof text)
        return hcy_fail(HCY_EINVAL, "hcy_array_slice: a text of more than %zu characters", sizeof text - 1);
    s.left = count_items(text);
    if (s.left < 0)
        return refuse_slice(&s, "\"...\" stands twice");
    status = hcy__array_view(&s.view, array);
    if (status)
        return status;
    /* Of the array the view keeps buffer, room, type and offset; its axes are made anew, item by item. */
    s.view->rank = 0;
    /* Items move the offset to elements of their axes only, so that the view needs no check against the buffer. */
    status = take_items(&s);
    if (!status)
        status = hcy__shape_count(&s.view->count, s.view->rank, s.view->shape);
    if (status)
        hcy_array_release(s.view);
    else
        *out = s.view;
    return status;
}
