/* row_slopes.h - a point's value and its slopes along all axes from one look at the grid: a part of rows.h, compiled
 * with it for each variant and precision. */

/* Weights at t, and what a step of the coordinate changes them by: the same polynomials' derivatives times dt. */
static INLINE void NAME(sloping)(const int w, const REAL *table, vec t, vec dt, vec *k, vec *slope)
{
    UNROLL for (int v = 0; v < WEIGHTS(w); v++) {
        const REAL *at = table + v * LANES;
        vec a = *(const vec *)at, b = { 0 };
        UNROLL for (int c = 1; c < (int)HCY_NUFFT_COEFS(w); c++) {
            b = b * t + a;
            a = a * t + *(const vec *)(at + c * 16);
        }
        k[v] = a;
        slope[v] = b * dt;
    }
}

static INLINE void NAME(sloping_numbers)(const int w, const REAL *table, REAL t, REAL dt, REAL *out, REAL *slopes)
{
    vec k[MAX_WEIGHTS], slope[MAX_WEIGHTS];
    NAME(sloping)(w, table, NAME(all)(t), NAME(all)(dt), k, slope);
    UNROLL for (int v = 0; v < WEIGHTS(w); v++) {
        NAME(store)(out + v * LANES, k[v]);
        NAME(store)(slopes + v * LANES, slope[v]);
    }
}

/* Of x and, where there is one, of y, as numbers; returns where these begin, in both: as first_two(). */
static INLINE int NAME(sloping_two)(const int w, const int dim, const struct nufft_rows *r, const REAL *t, vec *k,
                                    vec *slope, REAL *y, REAL *slopes)
{
    if (dim > 1 && w <= HALF) {
        const vec dt = NAME(halves)((REAL)r->rate[0], (REAL)r->rate[1]);
        NAME(sloping)(w, r->table, NAME(halves)(t[0], t[1]), dt, k, slope);
        NAME(store)(y, k[0]);
        NAME(store)(slopes, slope[0]);
        return HALF;
    }
    NAME(sloping)(w, r->table, NAME(all)(t[0]), NAME(all)((REAL)r->rate[0]), k, slope);
    if (dim > 1)
        NAME(sloping_numbers)(w, r->table, t[1], (REAL)r->rate[1], y, slopes);
    return 0;
}

/* The value and behind it the slopes along z, y, x, as far as there are these axes: as get(), with a sum for each axis
 * whose weights have their slopes in it, all from one look at the grid. */
static INLINE void NAME(derive)(const int w, const int dim, const struct nufft_rows *r, const REAL *t, uint32_t place,
                                REAL *c, const REAL *local)
{
    vec k[MAX_WEIGHTS], slope[MAX_WEIGHTS], kx[MAX_VECTORS], dx[MAX_VECTORS];
    vec sum[MAX_VECTORS], sum_y[MAX_VECTORS], sum_z[MAX_VECTORS], total[4] = { { 0 } };
    REAL y_room[16 + LANES], dy_room[16 + LANES], kz[16 + LANES], dz[16 + LANES];
    const size_t pitch = 2 * r->pitch, plane = 2 * r->plane;
    const REAL *q = local + 2 * NAME(cell)(dim, r, place);
    const int y_at = NAME(sloping_two)(w, dim, r, t, k, slope, y_room, dy_room);
    const REAL *ky = y_room + y_at, *dy = dy_room + y_at;
    NAME(doubled)(w, k, kx);
    NAME(doubled)(w, slope, dx);
    if (dim > 2)
        NAME(sloping_numbers)(w, r->table, t[2], (REAL)r->rate[2], kz, dz);
    UNROLL for (int v = 0; v < LOOSE(w); v++) {
        sum[v] = dim == 1 ? NAME(load)(q + v * LANES) : (vec){ 0 };
        sum_y[v] = sum_z[v] = (vec){ 0 };
    }
    for (int z = 0; dim > 1 && z < (dim == 3 ? w : 1); z++, q += plane) {
        vec u[MAX_VECTORS], u_y[MAX_VECTORS];
        const REAL *row = q;
        UNROLL for (int v = 0; v < LOOSE(w); v++)
            u[v] = u_y[v] = (vec){ 0 };
        ROWS(w, y, 0, {
            NAME(take_row)(LOOSE(w), row, u, NAME(all)(ky[y]));
            NAME(take_row)(LOOSE(w), row, u_y, NAME(all)(dy[y]));
            row += pitch;
        })
        UNROLL for (int v = 0; v < LOOSE(w); v++) {
            sum[v] = dim == 3 ? sum[v] + u[v] * NAME(all)(kz[z]) : u[v];
            sum_y[v] = dim == 3 ? sum_y[v] + u_y[v] * NAME(all)(kz[z]) : u_y[v];
            if (dim == 3)
                sum_z[v] += u[v] * NAME(all)(dz[z]);
        }
    }
    UNROLL for (int v = 0; v < LOOSE(w); v++) {
        total[0] += sum[v] * kx[v];
        total[1] += sum[v] * dx[v];
        total[2] += sum_y[v] * kx[v];
        total[3] += sum_z[v] * kx[v];
    }
    UNROLL for (int i = 0; i <= dim; i++)
        NAME(sum)(total[i], c + (i ? 2 * (1 + dim - i) : 0));
}
