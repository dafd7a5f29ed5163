/* dist_matrix.c - the product of a matrix in blocks over a grid of ranks with another one: SUMMA (R. van de Geijn and
 * J. Watts, Concurrency: Pract. Exper. 9 (1997) 255), and its adjoint.
 *
 * The inner axis is cut where the columns of A or the rows of X change their rank.  Of each such panel a rank gets the
 * piece of A from its row of the grid and that of X from its column, and adds up their product.  In the adjoint pieces
 * of the result go back along the column, and are added in the order of the grid's rows.
 */
#include "dist_priv.h"
#include "multiply.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct panel {
    int64_t first, count; /* of the inner axis */
    int column, row;      /* of the grid: who has it of A, and who of X */
};

struct grid_product {
    hcy_dist_layout *range, *domain;
    hcy_array *own;      /* this rank's block of A */
    int rows, columns;   /* of the grid, whose ranks are numbered row by row */
    int row, column;     /* this rank's */
    int64_t a_first;     /* of the inner axis: the first column of this rank's A, */
    int64_t x_first, x_rows, x_columns; /* and the first row of its X, which has so many rows and columns */
    struct panel *panels;
    size_t n_panels;
};

static void free_product(void *user)
{
    struct grid_product *g = user;
    hcy_dist_layout_release(g->range);
    hcy_dist_layout_release(g->domain);
    hcy_array_release(g->own);
    free(g->panels);
    free(g);
}

/* The first of n things that part i of so many has, the first parts one more. */
static int64_t first_of_part(int i, int parts, int64_t n)
{
    return n / parts * i + (i < n % parts ? i : n % parts);
}

/* --- Panels --- */

/* A panel on its own: a view where this rank has it, else memory for what comes. */
static int take_panel(hcy_array **piece, const struct grid_product *g, hcy_array *block, int axis, int64_t first,
                      int64_t count, bool is_own)
{
    int64_t shape[2] = { block->shape[0], block->shape[1] };
    shape[axis] = count;
    return is_own ? hcy__rows(piece, block, axis, first, count)
                  : hcy_array_empty(piece, hcy__array_device(g->own), block->dtype, 2, shape);
}

/* From its owner to all others of the grid's row, or of its column. */
static void share_panel(struct hcy__dist_part *parts, size_t *n, const struct grid_product *g, hcy_array *piece,
                        bool along_row, int owner)
{
    const int me = along_row ? g->column : g->row, fellows = along_row ? g->columns : g->rows;
    for (int f = 0; f < fellows; f++) {
        const int rank = along_row ? g->row * g->columns + f : f * g->columns + g->column;
        if (f != me && (me == owner || f == owner))
            parts[(*n)++] = (struct hcy__dist_part){ rank, me == owner, piece };
    }
}

static int new_grid_parts(struct hcy__dist_part **parts, const struct grid_product *g)
{
    *parts = calloc((size_t)(g->rows + g->columns), sizeof **parts);
    return *parts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for messages");
}

/* to += a b, or a^H b, as products of one slice. */
static int add_product(hcy_queue *queue, hcy_array *to, hcy_array *a, hcy_array *b, unsigned how)
{
    hcy_array *slices[3] = { NULL, NULL, NULL };
    hcy_array *const arrays[3] = { to, a, b };
    int status = 0;
    for (int i = 0; !status && i < 3; i++)
        status = hcy_array_slice(&slices[i], arrays[i], "new, :, :");
    if (!status)
        status = hcy__multiply(queue, slices[0], slices[1], slices[2], how | HCY__MULTIPLY_ADDS);
    for (int i = 0; i < 3; i++)
        hcy_array_release(slices[i]);
    return status;
}

static int apply_panel(hcy_queue *queue, hcy_array *y, const struct grid_product *g, hcy_array *x,
                       const struct panel *p)
{
    struct hcy__dist_part *parts = NULL;
    hcy_array *a = NULL, *b = NULL;
    size_t n = 0;
    int status = take_panel(&a, g, g->own, 1, p->first - g->a_first, p->count, p->column == g->column);
    if (!status)
        status = take_panel(&b, g, x, 0, p->first - g->x_first, p->count, p->row == g->row);
    if (!status)
        status = new_grid_parts(&parts, g);
    if (!status) {
        share_panel(parts, &n, g, a, true, p->column);
        share_panel(parts, &n, g, b, false, p->row);
        status = hcy__dist_exchange(queue, g->range->comm, parts, n);
    }
    if (!status && y->count)
        status = add_product(queue, y, a, b, 0);
    free(parts);
    hcy_array_release(a);
    hcy_array_release(b);
    return status;
}

