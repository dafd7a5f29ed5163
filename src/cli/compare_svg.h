/* compare_svg.h - text and pictures of a page: escaping, scales, axes.  A picture is 320 units wide, what a phone
 * has for it, so that its letters are as large there as they are here. */
#ifndef CLI_COMPARE_SVG_H
#define CLI_COMPARE_SVG_H

#include <stdio.h>

enum { SVG_WIDTH = 320, SVG_COLOURS = 8 };

/* Text for an element or an attribute in quotes: nothing in it is markup; control characters become '?'. */
void html_text(FILE *out, const char *text);

/* `label` says in words what the picture shows. */
void svg_begin(FILE *out, double height, const char *label);
void svg_end(FILE *out);
/* `style` is one or several classes of the page. */
void svg_text(FILE *out, double x, double y, const char *style, const char *text);
void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *style);
/* `tip`: what a pointer over it shows, or NULL. */
void svg_rect(FILE *out, double x, double y, double width, double height, const char *style, const char *tip);

/* Values from..to, which lie `length` long from `at` on, on a logarithmic scale where `log`. */
struct scale {
    double from, to, at, length;
    int log;
};
double scale_at(const struct scale *scale, double value);
/* Lines and numbers; x: between y top and bottom, y: between x left and right.  The words stand at the axis' end. */
void scale_draw_x(FILE *out, const struct scale *scale, double top, double bottom, const char *words);
void scale_draw_y(FILE *out, const struct scale *scale, double left, double right, const char *words);
/* From a decade to a decade around these values. */
void scale_decades(struct scale *scale, double least, double most);

#endif
