/* calibrate_plot.c - a picture of a calibration, drawn by gnuplot: the frame with its rings, and how far the points are
 * from them around the beam.  The numbers are inside the script. */
#include "calibrate.h"
#include "gnuplot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_PIXELS = 600 };

static const struct {
    const char *suffix, *terminal;
} formats[] = {
    { ".png", "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\nset terminal pngcairo size 1500, 700 background 'white'\n} else {\n"
              "set terminal png size 1500, 700 truecolor background 'white'\n}" },
    { ".svg", "set terminal svg size 1500, 700 background 'white'" },
    { ".pdf", "set terminal pdfcairo size 12.5, 5.8 background 'white'" },
};

static const char *terminal_of(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (n > 4 && !strcmp(path + n - 4, formats[i].suffix))
            return formats[i].terminal;
    return NULL;
}

/* The frame made small: the largest of each cell's pixels, so that narrow rings stay; roots, so that weak ones show. */
static void put_image(FILE *out, const struct powder *p)
{
    size_t longest = p->height > p->width ? p->height : p->width, step = (longest + SIDE_PIXELS - 1) / SIDE_PIXELS;
    fputs("$frame << END\n", out);
    for (size_t i = 0; i + step <= p->height; i += step) {
        for (size_t j = 0; j + step <= p->width; j += step) {
            float most = NAN;
            for (size_t k = 0; k < step * step; k++) {
                float v = p->counts[(i + k / step) * p->width + j + k % step];
                most = isnan(most) || v > most ? v : most;
            }
            fprintf(out, isnan(most) ? "NaN " : "%.4g ", sqrt(fmax(0, most)));
        }
        fputc('\n', out);
    }
    fprintf(out, "END\nstep = %zu\n", step);
}

/* Pixels that a ring's angle lies between, theirs and that of the next one: the ring as dots, without any inversion. */
static void put_rings(FILE *out, const struct powder *p, const hcy_poni *poni)
{
    size_t longest = p->height > p->width ? p->height : p->width, step = (longest + SIDE_PIXELS - 1) / SIDE_PIXELS;
    fputs("$rings << END\n", out);
    for (size_t i = 0; i + step < p->height; i += step)
        for (size_t j = 0; j + step < p->width; j += step) {
            double a = p->angle[i * p->width + j], b = p->angle[i * p->width + j + step],
                   c = p->angle[(i + step) * p->width + j], low = fmin(a, fmin(b, c)), high = fmax(a, fmax(b, c));
            for (size_t k = 0; k < p->n_spacings; k++) {
                double at = ring_angle(p->spacings[k], poni->wavelength);
                if (at >= low && at < high)
                    fprintf(out, "%zu %zu\n", j, i);
            }
        }
    fputs("-1 -1\nEND\n", out);
}

/* Azimuth and distance from the ring, in mrad, of each point. */
static int put_points(FILE *out, const struct powder *p, const hcy_poni *poni, const struct ring_points *points)
{
    double *places = malloc(3 * (points->n + 1) * sizeof *places), *angles = places + 2 * points->n;
    const size_t beam = find_beam_pixel(p);
    const double middle[2] = { (double)(beam / p->width), (double)(beam % p->width) };
    if (!places)
        return cli_error("no memory for %zu points", points->n);
    for (size_t i = 0; i < points->n; i++) {
        places[2 * i] = points->points[i].row;
        places[2 * i + 1] = points->points[i].column;
    }
    int status = hcy_poni_gradients(angles, NULL, poni, p->height, p->width, "2th_rad", places, points->n);
    fputs("$points << END\n", out);
    for (size_t i = 0; i < points->n && !status; i++)
        fprintf(out, "%.6g %.6g %.4f %.5f %.5f\n", places[2 * i + 1], places[2 * i],
                atan2(places[2 * i] - middle[0], places[2 * i + 1] - middle[1]) * 180 / 3.14159265358979,
                1e3 * (angles[i] - ring_angle(points->points[i].spacing, poni->wavelength)),
                ring_angle(points->points[i].spacing, poni->wavelength) * 180 / 3.14159265358979);
    fputs("END\n", out);
    free(places);
    return status ? cli_fail(status) : CLI_OK;
}

static int write_calibration_script(FILE *out, const char *terminal, const struct powder *p, const hcy_poni *poni,
                                    const struct ring_points *points)
{
    put_image(out, p);
    put_rings(out, p, poni);
    int status = put_points(out, p, poni, points);
    fprintf(out,
            "set encoding utf8\n%s\nset multiplot layout 1, 2\n"
            "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
            "unset colorbox\nset size ratio -1\nset xrange [0:%zu]\nset yrange [%zu:0]\n"
            "set xlabel 'column'\nset ylabel 'row'\nset title 'rings of the geometry, and the points found'\n"
            "plot $frame matrix using ($1 * step):($2 * step):3 with image notitle, \\\n"
            " $rings using 1:2 with dots linecolor rgb '#ff6060' notitle, \\\n"
            " $points using 1:2 with points pointtype 7 pointsize 0.3 linecolor rgb '#ffffff' notitle\n"
            "set size noratio\nset autoscale x\nset autoscale y\nset xrange [-180:180]\nset yrange [*:*]\n"
            "set xtics 90\nset xlabel 'around the beam (degrees)'\nset ylabel 'points less their rings (mrad)'\n"
            "set title 'what is left'\nset colorbox\nset cblabel '2θ of the ring (degrees)'\n"
            "plot 0 linecolor rgb '#808080' notitle, $points using 3:4:5 with points pointtype 7 pointsize 0.4 "
            "linecolor palette notitle\nunset multiplot\n",
            terminal, p->width, p->height);
    return status;
}

int check_picture(const char *path)
{
    if (!path || terminal_of(path))
        return CLI_OK;
    return cli_usage("--plot '%s': pictures are .png, .svg or .pdf", path);
}

int plot_calibration(const char *path, const struct powder *p, const hcy_poni *poni, const struct ring_points *points)
{
    FILE *script = tmpfile(), *picture = tmpfile();
    int status = script && picture ? CLI_OK : cli_error("no temporary file can be made");
    if (!status)
        status = write_calibration_script(script, terminal_of(path), p, poni, points);
    if (!status)
        status = gnuplot_run(script, fileno(picture));
    if (!status)
        status = gnuplot_save(picture, path);
    if (script)
        fclose(script);
    if (picture)
        fclose(picture);
    return status;
}
