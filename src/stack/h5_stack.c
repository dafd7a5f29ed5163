/* h5_stack.c - HDF5 datasets as stacks: where each frame's bytes are, and HDF5 itself where that cannot be
 * known.
 *
 * Three ways to a frame, the first that works:
 *   addresses  one frame a chunk, or contiguous: pread at the address, without HDF5, from any number of
 * threads chunks     one frame a chunk, addresses not to be had: H5Dread_chunk under the lock, still coded
 *   pixels     any other layout or filter: H5Dread under the lock, decoded by HDF5
 * Up to HDF5 1.12 asking for all addresses takes time quadratic in the number of chunks, so beyond MAX_ASKED
 * chunks a library without H5Dchunk_iter goes the second way.  Addresses are believed after one frame read by
 * both ways was the same (a user block or an unusual file driver shifts them).
 */
#include "h5.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ASKED = 4096, MAX_FILTERS = 8 };
#define MAX_CACHE ((size_t)1 << 30)

/* A dataset while it is being taken in. */
struct layout {
    hid_t dataset, space, plist;
    hcy__h5_shape shape;
    H5D_layout_t kind;
    hsize_t chunk[3]; /* frames, height, width */
    int one_a_chunk;  /* chunks are frames */
    uint32_t codec, block_bytes;
    int coded;     /* there are filters */
    int decodable; /* we know the codec */
};

/* --- Filters --- */

/* 32008's values: major, minor, bytes an element, elements a block (0: default), 0 none | 2 LZ4 | 3
 * Zstandard. */
static void bitshuffle_codec(struct layout *l, const unsigned *values, size_t n)
{
    unsigned size = n > 2 ? values[2] : 0, kind = n > 4 ? values[4] : 0;
    if (size && size != l->shape.pixel->size)
        return;
    l->decodable = kind == 0 || kind == 2;
    l->codec = kind == 2 ? HCY_CODEC_BSLZ4 : HCY_CODEC_BITSHUFFLE;
    if (kind == 0 && n > 3)
        l->block_bytes = values[3] * l->shape.pixel->size;
}

