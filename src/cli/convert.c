/* convert.c - halcyon decompress and halcyon compress: the images of a stack as they are, and packed.
 *
 * Both decode frames with frames.c; every thread writes its own, in whatever order they are done. */
#include "frames.h"
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>

struct values {
    const char *output, *devices, *dataset, *channel;
    struct cli_span frames;
    struct cli_raw raw;
    struct cli_int block;
    int contiguous, codec, quiet;
};

static const char *const codecs[] = { "bslz4", "lz4", NULL };

#define AT(member) offsetof(struct values, member)
#define COMMON                                                                                               \
    {                                                                                                        \
        "devices", 'd', CLI_TEXT, AT(devices), "LIST", "cpu; cpu@threads=2,gpu; all; ... (auto)", 0, 0, NULL \
    },                                                                                                       \
        { "dataset", 0, CLI_TEXT, AT(dataset), "PATH", "in the input (default: found)", 0, 0, NULL },        \
        { "channel", 0, CLI_TEXT, AT(channel), "N", "of several energy thresholds: 1, 2 ...", 0, 0, NULL },  \
        CLI_RAW_OPTIONS(AT(raw)), { "frames", 0, CLI_SPAN, AT(frames), "A:B", "these alone, from 0, B not included", 0, 0, NULL },     \
        { "quiet", 'q', CLI_FLAG, AT(quiet), NULL, "no progress, no summary", 0, 0, NULL },                  \
        CLI_ISOLATE_OPTIONS,                                                                                 \
    {                                                                                                        \
        NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL                                                         \
    }
static const struct cli_option decompress_options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", "OUT.h5, .npy, .tif or .edf; a file a frame:\nOUT_%05d.tif, .edf, .cbf, .npy, numbered as the frames", 0, 0, NULL },
    { "contiguous", 0, CLI_FLAG, AT(contiguous), NULL, "HDF5: frames next to one another, not in chunks", 0,
      0, NULL },
    COMMON
};
static const struct cli_option compress_options[] = {
    { "output", 'o', CLI_TEXT, AT(output), "FILE", "OUT.h5", 0, 0, NULL },
    { "codec", 0, CLI_CHOICE, AT(codec), "CODEC",
      "bslz4, the default: bitshuffle and LZ4, HDF5's filter\n32008; lz4: filter 32004", 0, 0, codecs },
    { "block", 0, CLI_INT, AT(block), "BYTES", "of pixels a block (8192)", 1, 2113929216, NULL },
    COMMON
};
#undef AT

#define NOTES                                                                                                \
    "The dataset keeps its path and its attributes (a stack of several datasets becomes\n"                   \
    "/entry/data/data).  A frame that is damaged is reported by its number; all bytes of its pixels\n"       \
    "are 255, the value of masked pixels.  Exit status: 0 if every frame was done, else 1; 2: usage."

const struct cli_command cli_decompress_command = { "decompress",
                                                    "the images of a stack as plain pixels: HDF5, NumPy, TIFF, EDF, CBF",
                                                    "STACK -o FILE",
                                                    1,
                                                    1,
                                                    decompress_options,
                                                    NOTES };
const struct cli_command cli_compress_command = { "compress",
                                                  "images packed as detectors write them: bitshuffle and LZ4",
                                                  "STACK -o FILE.h5",
                                                  1,
                                                  1,
                                                  compress_options,
                                                  NOTES };

struct convert {
    hcy_stack_writer *writer;
    uint64_t first;
    void *masked; /* a frame of them */
};

static int write_frame(void *payload, unsigned thread, uint64_t frame, const void *pixels)
{
    const struct convert *c = payload;
    (void)thread;
    return hcy_stack_write(c->writer, frame - c->first, pixels ? pixels : c->masked);
}

