/* coils.c - an image times coils' maps, and the adjoint: expressions over the maps of some coils at a time. */
#include "coils.h"

#include <halcyon/eval.h>
#include <string.h>

hcy_space hcy__coils_space(const struct hcy__coils *coils, int64_t n)
{
    hcy_space all = coils->image;
    all.rank = coils->image.rank + 1;
    all.shape[0] = n;
    memcpy(all.shape + 1, coils->image.shape, sizeof *all.shape * (size_t)coils->image.rank);
    return all;
}

int hcy__coils_init(struct hcy__coils *coils, hcy_device *dev, hcy_array *maps, const hcy_space *image,
                    const char *function)
{
    char has[240], wants[240];
    *coils = (struct hcy__coils){ .image = *image, .n = 1, .batch = 1 };
    int status = maps ? hcy__array_check(maps, function) : 0;
    if (status || !maps)
        return status;
    const hcy_space all = hcy__coils_space(coils, maps->rank ? maps->shape[0] : 0);
    hcy_space is = { maps->dtype, maps->rank, { 0 }, NULL };
    memcpy(is.shape, maps->shape, sizeof is.shape);
    if (!hcy__space_same(&is, &all) || all.shape[0] < 1)
        return hcy_fail(HCY_EINVAL, "%s: maps are %s; those of coils for images %s have that type, and an axis of coils in "
                                    "front%s", function, hcy__space_text(has, &is), hcy__space_text(wants, image),
                        maps->dtype != image->dtype ? "; hcy_eval() converts" : "");
    if (hcy__array_device(maps) != dev || !hcy__is_contiguous(maps))
        return hcy_fail(HCY_EINVAL, "%s: the maps %s", function,
                        hcy__array_device(maps) != dev ? "are on another device; hcy_array_to_device() copies"
                                                       : "have gaps; hcy_array_copy() makes an array without");
    coils->n = coils->batch = all.shape[0];
    coils->maps = hcy_array_retain(maps);
    return 0;
}

void hcy__coils_end(struct hcy__coils *coils)
{
    hcy_array_release(coils->maps);
    hcy_array_release(coils->images);
}

int hcy__coils_multiply(hcy_queue *queue, const struct hcy__coils *coils, hcy_array *x, int64_t first, int64_t n)
{
    hcy_array *maps = NULL, *images = NULL;
    int status = hcy_array_slice(&images, coils->images, ":%lld", (long long)n);
    if (!status && !coils->maps)
        status = hcy_array_copy(queue, images, x);
    if (!status && coils->maps)
        status = hcy_array_slice(&maps, coils->maps, "%lld:%lld", (long long)first, (long long)(first + n));
    if (!status && coils->maps)
        status = HCY_EVAL(queue, "f = s*x", hcy_op_array("f", images), hcy_op_array("s", maps), hcy_op_array("x", x));
    hcy_array_release(maps);
    hcy_array_release(images);
    return status;
}

/* As many coils as a statement has arrays for: x moves once for them, not once for each. */
enum { AT_ONCE = 3 };

int hcy__coils_combine(hcy_queue *queue, hcy_array *x, const struct hcy__coils *coils, int64_t first, int64_t n)
{
    static const char *const names[2][AT_ONCE] = { { "a", "b", "c" }, { "f", "g", "h" } };
    static const char *const texts[2][AT_ONCE] = {
        { "x = conj(a)*f", "x = conj(a)*f + conj(b)*g", "x = conj(a)*f + conj(b)*g + conj(c)*h" },
        { "x += conj(a)*f", "x += conj(a)*f + conj(b)*g", "x += conj(a)*f + conj(b)*g + conj(c)*h" }
    };
    int status = 0;
    if (!coils->maps) {
        hcy_array *image = NULL;
        status = hcy_array_slice(&image, coils->images, "0");
        if (!status)
            status = hcy_array_copy(queue, x, image);
        hcy_array_release(image);
        return status;
    }
    for (int64_t k = 0; !status && k < n; k += AT_ONCE) {
        hcy_operand operands[1 + 2 * AT_ONCE] = { hcy_op_array("x", x) };
        const int64_t now = n - k < AT_ONCE ? n - k : AT_ONCE;
        for (int64_t i = 0; i < 2 * now; i++) {
            hcy_array *part = NULL;
            if (!status)
                status = hcy_array_slice(&part, i % 2 ? coils->images : coils->maps, "%lld",
                                         (long long)((i % 2 ? 0 : first) + k + i / 2));
            operands[1 + i] = hcy_op_array(names[i % 2][i / 2], part);
        }
        if (!status)
            status = hcy_eval(queue, texts[first + k > 0][now - 1], operands, (size_t)(1 + 2 * now));
        for (int64_t i = 0; i < 2 * now; i++)
            hcy_array_release(operands[1 + i].array);
    }
    return status;
}
