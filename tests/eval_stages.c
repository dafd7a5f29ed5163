/* eval_stages.c - how many launches statements become: those over one shape go together, with a reduction behind. */
#include "eval_stage.h"
#include "parser.h"
#include "tap.h"

#include <halcyon/array.h>
#include <stdlib.h>

static const struct {
    const char *text;
    int stages, joints, covered; /* of all joint stages */
} cases[] = {
    { "a = 2*b + c", 1, 0, 0 },
    { "a = 2*b + c; b = a - c", 2, 1, 2 },
    { "a = 2*b; s = sum(float64(a)*a)", 3, 1, 2 },
    { "a = 2*b; c = b; s = sum(a)", 4, 1, 3 },
    { "a = 2*b; s = sum(b)", 3, 0, 0 },
    { "s = r/2; r = 2*r; a = b*float32(s); b = a + 1; r = dot(a, b)", 6, 2, 5 },
    { "a = b; a = 2*a", 2, 0, 0 },
    { "a = b; b = 2*b; c = a", 3, 1, 2 },
    { "a = b; s = sum(a, axis=0)", 3, 0, 0 },
    { "p = q; t = sum(p, axis=1)", 3, 1, 2 },
    { "p = q; t = sum(p, axis=0)", 3, 0, 0 },
    /* Whole pieces, or, where they are not at another call, without the reduction; then that alone. */
    { "p = q; q = 2*p; t = sum(q, axis=-1)", 4, 2, 3 },
    { "p = q; q = 2*p; t = sum(q, axis=0)", 4, 1, 2 },
    { "a = b; b = 2*a; s = sum(b, axis=0)", 4, 1, 2 },
    { "a = b; s = sum(a, axis=(0, 1))", 3, 0, 0 },
    { "h = a; b = h", 2, 0, 0 },
    { "a = cumsum(b); c = a + 1", 2, 0, 0 },
};

static void test_case(size_t i, const hcy_operand *operands, size_t n)
{
    struct hcy__tree *tree = calloc(1, sizeof *tree);
    struct hcy__compiled *c = calloc(1, sizeof *c);
    int covered = 0, status = tree && c ? hcy__parse(tree, cases[i].text, operands, n) : HCY_ENOMEM;
    if (!status)
        status = hcy__compile(c, tree, operands, n);
    ok(!status, "%s", cases[i].text);
    for (int k = 0; !status && k < c->n_stages; k++)
        covered += c->stages[k]->joint ? c->stages[c->stages[k]->joint]->covers : 0;
    is_int(status ? 0 : c->n_stages, cases[i].stages, "stages");
    is_int(status ? 0 : c->n_joints, cases[i].joints, "joint stages");
    is_int(covered, cases[i].covered, "stages that these stand for");
    if (!status)
        hcy__compiled_free(c);
    free(tree);
    free(c);
}

/* As many variances as temporaries allow among as many statements as there may be; nothing is said of joint stages that
 * have no room. */
static void test_room(const hcy_operand *operands, size_t n)
{
    static const char *const texts[] = {
        "s=var(a);s=var(a);s=var(a);s=var(a);s=var(a);s=var(a);s=var(a);s=var(a);s=1;s=1;s=1;s=1;s=1;s=1;s=1;s=1",
        "a = b + c; b = a + c; c = a + b; s = sum(a*b*c*float32(r))",
    };
    struct hcy__tree *tree = calloc(1, sizeof *tree);
    struct hcy__compiled *c = calloc(1, sizeof *c);
    for (int i = 0; tree && c && i < 2; i++) {
        hcy_fail(HCY_EIO, "before");
        int status = hcy__parse(tree, texts[i], operands, n);
        status = status ? status : hcy__compile(c, tree, operands, n);
        ok(!status, "room for all stages: %s", status ? hcy_last_error()->text : texts[i]);
        ok(hcy_last_error()->status == HCY_EIO, "the last failure stays");
        if (!status)
            hcy__compiled_free(c);
    }
    free(tree);
    free(c);
}

