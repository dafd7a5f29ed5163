/* array_slices.c - views of an image: every other row, columns in reverse, a border left alone, and numbers of each row
 * and column.  Nothing is copied for a view; an expression reads and writes through it.
 *
 * usage: array_slices [DEVICE]        cpu unless it is given
 */
#include <halcyon/eval.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 48, COLUMNS = 64 };

/* What the views below make of the image, by loops. */
static void do_by_hand(double image[ROWS][COLUMNS], double peak[ROWS])
{
    static double before[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r += 2)
        for (int c = 0; c < COLUMNS; c++)
            image[r][c] += 1000 * c;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            before[r][c] = image[r][c];
    for (int r = 1; r < ROWS - 1; r++)
        for (int c = 1; c < COLUMNS - 1; c++)
            image[r][c] = (before[r][COLUMNS - 1 - c] + before[r - 1][c]) / 2;
    for (int r = 0; r < ROWS; r++) {
        peak[r] = image[r][0];
        for (int c = 1; c < COLUMNS; c++)
            peak[r] = fmax(peak[r], image[r][c]);
    }
}

int main(int argc, char **argv)
{
    static double image[ROWS][COLUMNS], ramp[COLUMNS], got[ROWS][COLUMNS], peak[ROWS], got_peak[ROWS];
    static double got_rows[ROWS / 2][COLUMNS];
    const int64_t shape[2] = { ROWS, COLUMNS }, half[2] = { ROWS / 2, COLUMNS }, columns = COLUMNS, rows = ROWS;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL, *row = NULL, *best = NULL, *even = NULL, *inside = NULL, *turned = NULL, *above = NULL,
              *packed = NULL;
    int wrong = 0, status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    for (int i = 0; i < ROWS * COLUMNS; i++)
        image[i / COLUMNS][i % COLUMNS] = i * 37 % 101;
    for (int c = 0; c < COLUMNS; c++)
        ramp[c] = 1000 * c;
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_from_host(&x, dev, HCY_FLOAT64, 2, shape, image);
    if (!status)
        status = hcy_array_from_host(&row, dev, HCY_FLOAT64, 1, &columns, ramp);
    if (!status)
        status = hcy_array_empty(&best, dev, HCY_FLOAT64, 1, &rows);
    if (!status)
        status = hcy_array_empty(&packed, dev, HCY_FLOAT64, 2, half);
    if (!status)
        status = hcy_array_slice(&even, x, "::2");
    if (!status)
        status = hcy_array_slice(&inside, x, "1:-1, 1:-1");
    if (!status)
        status = hcy_array_slice(&turned, x, "1:-1, -2:0:-1");
    if (!status)
        status = hcy_array_slice(&above, x, ":-2, 1:-1");
    /* The row is broadcast to every other row.  What `inside` overlaps is read as it was before. */
    if (!status)
        status = HCY_EVAL(queue, "even += row; inside = (turned + above) / 2; best = max(x, axis=1)",
                          hcy_op_array("even", even), hcy_op_array("row", row), hcy_op_array("inside", inside),
                          hcy_op_array("turned", turned), hcy_op_array("above", above), hcy_op_array("best", best),
                          hcy_op_array("x", x));
    /* Strides are no matter to a copy. */
    if (!status)
        status = hcy_array_copy(queue, packed, even);
    if (!status)
        status = hcy_array_to_host(got_rows, queue, packed);
    if (!status)
        status = hcy_array_to_host(got, queue, x);
    if (!status)
        status = hcy_array_to_host(got_peak, queue, best);
    if (status)
        fprintf(stderr, "array_slices: %s\n", hcy_last_error()->text);
    do_by_hand(image, peak);
    for (int r = 0; r < ROWS; r++) {
        wrong += got_peak[r] != peak[r];
        for (int c = 0; c < COLUMNS; c++)
            wrong += got[r][c] != image[r][c] || (r % 2 == 0 && got_rows[r / 2][c] != image[r][c]);
    }
    if (!status)
        printf("%d of %d numbers as by hand\n", ROWS * COLUMNS + ROWS - wrong, ROWS * COLUMNS + ROWS);
    hcy_array *const arrays[] = { x, row, best, even, inside, turned, above, packed };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
