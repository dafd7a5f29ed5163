/* coils.c - an image times coils' maps, and the adjoint: expressions over the maps of some coils at a time. */
#include "coils.h"

#include <halcyon/eval.h>
#include <string.h>

int hcy__coils_init(struct hcy__coils *coils, hcy_device *dev, hcy_array *maps, const hcy_space *image, int64_t batch,
                    const char *function)
{
    char has[240], wants[240];
    hcy_space is, all = *image;
    *coils = (struct hcy__coils){ .image = *image };
    int status = hcy__array_check(maps, function);
    if (status)
        return status;
    is = (hcy_space){ maps->dtype, maps->rank, { 0 }, NULL };
    memcpy(is.shape, maps->shape, sizeof is.shape);
    all.rank = image->rank + 1;
    all.shape[0] = maps->rank ? maps->shape[0] : 0;
    memcpy(all.shape + 1, image->shape, sizeof *image->shape * (size_t)image->rank);
    if (!hcy__space_same(&is, &all) || all.shape[0] < 1)
        return hcy_fail(HCY_EINVAL, "%s: maps are %s; coils' maps of images %s have an axis of coils in front",
                        function, hcy__space_text(has, &is), hcy__space_text(wants, image));
    if (hcy__array_device(maps) != dev || !hcy__is_contiguous(maps))
        return hcy_fail(HCY_EINVAL, "%s: the maps %s", function,
                        hcy__array_device(maps) != dev ? "are on another device; hcy_array_to_device() copies"
                                                       : "have gaps; hcy_array_copy() makes an array without");
    coils->n = all.shape[0];
    coils->batch = batch < coils->n ? batch : coils->n;
    coils->parts = all;
    coils->parts.shape[0] = coils->batch;
    status = hcy__space_vector(&coils->images, dev, &coils->parts);
    if (!status)
        coils->maps = hcy_array_retain(maps);
    return status;
}

void hcy__coils_end(struct hcy__coils *coils)
{
    hcy_array_release(coils->maps);
    hcy_array_release(coils->images);
}

/* n coils' images or maps from one on. */
static int take_coils(hcy_array **part, const struct hcy__coils *coils, const hcy_array *all, int64_t first, int64_t n)
{
    hcy_space space = coils->parts;
    space.shape[0] = n;
    return hcy__vector_part(part, all, first * hcy__space_count(&coils->image), &space);
}

int hcy__coils_multiply(hcy_queue *queue, const struct hcy__coils *coils, hcy_array *x, int64_t first, int64_t n)
{
    hcy_array *maps = NULL, *images = NULL;
    int status = take_coils(&maps, coils, coils->maps, first, n);
    if (!status)
        status = take_coils(&images, coils, coils->images, 0, n);
    if (!status)
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
    const int64_t count = hcy__space_count(&coils->image);
    int status = 0;
    for (int64_t k = 0; !status && k < n; k += AT_ONCE) {
        hcy_operand operands[1 + 2 * AT_ONCE] = { hcy_op_array("x", x) };
        const int64_t now = n - k < AT_ONCE ? n - k : AT_ONCE;
        for (int64_t i = 0; i < 2 * now; i++) {
            hcy_array *part = NULL;
            if (!status)
                status = i % 2 ? hcy__vector_part(&part, coils->images, (k + i / 2) * count, &coils->image)
                               : hcy__vector_part(&part, coils->maps, (first + k + i / 2) * count, &coils->image);
            operands[1 + i] = hcy_op_array(names[i % 2][i / 2], part);
        }
        if (!status)
            status = hcy_eval(queue, texts[first + k > 0][now - 1], operands, (size_t)(1 + 2 * now));
        for (int64_t i = 0; i < 2 * now; i++)
            hcy_array_release(operands[1 + i].array);
    }
    return status;
}
