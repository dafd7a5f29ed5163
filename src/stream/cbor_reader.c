/* cbor_reader.c - see cbor_reader.h. */
#include "cbor_reader.h"
#include <math.h>
#include <string.h>

/* Of an item's first byte: how long its argument is, or that there is none. */
enum { INFO_1 = 24, INFO_8 = 27, INFO_OPEN = 31 };
/* Values of CBOR_SIMPLE, which are also the infos of floats. */
enum { SIMPLE_FALSE = 20, SIMPLE_TRUE, SIMPLE_NULL, SIMPLE_UNDEFINED, FLOAT_2 = 25, FLOAT_4, FLOAT_8 };

static int fail_here(const struct cbor *c, int status, const char *what)
{
    return hcy_fail(status, "CBOR, byte %zu: %s", (size_t)(c->at - c->begin), what);
}

void cbor_begin(struct cbor *c, const void *bytes, size_t size)
{
    c->begin = c->at = bytes;
    c->end = c->begin + size;
}

int cbor_peek(const struct cbor *c)
{
    return c->at < c->end ? *c->at >> 5 : -1;
}

/* An item's first byte and its argument; *info tells floats and items without a length from others. */
static int read_head(int *type, int *info, uint64_t *value, struct cbor *c)
{
    if (c->at == c->end)
        return fail_here(c, HCY_ECORRUPT, "the message ends too soon");
    *type = *c->at >> 5;
    *info = *c->at & 31;
    *value = (uint64_t)*info;
    /* Head and argument are held against the end before the place moves, so that it never passes it. */
    size_t n = *info >= INFO_1 && *info <= INFO_8 ? (size_t)1 << (*info - INFO_1) : 0;
    if ((size_t)(c->end - c->at) < 1 + n)
        return fail_here(c, HCY_ECORRUPT, "the message ends too soon");
    if (*info > INFO_8 && *info < INFO_OPEN)
        return fail_here(c, HCY_ECORRUPT, "no CBOR");
    if (n)
        *value = 0;
    for (size_t i = 1; i <= n; i++)
        *value = *value << 8 | c->at[i];
    c->at += 1 + n;
    return 0;
}

/* A head of the type that is wanted, or nothing is read. */
static int expect_head(int *info, uint64_t *value, struct cbor *c, int want, const char *words)
{
    int type;
    struct cbor before = *c;
    int status = read_head(&type, info, value, c);
    if (!status && type != want) {
        /* The place goes back first: the message names this item, and the caller may read it as another type. */
        *c = before;
        return fail_here(c, HCY_EFORMAT, words);
    }
    return status;
}

int cbor_null(struct cbor *c)
{
    int is_null = c->at < c->end && (*c->at == (CBOR_SIMPLE << 5 | SIMPLE_NULL) ||
                                     *c->at == (CBOR_SIMPLE << 5 | SIMPLE_UNDEFINED));
    c->at += is_null;
    return is_null;
}

int cbor_uint(uint64_t *value, struct cbor *c)
{
    int info, status = expect_head(&info, value, c, CBOR_UINT, "not a whole number");
    return !status && info == INFO_OPEN ? fail_here(c, HCY_ECORRUPT, "no CBOR") : status;
}

int cbor_tag(uint64_t *tag, struct cbor *c)
{
    int info, status = expect_head(&info, tag, c, CBOR_TAG, "not a tag");
    return !status && info == INFO_OPEN ? fail_here(c, HCY_ECORRUPT, "no CBOR") : status;
}

int cbor_bool(int *value, struct cbor *c)
{
    int info;
    uint64_t simple;
    struct cbor before = *c;
    int status = expect_head(&info, &simple, c, CBOR_SIMPLE, "neither true nor false");
    if (!status && info != SIMPLE_FALSE && info != SIMPLE_TRUE)
        return fail_here(&before, HCY_EFORMAT, "neither true nor false");
    *value = !status && info == SIMPLE_TRUE;
    return status;
}

/* Half precision: 5 bits of exponent, 10 of fraction. */
static double half_to_double(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023);
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent != 31 ? ldexp(fraction + 1024, exponent - 25)
                   : fraction == 0  ? INFINITY
                                    : NAN;
    return bits >> 15 & 1 ? -value : value;
}

