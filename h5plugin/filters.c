/* filters.c - the HDF5 filters 32008 (bitshuffle) and 32004 (LZ4) with Halcyon's codecs.
 *
 * HDF5 asks a plugin for one filter, so this file is compiled twice, HCY_H5_FILTER saying which it is:
 * libh5halcyon.so and libh5halcyon_lz4.so.  Chunks, values and names are those of the original filters
 * (github.com/kiyo-masui/bitshuffle, github.com/nexusformat/HDF5-External-Filter-Plugins); damaged chunks are
 * errors of HDF5's.  HDF5 calls a filter from any of its threads: there is no state but the host's address.
 */
#include "codec.h"
#include "host.h"
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int H5PLget_plugin_type(void);
EXPORT const void *H5PLget_plugin_info(void);

/* One direction of one chunk; 0 is failure. */
static size_t convert_chunk(unsigned flags, h5_coding *coding, size_t n_bytes, size_t *buf_size, void **buf)
{
    void *out = NULL;
    size_t size = 0, room = *buf_size;
    int st;
    if (flags & H5_REVERSE)
        st = hcy__h5_decode(&out, &size, &room, coding, *buf, n_bytes);
    else
        st = hcy__h5_encode(&out, &size, &room, coding, *buf, n_bytes);
    /* HDF5's buffer is not touched, as it asks of filters that fail. */
    if (st) {
        hcy__h5_push(flags & H5_REVERSE ? "hcy__h5_decode" : "hcy__h5_encode", hcy_last_error()->text);
        return 0;
    }
    /* HDF5 takes over the new memory, which therefore came from its own allocator. */
    hcy__h5_free(*buf);
    *buf = out;
    *buf_size = room;
    return size;
}

#if HCY_H5_FILTER == 32008
/* The filter's values: version (two), bytes of an element, elements of a block (0: the usual), code, level.
 * Users give the last three, HDF5's set_local hook puts the others before them. */
enum { AT_ELEMENT = 2, AT_BLOCK, AT_CODE, AT_LEVEL, N_GIVEN = 8, N_VALUES = 11 };
enum { CODE_NONE = 0, CODE_LZ4 = 2, CODE_ZSTD = 3 };
static const unsigned version[2] = { 0, 4 }; /* of the bitshuffle whose rules these are */

static int refuse_values(const char *words)
{
    hcy__h5_push("complete_values", words);
    return -1;
}

static int complete_values(h5_id plist, h5_id type, h5_id space)
{
    unsigned values[N_VALUES] = { version[0], version[1] }, flags = 0;
    size_t n = N_GIVEN;
    (void)space;
    /* What the user gave moves up by three places, to where readers look for it. */
    if (hcy__h5_get_values(plist, HCY_H5_FILTER, &flags, &n, values + AT_BLOCK))
        return refuse_values("the filter's values cannot be asked for");
    /* HDF5 gives the number that the dataset has, which may be more than there was room for. */
    if (n > N_GIVEN)
        n = N_GIVEN;
    /* Who makes a dataset like another one (h5repack, h5py) gives that one's values, which were completed then: users
     * give three at most, and no code is the version, from 4 on, that stands at its place where they gave none. */
    unsigned *given = values + AT_BLOCK;
    if (n > 3 || (n == 3 && given[0] == version[0] && given[1] >= version[1])) {
        n -= AT_BLOCK;
        memmove(given, given + AT_BLOCK, n * sizeof *given);
        memset(given + n, 0, AT_BLOCK * sizeof *given);
    }
    /* Readers have no type to ask: the size of an element stands among the values. */
    values[AT_ELEMENT] = (unsigned)hcy__h5_type_size(type);
    if (!values[AT_ELEMENT])
        return refuse_values("the size of the dataset's elements is not known");
    if (values[AT_BLOCK] % 8)
        return refuse_values("a block must be a multiple of 8 elements");
    if (values[AT_CODE] != CODE_NONE && values[AT_CODE] != CODE_LZ4 && values[AT_CODE] != CODE_ZSTD)
        return refuse_values("the code must be 0 (none), 2 (LZ4) or 3 (Zstandard)");
    return hcy__h5_set_values(plist, HCY_H5_FILTER, flags, AT_BLOCK + n, values) ? -1 : 1;
}

static int coding_of(h5_coding *coding, size_t n, const unsigned values[])
{
    unsigned element = n > AT_ELEMENT ? values[AT_ELEMENT] : 0, block = n > AT_BLOCK ? values[AT_BLOCK] : 0;
    unsigned code = n > AT_CODE ? values[AT_CODE] : CODE_NONE;
    size_t bytes;
    /* The original's values of a dataset like another one were completed twice; the version that it finds for a code is
     * none (0.3 knew no Zstandard). */
    if (n > AT_LEVEL && code == values[1] && code != CODE_LZ4 && block == values[0] && values[AT_LEVEL] == element)
        code = CODE_NONE;
    if (!element)
        return hcy_fail(HCY_EINVAL, "filter 32008: its values do not say the size of an element");
    if (code != CODE_NONE && code != CODE_LZ4 && code != CODE_ZSTD)
        return hcy_fail(HCY_EUNSUPPORTED, "filter 32008: code %u is none of 0, 2 (LZ4), 3 (Zstandard)", code);
    if (hcy_size_mul(&bytes, block, element) || bytes > HCY__LZ4_MAX)
        return hcy_fail(HCY_ERANGE, "filter 32008: blocks of %u elements of %u bytes are too large", block,
                        element);
    *coding = (h5_coding){ .job = { .codec = code == CODE_NONE ? HCY_CODEC_BITSHUFFLE : HCY_CODEC_BSLZ4,
                                    .elem_size = element,
                                    .block_bytes = (uint32_t)bytes },
                           .zstd = code == CODE_ZSTD,
                           .level = n > AT_LEVEL ? (int)values[AT_LEVEL] : 0 };
    return 0;
}

#define NAME      "bitshuffle; see https://github.com/kiyo-masui/bitshuffle"
#define SET_LOCAL complete_values
#else
/* One value: bytes of a block. */
enum { USUAL_BLOCK = 1 << 30 };

static int coding_of(h5_coding *coding, size_t n, const unsigned values[])
{
    unsigned block = n && values[0] ? values[0] : USUAL_BLOCK;
    if (block > HCY__LZ4_MAX)
        return hcy_fail(HCY_ERANGE, "filter 32004: blocks of %u bytes are more than LZ4 can hold", block);
    *coding = (h5_coding){ .job = { .codec = HCY_CODEC_LZ4, .elem_size = 1, .block_bytes = block } };
    return 0;
}

#define NAME      "HDF5 lz4 filter; see https://github.com/HDFGroup/hdf5_plugins"
#define SET_LOCAL NULL
#endif

static size_t filter(unsigned flags, size_t n_values, const unsigned values[], size_t n_bytes,
                     size_t *buf_size, void **buf)
{
    h5_coding coding;
    /* Values that are not understood end here: pixels that were guessed at would look right. */
    if (!coding_of(&coding, n_values, values))
        return convert_chunk(flags, &coding, n_bytes, buf_size, buf);
    hcy__h5_push("coding_of", hcy_last_error()->text);
    return 0;
}

int H5PLget_plugin_type(void)
{
    return H5_PLUGIN_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    static const h5_filter info = { H5_FILTER_VERSION, HCY_H5_FILTER, 1, 1, NAME, NULL, SET_LOCAL, filter };
    /* The caller is the HDF5 that loads us, the one whose functions the filter has to use. */
    hcy__h5_host_is(__builtin_return_address(0));
    return &info;
}