static void find_codec(struct layout *l)
{
    int n = H5Pget_nfilters(l->plist);
    l->codec = HCY_CODEC_NONE;
    l->coded = n > 0;
    l->decodable = n == 0;
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

static void close_layout(struct layout *l)
{
    if (l->plist > 0)
        H5Pclose(l->plist);
    if (l->space > 0)
        H5Sclose(l->space);
    if (l->dataset > 0)
        H5Dclose(l->dataset);
}

static int open_layout(struct layout *l, hid_t file, const char *path, const char *name)
{
    *l = (struct layout){ .dataset = H5Dopen2(file, name, H5P_DEFAULT) };
    if (l->dataset < 0 || hcy__h5_describe(&l->shape, l->dataset) ||
        (l->space = H5Dget_space(l->dataset)) < 0 || (l->plist = H5Dget_create_plist(l->dataset)) < 0)
        return hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", path, name);
    if (l->shape.rank != 2 && l->shape.rank != 3)
        return hcy_fail(HCY_EFORMAT, "%s::%s has %d dimensions; an image has 2, a stack of images 3", path,
                        name, l->shape.rank);
    if (!l->shape.pixel)
        return hcy_fail(HCY_EFORMAT, "%s::%s holds %s; pixels are whole numbers or floats of 8 to 64 bits",
                        path, name, l->shape.type);
    if (l->shape.dims[1] > UINT32_MAX || l->shape.dims[2] > UINT32_MAX)
        return hcy_fail(HCY_ERANGE, "%s::%s: images of that size are not supported", path, name);
    l->kind = H5Pget_layout(l->plist);
    find_codec(l);
    if (l->kind == H5D_CHUNKED) {
        int rank = l->shape.rank;
        l->chunk[0] = 1;
        H5Pget_chunk(l->plist, rank, l->chunk + 3 - rank);
        l->one_a_chunk =
            l->chunk[0] == 1 && l->chunk[1] == l->shape.dims[1] && l->chunk[2] == l->shape.dims[2];
    }
    return 0;
}

/* --- Reading through HDF5 --- */

/* The frame's first element in the dataset. */
static const hsize_t *origin_of(hsize_t offset[3], const hcy__part *part, uint64_t frame)
{
    offset[0] = frame - part->first;
    offset[1] = offset[2] = 0;
    return offset;
}

static void drop_dataset(hcy__part *part)
{
    if (part->dataset < 0)
        return;
    hcy__h5_lock();
    H5Dclose((hid_t)part->dataset);
    hcy__h5_unlock();
}

static int dataset_rank(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    return rank;
}

static int read_chunk(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__place *place,
                      void *dst)
{
    hsize_t offset[3];
    uint32_t mask = 0;
    const hsize_t *at = origin_of(offset, part, frame) + 3 - dataset_rank((hid_t)part->dataset);
    if (H5Dread_chunk((hid_t)part->dataset, H5P_DEFAULT, at, &mask, dst) < 0)
        return hcy__h5_fail(HCY_EIO, "frame %llu of %s cannot be read", (unsigned long long)frame,
                            stack->path);
    if (stack->info.codec != HCY_CODEC_NONE && (mask & 1) != (place->flags & PLACE_PLAIN) / PLACE_PLAIN)
        return hcy_fail(HCY_ECORRUPT,
                        "frame %llu of %s: its chunk's filter mask is not what its size promised",
                        (unsigned long long)frame, stack->path);
    return 0;
}

static int fetch_chunk(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__place *place,
                       void *dst)
{
    hcy__h5_lock();
    int st = read_chunk(stack, part, frame, place, dst);
    hcy__h5_unlock();
    return st;
}

static int read_pixels(const hcy_stack *stack, const hcy__part *part, uint64_t frame, const hcy__place *place,
                       void *dst)
{
    (void)place;
    hid_t dataset = (hid_t)part->dataset, space = H5Dget_space(dataset);
    int skip = 3 - H5Sget_simple_extent_ndims(space);
    hsize_t start[3], count[3] = { 1, stack->info.height, stack->info.width };
    hid_t memory = H5Screate_simple(3, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, origin_of(start, part, frame) + skip, NULL, count + skip,
                        NULL);
    herr_t done = H5Dread(dataset, hcy__h5_pixel_type(hcy__pixel_of_type(stack->info.pixel_type)), memory,
                          space, H5P_DEFAULT, dst);
    int st = done < 0 ? hcy__h5_fail(HCY_EIO, "frame %llu of %s cannot be read by HDF5",
                                     (unsigned long long)frame, part->name)
                      : 0;
    H5Sclose(memory);
    H5Sclose(space);
    return st;
}

static int fetch_pixels(const hcy_stack *stack, const hcy__part *part, uint64_t frame,
                        const hcy__place *place, void *dst)
{
    hcy__h5_lock();
    int st = read_pixels(stack, part, frame, place, dst);
    hcy__h5_unlock();
    return st;
}

/* --- Where frames are --- */

static void set_place(hcy__place *places, const struct layout *l, const hsize_t *offset, unsigned mask,
                      haddr_t address, hsize_t size)
{
    hsize_t frame = l->shape.rank == 3 ? offset[0] : 0;
    if (frame >= l->shape.dims[0])
        return;
    places[frame].offset = address;
    places[frame].size = size;
    places[frame].flags = mask & 1 && l->coded ? PLACE_PLAIN : 0;
}

#if H5_VERSION_GE(1, 14, 0)
struct collecting {
    hcy__place *places;
    const struct layout *l;
};

static int collect_one(const hsize_t *offset, unsigned mask, haddr_t address, hsize_t size, void *data)
{
    struct collecting *to = data;
    set_place(to->places, to->l, offset, mask, address, size);
    return 0;
}

static int chunk_addresses(hcy__place *places, const struct layout *l)
{
    struct collecting to = { places, l };
    return H5Dchunk_iter(l->dataset, H5P_DEFAULT, collect_one, &to) < 0 ? -1 : 0;
}
#elif H5_VERSION_GE(1, 10, 5)
static int chunk_addresses(hcy__place *places, const struct layout *l)
{
    hsize_t n = 0, offset[3];
    if (H5Dget_num_chunks(l->dataset, l->space, &n) < 0 || n > MAX_ASKED)
        return -1;
    for (hsize_t i = 0; i < n; i++) {
        unsigned mask;
        haddr_t address;
        hsize_t size;
        if (H5Dget_chunk_info(l->dataset, l->space, i, offset, &mask, &address, &size) < 0)
            return -1;
        set_place(places, l, offset, mask, address, size);
    }
    return 0;
}
#else
static int chunk_addresses(hcy__place *places, const struct layout *l)
{
    (void)places;
    (void)l;
    return -1;
}
#endif

/* Sizes alone, for H5Dread_chunk.  A chunk as large as its pixels may be one without its filter: only reading
 * tells. */
static int chunk_sizes(hcy__place *places, const struct layout *l, uint64_t frame_bytes, void *scratch)
{
    for (hsize_t i = 0; i < l->shape.dims[0]; i++) {
        hsize_t offset[3] = { i, 0, 0 }, size = 0;
        const hsize_t *at = offset + 3 - l->shape.rank;
        uint32_t mask = 0;
        if (H5Dget_chunk_storage_size(l->dataset, at, &size) < 0 || !size)
            continue;
        if (l->coded && size == frame_bytes && H5Dread_chunk(l->dataset, H5P_DEFAULT, at, &mask, scratch) < 0)
            mask = 0;
        set_place(places, l, offset, mask, HADDR_UNDEF, size);
    }
    return 0;
}

static int addresses(hcy__place *places, const struct layout *l, uint64_t frame_bytes)
{
    if (l->kind == H5D_CHUNKED)
        return chunk_addresses(places, l);
    haddr_t base = H5Dget_offset(l->dataset);
    if (base == HADDR_UNDEF && H5Dget_storage_size(l->dataset))
        return -1;
    for (hsize_t i = 0; base != HADDR_UNDEF && i < l->shape.dims[0]; i++)
        places[i] = (hcy__place){ .offset = base + i * frame_bytes, .size = frame_bytes };
    return 0;
}

/* Does pread see what HDF5 reads?  Told by the first frame there is; `hcy_last_error()` is left alone. */
static int addresses_hold(const hcy_stack *stack, const hcy__part *part, const hcy__place *places,
                          const struct layout *l)
{
    uint64_t i = 0;
    while (i < l->shape.dims[0] && (places[i].flags & PLACE_MISSING))
        i++;
    if (i == l->shape.dims[0])
        return 1;
    char *ours = malloc(places[i].size), *theirs = malloc(places[i].size);
    hcy__part through = *part;
    through.dataset = l->dataset;
    hcy_error before = *hcy_last_error();
    int hold = 0;
    if (ours && theirs) {
        int read = l->kind == H5D_CHUNKED ? read_chunk(stack, &through, part->first + i, &places[i], theirs)
                                          : read_pixels(stack, &through, part->first + i, &places[i], theirs);
        int st = hcy__fetch_pread(stack, part, part->first + i, &places[i], ours);
        hold = read || (!st && !memcmp(ours, theirs, places[i].size));
    }
    if (before.status)
        hcy_fail_again(&before);
    else
        hcy_clear_error();
    free(ours);
    free(theirs);
    return hold;
}

/* --- Taking a dataset in --- */

static int new_places(hcy__place **places, hcy_stack *stack, uint64_t n)
{
    size_t bytes;
    hcy__place *all = NULL;
    if (!hcy_size_add(&bytes, stack->info.frames, n) && !hcy_size_mul(&bytes, bytes, sizeof *all))
        all = realloc(stack->places, bytes ? bytes : 1);
    if (!all)
        return hcy_fail(HCY_ENOMEM, "no memory for the places of %llu frames of %s", (unsigned long long)n,
                        stack->path);
    stack->places = all;
    *places = all + stack->info.frames;
    for (uint64_t i = 0; i < n; i++)
        (*places)[i] = (hcy__place){ .flags = PLACE_MISSING };
    return 0;
}

/* A file descriptor of the file that really holds the dataset: behind an external link it is another one. */
static int open_bytes(hcy__part *part, hid_t dataset)
{
    char path[4096];
    ssize_t n = H5Fget_name(dataset, path, sizeof path);
    if (n <= 0 || (size_t)n >= sizeof path)
        return -1;
    hcy_error before = *hcy_last_error();
    int st = hcy__open_file(&part->fd, path);
    if (st)
        hcy_fail_again(&before);
    return st;
}

/* HDF5 decodes a chunk again for every frame in it unless its cache holds a whole layer of chunks. */
static hid_t open_with_cache(const struct layout *l, hid_t file, const char *name)
{
    size_t cache = l->shape.pixel->size * (size_t)l->chunk[0];
    if (hcy_size_mul(&cache, cache, l->shape.dims[1]) || hcy_size_mul(&cache, cache, l->shape.dims[2]) ||
        hcy_size_mul(&cache, cache, 2) || cache > MAX_CACHE)
        cache = MAX_CACHE;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (l->kind == H5D_CHUNKED && l->chunk[0] > 1)
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, cache, H5D_CHUNK_CACHE_W0_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, access);
    H5Pclose(access);
    return dataset;
}

