/* results_text.c - curves from text of two or three columns: blocks of rows, parted by empty lines or by
 * "# frame N", as curves_dat.c writes them; one block is pyFAI's own.  Fit2D's and GSAS' files
 * are one block behind a head.
 *
 * The first pass notes where blocks begin; rows are read from there when they are asked for, so memory does
 * not depend on the number of curves' bins.
 */
#include "results.h"
#include <errno.h>
#include <halcyon/backend.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    off_t at; /* of its first row */
    uint64_t frame;
    size_t n; /* rows; 0: the frame failed */
};

struct text {
    FILE *in;
    char *line;
    size_t room;
    struct block *blocks;
    size_t n_blocks, blocks_room;
    locale_t plain; /* numbers with a point, whatever the program's locale */
};

static void text_close(void *state)
{
    struct text *t = state;
    if (t->in)
        fclose(t->in);
    if (t->plain)
        freelocale(t->plain);
    free(t->line);
    free(t->blocks);
    free(t);
}

/* The numbers of a row, 3 at most; how many, 0: it is no row. */
static int numbers(double x[3], const char *line)
{
    int n = 0;
    /* Commas are taken too, as spreadsheets write them. */
    for (char *end; n < 3; n++, line = end) {
        x[n] = strtod(line, &end);
        if (end == line || !strchr(" \t\r\n,", *end))
            break;
        end += *end == ',';
    }
    return line[strspn(line, " \t\r\n")] && n < 3 ? 0 : n;
}

static int add_block(struct text *t, off_t at, uint64_t frame)
{
    /* Doubled, so that files of many frames are not copied over and over. */
    if (t->n_blocks == t->blocks_room) {
        size_t room = t->blocks_room ? 2 * t->blocks_room : 16;
        struct block *more = realloc(t->blocks, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "no memory for the places of %zu curves", room);
        t->blocks = more;
        t->blocks_room = room;
    }
    t->blocks[t->n_blocks++] = (struct block){ .at = at, .frame = frame };
    return 0;
}

/* What the first pass knows of the line before. */
struct scan {
    uint64_t next; /* the number of the block that begins next */
    int inside;    /* in a block */
    size_t first;  /* the first block with rows, counted from 1; 0: none yet */
    size_t n_radial, room;
    double scale;  /* of radii in the file */
};

static int add_radius(struct scan *scan, hcy__results_head *head, double radius)
{
    if (scan->n_radial == scan->room) {
        size_t room = scan->room ? 2 * scan->room : 1024;
        double *more = realloc(head->radial, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "no memory for %zu bins", room);
        head->radial = more;
        scan->room = room;
    }
    head->radial[scan->n_radial++] = scan->scale * radius;
    return 0;
}

/* "# frame 7", "# frame 7 failed: ...", "#   q_nm^-1   I   sigma". */
static int take_comment(struct text *t, struct scan *scan, hcy__results_head *head)
{
    unsigned long long number;
    char word[32], rest[8] = "";
    int n = sscanf(t->line, "# frame %llu %7s", &number, rest);
    scan->inside = 0;
    if (n >= 1) {
        scan->next = number;
        /* A failed frame has no rows, and becomes a curve of NaN. */
        if (n == 2 && !strcmp(rest, "failed:")) {
            scan->next++;
            return add_block(t, 0, number);
        }
    } else if (!t->n_blocks && sscanf(t->line, "# %31s", word) == 1 && hcy_azint_unit_find(word)) {
        snprintf(head->unit, sizeof head->unit, "%s", word);
    }
    return 0;
}

static int take_line(struct text *t, struct scan *scan, hcy__results_head *head, off_t at)
{
    double x[3];
    if (*t->line == '#')
        return take_comment(t, scan, head);
    if (!t->line[strspn(t->line, " \t\r\n")]) {
        scan->inside = 0;
        return 0;
    }
    int n = numbers(x, t->line), length = (int)strcspn(t->line, "\r\n");
    if (n < 2)
        return hcy_fail(HCY_EFORMAT, "%s: the line '%.*s' at byte %llu is not a row of a curve", head->path,
                        length < 40 ? length : 40, t->line, (unsigned long long)at);
    /* The first row behind a gap begins a curve, which has the number of the comment before, or the next
     * one. */
    if (!scan->inside) {
        scan->inside = 1;
        int st = add_block(t, at, scan->next++);
        if (st)
            return st;
    }
    if (!scan->first)
        scan->first = t->n_blocks;
    t->blocks[t->n_blocks - 1].n++;
    head->has_sigma |= n == 3;
    /* Radii are taken from the first curve alone; all others must have as many rows. */
    return scan->first == t->n_blocks ? add_radius(scan, head, x[0]) : 0;
}

/* All blocks alike, but for those of failed frames and a last one that is cut off. */
static int check_blocks(struct text *t, const struct scan *scan, hcy__results_head *head)
{
    head->n_radial = scan->n_radial;
    if (!scan->n_radial)
        return hcy_fail(HCY_EFORMAT, "%s: there is no curve in it", head->path);
    size_t last = t->n_blocks - 1;
    /* A run that was interrupted leaves a curve cut off: it is left out, and the others are whole. */
    if (last && t->blocks[last].n && t->blocks[last].n < scan->n_radial)
        t->n_blocks--;
    for (size_t i = 0; i < t->n_blocks; i++)
        if (t->blocks[i].n && t->blocks[i].n != scan->n_radial)
            return hcy_fail(HCY_EFORMAT, "%s: the curve of frame %llu has %zu rows, the first has %zu",
                            head->path, (unsigned long long)t->blocks[i].frame, t->blocks[i].n,
                            scan->n_radial);
    head->rows = t->n_blocks;
    return 0;
}

