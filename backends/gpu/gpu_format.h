/* gpu_format.h - what the host side of the GPU kernels and their texts share.  Plain data, no pointers.
 *
 * A launch is several kernels in a row that meet in the scratch memory: `begin` looks at the frames, `parse` makes
 * copy commands of the LZ4 streams it can, the fast kernels carry them out, `rest` does every other block, `end` (or
 * `finish`, of sums) writes the reports.
 */
#ifndef HCY_GPU_FORMAT_H
#define HCY_GPU_FORMAT_H

/* Items that run in step and see one another's registers, where a device has that (gpu_ops.lanes): what is written for
 * them, and the plan's layout.  Elsewhere 32 is the bits of a word; a ballot is a word, so more lanes want another one
 * in dialect.h. */
#define GPU_LANES 32

/* What a launch has in common; by value to each of its kernels. */
struct gpu_batch {
    uint64_t chunks_size;  /* readable bytes of the batch's buffer */
    uint64_t table_blocks; /* entries of the block table */
    uint64_t image_bytes;
    uint64_t slot_bytes; /* of the memory of all slots, in which `rest` decodes */
    uint32_t items, codec, elem_size;
    uint32_t n_blocks;  /* of a frame in the usual blocks, the partial one included */
    uint32_t fast;      /* frames in the usual blocks go through `parse` */
    uint32_t list_room; /* entries of the list of blocks for `rest` */
};

/* The head of the scratch memory; behind it each frame's own. */
struct gpu_state {
    uint32_t listed; /* blocks in the list, may be more than there is room for: then it counts all */
    uint32_t heavy;  /* groups of eight frames' blocks in the list for `heavy` */
    uint32_t loose;  /* there are frames, or raw elements of frames, that only `rest` does */
    uint32_t reserved[61];
};
/* Of a frame. */
struct gpu_frame_state {
    uint32_t damaged; /* its first damaged block, 0xffffffff if none */
    uint32_t way;     /* GPU_WAY_* */
    uint32_t tail;    /* its raw elements go with its partial block, the fast way */
    uint32_t reserved;
};
#define GPU_WAY_FAST 0u /* parsed; `rest` does what is listed */
#define GPU_WAY_REST 1u /* all of it by `rest` */
#define GPU_WAY_NONE 2u /* left alone */

/* A block of the list for `rest`. */
struct gpu_listed {
    uint32_t item, block;
};

/* The usual block: filter 32008's default. */
#define GPU_BLOCK 8192u

/* --- The fast way of the usual blocks (fast.cl) --- */

/* Commands of a block: matches, then literals, up to GPU_COMMANDS of each.
 *     match: place | bytes << 16, distance      literals: place | offset in the stream << 16, bytes */
#define GPU_COMMANDS 192u
struct gpu_command {
    uint32_t a, b;
};
/* Of a block: n matches | literals << 8 | planes of its own << 16 | heavy << 24; and its mask of NEW planes.  0: it
 * goes another way. */
struct gpu_block_info {
    uint32_t counts, new_planes;
};
#define GPU_PARSE_GROUP GPU_LANES /* a multiple of it */
#define GPU_FRAMES      8u  /* of a group that sums */
#define GPU_ONE_BLOCKS  4u  /* of a group that sums a frame alone */
#define GPU_ONE_BEGIN   256u /* items of a group that zeroes its sums */
#define GPU_FAST_ROWS   4u  /* sums of a frame in scratch memory */
#define GPU_PAIR_ROWS   8u  /* and of GPU_FRAMES of a plan whose weights are all one */
/* Room of a small block, planes and coded bytes; the latter of eight frames become their tile. */
#define GPU_SMALL_PLANES(elem) ((elem) == 4 ? 12u : 10u)
#define GPU_SMALL_COMP         2096u

/* --- A prepared plan --- */

/* Pixels in TILES; a tile's weights, bin by bin, in SEGMENTS of up to GPU_SEGMENT entries; GPU_LANES segments of like
 * length are a SLICE, whose entries stand in QUADS of four, the lanes' side by side.  Entries of no weight fill up the
 * shorter segments. */
#define GPU_TILE    2048u
#define GPU_SEGMENT 16u
#define GPU_NO_BIN  0xffffffffu
/* Words of 128 bits of a row of quads, and its entries. */
#define GPU_QUAD_ROW  (2 * GPU_LANES)
#define GPU_PLACE_ROW (4 * GPU_LANES)

