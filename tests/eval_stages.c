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
    { "a = b; s = sum(a, axis=0)", 3, 1, 2 },
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

int main(void)
{
    static const char *const names[] = { "a", "b", "c", "h", "s", "r" };
    const int64_t n = 1000;
    hcy_operand operands[6];
    hcy_array *arrays[6] = { NULL };
    hcy_device *dev = NULL;
    int status = hcy_device_open(&dev, "cpu");
    for (int i = 0; !status && i < 6; i++) {
        status = hcy_array_empty(&arrays[i], dev, i < 3 ? HCY_FLOAT32 : i == 3 ? HCY_FLOAT16 : HCY_FLOAT64, i < 4, &n);
        operands[i] = hcy_op_array(names[i], arrays[i]);
    }
    ok(!status, "arrays");
    for (size_t i = 0; !status && i < sizeof cases / sizeof cases[0]; i++)
        test_case(i, operands, 6);
    if (!status)
        test_room(operands, 6);
    for (int i = 0; i < 6; i++)
        hcy_array_release(arrays[i]);
    hcy_device_release(dev);
    return done_testing();
}