/* The unit whose axis has this label, if one has. */
static void take_label(hcy__results_head *head, const char *line)
{
    size_t n, length = strcspn(line, "\r\n");
    const hcy_azint_unit *units = hcy_azint_unit_list(&n);
    for (size_t i = 0; i < n; i++)
        if (strlen(units[i].label) == length && !strncmp(units[i].label, line, length))
            snprintf(head->unit, sizeof head->unit, "%s", units[i].name);
}

/* Passes over what is no row: of Fit2D's files a title, the axis' label, the values', and how many rows there are; of
 * GSAS' a title and a line "BANK ... FXYE", whose radii are hundredths of a degree. */
static int skip_head(off_t *at, struct text *t, struct scan *scan, hcy__results_head *head)
{
    enum { LINES = 4 };
    char line[LINES][128];
    off_t end[LINES], here = 0;
    unsigned long long rows;
    char more;
    int n = 0;
    for (ssize_t got; n < LINES && (got = getline(&t->line, &t->room, t->in)) >= 0; n++) {
        snprintf(line[n], sizeof line[n], "%s", t->line);
        end[n] = here += got;
    }
    *at = 0;
    if (n >= 2 && !strncmp(line[1], "BANK ", 5) && strstr(line[1], " FXYE")) {
        *at = end[1];
        scan->scale = 0.01;
        snprintf(head->unit, sizeof head->unit, "2th_deg");
    } else if (n == LINES && *line[0] != '#' && sscanf(line[LINES - 1], "%llu %c", &rows, &more) == 1) {
        *at = end[LINES - 1];
        take_label(head, line[1]);
    }
    /* A head that was not seen would be read as a curve. */
    if (ferror(t->in))
        return hcy_fail(HCY_EIO, "%s cannot be read", head->path);
    clearerr(t->in);
    return fseeko(t->in, *at, SEEK_SET) ? hcy_fail(HCY_EIO, "%s cannot be read", head->path) : 0;
}

static int scan(struct text *t, hcy__results_head *head)
{
    struct scan scan = { .scale = 1 };
    off_t at = 0;
    int st = skip_head(&at, t, &scan, head);
    for (ssize_t n; !st && (n = getline(&t->line, &t->room, t->in)) >= 0; at += n)
        /* Numbers are read as C's strings, which a zero byte would end; no text has one. */
        st = memchr(t->line, 0, (size_t)n)
                 ? hcy_fail(HCY_EFORMAT, "%s: neither text nor another format of curves", head->path)
                 : take_line(t, &scan, head, at);
    if (!st && ferror(t->in))
        st = hcy_fail(HCY_EIO, "%s cannot be read", head->path);
    return st ? st : check_blocks(t, &scan, head);
}

static int text_open(void **state, hcy__results_head *head)
{
    struct text *t = calloc(1, sizeof *t);
    int fd, st;
    if (!t)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", head->path);
    *state = t;
    st = hcy__open_file(&fd, head->path);
    if (st)
        return st;
    t->in = fdopen(fd, "r");
    t->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!t->in || !t->plain)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", head->path);
    locale_t before = uselocale(t->plain);
    st = scan(t, head);
    uselocale(before);
    return st;
}

static int read_block_rows(struct text *t, const struct block *block, const char *path, double *intensity,
                     double *sigma)
{
    double x[3];
    /* Blocks were counted when the file was opened, so any row is read without those before it. */
    clearerr(t->in);
    if (fseeko(t->in, block->at, SEEK_SET))
        return hcy_fail(HCY_EIO, "%s cannot be read", path);
    for (size_t i = 0; i < block->n; i++) {
        int n = getline(&t->line, &t->room, t->in) < 0 ? 0 : numbers(x, t->line);
        if (n < 2 && ferror(t->in))
            return hcy_fail(HCY_EIO, "%s cannot be read", path);
        /* The file may be growing or have been replaced since its blocks were counted. */
        if (n < 2)
            return hcy_fail(HCY_ECORRUPT, "%s: the curve of frame %llu has changed since it was opened", path,
                            (unsigned long long)block->frame);
        intensity[i] = x[1];
        if (sigma)
            sigma[i] = n == 3 ? x[2] : NAN;
    }
    return 0;
}

static int text_read(void *state, const hcy__results_head *head, uint64_t row, uint64_t *frame,
                     double *intensity, double *sigma)
{
    struct text *t = state;
    const struct block *block = &t->blocks[row];
    *frame = block->frame;
    /* A failed frame has no rows in the file. */
    for (size_t i = 0; !block->n && i < head->n_radial; i++) {
        intensity[i] = NAN;
        if (sigma)
            sigma[i] = NAN;
    }
    locale_t before = uselocale(t->plain);
    int st = read_block_rows(t, block, head->path, intensity, sigma);
    uselocale(before);
    return st;
}

const hcy__results_format hcy__results_text = { text_open, text_read, text_close };