/* The text over arrays of this shape; n is what is left without the axis. */
static int eval_rows(hcy_queue *queue, const char *text, int64_t columns, int axis)
{
    const int64_t shape[2] = { 3, columns };
    hcy_array *x[3] = { NULL };
    int status = 0;
    for (int i = 0; i < 3; i++)
        status = status ? status
                        : hcy_array_empty(&x[i], hcy_queue_device(queue), HCY_FLOAT64, i < 2 ? 2 : 1,
                                          i < 2 ? shape : &shape[1 - axis]);
    status = status ? status
                    : HCY_EVAL(queue, text, hcy_op_array("x", x[0]), hcy_op_array("y", x[1]), hcy_op_array("n", x[2]));
    for (int i = 0; i < 3; i++)
        hcy_array_release(x[i]);
    return status;
}

/* One launch of whole pieces, two of other rows by the same expression; the next one fails. */
static void test_other_rows(void)
{
    static const char *const text = "x = 1; y = x + 1; n = sum(y, axis=1)";
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    int status = hcy_device_open(&dev, "cpu@threads=1@fail-launch=4");
    status = status ? status : hcy_queue_create(&queue, dev);
    status = status ? status : eval_rows(queue, text, 1024, 1);
    status = status ? status : eval_rows(queue, text, 1000, 1);
    ok(!status && !hcy_queue_finish(queue), "one launch of whole pieces, two of other rows");
    status = status ? status : eval_rows(queue, text, 1024, 1);
    ok(status == HCY_ELAUNCH || hcy_queue_finish(queue) == HCY_ELAUNCH, "... and no fewer");
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

/* What cannot be one launch is no failure: the last one's words stay. */
static void test_words(hcy_device *dev)
{
    static const char *const text = "x = 2*index; n = sum(x, axis=0)";
    const int64_t columns = 2048;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL, *n = NULL;
    int status = hcy_queue_create(&queue, dev);
    status = status ? status : hcy_array_empty(&x, dev, HCY_FLOAT64, 1, &columns);
    status = status ? status : hcy_array_empty(&n, dev, HCY_FLOAT64, 0, NULL);
    /* Compiled for one axis, which is the last one; then two. */
    status = status ? status
                    : HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", x), hcy_op_array("n", n));
    hcy_fail(HCY_EIO, "before");
    status = status ? status : eval_rows(queue, text, columns, 0);
    ok(!status && hcy_last_error()->status == HCY_EIO, "the last failure stays where a joint stage does not fit");
    status = status ? status : hcy_queue_finish(queue);
    hcy_array_release(x);
    hcy_array_release(n);
    hcy_queue_release(queue);
}

int main(void)
{
    static const char *const names[] = { "a", "b", "c", "h", "s", "r", "p", "q", "t" };
    const int64_t n = 1000, rows[2] = { 3, 1024 };
    hcy_operand operands[9];
    hcy_array *arrays[9] = { NULL };
    hcy_device *dev = NULL;
    int status = hcy_device_open(&dev, "cpu");
    for (int i = 0; !status && i < 6; i++) {
        status = hcy_array_empty(&arrays[i], dev, i < 3 ? HCY_FLOAT32 : i == 3 ? HCY_FLOAT16 : HCY_FLOAT64, i < 4, &n);
        operands[i] = hcy_op_array(names[i], arrays[i]);
    }
    for (int i = 6; !status && i < 9; i++) {
        status = hcy_array_empty(&arrays[i], dev, HCY_FLOAT32, i < 8 ? 2 : 1, rows);
        operands[i] = hcy_op_array(names[i], arrays[i]);
    }
    ok(!status, "arrays");
    for (size_t i = 0; !status && i < sizeof cases / sizeof cases[0]; i++)
        test_case(i, operands, 9);
    if (!status)
        test_room(operands, 6);
    test_other_rows();
    test_words(dev);
    for (int i = 0; i < 9; i++)
        hcy_array_release(arrays[i]);
    hcy_device_release(dev);
    return done_testing();
}
