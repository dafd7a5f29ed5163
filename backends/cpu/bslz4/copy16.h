/* copy16.h - what lz4_planes.h copies, in vectors of 16 and 32 bytes: included by variants that have such.
 *
 * The including file defines the type vec16, load16, store16, permute16(bytes, order), and load_vector and
 * store_vector for 32 bytes.
 */

/* pattern[o][i] = i mod o: what a match of offset o < 16 repeats, permuting its first 16 bytes. */
#define P4(o, i) (i) % (o), ((i) + 1) % (o), ((i) + 2) % (o), ((i) + 3) % (o)
/* clang-format off */
#define P16(o) { P4(o, 0), P4(o, 4), P4(o, 8), P4(o, 12) }
/* clang-format on */
static const _Alignas(16) uint8_t pattern[16][16] = { { 0 },   P16(1),  P16(2),  P16(3), P16(4),  P16(5),
                                                      P16(6),  P16(7),  P16(8),  P16(9), P16(10), P16(11),
                                                      P16(12), P16(13), P16(14), P16(15) };

static inline void copy_literals16(uint8_t *op, const uint8_t *ip)
{
    store16(op, load16(ip));
}

/* A few planes of noise are the usual case: one length for all of them spares the branch predictor. */
static inline void copy_long_literals(uint8_t *op, const uint8_t *ip, size_t n)
{
    store_vector(op, load_vector(ip));
    store_vector(op + 32, load_vector(ip + 32));
    if (n <= 64)
        return;
    for (size_t i = 64; i < 832; i += 32)
        store_vector(op + i, load_vector(ip + i));
    for (size_t i = 832; i < n; i += 32)
        store_vector(op + i, load_vector(ip + i));
}

static inline void copy_long_match(uint8_t *op, size_t offset, size_t n)
{
    if (offset >= 32) {
        for (size_t i = 0; i < n; i += 32)
            store_vector(op + i, load_vector(op + i - offset));
    } else if (offset >= 16) {
        for (size_t i = 0; i < n; i += 16)
            store16(op + i, load16(op + i - offset));
    } else {
        /* A short period is repeated in a register, so no load waits for the store before it. */
        vec16 v = permute16(load16(op - offset), load16(pattern[offset]));
        size_t step = 16 / offset * offset;
        for (size_t i = 0; i < n; i += step)
            store16(op + i, v);
    }
}

static inline void copy_match64(uint8_t *op, size_t offset, size_t n)
{
    copy_long_match(op, offset, n);
}

static inline void copy_match18(uint8_t *op, size_t offset)
{
    if (offset >= 16) {
        store16(op, load16(op - offset));
        store16(op + 16, load16(op + 16 - offset));
    } else {
        /* The second store begins a whole number of periods after the first. */
        vec16 v = permute16(load16(op - offset), load16(pattern[offset]));
        store16(op, v);
        store16(op + 16 / offset * offset, v);
    }
}
