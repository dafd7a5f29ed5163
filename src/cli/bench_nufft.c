/* bench_nufft.c - halcyon bench nufft: how fast non-uniform FFTs are, beside FINUFFT where its library is.
 *
 * Points are uniform random, or normal around 0. Both libraries run in turn in this process: setting points,
 * two executions (--quick: one); the best of each counts.  Errors are those of 40 results (--quick: 10) against the
 * direct sum in double. */
#include "bench_nufft.h"
#include "bench_problem.h"
#include "cli.h"
#include "finufft.h"
#include "timer.h"
#include <dlfcn.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The beginning of FINUFFT 2.5's options. */
struct peer_options {
    int modeord, spreadinterponly, debug, spread_debug, showwarn, nthreads;
    char rest[256];
};
struct peer {
    struct finufft calls;
    bool there;
};

struct values {
    const char *device, *peer;
    struct cli_int threads, points, rounds, width;
    struct cli_real cluster, upsampling;
    int quick, json;
};

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "device", 'd', CLI_TEXT, AT(device), "DEVICE", "in place of cpu@threads=N", 0, 0, NULL },
    { "threads", 't', CLI_INT, AT(threads), "N", "of the CPU's device and of FINUFFT (1)", 1, 1024, NULL },
    { "points", 'm', CLI_INT, AT(points), "N", "how many (2000000; sparse cells: their own)", 1, 4e9, NULL },
    { "cluster", 0, CLI_REAL, AT(cluster), "SIGMA", "normal around 0, not uniform", 1e-9, 100, NULL },
    { "rounds", 0, CLI_INT, AT(rounds), "N", "of which the best counts (3)", 1, 1000, NULL },
    { "quick", 0, CLI_FLAG, AT(quick), NULL, "two rounds of one execution, fewer results checked", 0, 0, NULL },
    { "upsampling", 0, CLI_REAL, AT(upsampling), "S", "cells a mode (chosen)", 1.01, 8, NULL },
    { "width", 0, CLI_INT, AT(width), "W", "of the window, in cells (what eps needs)", 2, 16, NULL },
    { "finufft", 'f', CLI_TEXT, AT(peer), "FILE", "FINUFFT's library (libfinufft.so, if it is found)", 0, 0,
      NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "as one JSON object", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_bench_nufft_command = {
    "bench nufft",
    "how fast non-uniform FFTs are, beside FINUFFT",
    "[CELL...]",
    0,
    BENCH_CELLS,
    options,
    "A CELL is a part of a row's name: 3d1, 1e-06-single, 2d2-1e-09-double.  Sparse cells are run\n"
    "only if a word begins with theirs: mri1-1e-06-single and its like are 195200 points and\n"
    "244 x 244 x 320 modes (1 GB; in double 4), coils1-1e-06-single and its like 100000 points and\n"
    "320^3 modes, 32 vectors at once (from 9 GB on; in double 17).\n"
    "Times are milliseconds of setting points and of a transform; errors those of 40 results against\n"
    "the direct sum; B/pt is what a point takes of the device's memory.\n"
    "FINUFFT's library is in its package from PyPI: finufft/libfinufft.so."
};

struct bench {
    const struct values *values;
    struct peer peer;
    hcy_device *dev;
    struct cli_json json;
    double log_sum, least; /* of the ratios to the peer */
    int n_ratios;
    bench_nufft_take *take; /* gets the rows in place of what is printed, or NULL */
    void *payload;
};


/* --- The peer --- */

/* Its functions; a library that was not asked for may be absent.  HCY_*, and nothing is printed. */
static int open_peer(struct bench *b)
{
    const char *wanted = b->values->peer;
    void *lib = dlopen(wanted ? wanted : "libfinufft.so", RTLD_NOW | RTLD_LOCAL);
    /* Without --finufft a missing FINUFFT leaves its columns out. A library that the user named must be there. */
    if (!lib && !wanted)
        return 0;
    int status = finufft_find(&b->peer.calls, lib, "FINUFFT");
    b->peer.there = !status;
    return status;
}

static int make_peer(const struct bench *b, const hcy_nufft_desc *desc, void **plan)
{
    struct peer_options o;
    b->peer.calls.defaults(&o);
    o.nthreads = (int)b->values->threads.value;
    o.showwarn = 0;
    int code = finufft_make(plan, &b->peer.calls, desc, &o);
    return code > 1 ? cli_fail(hcy_fail(HCY_EBACKEND, "FINUFFT makes no plan: its status is %d", code)) : 0;
}

/* --- Rounds --- */

static int round_ours(const struct bench_problem *p, hcy_nufft *plan, int executions, struct nufft_figures *f)
{
    const void *const x[3] = { p->x[0], p->x[1], p->x[2] };
    double start = timer_now();
    int status = hcy_nufft_set_points(plan, (int64_t)p->m, x, 0, NULL);
    f->set = timer_best(f->set, start);
    for (int i = 0; i < executions && !status; i++) {
        start = timer_now();
        status = hcy_nufft_execute(plan, p->c, p->f);
        f->run = timer_best(f->run, start);
    }
    return status ? cli_fail(status) : 0;
}

static int round_peer(const struct bench *b, const struct bench_problem *p, const hcy_nufft_desc *desc, void *plan,
                      struct nufft_figures *f)
{
    double start = timer_now();
    int code = finufft_set(plan, &b->peer.calls, desc, (int64_t)p->m, p->x);
    f->set = timer_best(f->set, start);
    for (int i = 0; i < (b->values->quick ? 1 : 2) && code <= 1; i++) {
        start = timer_now();
        code = finufft_run(plan, &b->peer.calls, desc, p->c, p->f);
        f->run = timer_best(f->run, start);
    }
    return code > 1 ? cli_fail(hcy_fail(HCY_EBACKEND, "FINUFFT transforms nothing: its status is %d", code)) : 0;
}

static int run_rounds(const struct bench *b, const struct bench_problem *p, const hcy_nufft_desc *desc,
                      hcy_nufft *plan, void *peer_plan, struct nufft_figures *ours, struct nufft_figures *peer)
{
    int status = 0;
    int64_t n = b->values->rounds.value;
    for (int64_t i = 0; i < n && !status; i++) {
        /* The two alternate, so that a machine that slows down slows both. */
        if (peer_plan)
            status = round_peer(b, p, desc, peer_plan, peer);
        /* Both write to the same array, so the peer's error is taken before ours overwrites it. */
        if (peer_plan && !status && i + 1 == n)
            peer->error = bench_problem_error(p);
        if (!status)
            status = round_ours(p, plan, b->values->quick ? 1 : 2, ours);
    }
    if (status)
        return status;
    ours->error = bench_problem_error(p);
    ours->info = (hcy_nufft_info)HCY_NUFFT_INFO_INIT;
    status = hcy_nufft_get_info(&ours->info, plan);
    return status ? cli_fail(status) : 0;
}

/* --- Printing --- */

static void json_figures(struct cli_json *json, size_t points, const struct nufft_figures *f)
{
    cli_json_real(json, "points_ms", 1e3 * f->set);
    cli_json_real(json, "execute_ms", 1e3 * f->run);
    cli_json_real(json, "mpoints_per_s", 1e-6 * (double)points / f->run);
    cli_json_real(json, "error", f->error);
}

static void print_row(struct bench *b, const char *name, const struct bench_problem *p,
                      const struct nufft_figures *ours, const struct nufft_figures *peer)
{
    double ratio = b->peer.there ? (peer->set + peer->run) / (ours->set + ours->run) : 0;
    /* The summary at the end needs the ratios of all rows: their logarithms give the geometric mean. */
    if (b->peer.there) {
        b->log_sum += log(ratio);
        b->n_ratios++;
        b->least = b->n_ratios == 1 || ratio < b->least ? ratio : b->least;
    }
    if (b->values->json) {
        /* A row is an object of its own; the peer's figures are nested, as they may be absent. */
        cli_json_open(&b->json, NULL, '{');
        cli_json_text(&b->json, "cell", name);
        cli_json_int(&b->json, "points", (int64_t)p->m);
        json_figures(&b->json, p->m * p->vectors, ours);
        cli_json_int(&b->json, "width", ours->info.width);
        cli_json_real(&b->json, "upsampling", ours->info.upsampling);
        cli_json_real(&b->json, "bytes_per_point", (double)ours->info.point_bytes / (double)p->m);
        if (b->peer.there) {
            cli_json_open(&b->json, "finufft", '{');
            json_figures(&b->json, p->m * p->vectors, peer);
            cli_json_close(&b->json, '}');
            cli_json_real(&b->json, "ratio", ratio);
        }
        cli_json_close(&b->json, '}');
        return;
    }
    /* Times are milliseconds; the error has two digits, as more would be chance. */
    printf("%-18s %9.2f %9.2f %8.2f %8.1e  %2u %4.2f %4.0f", name, 1e3 * ours->set, 1e3 * ours->run,
           1e-6 * (double)(p->m * p->vectors) / ours->run, ours->error, ours->info.width, ours->info.upsampling,
           (double)ours->info.point_bytes / (double)p->m);
    if (b->peer.there)
        printf(" | %9.2f %9.2f %8.1e | %5.2f %5.2f", 1e3 * peer->set, 1e3 * peer->run, peer->error,
               peer->run / ours->run, ratio);
    printf("\n");
    fflush(stdout);
}

static void print_head(struct bench *b)
{
    const struct values *v = b->values;
    int64_t points = v->points.value ? v->points.value : BENCH_POINTS; /* of the cells that are not sparse */
    if (v->json) {
        cli_json_begin(&b->json, stdout);
        cli_json_open(&b->json, NULL, '{');
        cli_json_text(&b->json, "device", hcy_device_get_info(b->dev)->name);
        cli_json_int(&b->json, "points", points);
        cli_json_real(&b->json, "cluster", v->cluster.value);
        cli_json_int(&b->json, "rounds", v->rounds.value);
        cli_json_open(&b->json, "cells", '[');
        return;
    }
    printf("# %s; %.3g points, %s; ms\n", hcy_device_get_info(b->dev)->description, (double)points,
           v->cluster.value > 0 ? "clustered" : "uniform");
    printf("%-18s %9s %9s %8s %8s  %2s %4s %4s%s\n", "cell", "points", "execute", "Mpt/s", "error", "w", "up", "B/pt",
           b->peer.there ? " | FINUFFT:points execute    error | ratio  total" : "");
}

static void print_end(struct bench *b)
{
    if (b->values->json)
        cli_json_close(&b->json, ']');
    if (b->n_ratios && b->values->json) {
        cli_json_real(&b->json, "least_ratio", b->least);
        cli_json_real(&b->json, "mean_ratio", exp(b->log_sum / b->n_ratios));
    } else if (b->n_ratios) {
        printf("# times FINUFFT's speed, points and execution: %.2f at least, %.2f in the geometric mean\n",
               b->least, exp(b->log_sum / b->n_ratios));
    }
    if (b->values->json)
        cli_json_close(&b->json, '}');
}

/* --- Cells --- */

static int run_cell(struct bench *b, const struct bench_cell *cell)
{
    char name[40];
    struct bench_problem p;
    struct nufft_figures ours = { .set = INFINITY, .run = INFINITY }, peer = ours;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan = NULL;
    void *peer_plan = NULL;
    hcy_nufft_desc desc = { sizeof desc, cell->type, cell->precision, cell->dim, { 1, 1, 1 }, +1, 1, cell->eps };
    const struct values *v = b->values;
    int status = bench_problem_open(&p, cell, v->points.value, v->cluster.value,
                                    v->quick ? BENCH_CHECKED_QUICKLY : BENCH_CHECKED);
    if (status)
        return status;
    bench_cell_name(name, cell);
    for (int d = 0; d < cell->dim; d++)
        desc.modes[d] = p.modes[d];
    desc.n_transforms = (int64_t)p.vectors;
    o.upsampling = b->values->upsampling.value;
    o.width = (unsigned)b->values->width.value;
    /* Both plans live at once, because the rounds alternate. */
    status = hcy_nufft_create(&plan, b->dev, &desc, &o);
    status = status ? cli_fail(status) : 0;
    if (!status && b->peer.there)
        status = make_peer(b, &desc, &peer_plan);
    if (!status)
        status = run_rounds(b, &p, &desc, plan, peer_plan, &ours, &peer);
    const struct nufft_row row = { name, cell->dim, cell->type, cell->precision == HCY_F32, cell->eps, p.m * p.vectors,
                                   ours, peer, b->peer.there };
    if (!status && b->take)
        b->take(b->payload, &row);
    else if (!status)
        print_row(b, name, &p, &ours, &peer);
    /* What was not made is NULL, which each of these takes. */
    finufft_destroy(peer_plan, &b->peer.calls, &desc);
    hcy_nufft_destroy(plan);
    bench_problem_close(&p);
    return status;
}

/* A word that matches nothing is a mistake: silence would look like a measurement. */
static int refuse_word(const char *word)
{
    return cli_usage("no cell has such a name: %s (one is 1d1-1e-06-single; `halcyon bench nufft -m 1` lists all)",
                     word);
}

/* Marks the cells that words name, all that are not sparse without words. */
static int choose_cells(bool chosen[BENCH_CELLS], const char *const *words)
{
    for (size_t i = 0; i < BENCH_CELLS; i++)
        chosen[i] = !words[0] && !bench_cells[i].sparse;
    for (; *words; words++) {
        bool seen = false;
        for (size_t i = 0; i < BENCH_CELLS; i++) {
            bool named = bench_cell_is_named(&bench_cells[i], *words);
            chosen[i] = chosen[i] || named;
            seen = seen || named;
        }
        if (!seen)
            return refuse_word(*words);
    }
    return 0;
}

static int run_cells(struct bench *b, const bool chosen[BENCH_CELLS])
{
    int status = 0;
    print_head(b);
    for (size_t i = 0; i < BENCH_CELLS && !status; i++) {
        if (chosen[i])
            status = run_cell(b, &bench_cells[i]);
    }
    print_end(b);
    return status;
}

int bench_nufft_check_cells(const char *part)
{
    for (size_t i = 0; i < BENCH_CELLS; i++)
        if (bench_cell_is_named(&bench_cells[i], part))
            return CLI_OK;
    return refuse_word(part);
}

int bench_nufft_check_peer(const char *finufft)
{
    const struct values v = { .peer = finufft };
    struct bench b = { .values = &v };
    return open_peer(&b);
}

int bench_nufft_rows(hcy_device *device, const char *part, int threads, const char *finufft, int64_t points,
                     bench_nufft_take *take, void *payload)
{
    const struct values v = { .peer = finufft, .threads = { 0, threads }, .points = { 0, points }, .rounds = { 0, 2 },
                              .quick = 1 };
    struct bench b = { .values = &v, .dev = device, .take = take, .payload = payload };
    bench_problems_start();
    int status = open_peer(&b);
    status = status ? cli_fail(status) : 0;
    for (size_t i = 0; i < BENCH_CELLS && !status; i++) {
        if (bench_cell_is_named(&bench_cells[i], part ? part : ""))
            status = run_cell(&b, &bench_cells[i]);
    }
    return status;
}

int cli_bench_nufft(int argc, char **argv)
{
    struct values v = { .threads = { 0, 1 }, .rounds = { 0, 3 } };
    struct bench b = { .values = &v };
    const char *words[BENCH_CELLS + 1] = { NULL };
    bool chosen[BENCH_CELLS];
    char device[64];
    int status;
    if (cli_parse(&cli_bench_nufft_command, argc, argv, &v, words, &status))
        return status;
    if (v.quick && !v.rounds.given)
        v.rounds.value = 2;
    bench_problems_start();
    /* The peer has --threads threads, so the CPU gets as many: the comparison is fair. */
    snprintf(device, sizeof device, "cpu@threads=%d", (int)v.threads.value);
    status = choose_cells(chosen, words);
    if (!status && open_peer(&b))
        status = cli_fail(hcy_last_error()->status);
    if (!status && hcy_device_open(&b.dev, v.device ? v.device : device))
        status = cli_fail_value(hcy_last_error()->status, v.device);
    if (!status)
        status = run_cells(&b, chosen);
    hcy_device_release(b.dev);
    return status ? status : cli_close_stdout(CLI_OK);
}