static int convert_frames(struct frames *f, const struct values *v, uint32_t codec)
{
    struct convert c = { .first = f->first };
    hcy_stack_writer_options opts = HCY_STACK_WRITER_OPTIONS_INIT;
    opts.frames = f->last - f->first;
    opts.height = f->info->height;
    opts.width = f->info->width;
    opts.pixel_type = f->info->pixel_type;
    opts.codec = codec;
    opts.block_bytes = (uint32_t)v->block.value;
    opts.contiguous = v->contiguous;
    /* The writer refuses to write over its source, and copies the attributes of its dataset. */
    opts.source = f->stack;
    opts.first_number = f->first;
    c.masked = malloc(f->info->frame_bytes);
    if (!c.masked)
        return cli_error("out of memory for an image of %u x %u", opts.height, opts.width);
    /* The top value of the type marks pixels without a value; a damaged frame consists of these. */
    memset(c.masked, 255, f->info->frame_bytes);
    int status = hcy_stack_create(&c.writer, v->output, &opts);
    if (status) {
        status = cli_fail_to_write(status, v->output);
    } else {
        f->take = write_frame;
        f->payload = &c;
        status = frames_run(f);
        double written = (double)hcy_stack_writer_bytes(c.writer);
        /* A file with frames missing would look complete, so it is taken away. Damaged frames are not
         * missing: they have masked pixels. */
        int whole = frames_all_taken(f), closed = 0;
        if (whole)
            closed = hcy_stack_writer_close(c.writer);
        else
            hcy_stack_writer_discard(c.writer);
        /* Closing flushes: only here is it known whether all bytes reached the disk. */
        if (closed)
            status = cli_fail(closed);
        if ((closed || !whole) && strchr(v->output, '%'))
            cli_note("%s: not all frames have their file; those that are there are whole", v->output);
        else if (closed || !whole)
            cli_not_written(v->output);
        else if (!v->quiet)
            fprintf(stderr, "%s: %.1f MB of pixels in %.1f MB\n", v->output,
                    1e-6 * (double)f->stats.bytes_raw, 1e-6 * written);
    }
    free(c.masked);
    return status;
}

static int run_conversion(const struct cli_command *command, int argc, char **argv, int packs)
{
    struct values values = { 0 };
    struct frames frames = { 0 };
    int status;
    if (cli_parse(command, argc, argv, &values, &frames.path, &status))
        return status;
    if (!values.output)
        return cli_usage("where the images go is missing: give -o FILE");
    /* The command line is judged before any file is opened, as that costs nothing. */
    const char *format = "";
    status = cli_check_format(values.output, packs ? HCY_WRITE_PACKED : HCY_WRITE_IMAGES);
    const int is_h5 =
        packs || (!status && !hcy_format_of(&format, values.output, HCY_WRITE_IMAGES) && !strcmp(format, "h5"));
    /* HDF5 holds all frames, and images of other kinds may be a file each. */
    if (!status && is_h5)
        status = cli_check_one_file(values.output);
    else if (!status && values.contiguous)
        status = cli_usage("--contiguous is for HDF5: %s has its pixels in one piece in any case", values.output);
    /* Bit-planes are of eight elements: no stack can have other blocks.  Which it can have its pixels say. */
    if (!status && packs && values.codec == 0 && values.block.value % 8)
        status = cli_usage("--block %lld: bitshuffle takes elements in eights, so a block is a multiple of 8 bytes, "
                           "times those of a pixel", (long long)values.block.value);
    if (status)
        return status;
    /* Compression is the threads' own work, whereas decompression waits for the devices. */
    const unsigned processors = hcy_processors();
    frames.dataset = values.dataset;
    frames.channel = values.channel;
    frames.raw = values.raw;
    frames.device_list = values.devices;
    frames.span = values.frames;
    frames.threads = packs && processors > 2 ? processors : 0; /* which code what they write */
    frames.quiet = values.quiet;
    status = frames_open(&frames);
    if (!status)
        status = frames_guard(&frames, values.output);
    if (!status && packs)
        status = convert_frames(&frames, &values, values.codec == 0 ? HCY_CODEC_BSLZ4 : HCY_CODEC_LZ4);
    else if (!status)
        status = convert_frames(&frames, &values, HCY_CODEC_NONE);
    frames_close(&frames);
    return status;
}

int cli_decompress(int argc, char **argv)
{
    return run_conversion(&cli_decompress_command, argc, argv, 0);
}

int cli_compress(int argc, char **argv)
{
    return run_conversion(&cli_compress_command, argc, argv, 1);
}