/* By pixels: refused here and not at the first frame if the filter is not there. */
static int take_pixels(hcy_stack *stack, hcy__part *part, hcy__place *places, const struct layout *l,
                       hid_t file, const char *name)
{
    for (int i = 0; i < H5Pget_nfilters(l->plist); i++) {
        size_t none = 0;
        unsigned flags, config;
        char filter[64] = "";
        H5Z_filter_t id =
            H5Pget_filter2(l->plist, (unsigned)i, &flags, &none, NULL, sizeof filter, filter, &config);
        if (H5Zfilter_avail(id) <= 0)
            return hcy_fail(
                HCY_EUNSUPPORTED,
                "%s::%s is coded with HDF5 filter %d (%.40s) in a way that only HDF5's plugin can "
                "read; install it and set HDF5_PLUGIN_PATH",
                stack->path, name, (int)id, filter[0] ? filter : "no name");
    }
    for (uint64_t i = 0; i < l->shape.dims[0]; i++)
        places[i] = (hcy__place){ .size = stack->info.frame_bytes };
    part->dataset = open_with_cache(l, file, name);
    if (part->dataset < 0)
        return hcy__h5_fail(HCY_EIO, "%s::%s cannot be opened", stack->path, name);
    part->drop = drop_dataset;
    part->fetch = fetch_pixels;
    stack->info.direct = 0;
    return 0;
}