int cbor_real(double *value, struct cbor *c)
{
    int type, info;
    uint64_t bits;
    struct cbor before = *c;
    int status = read_head(&type, &info, &bits, c);
    if (status)
        return status;
    uint32_t narrow = (uint32_t)bits;
    float single;
    if (type == CBOR_UINT && info != INFO_OPEN)
        *value = (double)bits;
    else if (type == CBOR_NEGATIVE && info != INFO_OPEN)
        *value = -1.0 - (double)bits;
    else if (type == CBOR_SIMPLE && info == FLOAT_2)
        *value = half_to_double(bits);
    else if (type == CBOR_SIMPLE && info == FLOAT_4)
        *value = (double)*(float *)memcpy(&single, &narrow, sizeof single);
    else if (type == CBOR_SIMPLE && info == FLOAT_8)
        memcpy(value, &bits, sizeof *value);
    else {
        *c = before;
        return fail_here(c, HCY_EFORMAT, "not a number");
    }
    return 0;
}

int cbor_string(hcy_span *string, struct cbor *c, int type)
{
    int info;
    uint64_t size;
    int status = expect_head(&info, &size, c, type, type == CBOR_TEXT ? "not a text" : "not a string of bytes");
    if (status)
        return status;
    /* No detector writes such, and its pieces would have to be copied together. */
    if (info == INFO_OPEN)
        return fail_here(c, HCY_EUNSUPPORTED, "a string in pieces");
    /* A size is compared with what is left: added to the place, a huge one would wrap around. */
    if (size > (uint64_t)(c->end - c->at))
        return fail_here(c, HCY_ECORRUPT, "a string is longer than the message");
    *string = (hcy_span){ c->at, (size_t)size };
    c->at += size;
    return 0;
}

int cbor_open(struct cbor_list *list, struct cbor *c, int type)
{
    int info, status = expect_head(&info, &list->left, c, type, type == CBOR_MAP ? "not a map" : "not an array");
    list->until_mark = info == INFO_OPEN;
    return status;
}

int cbor_more(struct cbor_list *list, struct cbor *c)
{
    if (!list->until_mark)
        return list->left ? (list->left--, 1) : 0;
    if (c->at == c->end)
        return fail_here(c, HCY_ECORRUPT, "the message ends too soon");
    int ends = *c->at == 0xff;
    c->at += ends;
    return !ends;
}

static int skip_item(struct cbor *c, int depth);

/* The items of an open array or map, `each` at a time; the pieces of a string. */
static int skip_list(struct cbor *c, struct cbor_list *list, int each, int depth)
{
    int more, status = 0;
    while (!status && (more = cbor_more(list, c)) != 0) {
        if (more < 0)
            return more;
        for (int i = 0; !status && i < each; i++)
            status = skip_item(c, depth + 1);
    }
    return status;
}

static int skip_item(struct cbor *c, int depth)
{
    int type, info;
    uint64_t value;
    /* How deep items are nested is the sender's choice, and the stack is ours. */
    if (depth > CBOR_DEPTH)
        return fail_here(c, HCY_ECORRUPT, "nested too deeply");
    int status = read_head(&type, &info, &value, c);
    if (status)
        return status;
    struct cbor_list list = { value, info == INFO_OPEN };
    switch (type) {
    case CBOR_BYTES:
    case CBOR_TEXT:
        if (info == INFO_OPEN)
            return skip_list(c, &list, 1, depth);
        if (value > (uint64_t)(c->end - c->at))
            return fail_here(c, HCY_ECORRUPT, "a string is longer than the message");
        c->at += value;
        return 0;
    case CBOR_ARRAY:
        return skip_list(c, &list, 1, depth);
    case CBOR_MAP:
        return skip_list(c, &list, 2, depth);
    case CBOR_TAG:
        return info == INFO_OPEN ? fail_here(c, HCY_ECORRUPT, "no CBOR") : skip_item(c, depth + 1);
    default:
        /* The mark of an end that nothing was opened for. */
        return info == INFO_OPEN ? fail_here(c, HCY_ECORRUPT, "no CBOR") : 0;
    }
}

int cbor_skip(struct cbor *c)
{
    return skip_item(c, 0);
}
