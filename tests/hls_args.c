/* hls_args.c - the arguments of the FPGA kernels follow the catalogue: names, kinds, numbers, registers. */
#include "tap.h"

#include "../kernels_hls/args.h"

#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- What is written down elsewhere --- */

static FILE *open_text(const char *name)
{
    char path[1024];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/kernels_hls/%s", top ? top : ".", name);
    FILE *f = fopen(path, "r");
    if (!f)
        bail_out("%s: not there", path);
    return f;
}

/* A line of kernels.tbl without its first two words: each buffer of the kernel once, nothing else but "-". */
static int places_fit(const hcy_hls_layout *layout, char *words)
{
    size_t want = 0, got = 0;
    for (size_t i = 0; i < layout->n_args; i++)
        want += layout->args[i].kind == HCY_HLS_ADDRESS || layout->args[i].kind == HCY_HLS_STRUCT;
    for (char *word = strtok(words, " \n"); word; word = strtok(NULL, " \n")) {
        size_t found = 0;
        for (size_t i = 0; i < layout->n_args; i++)
            if (!strcmp(layout->args[i].name, word) && layout->args[i].kind != HCY_HLS_SCALAR)
                found++;
        got += found;
        if (!found && strcmp(word, "-"))
            return 0;
    }
    return want == got;
}

static void test_places(void)
{
    char line[512], kernel[64], source[64];
    int rows = 0, wrong = 0, at;
    FILE *f = open_text("kernels.tbl");
    while (fgets(line, sizeof line, f)) {
        if (*line == '#' || sscanf(line, "%63s %63s %n", kernel, source, &at) != 2)
            continue;
        const hcy_hls_layout *layout = hcy__hls_layout(kernel);
        rows++;
        if (!layout || !places_fit(layout, line + at)) {
            diag("kernels.tbl: %s", kernel);
            wrong++;
        }
    }
    fclose(f);
    ok(rows >= 7, "kernels.tbl has %d kernels", rows);
    is_int(wrong, 0, "... with the buffers of the catalogue");
}

/* | `kernel` | items, chunks, ... | in README.md */
static void test_registers(void)
{
    char line[512], want[512];
    int rows = 0, wrong = 0;
    FILE *f = open_text("README.md");
    while (fgets(line, sizeof line, f)) {
        char kernel[64];
        const hcy_hls_layout *layout;
        if (sscanf(line, "| `%63[a-z0-9_]` | items", kernel) != 1 || !strstr(line, "| items") ||
            !(layout = hcy__hls_layout(kernel)))
            continue;
        int n = snprintf(want, sizeof want, "| `%s` | ", kernel);
        for (size_t i = 0; i < layout->n_args; i++)
            n += snprintf(want + n, sizeof want - (size_t)n, "%s%s", i ? ", " : "", layout->args[i].name);
        snprintf(want + n, sizeof want - (size_t)n, " |\n");
        rows++;
        wrong += strcmp(want, line) != 0;
        if (strcmp(want, line))
            diag("README.md should say: %s", want);
    }
    fclose(f);
    ok(rows >= 7, "README.md has the registers of %d kernels", rows);
    is_int(wrong, 0, "... as they are");
}

int main(void)
{
    test_decode();
    test_all();
    test_places();
    test_registers();
    return done_testing();
}
