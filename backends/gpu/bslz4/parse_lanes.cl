/* parse_lanes.cl - a block parsed by all lanes together, where there are so few blocks that most of a device's lanes
 * would have none of their own.
 *
 * A parse is long because each sequence says where the next begins.  So lanes find for every byte of the stream
 * where the next sequence would begin if one began there; to follow that is one short load a sequence; and then all
 * sequences are looked at side by side.  Whole blocks without fault are done here, with the commands of
 * parse_block(); any doubt leaves a block to that.
 */
#pragma once
#include "bslz4/fast.cl"

#define LANES_CODED 3072u /* bytes of a block: with more, not all blocks of a frame are on an H200 at once */

/* No larger than what a block has in sums_one.cl. */
struct lanes_room {
    uint4 coded[LANES_CODED / 16 + 2];
    u16 next[LANES_CODED], begins[COMMANDS];
};

/* The lengths of bytes from s[*at] on, which end with the first that is not 255, or at n. */
DEVICE u32 more_length(const NEAR u8 *s, u32 n, u32 *at)
{
    u32 length = 0, more = 255;
    while (more == 255 && *at < n)
        length += more = s[(*at)++];
    return length;
}

/* Where the sequence behind the one at `at` begins; n: nowhere. */
DEVICE u32 next_sequence(const NEAR u8 *s, u32 n, u32 at)
{
    u32 token = s[at++], literals = token >> 4;
    if (literals == 15)
        literals += more_length(s, n, &at);
    at += literals + 2;
    if (at < n && (token & 15) == 15)
        more_length(s, n, &at);
    return at < n ? at : n;
}

/* The same in few steps that all lanes take; LONG where a length has more than one further byte. */
#define LONG 0xffffu
DEVICE u32 usual_sequence(const NEAR u8 *s, u32 n, u32 at)
{
    u32 token = s[at], length = s[at + 1], is_long = token >> 4 == 15, match = (token & 15) == 15;
    at += 3 + (token >> 4) + (is_long ? 1 + length : 0);
    is_long &= length == 255;
    at = at < n ? at : n;
    is_long |= match && s[at] == 255;
    at += match;
    return is_long ? LONG : at < n ? at : n;
}

struct lanes_sequence {
    u32 from, literals, match, offset; /* match 0: the last one */
    int good;
};

/* The sequence at `at`, by the rules of lz4_next() that do not ask how much there is already. */
DEVICE struct lanes_sequence sequence_at(const NEAR u8 *s, u32 n, u32 at, int last)
{
    struct lanes_sequence q = { 0, 0, 0, 0, 1 };
    u32 token = s[at++];
    q.literals = token >> 4;
    if (q.literals == 15) {
        q.literals += more_length(s, n, &at);
        q.good = at + 15 <= n;
    }
    q.from = at;
    at += q.literals;
    if (last) {
        q.good &= at == n;
        return q;
    }
    q.good &= at + 8 <= n;
    if (!q.good)
        return q;
    q.offset = s[at] | (u32)s[at + 1] << 8;
    at += 2;
    q.match = (token & 15) + 4;
    if (q.match == 19) {
        q.match += more_length(s, n, &at);
        q.good = at + 4 <= n;
    }
    return q;
}

/* What was there before and what the lanes below add; all of it stays in *sum. */
DEVICE u32 add_below(u32 *sum, u32 x, u32 lane)
{
    u32 all = x, before = *sum;
    UNROLL
    for (u32 d = 1; d < GPU_LANES; d *= 2) {
        u32 y = SHUFFLE(all, (int)(lane - d & (GPU_LANES - 1)));
        all += lane >= d ? y : 0;
    }
    *sum = before + SHUFFLE(all, GPU_LANES - 1);
    return before + all - x;
}

/* Commands that parse_match() will make. */
DEVICE u32 match_commands(u32 pos, const struct lanes_sequence *q, u32 equal, u32 first, u32 last, u32 gone)
{
    /* Lanes must know where to write before they write, so commands are counted by the rules of
     * parse_match(). */
    u32 end = pos + q->match, before = equal ? first * PLANE_BYTES - pos : q->match;
    u32 tail = equal && end % PLANE_BYTES && last < PLANES;
    return tail + (gone ? ((pos - q->offset) % PLANE_BYTES * (before != 0) + before + PLANE_BYTES - 1) / PLANE_BYTES
                        : before != 0);
}

