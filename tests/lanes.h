/* lanes.h - a dialect for the kernels' texts (backends/gpu/dialect.h) in which a group's items are threads, so that
 * what is written for 32 lanes in step can be tested without such a device.  Lanes meet at every shuffle and product.
 * Groups run one after another: lanes_run().
 */
#ifndef LANES_H
#define LANES_H
#define GPU_DIALECT_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t i32;
typedef uint64_t u64;
typedef int64_t i64;
typedef struct {
    u32 x, y;
} uint2;
typedef struct {
    u32 x, y, z, w;
} uint4;
typedef struct {
    float x, y;
} float2;
typedef struct {
    double x, y;
} double2;

/* What lanes show one another. */
static struct {
    u32 word;
    double a[4], b[2];
} lanes_shown[GROUP_SIZE];
static pthread_barrier_t lanes_group, lanes_of_warp[GROUP_SIZE / 32];
static _Thread_local u32 lanes_item;
static u32 lanes_at[2], lanes_groups;

#define ITEM lanes_item
#define GROUP lanes_at[0]
#define GROUP_Y lanes_at[1]
#define GROUPS lanes_groups
#define ITEM_OF_ALL (GROUP * GROUP_SIZE + ITEM)
#define BARRIER() pthread_barrier_wait(&lanes_group)
#define LANES_BARRIER() pthread_barrier_wait(&lanes_of_warp[lanes_item / 32])
#define FIRST_LANE (lanes_item / 32 * 32)

static u32 lanes_shuffle(u32 x, u32 lane)
{
    lanes_shown[lanes_item].word = x;
    LANES_BARRIER();
    u32 y = lanes_shown[FIRST_LANE + lane % 32].word;
    LANES_BARRIER();
    return y;
}

static u32 lanes_ballot(int x)
{
    u32 y = 0;
    lanes_shown[lanes_item].word = x != 0;
    LANES_BARRIER();
    for (u32 i = 0; i < 32; i++)
        y |= lanes_shown[FIRST_LANE + i].word << i;
    LANES_BARRIER();
    return y;
}

/* c += a * b of 16 x 8 and 8 x 8 numbers: element i of this lane's c[4]. */
static double lanes_product(int i)
{
    u32 lane = lanes_item % 32, row = lane / 4 + (i / 2 ? 8 : 0), column = lane % 4 * 2 + (u32)i % 2;
    double sum = 0;
    for (u32 k = 0; k < 8; k++)
        sum += lanes_shown[FIRST_LANE + row % 8 * 4 + k % 4].a[row / 8 + k / 4 * 2] *
               lanes_shown[FIRST_LANE + column * 4 + k % 4].b[k / 4];
    return sum;
}

#define LANES_PRODUCT(c, a_of, b_of)                        \
    do {                                                    \
        for (int i_ = 0; i_ < 4; i_++)                      \
            lanes_shown[lanes_item].a[i_] = a_of(i_);       \
        for (int i_ = 0; i_ < 2; i_++)                      \
            lanes_shown[lanes_item].b[i_] = b_of(i_);       \
        LANES_BARRIER();                                    \
        for (int i_ = 0; i_ < 4; i_++)                      \
            (c)[i_] += (REAL)lanes_product(i_);             \
        LANES_BARRIER();                                    \
    } while (0)

