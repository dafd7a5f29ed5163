/* dist_compare.c - what operators over ranks are held against: one device's, and their own adjoints (dist_scene.h). */
#include "dist_scene.h"

#include <halcyon/operator.h>
#include <stdio.h>

hcy_array *draw_numbers(int dtype, int rank, const int64_t *shape, int seed)
{
    hcy_array *a = NULL;
    const bool real = dtype == HCY_FLOAT32 || dtype == HCY_FLOAT64;
    if (hcy_array_empty(&a, scene.dev, dtype, rank, shape) ||
        HCY_EVAL(scene.queue, real ? "a = normal(s, index)" : "a = complex(normal(s, index), normal(s, index, 1))",
                 hcy_op_array("a", a), hcy_op_integer("s", seed)))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return a;
}

double apart(hcy_array *a, hcy_array *b)
{
    hcy_array *d = NULL;
    double far = 1e300;
    if (hcy_array_empty(&d, scene.dev, HCY_FLOAT64, 0, NULL) ||
        HCY_EVAL(scene.queue, "d = max(abs(a - b)) / max(abs(b))", hcy_op_array("d", d), hcy_op_array("a", a),
                 hcy_op_array("b", b)) ||
        hcy_array_to_host(&far, scene.queue, d))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    hcy_array_release(d);
    return far;
}

double distance_to_serial(dist_distance *distance, hcy_operator *op, hcy_operator *serial, hcy_dist_layout *to,
                          hcy_dist_layout *from, bool adjoint)
{
    hcy_dist_layout_info t = HCY_DIST_LAYOUT_INFO_INIT, f = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_operator_info is = HCY_OPERATOR_INFO_INIT;
    if (hcy_dist_layout_get_info(&t, to) || hcy_dist_layout_get_info(&f, from) || hcy_operator_get_info(&is, serial))
        return 1e300;
    const hcy_space *of = adjoint ? &is.domain : &is.range, *on = adjoint ? &is.range : &is.domain;
    hcy_array *x = draw_numbers(on->dtype, f.rank, f.shape, 3), *want = draw_numbers(of->dtype, t.rank, t.shape, 5),
              *got = draw_numbers(of->dtype, t.rank, t.shape, 9), *part = NULL, *y = NULL;
    int (*const run)(hcy_queue *, hcy_array *, hcy_operator *, hcy_array *) =
        adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply;
    bool right = !hcy_dist_array(&part, scene.dev, from, on->dtype) && !hcy_dist_array(&y, scene.dev, to, of->dtype) &&
                 !hcy_dist_scatter(scene.queue, part, from, x, 0) && !run(scene.queue, want, serial, x) &&
                 !run(scene.queue, y, op, part) && !hcy_dist_gather(scene.queue, got, to, y, -1);
    double far = right ? distance(got, want) : 1e300;
    if (!right)
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    hcy_array_release(x);
    hcy_array_release(want);
    hcy_array_release(got);
    hcy_array_release(part);
    hcy_array_release(y);
    return far;
}

static double mismatch_of_pairs(hcy_operator *op, int pairs)
{
    double mismatch = 1e300;
    if (!op || hcy_operator_dot_test(&mismatch, scene.queue, op, pairs, 1))
        fprintf(stderr, "# rank %d: %s\n", scene.rank, hcy_last_error()->text);
    return mismatch;
}

double mismatch_of(hcy_operator *op)
{
    return mismatch_of_pairs(op, 10);
}

double mismatch_of_few(hcy_operator *op)
{
    return mismatch_of_pairs(op, 2);
}
