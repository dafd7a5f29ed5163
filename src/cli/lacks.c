/* lacks.c - what this build was made without, for --help and --version: a user who looks for a format or an option
 * learns there that it is the build that lacks it. */
#include "cli.h"
#include <string.h>

static const struct {
    const char *library, *what;
    const char *commands; /* of which --help says so, each between blanks */
} lacks[] = {
#ifndef HAVE_HDF5
    { "HDF5", "no .h5 files are read or written",
      " integrate calibrate merge plot info decompress compress sum nufft recon simulate bench compare fpga-model " },
#endif
#ifndef HAVE_TIFF
    { "libtiff", "no TIFF images are read", " integrate calibrate plot info decompress compress sum " },
#endif
#ifndef HAVE_ZLIB
    { "zlib", "no EDF or CBF in gzip, nor compressed .npz, is read",
      " integrate calibrate plot info decompress compress sum nufft recon " },
#endif
#ifndef HAVE_ZSTD
    { "libzstd", "no frames packed with Zstandard are read",
      " integrate calibrate plot info decompress compress sum " },
#endif
#ifndef HAVE_JANSSON
    { "jansson", "no --config, --save-config, reports and streams of version 1", " integrate compare simulate " },
#endif
#ifndef HAVE_VKFFT
    { "VkFFT", "slower transforms on opencl devices", " nufft , recon , bench nufft " },
#endif
#ifndef HAVE_ZMQ
    { "ZeroMQ", "no live streams", " integrate simulate " },
#endif
    { NULL, NULL, NULL }
};

void cli_print_lacks(FILE *out, const char *command)
{
    for (size_t i = 0; lacks[i].library; i++) {
        char word[64];
        snprintf(word, sizeof word, " %s ", command ? command : "");
        if (command && !strstr(lacks[i].commands, word))
            continue;
        char line[256];
        int n = snprintf(line, sizeof line, "Built without %s: %s.", lacks[i].library, lacks[i].what);
        cli_put_words(out, line, (size_t)n, 0);
        putc('\n', out);
    }
}
