/* scale_model.c - halcyon scale-model: the time of jobs on more ranks than there are, from measured figures.
 *
 * Every time is modelled and said to be (scale_time.h); nothing is run, no MPI is needed.
 * Single-threaded. */
#include "cli.h"
#include "scale_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lines of a table; ranks; elements along an axis of a cube, whose bytes a double counts. */
enum { MOST_LINES = 4096, MOST_RANKS = 100000000, MOST_SIDE = 1000000 };

struct values {
    const char *alpha, *beta, *rate, *turn, *local;
    struct cli_int size, coils;
    struct cli_spans ranks;
    int sum, is_double, json;
};

static const char *const sums[] = { "exact", "tree", NULL };

#define AT(member) offsetof(struct values, member)
static const struct cli_option options[] = {
    { "size", 'n', CLI_INT, AT(size), "N", "elements an axis, or of a reduction (needed)", 1, 1e15, NULL },
    { "alpha", 0, CLI_TEXT, AT(alpha), "TIME", "of a message without bytes: 2us (needed)", 0, 0, NULL },
    { "beta", 0, CLI_TEXT, AT(beta), "RATE", "between two ranks, such as 10GB/s (needed)", 0, 0, NULL },
    { "rate", 0, CLI_TEXT, AT(rate), "RATE", "of a rank's memory, all ranks at work (needed)", 0, 0, NULL },
    { "turn", 0, CLI_TEXT, AT(turn), "RATE", "of copies that turn axes, likewise (GPUs make them)", 0, 0, NULL },
    { "local", 0, CLI_TEXT, AT(local), "TIME", "of the job on one rank (its bytes at --rate)", 0, 0, NULL },
    { "ranks", 0, CLI_SPANS, AT(ranks), "LIST", "such as 1,2,4,8 (powers of 2 up to 1024)", 0, 0, NULL },
    { "coils", 0, CLI_INT, AT(coils), "N", "of sense (32)", 1, 1000000, NULL },
    { "sum", 0, CLI_CHOICE, AT(sum), "HOW", "of a reduction: exact (default), tree", 0, 0, sums },
    { "double", 0, CLI_FLAG, AT(is_double), NULL, "reals of 8 bytes instead of 4", 0, 0, NULL },
    { "json", 0, CLI_FLAG, AT(json), NULL, "as one JSON object", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};
#undef AT

const struct cli_command cli_scale_model_command = {
    "scale-model", "what a job would take on many ranks: modelled",
    "JOB -n N --alpha T --beta R --rate R", 1, 1, options,
    "JOB is halo (Laplacian of a cube in blocks), reduction (dot of two vectors), transpose\n"
    "(Fourier transform of a complex cube in blocks) or sense (an iteration of CG, coils dealt\n"
    "out; needs --local).  Times are in s, ms, us or ns, rates in B/s, kB/s, MB/s, GB/s or TB/s.\n"
    "All times are MODELLED from these figures; nothing is measured."
};

static const char *const jobs[] = { [SCALE_HALO] = "halo",
                                    [SCALE_REDUCTION] = "reduction",
                                    [SCALE_TRANSPOSE] = "transpose",
                                    [SCALE_SENSE] = "sense" };
enum { N_JOBS = sizeof jobs / sizeof jobs[0] };

/* --- What was asked for --- */

struct unit {
    const char *name;
    double worth;
};
static const struct unit times[] = { { "s", 1 },     { "ms", 1e-3 }, { "us", 1e-6 },
                                     { "ns", 1e-9 }, { NULL, 0 } };
static const struct unit rates[] = { { "B/s", 1 },    { "kB/s", 1e3 },  { "MB/s", 1e6 },
                                     { "GB/s", 1e9 }, { "TB/s", 1e12 }, { NULL, 0 } };

static int wrong(const char *option, const char *text, const char *right)
{
    if (text)
        return cli_usage("--%s '%s' is not valid: it takes %s", option, text, right);
    return cli_usage("--%s is needed: %s", option, right);
}

/* "2us", "10GB/s": a number above 0 with its unit. */
static int read_amount(double *amount, const char *option, const char *text, const struct unit *units)
{
    const char *right = units == times ? "a time above 0 with its unit, such as 2us or 1.5ms"
                                       : "a rate above 0 with its unit, such as 10GB/s or 900MB/s";
    char *end = NULL;
    const double number = text ? strtod(text, &end) : 0;
    for (const struct unit *u = units; text && end != text && u->name; u++) {
        *amount = number * u->worth;
        /* The reciprocal is looked at, too: what is divided by has to have one. */
        if (!strcmp(u->name, end) && *amount > 0 && isfinite(*amount) && isfinite(1 / *amount))
            return CLI_OK;
    }
    return wrong(option, text, right);
}

static int read_machine(struct scale_machine *m, const struct values *v)
{
    int status = read_amount(&m->alpha, "alpha", v->alpha, times);
    if (!status)
        status = read_amount(&m->beta, "beta", v->beta, rates);
    if (!status)
        status = read_amount(&m->rate, "rate", v->rate, rates);
    m->turn = INFINITY;
    return status || !v->turn ? status : read_amount(&m->turn, "turn", v->turn, rates);
}

static int find_job(enum scale_kind *kind, const char *name)
{
    for (int i = 0; i < N_JOBS; i++)
        if (!strcmp(jobs[i], name)) {
            *kind = (enum scale_kind)i;
            return CLI_OK;
        }
    const char *closest = cli_closest(name, jobs, N_JOBS);
    return cli_usage("there is no job '%s'%s%s%s; halo, reduction, transpose and sense are known", name,
                     closest ? " (is '" : "", closest ? closest : "", closest ? "' meant?)" : "");
}

static int read_job(struct scale_job *job, const struct values *v, const char *name)
{
    int status = find_job(&job->kind, name);
    if (status)
        return status;
    if (!v->size.given)
        return wrong("size", NULL, "how large the job is");
    if (job->kind != SCALE_REDUCTION && v->size.value > MOST_SIDE)
        return cli_usage("--size %lld: a cube's axis has %d elements at most", (long long)v->size.value, MOST_SIDE);
    if (job->kind != SCALE_SENSE && v->coils.given)
        return cli_usage("--coils is for sense");
    if (job->kind != SCALE_REDUCTION && v->sum >= 0)
        return cli_usage("--sum is for a reduction");
    /* A transform of points that nobody has seen has no number of bytes that it must move. */
    if (job->kind == SCALE_SENSE && !v->local)
        return wrong("local", NULL, "what an iteration of all coils takes on one rank");
    job->size = (double)v->size.value;
    job->word = v->is_double ? 8 : 4;
    job->coils = (double)v->coils.value;
    job->is_tree = v->sum > 0;
    return v->local ? read_amount(&job->local, "local", v->local, times) : CLI_OK;
}

static int check_ranks(const struct cli_spans *ranks)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < ranks->n; i++) {
        const struct cli_span *s = &ranks->list[i];
        if (!s->first || s->last > (uint64_t)MOST_RANKS + 1)
            return cli_usage("--ranks: there are 1 to %d ranks", MOST_RANKS);
        lines += s->last - s->first;
    }
    if (lines <= MOST_LINES)
        return CLI_OK;
    return cli_usage("--ranks: %llu numbers of ranks; a table has %d at most", (unsigned long long)lines, MOST_LINES);
}

