/* mrd_epi.h - for tests: ISMRMRD's acquisitions of EPI, with ramps, delays, and navigators. */
#ifndef MRD_EPI_H
#define MRD_EPI_H

#include "mrd_make.h"
#include <complex.h>

enum { LINE = 16 };

/* The area of a lobe of up, flat, down until then, of its height. */
static inline double area_until(const double lobe[3], double t)
{
    const double left = lobe[0] + lobe[1] + lobe[2] - t;
    if (t < lobe[0])
        return t > 0 ? t * t / 2 / lobe[0] : 0;
    if (left < lobe[2])
        return lobe[0] / 2 + lobe[1] + lobe[2] / 2 - (left > 0 ? left * left / 2 / lobe[2] : 0);
    return t - lobe[0] / 2;
}

struct epi {
    double lobe[3], dwell, delay, shift, phase; /* us; samples, radians */
    bool has_navigators, is_shared; /* by contrasts, of which the first one has them */
    unsigned n; /* acquisitions */
};

/* The sum over a point, or with navigators over a box of points that two coils see. */
static inline double complex sum_epi(const struct epi *e, double k, double ky)
{
    double complex sum = 0;
    if (!e->has_navigators)
        return cexp(-2 * acos(-1) * I * (k * 3 - ky * 2));
    for (int i = 0; i < 60; i++)
        sum += (1 + 0.1 * (i % 10) + 0.02 * i) * cexp(-2 * acos(-1) * I * (k * (i % 10 - 4) + ky * (i / 10 - 3)));
    return sum;
}

/* Line y, LINE of a navigator: it starts where the one before has ended, at k = half of the area.  Shots, and slices,
 * are off to opposite sides. */
static inline void add_epi(struct mrd_record *records, struct epi *e, unsigned y, unsigned slice, unsigned shot,
                           unsigned echo)
{
    const double start = e->delay > 0 ? e->delay : (e->lobe[0] + e->lobe[1] + e->lobe[2] - e->dwell * LINE) / 2,
                 once = area_until(e->lobe, start + e->dwell * LINE) - area_until(e->lobe, start),
                 sign = slice && !e->is_shared ? -1 : 1, shift = sign * e->shift / (1 + shot) / LINE,
                 phase = (shot ? -sign : sign) * e->phase;
    const bool is_reversed = echo % 2 != e->has_navigators, is_navigator = y == LINE;
    const unsigned coils = 1 + e->has_navigators;
    const double complex coil[2] = { e->has_navigators ? 0.6 : 1, 0.8 * I }, turn = cexp(I * (is_reversed ? phase : 0));
    float *data = malloc(2 * LINE * coils * sizeof *data);
    for (unsigned i = 0; i < LINE * coils; i++) {
        const double along = (area_until(e->lobe, start + i % LINE * e->dwell) - area_until(e->lobe, 1e9) / 2) / once;
        const double complex sum = coil[i / LINE] * turn * cexp(I * 0.7 * (is_navigator ? echo : 0)) *
                                   sum_epi(e, is_reversed ? -along - shift / 2 : along + shift / 2,
                                           is_navigator ? 0 : ((double)y - LINE / 2) / LINE);
        data[2 * i] = (float)creal(sum);
        data[2 * i + 1] = (float)cimag(sum);
    }
    struct mrd_record *record = &records[e->n++];
    record->head = (struct mrd_head){ .version = 1, .samples = LINE, .channels = (uint16_t)coils };
    record->head.centre = e->delay > 0 ? 0 : LINE / 2;
    record->head.idx[0] = (uint16_t)(is_navigator ? LINE / 2 : y);
    record->head.idx[3] = (uint16_t)slice;
    record->head.flags = (is_reversed ? 1u << 21 : 0) | (is_navigator ? 1u << 23 : 0);
    record->data = (hvl_t){ (size_t)2 * LINE * coils, data };
}

/* The second contrast has no navigators (noise, calibration: these are that, too, and wrong).  later: its lines are
 * behind all others, with segments by their shots; polar: segments are directions, and the second shot's navigators
 * begin with the other one. */