struct gpu_slice {
    uint32_t first; /* quad of lane 0, in rows of GPU_LANES quads */
    uint32_t n;     /* quads of a lane */
};
/* Four entries: their weights and the squares of these byte by byte, for dot products of bytes; and where a fused
 * kernel keeps their pixels, two to a word, with a bit for the first entry of a pixel.  A quad is two words of 128
 * bits; of a row of quads, one of each lane, the first words stand together, then the second. */
struct gpu_quad {
    uint32_t bytes[3], places;
};
#define GPU_ENTRY_FIRST 0x8000u
#define GPU_ENTRY_PLACE 0x0fffu
/* A pixel of the tile, transposed: lanes of one word of a bit-plane are 65 apart, so no two share a bank. */
#define GPU_PITCH        65u
#define GPU_PLACE(pixel) (((pixel)&31u) * GPU_PITCH + ((pixel) >> 5))
#define GPU_NO_PLACE     (32u * GPU_PITCH)
/* The pixel of a place: p / 65 and p % 65 for all below 4096. */
#define GPU_PITCHES(place) ((place)*4033u >> 18)

/* --- A plan prepared for filters --- */

/* Elements of a row that a group puts in order (eval/digits.cl). */
#define GPU_SORT_TILE 4096u
/* Rows of words, in so many tiles each, and how words become keys (eval_key.h). */
struct gpu_order {
    uint64_t rows, length, tiles, sign, infinity, nan;
};

/* Bin by bin, in the order of pixels, 128 bits an entry. */
struct gpu_entry {
    uint32_t pixel, weight; /* with GPU_ENTRY_FIRST32 */
    uint32_t norm24;
    float inverse; /* 1 / N */
};
#define GPU_ENTRY_FIRST32 0x80000000u
/* What all entries of a bin add up to, 128 bits each. */
struct gpu_total {
    uint64_t norm[2], norm2[2], norm24[2], variance[2], dark[2], count[2];
};

/* Offsets in the plan's memory, by value to the kernels that use it. */
struct gpu_plan_at {
    uint64_t n_pixels;
    uint64_t entries, starts_of, totals; /* for filters: struct gpu_entry, u64[n_bins + 1], struct gpu_total[n_bins] */
    uint64_t slice_of; /* u32[n_tiles + 1]: first slice of each tile */
    uint64_t slices;   /* struct gpu_slice */
    uint64_t bins;     /* u32[slices][GPU_LANES] */
    uint64_t quads;    /* struct gpu_quad[][2][GPU_LANES]: weights, squares */
    uint64_t places; /* u16[][4][GPU_LANES], the same entries without weights: of a plan whose weights are all one */
    uint64_t masked; /* a bit a pixel without weights, padded with ones to whole tiles */
    uint64_t runs, starts, norms, darks, variances; /* the canonical spans */
    uint32_t n_bins, n_tiles;
    uint32_t has_darks, has_variances;
    int32_t dark_shift, variance_shift;
};

/* --- Non-uniform FFTs (spread_interp.cl) --- */

/* Axes are counted from the fastest here.  The last of them is the RING's: points are sorted by pencils (bins of the
 * others) and within one by slabs of the ring's axis. */
struct gpu_nufft {
    uint64_t n_points, cells;
    uint32_t n[3];    /* cells of an axis; 1 beyond the last */
    uint32_t bins[2]; /* pencils on the axes beside the ring's */
    uint32_t slabs;   /* of a pencil */
    uint32_t n_keys;  /* that points are sorted by: of 2^coarse slabs each */
    uint32_t range;   /* points of a group */
    uint32_t reach;   /* slabs whose points may reach one cell */
    uint32_t vectors; /* of this launch */
    uint32_t bits[3]; /* that number an axis's cells */
    uint32_t coarse;
    double offset[3]; /* half a window, in periods */
    double scale[3];  /* of cells to places (point.cl) */
};
/* The head of sorted points. */
struct gpu_nufft_head {
    uint32_t first_bad; /* 0xffffffff: none */
    uint32_t most;      /* points of the fullest key, so of a slab at most */
    uint32_t reserved[62];
};
/* Many points: keys that are sorted together, and their records. */
struct gpu_nufft_bucket {
    uint32_t first, last, first_key, last_key; /* last: those after it */
};
#define GPU_NUFFT_CODES 8192u /* two for each bucket */
/* A part of the points that might reach a tile, where they are more than GPU_NUFFT_TILE_MOST (tiles.cl). */
struct gpu_nufft_part {
    uint32_t tile, part;
};
#define GPU_NUFFT_TILE      16u   /* cells of its edges */
#define GPU_NUFFT_TILE_MOST 512u

