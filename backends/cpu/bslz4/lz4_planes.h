/* lz4_planes.h - an LZ4 decoder that stops where the rest of a block is known: included by the SIMD variants.
 *
 * Accepts a subset of what liblz4 accepts, with the same bytes; at anything unusual it gives up and the
 * caller asks liblz4.  The including file defines, for pointers with the room that block.h promises:
 *     run_length(&ip, iend)           sum of the length bytes at ip, moved past them (damage: past iend)
 *     copy_long_literals(op, ip, n)   n > 14 bytes
 *     copy_literals16(op, ip)         16 bytes
 *     copy_match18(op, offset)        at least 18 bytes, up to 64 written
 *     copy_match64(op, offset, n)     n <= 64 bytes, up to 128 written
 *     copy_long_match(op, offset, n)  n bytes, up to 256 or n + 64 written
 */

/* What the last literals and the last match must keep from the end, by LZ4's own rules. */
#define LAST_LITERALS    5
#define LAST_MATCH_START 12
#define LAST_SEQUENCE    8

struct lz4_block {
    const uint8_t *iend;
    uint8_t *out, *oend;
    size_t plane;
    unsigned n_planes;
};

/* A match of n bytes is about to be copied to op; the tokens behind it are at ip.  If it runs to the block's
 * last few literals, and repeats something of which a plane is a multiple, all planes from some plane on are
 * equal: write up to the end of that plane and return its number and 1.  0 for "go on". */
static inline unsigned stop_in_match(const struct lz4_block *b, uint8_t *op, const uint8_t *ip, size_t offset,
                                     size_t n)
{
    size_t tail = (size_t)(b->oend - op) - n, plane = b->plane;
    /* The match must be the last one: behind it stands one token, with as many literals as are missing. */
    if (tail < LAST_LITERALS || tail >= 15 || ip + 1 + tail != b->iend || (size_t)(*ip >> 4) != tail)
        return 0;
    /* A period that divides a plane makes all whole planes within the match equal. */
    if (offset > plane || (uint32_t)plane % (uint32_t)offset || tail > plane)
        return 0;
    /* From op - offset on the bytes repeat every `offset`, so every plane that begins there or later is the
     * same. */
    uint32_t q = ((uint32_t)(op - b->out) - (uint32_t)offset + (uint32_t)plane - 1) / (uint32_t)plane;
    if (q + 1 >= b->n_planes)
        return 0;
    uint8_t *end = b->out + (q + 1) * plane;
    /* The last literals are part of the last plane, so they must be what the others have in their place. */
    copy_long_match(op, offset, (size_t)(end - op));
    return memcmp(ip + 1, end - tail, tail) ? 0 : q + 1;
}

/* Returns 0 and *same_from, or -1: ask liblz4. */
static int decode_planes(const uint8_t *ip, const struct lz4_block *b, unsigned *same_from)
{
    const uint8_t *const iend = b->iend;
    uint8_t *op = b->out, *const oend = b->oend;
    for (;;) {
        unsigned token = *ip++;
        size_t n = token >> 4;
        /* Short literals are copied as 16 bytes without a comparison, because there is slack behind both ends. */
        if (unlikely(n == 15)) {
            n += run_length(&ip, iend);
            if (ip > iend || (ptrdiff_t)n > oend - op || (ptrdiff_t)n > iend - ip)
                return -1;
            copy_long_literals(op, ip, n);
        } else {
            copy_literals16(op, ip);
        }
        op += n;
        ip += n;
        /* Only here may the block end; a sequence that is too near to the end is left to liblz4 to judge. */
        if (unlikely(iend - ip < LAST_SEQUENCE || oend - op < LAST_MATCH_START)) {
            *same_from = b->n_planes;
            return ip == iend && op == oend && (n >= LAST_LITERALS || op == b->out + n) ? 0 : -1;
        }
        size_t offset = (size_t)(ip[0] | ip[1] << 8);
        n = (token & 15) + 4;
        ip += 2;
        /* An offset of 0 wraps around and is refused by the same comparison. */
        if (unlikely(offset - 1 >= (size_t)(op - b->out)))
            return -1;
        if (n < 19) { /* not compared with the space left, nor are matches of up to 64: there is slack */
            copy_match18(op, offset);
        } else if ((n += *ip++) <= 64) {
            copy_match64(op, offset, n);
        } else {
            if (n == 19 + 255) {
                n += run_length(&ip, iend);
                if (ip >= iend)
                    return -1;
            }
            if ((ptrdiff_t)n > oend - op)
                return -1;
            /* Only a long match can reach over planes, so the short ones need not ask. */
            unsigned same = stop_in_match(b, op, ip, offset, n);
            if (same) {
                *same_from = same - 1;
                return 0;
            }
            copy_long_match(op, offset, n);
        }
        op += n;
    }
}

static int decode_block_planes(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes,
                               unsigned elem_size, uint8_t *planes, unsigned *same_from)
{
    struct lz4_block b = { src + size, planes, planes + block_bytes, block_bytes / (8 * elem_size),
                           8 * elem_size };
    /* The fast way reads ahead of the codes; near the end of the memory, and for what it gives up on, there is
     * liblz4. */
    if (limit - b.iend < CPU_BLOCK_AHEAD || block_bytes > UINT32_MAX / 2 || decode_planes(src, &b, same_from))
        return cpu_planes_safe(src, size, limit, block_bytes, elem_size, planes, same_from);
    if (*same_from == b.n_planes)
        *same_from = cpu_same_planes(planes, b.plane, b.n_planes);
    return 0;
}
