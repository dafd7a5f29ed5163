/* sparse_cg.c - a sparse matrix by its rows (CSR), and a system of equations solved with it by conjugate gradients.
 *
 * The matrix is the five-point Laplacian of a square with zeros around it, as scipy.sparse or a finite-element program
 * would hand it over; the right side is made of a solution that is known.
 *
 * usage: sparse_cg [DEVICE]        cpu unless it is given
 */
#include <halcyon/solve.h>
#include <math.h>
#include <stdio.h>

enum { SIDE = 60, N = SIDE * SIDE };

static int64_t starts[N + 1], columns[5 * N];
static double values[5 * N], known[N], found[N];

static void add_element(int64_t *n, int row, int column, double value)
{
    if (row < 0 || row >= SIDE || column < 0 || column >= SIDE)
        return;
    columns[*n] = row * SIDE + column;
    values[(*n)++] = value;
}

static void make_matrix(void)
{
    int64_t n = 0;
    for (int i = 0; i < N; i++) {
        const int row = i / SIDE, column = i % SIDE;
        add_element(&n, row - 1, column, -1);
        add_element(&n, row, column - 1, -1);
        add_element(&n, row, column, 4);
        add_element(&n, row, column + 1, -1);
        add_element(&n, row + 1, column, -1);
        starts[i + 1] = n;
        known[i] = sin(0.2 * row) + 0.01 * column;
    }
}

/* The operator and the solver are the caller's to end, whatever comes back. */
static int solve(hcy_operator **matrix, hcy_solver **solver, hcy_queue *queue)
{
    hcy_device *dev = hcy_queue_device(queue);
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    hcy_array *x = NULL, *b = NULL, *result = NULL;
    const int64_t n = N;
    how.method = HCY_SOLVER_CG;
    how.max_iterations = 1000;
    how.tolerance = 1e-12;
    int status = hcy_operator_sparse(matrix, dev, HCY_FLOAT64, (const int64_t[]){ N, N }, starts, columns, values);
    if (!status)
        status = hcy_array_from_host(&x, dev, HCY_FLOAT64, 1, &n, known);
    if (!status)
        status = hcy_array_empty(&b, dev, HCY_FLOAT64, 1, &n);
    if (!status)
        status = hcy_operator_apply(queue, b, *matrix, x);
    if (!status)
        status = hcy_solver_create(solver, queue, *matrix, &how);
    if (!status)
        status = hcy_solver_start(*solver, b, NULL);
    if (!status)
        status = hcy_solver_run(*solver, how.max_iterations);
    if (!status)
        status = hcy_solver_get_x(&result, *solver);
    if (!status)
        status = hcy_array_to_host(found, queue, result);
    hcy_array_release(x);
    hcy_array_release(b);
    hcy_array_release(result);
    return status;
}

int main(int argc, char **argv)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_operator *matrix = NULL;
    hcy_solver *solver = NULL;
    double off = 0;
    make_matrix();
    int status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = solve(&matrix, &solver, queue);
    for (int i = 0; i < N; i++)
        off = fmax(off, fabs(found[i] - known[i]));
    if (status)
        fprintf(stderr, "sparse_cg: %s\n", hcy_last_error()->text);
    else
        printf("%d unknowns, off by %.1e at most\n", N, off);
    hcy_solver_destroy(solver);
    hcy_operator_release(matrix);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || off > 1e-9;
}