static int take_chunks(hcy_stack *stack, hcy__part *part, hcy__place *places, const struct layout *l)
{
    void *scratch = malloc(stack->info.frame_bytes);
    if (!scratch)
        return hcy_fail(HCY_ENOMEM, "no memory for a frame of %s", stack->path);
    int st = chunk_sizes(places, l, stack->info.frame_bytes, scratch);
    free(scratch);
    if (st)
        return st;
    H5Iinc_ref(l->dataset);
    part->dataset = l->dataset;
    part->drop = drop_dataset;
    part->fetch = fetch_chunk;
    stack->info.direct = 0;
    return 0;
}

/* The way by addresses: 1 if it is open. */
static int take_addresses(hcy_stack *stack, hcy__part *part, hcy__place *places, const struct layout *l)
{
    if (open_bytes(part, l->dataset) || addresses(places, l, stack->info.frame_bytes) ||
        !addresses_hold(stack, part, places, l)) {
        for (uint64_t i = 0; i < l->shape.dims[0]; i++)
            places[i] = (hcy__place){ .flags = PLACE_MISSING };
        return 0;
    }
    part->fetch = hcy__fetch_pread;
    return 1;
}

/* The first dataset says what the stack is; the others must be the same. */
static int fits(hcy_stack *stack, const struct layout *l, uint32_t codec, const char *name)
{
    hcy_stack_info *info = &stack->info;
    if (stack->n_parts == 0) {
        info->height = (uint32_t)l->shape.dims[1];
        info->width = (uint32_t)l->shape.dims[2];
        info->pixel_type = l->shape.pixel->type;
        info->codec = codec;
        info->block_bytes = codec == HCY_CODEC_BITSHUFFLE ? l->block_bytes : 0;
        info->direct = 1;
        size_t bytes = l->shape.pixel->size;
        if (hcy_size_mul(&bytes, bytes, info->height) || hcy_size_mul(&bytes, bytes, info->width))
            return hcy_fail(HCY_ERANGE, "%s::%s: images of that size are not supported", stack->path, name);
        info->frame_bytes = bytes;
        return 0;
    }
    if (info->height != l->shape.dims[1] || info->width != l->shape.dims[2] ||
        info->pixel_type != l->shape.pixel->type || info->codec != codec)
        return hcy_fail(
            HCY_EFORMAT,
            "%s::%s (%llu x %llu %s) is not like the datasets before it (%u x %u %s), or coded in "
            "another way",
            stack->path, name, (unsigned long long)l->shape.dims[1], (unsigned long long)l->shape.dims[2],
            l->shape.type, info->height, info->width, hcy__pixel_of_type(info->pixel_type)->name);
    return 0;
}

