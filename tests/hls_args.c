/* hls_args.c - the arguments of the FPGA kernels follow the catalogue: names, kinds, numbers, registers. */
#include "tap.h"

#include "../kernels_hls/args.h"

#include <halcyon/backend.h>
#include <stdio.h>
#include <string.h>

#include "families.h"

static const char letters[] = "iabts"; /* of the kinds, in their order */

static void test_decode(void)
{
    static const struct {
        const char *name;
        int kind;
    } want[] = {
        { "items", HCY_HLS_ITEMS },        { "chunks", HCY_HLS_ADDRESS },
        { "chunks_bytes", HCY_HLS_BYTES }, { "frames", HCY_HLS_ADDRESS },
        { "frames_bytes", HCY_HLS_BYTES }, { "blocks", HCY_HLS_ADDRESS },
        { "blocks_bytes", HCY_HLS_BYTES }, { "job", HCY_HLS_STRUCT },
        { "images", HCY_HLS_ADDRESS },     { "images_bytes", HCY_HLS_BYTES },
        { "reports", HCY_HLS_ADDRESS },    { "reports_bytes", HCY_HLS_BYTES },
        { "scratch", HCY_HLS_ADDRESS },    { "scratch_bytes", HCY_HLS_BYTES },
    };
    const hcy_hls_layout *layout = hcy__hls_layout("bslz4_decode");
    size_t n = sizeof want / sizeof want[0], same = 0;
    ok(layout != NULL, "bslz4_decode has a layout");
    is_int(hcy_hls_n_bslz4_decode, (int)n, "of so many arguments");
    if (!layout)
        return;
    is_int((int)layout->n_args, (int)n, "in the table as well");
    for (size_t i = 0; i < n && i < layout->n_args; i++)
        same += !strcmp(layout->args[i].name, want[i].name) && layout->args[i].kind == want[i].kind;
    is_int((int)same, (int)n, "in the order of kernels.def, sizes behind their buffers");
    is_int(HCY_HLS_REGISTER(0), 0x10, "the first register");
    is_int(HCY_HLS_REGISTER(2), 0x28, "the third");
}

/* What the signature of a kernel asks for, as letters. */
static void letters_of(const hcy_signature *s, char *text)
{
    *text++ = letters[HCY_HLS_ITEMS];
    for (size_t i = 0; i < s->n_args; i++)
        if (s->args[i].type <= HCY_ARG_TABLES)
            *text++ = letters[HCY_HLS_ADDRESS], *text++ = letters[HCY_HLS_BYTES];
        else
            *text++ = letters[s->args[i].type == HCY_ARG_STRUCT ? HCY_HLS_STRUCT : HCY_HLS_SCALAR];
    *text = 0;
}

static void test_all(void)
{
    int kernels = 0, wrong = 0;
    for (size_t f = 0; hcy__families[f]; f++)
        for (size_t k = 0; k < hcy__families[f]->n_kernels; k++) {
            const hcy_signature *s = &hcy__families[f]->kernels[k];
            const hcy_hls_layout *layout = hcy__hls_layout(s->name);
            char want[100], got[100] = "";
            letters_of(s, want);
            for (size_t i = 0; layout && i < layout->n_args && i + 1 < sizeof got; i++)
                got[i] = letters[layout->args[i].kind], got[i + 1] = 0;
            kernels++;
            if (strcmp(want, got) || strcmp(hcy__hls_families[f].stem, hcy__families[f]->stem) ||
                hcy__hls_families[f].version != hcy__families[f]->version) {
                diag("%s: wanted %s, got %s", s->name, want, got);
                wrong++;
            }
        }
    ok(kernels > 10, "all families are looked at (%d kernels)", kernels);
    is_int(wrong, 0, "and each kernel's arguments are those of its signature");
    ok(!hcy__hls_layout("no_such"), "an unknown kernel has none");
}

int main(void)
{
    test_decode();
    test_all();
    return done_testing();
}