/* --- What it says --- */

struct model {
    const struct values *values;
    struct scale_machine machine;
    struct scale_job job;
    double alone; /* the total of one rank */
    struct cli_json json;
};

/* A time in ten columns. */
static void print_time(double seconds)
{
    const struct unit *u = times;
    while (u[1].name && seconds < u->worth && seconds > 0)
        u++;
    printf(" %7.4g %-2s", seconds / u->worth, u->name);
}

static void print_line(struct model *m, double ranks)
{
    struct scale_time t;
    scale_time_get(&t, &m->job, &m->machine, ranks);
    const double speed_up = m->alone / t.total;
    if (!m->values->json) {
        printf("%9.0f", ranks);
        print_time(t.compute);
        print_time(t.exchange);
        print_time(t.hidden);
        print_time(t.total);
        printf(" %9.4g %9.1f %%\n", speed_up, 100 * speed_up / ranks);
        return;
    }
    cli_json_open(&m->json, NULL, '{');
    cli_json_int(&m->json, "ranks", (int64_t)ranks);
    cli_json_real(&m->json, "compute_s", t.compute);
    cli_json_real(&m->json, "exchange_s", t.exchange);
    cli_json_real(&m->json, "hidden_s", t.hidden);
    cli_json_real(&m->json, "total_s", t.total);
    cli_json_real(&m->json, "speed_up", speed_up);
    cli_json_real(&m->json, "efficiency", speed_up / ranks);
    cli_json_close(&m->json, '}');
}