static inline float lanes_float(u32 bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline u32 lanes_bits(float x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
}
static inline double lanes_double(u64 bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline u64 lanes_bits64(double x)
{
    u64 bits;
    memcpy(&bits, &x, sizeof x);
    return bits;
}

#define LANES_A(i) (a)[i]
#define LANES_B(i) (b)[i]
#define PRODUCT_F64(c, a_, b_) lanes_f64((c), (a_), (b_))
#define PRODUCT_F11(c, a_, b_) lanes_f11((c), (a_), (b_))
static inline void lanes_f64(REAL *c, const double *a, const double *b)
{
    LANES_PRODUCT(c, LANES_A, LANES_B);
}
#define LANES_A11(i) lanes_float((a)[i] & 0xffffe000u)
#define LANES_B11(i) lanes_float((b)[i] & 0xffffe000u)
static inline void lanes_f11(REAL *c, const u32 *a, const u32 *b)
{
    LANES_PRODUCT(c, LANES_A11, LANES_B11);
}

#define SHUFFLE(x, lane) lanes_shuffle((x), (lane))
#define SHUFFLE_XOR(x, mask) lanes_shuffle((x), lanes_item ^ (mask))
#define BALLOT(x) lanes_ballot(x)
#define ANY(x) (lanes_ballot(x) != 0)
#define FIRST_BIT(x) __builtin_ctz(x)
#define READ_ONLY(p) (*(p))
#define DEVICE_CALL static
#define COPY_8(to, from) memcpy((to), (from), 8)
#define COPY_16(to, from) memcpy((to), (from), 16)
#define COPIES_OVER()
#define FETCH(p) (void)(p)
#define POPCOUNT(x) ((u32)__builtin_popcount(x))
#define AS_BITS32(x) lanes_bits(x)
#define AS_FLOAT(x) lanes_float(x)
#define AS_BITS64(x) lanes_bits64(x)
#define AS_DOUBLE(x) lanes_double(x)
#define SETTLED64(x) (x)
#define MOVED_F32(x) (x)
#define KERNEL static
#define GROUP_OF(n)
#define GROUPS_OF(n, resident)
#define BUFFER(type, name) type *name
#define OPEN(type, name)
#define NEAR
#define ALIGNED
#define ALIGNED_TO(n)
#define LOCAL static
#define DYNAMIC_LOCAL(name, most) static _Alignas(16) unsigned char name[most]
#define DEVICE static inline
#define UNROLL
#define UNROLL_4
#define NO_UNROLL
#define NULL_PTR NULL
#define ATOMIC_ADD32(p, x) __atomic_fetch_add((p), (x), __ATOMIC_RELAXED)
#define NEAR_ADD32(p, x) ATOMIC_ADD32(p, x)
#define NEAR_OR32(p, x)  __atomic_fetch_or((p), (x), __ATOMIC_RELAXED)
#define ATOMIC_MIN32(p, x) lanes_min((p), (u32)(x))
static inline void lanes_min(u32 *p, u32 x)
{
    u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (x < old && !__atomic_compare_exchange_n(p, &old, x, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
#define ATOMIC_ADD_PAIR_F32(p, a, b) lanes_add((p), (a), (b))
#define ATOMIC_ADD_PAIR_F64(p, a, b) lanes_add((p), (a), (b))
#define ATOMIC_ADD_F64(p, x) lanes_add_one((p), (REAL)(x))
static pthread_mutex_t lanes_adding = PTHREAD_MUTEX_INITIALIZER;
static inline void lanes_add(REAL *p, REAL a, REAL b)
{
    pthread_mutex_lock(&lanes_adding);
    p[0] += a;
    p[1] += b;
    pthread_mutex_unlock(&lanes_adding);
}
static inline void lanes_add_one(REAL *p, REAL a)
{
    pthread_mutex_lock(&lanes_adding);
    *p += a;
    pthread_mutex_unlock(&lanes_adding);
}

static inline void tell(u32 *p, u32 x)
{
    __atomic_store_n(p, x, __ATOMIC_RELAXED);
}
static inline u32 heard(const u32 *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void (*lanes_kernel)(void);
static void *lanes_start(void *item)
{
    lanes_item = (u32)(uintptr_t)item;
    lanes_kernel();
    return NULL;
}

/* Every group of groups[0] x groups[1]; `kernel` calls the kernel with its arguments.  0, or there were no threads. */
static int lanes_run(void (*kernel)(void), const u32 groups[2])
{
    pthread_t threads[GROUP_SIZE];
    lanes_kernel = kernel;
    lanes_groups = groups[0];
    pthread_barrier_init(&lanes_group, NULL, GROUP_SIZE);
    for (u32 w = 0; w < GROUP_SIZE / 32; w++)
        pthread_barrier_init(&lanes_of_warp[w], NULL, 32);
    for (lanes_at[1] = 0; lanes_at[1] < groups[1]; lanes_at[1]++)
        for (lanes_at[0] = 0; lanes_at[0] < groups[0]; lanes_at[0]++) {
            for (uintptr_t i = 0; i < GROUP_SIZE; i++)
                if (pthread_create(&threads[i], NULL, lanes_start, (void *)i))
                    return -1;
            for (u32 i = 0; i < GROUP_SIZE; i++)
                pthread_join(threads[i], NULL);
        }
    return 0;
}

#endif