/* Products of all rows of the grid, in their order, to the one that has the panel; `mine` is this row's. */
static int add_column(hcy_queue *queue, hcy_array *x, const struct grid_product *g, hcy_array *mine,
                      const struct panel *p)
{
    struct hcy__dist_part *parts = NULL;
    size_t n = 0;
    int status = new_grid_parts(&parts, g);
    for (int r = 0; !status && r < g->rows; r++) {
        const bool comes = r != g->row && g->row == p->row, goes = r == p->row && g->row != p->row;
        if (!comes && !goes)
            continue;
        hcy_array *piece = hcy_array_retain(mine);
        if (comes) {
            hcy_array_release(piece);
            status = hcy_array_empty(&piece, hcy_queue_device(queue), mine->dtype, 2, mine->shape);
        }
        if (!status)
            parts[n++] = (struct hcy__dist_part){ r * g->columns + g->column, goes, piece };
    }
    if (!status)
        status = hcy__dist_exchange(queue, g->range->comm, parts, n);
    hcy_array *to = NULL;
    if (!status && g->row == p->row)
        status = hcy__rows(&to, x, 0, p->first - g->x_first, p->count);
    size_t next = 0;
    for (int r = 0; !status && to && to->count && r < g->rows; r++)
        status = HCY_EVAL(queue, r ? "x += z" : "x = z", hcy_op_array("x", to),
                          hcy_op_array("z", r == g->row ? mine : parts[next++].array));
    for (size_t i = 0; i < n; i++)
        hcy_array_release(parts[i].array);
    hcy_array_release(to);
    free(parts);
    return status;
}

static int adjoin_panel(hcy_queue *queue, hcy_array *x, const struct grid_product *g, hcy_array *y,
                        const struct panel *p)
{
    struct hcy__dist_part *parts = NULL;
    hcy_array *a = NULL, *product = NULL;
    size_t n = 0;
    int status = take_panel(&a, g, g->own, 1, p->first - g->a_first, p->count, p->column == g->column);
    if (!status)
        status = new_grid_parts(&parts, g);
    if (!status) {
        share_panel(parts, &n, g, a, true, p->column);
        status = hcy__dist_exchange(queue, g->range->comm, parts, n);
    }
    if (!status)
        status = hcy_array_full(&product, queue, y->dtype, 2, (int64_t[]){ p->count, g->x_columns }, 0);
    if (!status && product->count && y->count)
        status = add_product(queue, product, a, y, HCY__MULTIPLY_ADJOINT);
    if (!status)
        status = add_column(queue, x, g, product, p);
    free(parts);
    hcy_array_release(a);
    hcy_array_release(product);
    return status;
}

static int run_product(hcy_queue *queue, hcy_array *to, const struct grid_product *g, hcy_array *from, bool adjoint)
{
    hcy_array *y = NULL, *x = NULL;
    int status = hcy_array_reshape(&y, adjoint ? from : to, 2, (int64_t[]){ g->own->shape[0], g->x_columns });
    if (!status)
        status = hcy_array_reshape(&x, adjoint ? to : from, 2, (int64_t[]){ g->x_rows, g->x_columns });
    if (!status && !adjoint)
        status = HCY_EVAL(queue, "y = 0", hcy_op_array("y", y));
    for (size_t i = 0; !status && i < g->n_panels; i++)
        status = adjoint ? adjoin_panel(queue, x, g, y, &g->panels[i]) : apply_panel(queue, y, g, x, &g->panels[i]);
    hcy_array_release(y);
    hcy_array_release(x);
    return status;
}

static int apply_product(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_product(queue, y, user, x, false);
}

static int apply_product_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_product(queue, x, user, y, true);
}

/* --- Making one --- */

/* What each rank has of A: its rows and columns, on all. */
struct block_sizes {
    int64_t rows, columns;
};

