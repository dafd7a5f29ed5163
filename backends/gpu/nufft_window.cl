/* nufft_window.cl - what the kernels between points (nufft_point.cl) and grid have in common: the weights of a point's
 * window, cells beyond an axis's end. */
#define COEFS HCY_NUFFT_COEFS(WIDTH)
/* Rows in near memory that are read 16 bytes at once. */
#define WHOLE(n) (((n)*PRECISION + 3) / 4 * 4 / PRECISION)
#define PITCH WHOLE(WIDTH)
#if GROUP_SIZE == 1
#define UNROLLED
#else
#define UNROLLED UNROLL
#endif
#define NOT_UNROLLED _Pragma("unroll 1")
#define Z (DIM - 1) /* the ring's axis */
#define NO_KEY 0xffffffffu
#if PRECISION == 2
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F64
#else
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F32
#endif

/* A group takes VECTORS of them at once, the last one maybe fewer: what points have in common is found once. */
#define FIRST_VECTOR (GROUP_Y * VECTORS)
#define IS_VECTOR(job, v) ((VECTORS == 1) | (FIRST_VECTOR + (v) < (job)->vectors))
#define EACH_VECTOR(v) \
    UNROLLED           \
    for (int v = 0; v < VECTORS; v++)

/* Windows are even, so polynomials j and WIDTH - 1 - j have the same coefficients but for the signs of odd powers. */
#define HALF ((WIDTH + 1) / 2)
#define EVEN_FIRST (COEFS % 2) /* the first coefficient is that of an even power */

/* The weights at t.  The loop over coefficients stays one: unrolled, it would fill the registers with the table. */
DEVICE void weights_of(const NEAR REAL *table, REAL t, REAL *k)
{
    REAL a[HALF], b[HALF], u = t * t;
    UNROLLED
    for (int j = 0; j < HALF; j++) {
        a[j] = table[j];
        b[j] = table[PITCH + j];
    }
    NOT_UNROLLED
    for (u32 c = 2; c + 1 < COEFS; c += 2) {
        table += 2 * PITCH;
        UNROLLED
        for (int j = 0; j < HALF; j++) {
            a[j] = a[j] * u + table[j];
            b[j] = b[j] * u + table[PITCH + j];
        }
    }
    UNROLLED
    for (int j = 0; j < HALF; j++) {
        if (EVEN_FIRST)
            a[j] = a[j] * u + table[2 * PITCH + j];
        REAL even = EVEN_FIRST ? a[j] : b[j], odd = (EVEN_FIRST ? b[j] : a[j]) * t;
        k[j] = even + odd;
        k[WIDTH - 1 - j] = even - odd;
    }
}

DEVICE void take_table(NEAR REAL *near, const REAL *table)
{
    for (u32 i = ITEM; i < COEFS * WIDTH; i += GROUP_SIZE)
        near[i / WIDTH * PITCH + i % WIDTH] = table[i / WIDTH * HCY_NUFFT_MAX_WIDTH + i % WIDTH];
}

/* Cells of an axis from its end on are those from its start; no piece is longer than its axis and a cell. */
DEVICE u32 wrapped(u32 i, u32 n)
{
    return i >= n ? i - n : i;
}

/* Where a plane of the ring's axis begins in the grid. */
DEVICE u64 plane_at(const struct gpu_nufft *job, u32 plane)
{
    u64 stride = DIM == 1 ? 1 : DIM == 2 ? job->n[0] : (u64)job->n[0] * job->n[1];
    return wrapped(plane, job->n[Z]) * stride;
}
