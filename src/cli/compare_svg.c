/* compare_svg.c - text and pictures of a page: escaping, scales, axes. */
#include "compare_svg.h"
#include "cli.h"
#include <math.h>

void html_text(FILE *out, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        const size_t n = cli_utf8_length(c);
        /* A name that was cut may end within a character, which a page cannot have. */
        if (!n)
            continue;
        if (n > 1) {
            fwrite(c, 1, n, out);
            c += n - 1;
        } else if (*c == '&' || *c == '<' || *c == '>' || *c == '"' || *c == '\'')
            fprintf(out, "&#%d;", *c);
        else
            fputc(*c < 0x20 || *c == 0x7f ? '?' : *c, out);
    }
}

void svg_begin(FILE *out, double height, const char *label)
{
    fprintf(out, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", SVG_WIDTH, height);
    html_text(out, label);
    fputs("\">\n", out);
}

void svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void svg_text(FILE *out, double x, double y, const char *style, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    html_text(out, text);
    fputs("</text>\n", out);
}

void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>\n", x1, y1, x2, y2, style);
}

void svg_rect(FILE *out, double x, double y, double width, double height, const char *style, const char *tip)
{
    fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" class=\"%s\"", x, y, width, height, style);
    if (tip) {
        fputs("><title>", out);
        html_text(out, tip);
        fputs("</title></rect>\n", out);
    } else {
        fputs("/>\n", out);
    }
}

double scale_at(const struct scale *s, double value)
{
    double share = s->log ? log(value / s->from) / log(s->to / s->from) : (value - s->from) / (s->to - s->from);
    return s->at + s->length * fmin(fmax(share, 0), 1);
}

void scale_decades(struct scale *s, double least, double most)
{
    s->log = 1;
    s->from = pow(10, floor(log10(least)));
    s->to = pow(10, ceil(log10(most)));
    /* A single value that is a power of ten would make a scale without length, by which scale_at() would divide. */
    if (!(s->to > s->from))
        s->to = 10 * s->from;
}

/* 1, 2 or 5 times a power of ten, so that there are about four of them. */
static double nice_step(const struct scale *s)
{
    double raw = (s->to - s->from) / 4, power = pow(10, floor(log10(raw)));
    double lead = raw / power;
    return power * (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1);
}

/* Of a scale of many decades only some have room. */
static double next_mark(const struct scale *s, double mark)
{
    double decades = s->log ? log10(s->to / s->from) : 0;
    return s->log ? mark * pow(10, decades > 6 ? ceil(decades / 5) : 1) : mark + nice_step(s);
}

static double first_mark(const struct scale *s)
{
    return s->log ? s->from : ceil(s->from / nice_step(s)) * nice_step(s);
}

/* A scale of a file's own numbers may be too fine for its steps to be seen: it ends nevertheless. */
enum { MOST_MARKS = 16 };

/* With all its digits: steps of 5 have marks between those of one digit. */
static void name_mark(char text[32], double mark)
{
    snprintf(text, 32, "%.6g", mark);
}

void scale_draw_x(FILE *out, const struct scale *s, double top, double bottom, const char *words)
{
    char text[32];
    double mark = first_mark(s);
    for (int i = 0; i < MOST_MARKS && mark <= s->to * (1 + 1e-9); i++, mark = next_mark(s, mark)) {
        double x = scale_at(s, mark);
        svg_line(out, x, top, x, bottom, "grid");
        name_mark(text, mark);
        svg_text(out, x, bottom + 12, "mark mid", text);
    }
    svg_text(out, s->at + s->length, bottom + 25, "mark end", words);
}

void scale_draw_y(FILE *out, const struct scale *s, double left, double right, const char *words)
{
    char text[32];
    double mark = first_mark(s);
    for (int i = 0; i < MOST_MARKS && mark <= s->to * (1 + 1e-9); i++, mark = next_mark(s, mark)) {
        double y = scale_at(s, mark);
        svg_line(out, left, y, right, y, "grid");
        name_mark(text, mark);
        svg_text(out, left - 4, y + 3.5, "mark end", text);
    }
    svg_text(out, 0, fmin(s->at, s->at + s->length) - 8, "mark", words);
}