/* HCY_ERANGE: x or y has more numbers than can be counted.  No memory bounds the sizes of blocks without numbers. */
static int check_counts(const struct block_sizes *sizes, int rows, int columns, int64_t x_columns)
{
    size_t n = 0, k = 0, count = 0;
    bool fits = true;
    for (int i = 0; fits && i < rows; i++)
        fits = !hcy_size_add(&n, n, (size_t)sizes[i * columns].rows);
    for (int j = 0; fits && j < columns; j++)
        fits = !hcy_size_add(&k, k, (size_t)sizes[j].columns);
    fits = fits && !hcy_size_mul(&count, n, (size_t)x_columns) && count <= INT64_MAX && n <= INT64_MAX &&
           !hcy_size_mul(&count, k, (size_t)x_columns) && count <= INT64_MAX && k <= INT64_MAX;
    return fits ? 0
                : hcy_fail(HCY_ERANGE,
                           "hcy_dist_matrix: a product of %lld columns has more numbers than can be counted",
                           (long long)x_columns);
}

/* HCY_EINVAL: blocks that make no matrix.  All ranks come to the same. */
static int check_sizes(const struct block_sizes *sizes, int rows, int columns)
{
    for (int r = 0; r < rows * columns; r++)
        if (sizes[r].rows != sizes[r / columns * columns].rows || sizes[r].columns != sizes[r % columns].columns)
            return hcy_fail(HCY_EINVAL,
                            "hcy_dist_matrix: rank %d has %lld x %lld numbers, which do not go with the others' of the "
                            "same row and column of %d x %d ranks",
                            r, (long long)sizes[r].rows, (long long)sizes[r].columns, rows, columns);
    return 0;
}

/* Every row of X and column of A ends a panel. */
static int cut_panels(struct grid_product *g, const struct block_sizes *sizes, int64_t inner)
{
    int column = 0, row = 0;
    int64_t at = 0, a_end = sizes[0].columns;
    g->panels = calloc((size_t)(g->rows + g->columns), sizeof *g->panels);
    if (!g->panels)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    while (at < inner) {
        while (a_end <= at)
            a_end += sizes[++column].columns;
        while (first_of_part(row + 1, g->rows, inner) <= at)
            row++;
        const int64_t x_end = first_of_part(row + 1, g->rows, inner), end = a_end < x_end ? a_end : x_end;
        g->panels[g->n_panels++] = (struct panel){ at, end - at, column, row };
        at = end;
    }
    return 0;
}

/* Vectors of one axis: the blocks of X, and those of A X, one behind the other. */
static int make_product_layouts(struct grid_product *g, hcy_dist *comm, const struct block_sizes *sizes, int64_t inner,
                                int64_t columns)
{
    int64_t all[2] = { 0, 0 }, *counts = calloc(2 * (size_t)comm->place.n_ranks, sizeof *counts), *ranges = counts;
    int status = hcy_dist_agree(comm, counts ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a layout"));
    for (int r = 0; !status && r < comm->place.n_ranks; r++) {
        const int i = r / g->columns, j = r % g->columns;
        const int64_t wide = first_of_part(j + 1, g->columns, columns) - first_of_part(j, g->columns, columns);
        ranges[r] = sizes[r].rows * wide;
        counts[comm->place.n_ranks + r] =
            (first_of_part(i + 1, g->rows, inner) - first_of_part(i, g->rows, inner)) * wide;
        all[0] += ranges[r];
        all[1] += counts[comm->place.n_ranks + r];
    }
    if (!status)
        status = hcy_dist_layout_blocks(&g->range, comm, 1, &all[0], 0, ranges);
    if (!status)
        status = hcy_dist_layout_blocks(&g->domain, comm, 1, &all[1], 0, counts + comm->place.n_ranks);
    free(counts);
    return status;
}

static int place_product(struct grid_product *g, hcy_dist *comm, const struct block_sizes *sizes, int64_t columns)
{
    int64_t inner = 0;
    for (int j = 0; j < g->columns; j++) {
        g->a_first = j == g->column ? inner : g->a_first;
        inner += sizes[j].columns;
    }
    g->x_first = first_of_part(g->row, g->rows, inner);
    g->x_rows = first_of_part(g->row + 1, g->rows, inner) - g->x_first;
    g->x_columns = first_of_part(g->column + 1, g->columns, columns) - first_of_part(g->column, g->columns, columns);
    int status = hcy_dist_agree(comm, cut_panels(g, sizes, inner));
    return status ? status : make_product_layouts(g, comm, sizes, inner, columns);
}

static int check_own(const hcy_dist *comm, const hcy_array *own, int64_t columns, int grid_rows)
{
    if (grid_rows < 1 || comm->place.n_ranks % grid_rows)
        return hcy_fail(HCY_EINVAL, "hcy_dist_matrix: %d ranks make no grid of %d rows", comm->place.n_ranks, grid_rows);
    if (columns < 0 || columns > INT32_MAX)
        return hcy_fail(HCY_EINVAL, "hcy_dist_matrix: a matrix of %lld columns", (long long)columns);
    int status = hcy__array_check(own, "hcy_dist_matrix");
    if (!status && (own->rank != 2 || own->dtype < HCY_FLOAT32 || own->dtype > HCY_COMPLEX128))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_matrix: an array of %d axes of %s is no matrix", own->rank,
                          hcy_dtype_name(own->dtype));
    return status;
}