#define GPU_NUFFT_GROUP 256u  /* items that sort */
#define GPU_NUFFT_SCAN  2048u /* keys of a group that sums their counts */
#define GPU_NUFFT_SAME  2    /* how sums are fixed: 1: in every run, 2: on every device */
#define GPU_NUFFT_NARROW 4u /* windows up to this width are worth 11 bits of a float on tensor cores */

/* Modes and the grid; axes as the job counts them, moved so that the last is number 2. */
struct gpu_nufft_cut {
    uint64_t modes[3], grid[3], factors[3]; /* factors: where they begin */
    uint32_t items, dim, fft_order, row_items; /* items of a group that share a row */
};

/* Of an axis beside the one that is transformed: `n` of its numbers are, those before `first` and, behind so many that
 * are skipped, the others. */
struct gpu_nufft_ends {
    uint64_t n, first, skipped;
};
/* A pass over the lines of an axis (lines.cl). */
struct gpu_nufft_pass {
    uint64_t n, done;             /* numbers of a line; product of the earlier passes' radices */
    uint64_t inner, outer;        /* numbers side by side, from one number of a line to the next; blocks of them */
    uint64_t row;                 /* of ends[1]: from one number to the next */
    uint64_t from_zero, to_zero;  /* numbers of a line between them are zeros, and not read */
    struct gpu_nufft_ends ends[2]; /* of the faster axes */
    uint32_t backward, reserved;
};
/* All passes over the lines of an axis in one launch (whole.cl). */
struct gpu_nufft_whole {
    struct gpu_nufft_pass pass;
    uint64_t count;           /* lines of a block; of all blocks where they lie one behind the other (inner: 1) */
    uint32_t lines;           /* of a group */
    uint32_t step, line;      /* in local memory from one number of a line to the next, from one line to the next */
    uint32_t room;            /* numbers there, of which a group has twice as many */
    uint32_t passes, radices; /* the first one's radix in the lowest four bits */
};
/* Numbers of lines copied to lines of another length (fft.cl): `inner` lines side by side, `outer` blocks of them. */
struct gpu_fft_map {
    uint64_t from, to; /* numbers of a line */
    uint64_t inner, outer;
    uint32_t mirrored; /* a line has the first numbers of its own, of which the others are the conjugates; else zeros */
    uint32_t from_real, to_real;
    uint32_t multiplies;                          /* by a table's numbers, with real and imaginary parts exchanged */
    uint32_t exchanged_before, exchanged_behind;  /* before, and after that */
};
/* Lines of 2 n real numbers, which are n complex ones (fft.cl). */
struct gpu_fft_real {
    uint64_t n, lines;
};
/* An axis between modes and the transformed grid (axes.cl): from one vector's numbers to the next one's, from a row of
 * lines to the next, from a number of a line to the next. */
struct gpu_nufft_apart {
    uint64_t item, row, step;
};
struct gpu_nufft_axis {
    uint64_t width;     /* lines side by side in a row of lines; of the fastest axis: lines in all */
    uint64_t rows;      /* of lines, of a vector */
    struct gpu_nufft_apart modes, grid;
    uint32_t low, high; /* from a cell to its mode's place: more for the first ones, less for the last ones */
    uint32_t backward, reserved;
};
/* A pass over an axis of a convolution (gram.cl): an image's lines, `width` of them side by side in a row of lines, or,
 * of the fastest axis, one behind the other; and two halves of their frequencies. */
struct gpu_nufft_gram {
    uint64_t width;
    uint64_t row, step;         /* numbers from a row of lines to the next, from a number of a line to the next */
    uint64_t far_row, far_step; /* the same of frequencies, or of the spectrum that they are multiplied by; */
    uint64_t far_half;          /* from a half to the other; on the fastest axis they are one behind the other */
    uint64_t far_rows;          /* of the spectrum: then its first one follows */
    uint64_t outer, coil;       /* coils; numbers from a coil's map to the next one's */
    uint32_t plain, adds;       /* without maps; to what the result is */
};

#endif