/* A whole block's n bytes, which lie `skip` bytes behind the room's beginning.  0: left to parse_block(). */
DEVICE int parse_by_lanes(NEAR struct lanes_room *room, u32 skip, u32 n, struct command *commands,
                          struct block_info *info, u32 lane)
{
    const NEAR u8 *s = (const NEAR u8 *)room->coded + skip;
    /* First every byte is taken for a token, which most are not: cheap, as all lanes do it side by side. */
    UNROLL_4
    for (u32 i = lane; i < n; i += GPU_LANES)
        room->next[i] = (u16)usual_sequence(s, n, i);
    LANES_BARRIER();
    u32 count = 0, at = 0;
    /* Then the real sequences are followed from the first, one load each. */
    for (; at < n && count < COMMANDS; count++) {
        u32 next = room->next[at];
        if (lane == 0)
            room->begins[count] = (u16)at;
        at = next == LONG ? next_sequence(s, n, at) : next;
    }
    LANES_BARRIER();
    u32 all = 0xffffffffu >> (32 - PLANES), made = 0, gone = 0, used = 0, late = 0;
    /* With more sequences than commands the block is left to one lane, which says why. */
    int good = at >= n;
    for (u32 first = 0; good && first < count; first += GPU_LANES) {
        struct lanes_sequence q = { 0, 0, 0, 0, 1 };
        u32 k = first + lane, first_alike = 0, last_alike = 0, equal = 0;
        if (k < count)
            q = sequence_at(s, n, room->begins[k], k + 1 == count);
        /* How much came before a sequence is a sum over the lanes below it. */
        u32 pos = add_below(&made, q.literals + q.match, lane), behind = pos + q.literals;
        if (q.match && q.good) {
            q.good = behind + 12 <= GPU_BLOCK && q.offset && q.offset <= behind && q.match + 5 + behind <= GPU_BLOCK;
            if (q.good)
                equal = planes_alike(PLANE_BYTES, behind, q.match, q.offset, &first_alike, &last_alike);
        }
        /* One bad sequence makes the whole block doubtful, and all lanes leave together. */
        good = !ANY(!q.good);
        u32 before = add_below(&gone, equal, lane); /* a plane is left out once */
        /* Two counts share a word, so that one sum over the lanes finds both places. */
        u32 mine = (q.literals != 0) << 16;
        if (q.match && good)
            mine += match_commands(behind, &q, equal, first_alike, last_alike, before);
        u32 from = add_below(&used, mine, lane);
        late += POPCOUNT(BALLOT(k < count && behind >= 8 * PLANE_BYTES));
        good &= (used & 0xffff) < COMMANDS - 4 && used >> 16 < COMMANDS;
        /* Each lane writes its own sequence's commands with the functions that a single lane uses. */
        struct parser p = { commands, commands + COMMANDS, from & 0xffff, from >> 16, all & ~before,
                            POPCOUNT(before) * PLANE_BYTES, PLANE_BYTES, 0 };
        if (good && q.literals)
            parse_literals(&p, pos, q.from, q.literals);
        if (good && q.match)
            parse_match(&p, behind, q.match, q.offset);
    }
    struct parser whole = { commands, commands, used & 0xffff, used >> 16, all & ~gone, 0, 0, 0 };
    *info = block_info_of(&whole, n, late);
    /* Who comes next may write to the room, which others must have read. */
    LANES_BARRIER();
    return good && made == GPU_BLOCK;
}

/* A block of a frame by GPU_LANES: noted, and its info. */
DEVICE struct block_info parse_together(const struct gpu_batch *batch, const u8 *chunks, const hcy_bslz4_frame *f,
                                        const hcy_bslz4_block *blocks, struct gpu_state *state, u32 item, u32 b,
                                        struct command *commands, NEAR struct lanes_room *room, u32 lane)
{
    hcy_bslz4_block block = blocks[f->first_block + b];
    u32 bytes = decoded_bytes(f, b);
    struct block_info info = { 0, 0 };
    /* What does not fit, in size or in kind, is left to the first lane. */
    int how = 1;
    if (bytes == GPU_BLOCK && block.size <= LANES_CODED && block_fits(f, block, bytes)) {
        u32 skip = stage_block(chunks + f->offset + block.offset, block.size, (NEAR u8 *)room->coded, lane);
        how = !parse_by_lanes(room, skip, block.size, commands, &info, lane);
    }
    if (lane == 0 && how)
        how = parse_alone(chunks, f, block, bytes, commands, &info);
    if (lane == 0)
        note_parsed(batch, state, item, b, bytes, how, &info);
    info.counts = SHUFFLE(info.counts, 0);
    info.new_planes = SHUFFLE(info.new_planes, 0);
    return info;
}

/* GPU_LANES take a block. */
KERNEL GROUP_OF(GPU_LANES)
void gpu_parse_lanes(struct gpu_batch batch, BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(struct gpu_state, state),
                     BUFFER(struct block_info, infos), BUFFER(struct command, commands))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(struct gpu_state, state) OPEN(struct block_info, infos) OPEN(struct command, commands)
    LOCAL struct lanes_room room;
    struct block_info info = { 0, 0 };
    u64 block_at = (u64)GROUP_Y * batch.n_blocks + GROUP;
    if (frame_states(state)[GROUP_Y].way == GPU_WAY_FAST)
        info = parse_together(&batch, chunks, &frames[GROUP_Y], blocks, state, GROUP_Y, GROUP,
                              commands + block_at * (2 * COMMANDS), &room, ITEM);
    if (ITEM == 0)
        infos[block_at] = info;
}