/* All ranks know all blocks' sizes, and that they have asked for the same. */
static int gather_sizes(struct block_sizes *sizes, hcy_dist *comm, const hcy_array *own, int64_t columns, int grid_rows)
{
    int64_t least[6] = { columns, -columns, grid_rows, -grid_rows, own->dtype, -own->dtype };
    sizes[comm->place.rank] = (struct block_sizes){ own->shape[0], own->shape[1] };
    int status = hcy_dist_allreduce_host(least, comm, HCY_INT64, 6, HCY_REDUCE_MIN);
    if (!status && (least[0] != -least[1] || least[2] != -least[3] || least[4] != -least[5]))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_matrix: the ranks ask for different grids, columns or types");
    return status ? status
                  : hcy_dist_allreduce_host(sizes, comm, HCY_INT64, 2 * (size_t)comm->place.n_ranks, HCY_REDUCE_SUM);
}

/* The product is the operator's from here on, also where there comes to be none. */
static int make_product(hcy_operator **op, struct grid_product *g, int dtype)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = hcy_dist_space(&desc.range, g->range, dtype);
    if (!status)
        status = hcy_dist_space(&desc.domain, g->domain, dtype);
    if (status) {
        free_product(g);
        return status;
    }
    desc.name = "matrix over ranks";
    desc.apply = apply_product;
    desc.adjoint = apply_product_adjoint;
    desc.user = g;
    desc.destroy = free_product;
    return hcy__operator_make(op, hcy__array_device(g->own), &desc);
}

int hcy_dist_matrix(hcy_operator **op, hcy_dist_layout **range, hcy_dist_layout **domain, hcy_dist *comm,
                    hcy_array *own, int64_t columns, int grid_rows)
{
    if (!op || !comm || !range || !domain)
        return hcy_fail(HCY_EINVAL, "hcy_dist_matrix: no communicator, or no place for the operator or its layouts");
    *op = NULL;
    *range = *domain = NULL;
    const size_t n = (size_t)comm->place.n_ranks;
    struct grid_product *g = calloc(1, sizeof *g);
    struct block_sizes *sizes = calloc(n, sizeof *sizes);
    int status = g && sizes ? check_own(comm, own, columns, grid_rows)
                            : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    status = hcy_dist_agree(comm, status);
    if (!status)
        status = gather_sizes(sizes, comm, own, columns, grid_rows);
    if (!status)
        status = check_sizes(sizes, grid_rows, comm->place.n_ranks / grid_rows);
    if (!status)
        status = check_counts(sizes, grid_rows, comm->place.n_ranks / grid_rows, columns);
    if (!status) {
        g->own = hcy_array_retain(own);
        g->rows = grid_rows;
        g->columns = comm->place.n_ranks / grid_rows;
        g->row = comm->place.rank / g->columns;
        g->column = comm->place.rank % g->columns;
        status = place_product(g, comm, sizes, columns);
    }
    free(sizes);
    if (status) {
        if (g)
            free_product(g);
        return status;
    }
    hcy_dist_layout *to = hcy_dist_layout_retain(g->range), *from = hcy_dist_layout_retain(g->domain);
    status = hcy__dist_agree_on(op, comm, make_product(op, g, own->dtype));
    if (status) {
        hcy_dist_layout_release(to);
        hcy_dist_layout_release(from);
        return status;
    }
    *range = to;
    *domain = from;
    return 0;
}