static int take_layout(hcy_stack *stack, const struct layout *l, hid_t file, const char *name)
{
    hcy__part *part;
    hcy__place *places = NULL;
    int as_stored = l->decodable && l->shape.little_endian &&
                    (l->one_a_chunk || (l->kind == H5D_CONTIGUOUS && !l->coded));
    int st = fits(stack, l, as_stored ? l->codec : HCY_CODEC_NONE, name);
    if (!st)
        st = hcy__stack_add_part(&part, stack, name);
    if (!st)
        st = new_places(&places, stack, l->shape.dims[0]);
    if (st)
        return st;
    part->first = stack->info.frames;
    if (as_stored && take_addresses(stack, part, places, l))
        st = 0;
    else if (as_stored && l->one_a_chunk)
        st = take_chunks(stack, part, places, l);
    else
        st = take_pixels(stack, part, places, l, file, name);
    for (uint64_t i = 0; !st && i < l->shape.dims[0]; i++)
        places[i].part = (uint32_t)(stack->n_parts - 1);
    stack->info.frames += l->shape.dims[0];
    return st;
}

static int open_locked(hcy_stack *stack, const char *wanted)
{
    hcy__h5_names names = { 0 };
    hid_t file = H5Fopen(stack->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        const char *words = hcy__h5_words();
        if (H5Fis_hdf5(stack->path) == 0)
            return hcy_fail(HCY_EFORMAT, "%s is neither HDF5 nor NumPy", stack->path);
        if (strstr(words, "truncated"))
            return hcy_fail_vendor(HCY_ECORRUPT, 0, words, "%s is truncated", stack->path);
        return hcy_fail_vendor(HCY_EIO, 0, words, "%s cannot be opened as HDF5", stack->path);
    }
    int st = hcy__h5_find(&names, file, stack->path, wanted);
    for (size_t i = 0; !st && i < names.n; i++) {
        struct layout layout;
        st = open_layout(&layout, file, stack->path, names.at[i]);
        if (!st)
            st = take_layout(stack, &layout, file, names.at[i]);
        close_layout(&layout);
    }
    if (!st && !(stack->dataset = strdup(names.at[0])))
        st = hcy_fail(HCY_ENOMEM, "no memory to open %s", stack->path);
    hcy__h5_names_free(&names);
    H5Fclose(file);
    return st;
}

int hcy__h5_open(hcy_stack *stack, const char *dataset)
{
    hcy__h5_lock();
    int st = open_locked(stack, dataset && dataset[0] ? dataset : NULL);
    hcy__h5_unlock();
    return st;
}
