/* h5_layout.c - what an HDF5 dataset of frames is: its filters, shape and chunks, and where its frames' bytes are.
 *
 * No frame is read here.  Asking HDF5 for the addresses of all chunks takes time quadratic in their number up to
 * version 1.12, so we let it read every chunk through a driver that reads nothing and notes where it should have
 * (h5_driver.c).
 */
#include "h5_driver.h"
#include "h5_layout.h"
#include <halcyon/backend.h>
#include <string.h>

enum { MAX_FILTERS = 8 };
#define FEW_FRAMES     ((hsize_t)1 << 24) /* that need not be stored: their places take 400 MB */
#define MOST_ELSEWHERE ((hsize_t)1 << 26) /* in other files than the dataset's */

/* --- Filters --- */

/* 32008's values: major, minor, bytes an element, elements a block (0: default), 0 none | 2 LZ4 | 3
 * Zstandard. */
static void bitshuffle_codec(struct hcy__h5_layout *l, const unsigned *values, size_t n)
{
    unsigned size = n > 2 ? values[2] : 0, kind = n > 4 ? values[4] : 0;
    /* Completed twice, as of a dataset that was made like another one: the filter took the version for no code, but for
     * 2; 0.3 knew no Zstandard. */
    if (n > 5 && values[3] == values[0] && kind == values[1] && kind != 2 && values[5] == size)
        kind = 0;
    /* Bits shuffled as elements of another size are not the pixels' bits: HDF5's plugin has to do it. */
    if (size && size != l->shape.pixel->size)
        return;
#ifdef HAVE_ZSTD
    l->zstd = kind == 3;
#endif
    l->decodable = kind == 0 || kind == 2 || l->zstd;
    l->codec = kind == 2 ? HCY_CODEC_BSLZ4 : HCY_CODEC_BITSHUFFLE;
    if (kind != 2 && n > 3)
        l->block_bytes = values[3] * l->shape.pixel->size;
}

static void find_codec(struct hcy__h5_layout *l)
{
    int n = H5Pget_nfilters(l->plist);
    l->codec = HCY_CODEC_NONE;
    l->coded = n > 0;
    l->decodable = n == 0;
    /* Filters in a row, as a checksum after the compression, are left to HDF5. */
    if (n != 1)
        return;
    unsigned values[MAX_FILTERS] = { 0 }, flags, config;
    size_t n_values = MAX_FILTERS;
    H5Z_filter_t id = H5Pget_filter2(l->plist, 0, &flags, &n_values, values, 0, NULL, &config);
    if (id == 32008) {
        bitshuffle_codec(l, values, n_values < MAX_FILTERS ? n_values : MAX_FILTERS);
    } else if (id == 32004) {
        l->decodable = 1;
        l->codec = HCY_CODEC_LZ4;
    }
}

/* --- Opening a dataset --- */

void hcy__h5_layout_close(struct hcy__h5_layout *l)
{
    if (l->plist > 0)
        H5Pclose(l->plist);
    if (l->space > 0)
        H5Sclose(l->space);
    if (l->dataset > 0)
        H5Dclose(l->dataset);
}

/* The places of all frames take memory before any frame is found: their number is proved by what is there of them, some
 * bytes in the file for each.  Other files' bytes are not known here. */
static int check_count(const struct hcy__h5_layout *l, const char *path, const char *name)
{
    hid_t file = H5Iget_file_id(l->dataset);
    hsize_t bytes = 0, most = FEW_FRAMES;
    if (l->kind == H5D_VIRTUAL || H5Pget_external_count(l->plist) > 0)
        most = MOST_ELSEWHERE;
    else if (H5Fget_filesize(file, &bytes) >= 0 && bytes > most)
        most = bytes;
    H5Fclose(file);
    return l->shape.dims[0] <= most ? 0
                                    : hcy_fail(HCY_ECORRUPT, "%s::%s is said to have %llu frames, more than there can be in it",
                                               path, name, (unsigned long long)l->shape.dims[0]);
}

int hcy__h5_layout_open(struct hcy__h5_layout *l, hcy_stack *stack, hid_t file, const char *name)
{
    const char *path = stack->path;
    int st;
    *l = (struct hcy__h5_layout){ .dataset = H5Dopen2(file, name, H5P_DEFAULT) };
    if (l->dataset < 0 || hcy__h5_describe(&l->shape, l->dataset) ||
        (l->space = H5Dget_space(l->dataset)) < 0 || (l->plist = H5Dget_create_plist(l->dataset)) < 0)
        return hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", path, name);
    /* Each reason to refuse has words of its own; all of them come before sizes are used. */
    if (l->shape.rank < 2 || l->shape.rank > 4)
        return hcy_fail(HCY_EFORMAT, "%s::%s has %d dimensions; an image has 2, a stack of images 3, or 4 with channels",
                        path, name, l->shape.rank);
    if (l->shape.overgrown)
        return hcy_fail(HCY_ECORRUPT, "%s::%s is said to be larger than it may become: %llu frames of %llu x %llu",
                        path, name, (unsigned long long)l->shape.dims[0], (unsigned long long)l->shape.dims[1],
                        (unsigned long long)l->shape.dims[2]);
    if (!l->shape.pixel)
        return hcy_fail(HCY_EFORMAT, "%s::%s holds %s; pixels are whole numbers or floats of 8 to 64 bits",
                        path, name, l->shape.type);
    if (l->shape.dims[1] > UINT32_MAX || l->shape.dims[2] > UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "%s::%s: images of that size are not supported", path, name);
    l->kind = H5Pget_layout(l->plist);
    st = check_count(l, path, name);
    if (st)
        return st;
    find_codec(l);
    /* Chunks that are exactly frames can be read as they are stored. */
    if (l->kind == H5D_CHUNKED) {
        int rank = l->shape.rank;
        H5Pget_chunk(l->plist, rank, l->chunk);
        l->one_a_chunk = l->chunk[rank - 2] == l->shape.dims[1] && l->chunk[rank - 1] == l->shape.dims[2];
        for (int i = 0; i < rank - 2; i++)
            l->one_a_chunk = l->one_a_chunk && l->chunk[i] == 1;
    }
    return hcy__h5_channel(&l->channel, stack, file, name, l->shape.channels);
}