static void print_lines(struct model *m)
{
    const struct cli_spans *ranks = &m->values->ranks;
    for (uint64_t n = 1; !ranks->given && n <= 1024; n *= 2)
        print_line(m, (double)n);
    for (size_t i = 0; i < ranks->n; i++)
        for (uint64_t n = ranks->list[i].first; n < ranks->list[i].last; n++)
            print_line(m, (double)n);
}

static void print_text(struct model *m)
{
    const struct values *v = m->values;
    printf("MODELLED, not measured: %s of %lld, reals of %.0f bytes", jobs[m->job.kind],
           (long long)v->size.value, m->job.word);
    if (m->job.kind == SCALE_SENSE)
        printf(", %lld coils", (long long)v->coils.value);
    if (m->job.kind == SCALE_REDUCTION)
        printf(", sum %s", sums[m->job.is_tree]);
    printf("\nfrom alpha %s, beta %s, rate %s", v->alpha, v->beta, v->rate);
    if (v->turn)
        printf(", turn %s", v->turn);
    printf(v->local ? ", one rank %s\n" : "%s\n", v->local ? v->local : "");
    printf("%9s %10s %10s %10s %10s %9s %11s\n", "ranks", "compute", "exchange", "hidden", "total",
           "speed-up", "efficiency");
    print_lines(m);
}

static void print_json(struct model *m)
{
    struct cli_json *json = &m->json;
    cli_json_begin(json, stdout);
    cli_json_open(json, NULL, '{');
    /* The first key says that nothing here was measured, wherever the object is copied to. */
    cli_json_bool(json, "modelled", 1);
    cli_json_text(json, "job", jobs[m->job.kind]);
    cli_json_int(json, "size", m->values->size.value);
    cli_json_int(json, "bytes_a_real", (int64_t)m->job.word);
    if (m->job.kind == SCALE_SENSE)
        cli_json_int(json, "coils", m->values->coils.value);
    if (m->job.kind == SCALE_REDUCTION)
        cli_json_text(json, "sum", sums[m->job.is_tree]);
    cli_json_real(json, "alpha_s", m->machine.alpha);
    cli_json_real(json, "beta_bytes_per_s", m->machine.beta);
    cli_json_real(json, "rate_bytes_per_s", m->machine.rate);
    cli_json_real(json, "turn_bytes_per_s", m->machine.turn);
    if (m->values->local)
        cli_json_real(json, "local_s", m->job.local);
    cli_json_open(json, "rows", '[');
    print_lines(m);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

int cli_scale_model(int argc, char **argv)
{
    struct values v = { .coils = { 0, 32 }, .sum = -1 };
    struct model m = { .values = &v };
    struct scale_time one;
    const char *name = NULL;
    int status;
    if (cli_parse(&cli_scale_model_command, argc, argv, &v, &name, &status))
        return status;
    status = read_job(&m.job, &v, name);
    if (!status)
        status = read_machine(&m.machine, &v);
    if (!status)
        status = check_ranks(&v.ranks);
    if (status)
        return status;
    scale_time_get(&one, &m.job, &m.machine, 1);
    m.alone = one.total;
    (v.json ? print_json : print_text)(&m);
    return cli_close_stdout(CLI_OK);
}