static inline void share_epi(struct mrd_record *records, struct epi *e, const char *how)
{
    struct mrd_record all[2 * (LINE + 6)];
    const unsigned n = e->n, shot = n / 2;
    memcpy(all, records, n * sizeof *records);
    e->n = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < n; i++) {
            struct mrd_head *head = &all[i].head;
            const bool is_navigator = head->flags >> 23 & 1, is_late = !strcmp(how, "later") && head->idx[4],
                       is_spare = is_navigator && head->idx[4];
            const unsigned flag = !strcmp(how, "noise") ? 1u << 18 : !strcmp(how, "calibration") ? 1u << 19 : 0;
            for (unsigned k = 0; is_spare && i % 3 == 1 && !pass && k < all[i].data.len; k++)
                ((float *)all[i].data.p)[k] *= k % 4 < 2 ? -1 : 1;
            head->flags |= is_spare ? flag : 0;
            if (!strcmp(how, "later"))
                head->idx[8] = (uint16_t)(i / shot);
            if (!strcmp(how, "polar"))
                head->idx[8] = (uint16_t)(is_navigator ? (i + i / shot) % 2 : head->flags >> 21 & 1);
            if (is_late == pass && (!is_spare || flag))
                records[e->n++] = all[i];
            else if (!pass && is_spare)
                free(all[i].data.p);
        }
}

/* bad: a navigator's centre is no sample; behind: the first shot's navigators are behind its lines; contrasts: in place
 * of slices, as for share_epi(); discarded: navigators' first samples, which are wrong; elsewhere: slice 1 has none. */
static inline void change_epi(struct mrd_record *records, struct epi *e, const char *how)
{
    struct mrd_record first[6];
    memcpy(first, records, sizeof first);
    if (!strcmp(how, "bad"))
        records[1].head.centre = LINE;
    if (!strcmp(how, "behind")) {
        memmove(records, records + 6, LINE * sizeof *records);
        memcpy(records + LINE, first, sizeof first);
    }
    for (unsigned i = 0; i < e->n; i++) {
        struct mrd_head *head = &records[i].head;
        if (!strcmp(how, "elsewhere") && head->flags >> 23 & 1)
            head->idx[3] *= 5;
        if (!strcmp(how, "contrasts") || e->is_shared)
            head->idx[4] = head->idx[3], head->idx[3] = 0;
        if (!strcmp(how, "discarded") && head->flags >> 23 & 1)
            head->pre = 1, ((float *)records[i].data.p)[0] = 1e6f;
    }
    if (e->is_shared)
        share_epi(records, e, how);
}

static inline int write_epi(const char *to, char **numbers, int n)
{
    static const char *const names[] = { "rampUpTime", "flatTopTime", "rampDownTime", "dwellTime", "acqDelayTime" };
    struct mrd_record records[2 * (LINE + 6)] = { 0 };
    struct epi e = { { atof(numbers[0]), atof(numbers[1]), atof(numbers[2]) }, atof(numbers[3]),
                     n > 4 ? atof(numbers[4]) : 0, n > 5 ? atof(numbers[5]) : 0, n > 6 ? atof(numbers[6]) : 0, n > 5,
                     n > 7 && strstr("shared later polar noise calibration", numbers[7]), 0 };
    for (unsigned y = 0; y < LINE && !e.has_navigators; y++)
        add_epi(records, &e, y, 0, 0, y);
    /* Two shots, in which one slice's navigators are between those and the lines of the other. */
    for (unsigned shot = 0; shot < 2 && e.has_navigators; shot++) {
        for (unsigned i = 0; i < 6; i++)
            add_epi(records, &e, LINE, i / 3, shot, i % 3);
        for (unsigned i = 0; i < LINE; i++)
            add_epi(records, &e, i % 8 * 2 + shot, i / 8, shot, i % 8 + 3);
    }
    if (n > 7)
        change_epi(records, &e, numbers[7]);
    mrd_write(to, records, e.n);
    char xml[1000];
    int at = snprintf(xml, sizeof xml, "<h><encoding><parallelImaging><calibrationMode>separate</calibrationMode>"
                                       "</parallelImaging><encodedSpace><matrixSize><x>16</x><y>16</y><z>1</z></matrixSize>"
                                       "</encodedSpace><trajectory>epi</trajectory><trajectoryDescription>");
    for (int i = 0; i < 5 && i < n; i++)
        at += snprintf(xml + at, sizeof xml - (size_t)at, "<p><name>%s</name><value>%s</value></p>", names[i], numbers[i]);
    snprintf(xml + at, sizeof xml - (size_t)at, "</trajectoryDescription></encoding></h>");
    mrd_put_xml(to, xml);
    return 0;
}

#endif