/* --- Where frames are --- */

/* The first element of a frame in a dataset of two, three or four dimensions. */
void hcy__h5_origin(hsize_t offset[4], int rank, uint64_t frame, hsize_t channel)
{
    memset(offset, 0, 4 * sizeof *offset);
    if (rank > 2)
        offset[0] = frame;
    if (rank > 3)
        offset[1] = channel;
}

/* A chunk that HDF5 cannot find was never written.  Once all stored bytes have been met there is none left to
 * find.  `at` is the places' first frame in the stack: what is known of a growing one stays where it is. */
static void chunk_addresses(hcy__location *places, const struct hcy__h5_layout *l, const hcy_stack *stack, uint64_t at)
{
    hsize_t left = H5Dget_storage_size(l->dataset), offset[4];
    for (hsize_t i = 0; left && i < l->shape.dims[0]; i++) {
        const hcy__location *known = hcy__stack_known(stack, at + i);
        uint32_t mask = 0;
        uint64_t address, size;
        hcy__h5_origin(offset, l->shape.rank, i, l->channel);
        if (known) {
            places[i] = *known;
        } else if (hcy__h5_spy_chunk(&address, &size, &mask, l->dataset, offset)) {
            continue;
        } else {
            places[i] = (hcy__location){ .offset = address, .size = size };
            if (mask & 1 && l->coded)
                places[i].flags = LOCATION_PLAIN;
            else if (l->zstd)
                places[i].flags = LOCATION_ZSTD;
        }
        left -= places[i].size < left ? places[i].size : left;
    }
}

/* -1: HDF5 has the pixels, but not at one place of this file (compact, or in other files). */
int hcy__h5_addresses(hcy__location *places, const struct hcy__h5_layout *l, const hcy_stack *stack, uint64_t at)
{
    const uint64_t frame_bytes = stack->info.frame_bytes, step = l->shape.channels * frame_bytes;
    if (l->kind == H5D_CHUNKED) {
        chunk_addresses(places, l, stack, at);
        return 0;
    }
    haddr_t base = H5Dget_offset(l->dataset);
    /* No address and nothing stored is a dataset that nobody wrote: its frames stay missing. */
    if (base == HADDR_UNDEF && H5Dget_storage_size(l->dataset))
        return -1;
    for (hsize_t i = 0; base != HADDR_UNDEF && i < l->shape.dims[0]; i++)
        places[i] = (hcy__location){ .offset = base + i * step + l->channel * frame_bytes, .size = frame_bytes };
    return 0;
}

/* For a frame in tiles, or with others in a chunk: how many of its *all chunks were written; with `any`,
 * the search ends with the first. */
static hsize_t chunks_of(hsize_t *all, const struct hcy__h5_layout *l, hsize_t frame, int any)
{
    int rank = l->shape.rank;
    hsize_t from[4], to[4] = { 0 };
    uint64_t bytes;
    /* The box begins where the chunk does that has the frame, and has one chunk in each dimension but the
     * image's two. */
    hcy__h5_origin(from, rank, rank > 2 ? frame / l->chunk[0] * l->chunk[0] : 0, 0);
    if (rank > 3)
        from[1] = l->channel / l->chunk[1] * l->chunk[1];
    for (int i = 0; i < rank - 2; i++)
        to[i] = from[i] + 1;
    to[rank - 2] = l->shape.dims[1];
    to[rank - 1] = l->shape.dims[2];
    return hcy__h5_spy_box(all, &bytes, l->dataset, rank, l->chunk, from, to, any);
}

/* HDF5 reads what nobody wrote as its fill value.  Of a growing stack all of a frame must be there. */
void hcy__h5_written_frames(hcy__location *places, const struct hcy__h5_layout *l, const hcy_stack *stack)
{
    /* A contiguous dataset is stored as a whole, or nobody wrote it. */
    hsize_t all = 1, n = l->kind != H5D_CONTIGUOUS || H5Dget_storage_size(l->dataset);
    for (hsize_t i = 0; i < l->shape.dims[0]; i++) {
        /* Frames of one chunk share its answer; what was there before stays there. */
        if (l->kind == H5D_CHUNKED && (l->shape.rank < 3 || i % l->chunk[0] == 0))
            n = hcy__stack_known(stack, stack->info.frames + i) ? all : chunks_of(&all, l, i, !stack->growing);
        places[i] = (hcy__location){ .offset = l->channel, .size = stack->info.frame_bytes };
        if (!n || (stack->growing && n < all))
            places[i].flags = LOCATION_MISSING;
    }
}

/* Can its frames be read without HDF5? */
int hcy__h5_is_as_stored(const struct hcy__h5_layout *l)
{
    return l->decodable && l->shape.little_endian &&
           (l->one_a_chunk || (l->kind == H5D_CONTIGUOUS && !l->coded));
}
