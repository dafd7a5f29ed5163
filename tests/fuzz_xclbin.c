/* fuzz_xclbin.c - FPGA programs of any bytes: what one that is taken says of its kernels lies in it, and is what a
 * launch can do. */
#include "fuzz.h"

#include "../backends/xrt/xclbin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 16, MOST_BYTES = 16384 };

/* Names end, numbers fit the registers that they are written to.  Returns whether there is such a kernel. */
static int check_kernel(const struct xclbin *x, const char *kernel)
{
    static char names[XCLBIN_MOST_UNITS][80];
    struct xclbin_argument arguments[MOST_ARGUMENTS];
    size_t n = xclbin_instances(x, kernel, names, XCLBIN_MOST_UNITS), length = strlen(kernel);
    if (n > XCLBIN_MOST_UNITS || (!n && xclbin_has(x, kernel)))
        abort();
    for (size_t i = 0; i < n; i++)
        if (!memchr(names[i], 0, sizeof names[i]) || strncmp(names[i], kernel, length) || names[i][length] != ':')
            abort();
    if (xclbin_arguments(arguments, &n, MOST_ARGUMENTS, x, kernel))
        return 0;
    if (!xclbin_has(x, kernel) || n > MOST_ARGUMENTS)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!memchr(arguments[i].name, 0, sizeof arguments[i].name) ||
            (!arguments[i].is_buffer && (arguments[i].size < 1 || arguments[i].size > 8)))
            abort();
    return 1;
}

static int run_xclbin(const uint8_t *data, size_t size)
{
    struct xclbin x;
    char kernel[64];
    int taken = 0;
    if (xclbin_copy(&x, data, size))
        return 0;
    /* One of the library's own kernels is held against the catalogue, and one of the user's is not. */
    taken = !xclbin_check(&x, "it") && xclbin_is_catalogue(&x);
    (void)xclbin_memory(&x);
    for (int32_t i = 0; i < x.units->n && i < XCLBIN_MOST_UNITS; i++) {
        snprintf(kernel, sizeof kernel, "%s", x.units->list[i].name);
        kernel[strcspn(kernel, ":")] = 0;
        taken |= check_kernel(&x, kernel);
    }
    xclbin_free(&x);
    return taken;
}

/* --- Seeds --- */

static union {
    struct xclbin_head head;
    uint8_t bytes[MOST_BYTES];
} file;

static void begin_file(uint32_t n_sections)
{
    memset(&file, 0, sizeof file);
    memcpy(file.head.magic, XCLBIN_MAGIC, sizeof file.head.magic);
    strcpy(file.head.platform, "a_card");
    file.head.length = sizeof file.head + (n_sections - 1) * sizeof file.head.sections[0];
}

static void add_section(uint32_t kind, const void *bytes, size_t size)
{
    struct xclbin_section *s = file.head.sections; /* as many as there are, declared as one */
    s += file.head.n_sections++;
    s->kind = kind;
    s->offset = (file.head.length + 7) / 8 * 8;
    s->size = size;
    if (s->offset + size > MOST_BYTES)
        abort();
    memcpy(file.bytes + s->offset, bytes, size);
    file.head.length = s->offset + size;
}

/* What each has: two memories, a unit of the kernel, one argument that is connected. */
static void add_tables(const char *kernel, uint32_t memories)
{
    struct {
        int32_t n;
        struct xclbin_memory list[2];
    } all = { 2, { { XCLBIN_DDR4, 1, { 0 }, 1024, 0, "bank0" }, { XCLBIN_HOST, 1, { 0 }, 16, 1 << 20, "host" } } };
    struct xclbin_units units = { 1, { { XCLBIN_KERNEL, 1, 0x1000, "" } } };
    const struct xclbin_connections connections = { 1, { { 0, 0, 0 } } };
    snprintf(units.list[0].name, sizeof units.list[0].name, "%.40s:%.20s", kernel, "one");
    add_section(memories, &all, sizeof all);
    add_section(XCLBIN_UNITS, &units, sizeof units);
    add_section(XCLBIN_CONNECTIVITY, &connections, sizeof connections);
}

static void seed_own(void)
{
    static const char xml[] =
        "<project><kernel name=\"scale\" language=\"c\"><arg name=\"to\" addressQualifier=\"1\" id=\"0\" size=\"0x8\" "
        "offset=\"0x10\" type=\"float*\"/><arg name=\"by\" addressQualifier=\"0\" id=\"1\" size=\"0x4\" "
        "offset=\"0x1C\" type=\"float\"/><arg name=\"n\" addressQualifier=\"0\" id=\"2\" size=\"0x8\" "
        "offset=\"0x24\" type=\"long\"/></kernel></project>";
    for (int groups = 0; groups < 2; groups++) {
        begin_file(4);
        add_section(XCLBIN_METADATA, xml, sizeof xml - 1);
        add_tables("scale", groups ? XCLBIN_GROUPS : XCLBIN_MEMORIES);
        fuzz_give(&file, file.head.length);
    }
}

/* A kernel of the catalogue's, as it is there. */
static void seed_catalogue(void)
{
    const hcy_hls_layout *layout = &hcy__hls_families->kernels[0];
    char text[MOST_BYTES / 2];
    int n = snprintf(text, sizeof text, "<kernel name=\"%s\">", layout->kernel);
    for (size_t i = 0; i < layout->n_args; i++) {
        const hcy_hls_arg *a = &layout->args[i];
        const int address = a->kind == HCY_HLS_ADDRESS || a->kind == HCY_HLS_STRUCT;
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "<arg name=\"%s\" addressQualifier=\"%d\" id=\"%zu\" size=\"0x8\" offset=\"0x%zx\"/>", a->name,
                      address, i, (size_t)HCY_HLS_REGISTER(i));
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "</kernel>");
    begin_file(5);
    add_section(XCLBIN_METADATA, text, (size_t)n);
    add_tables(layout->kernel, XCLBIN_MEMORIES);
    n = snprintf(text, sizeof text, "halcyon-interface %u\n", HCY_HLS_INTERFACE);
    for (const hcy_hls_family *f = hcy__hls_families; f->stem; f++)
        n += snprintf(text + n, sizeof text - (size_t)n, "family %s %u\n", f->stem, f->version);
    add_section(XCLBIN_USER_METADATA, text, (size_t)n);
    fuzz_give(&file, file.head.length);
}

static void seed_xclbin(void)
{
    seed_own();
    seed_catalogue();
}

const struct fuzz_target fuzz_xclbin[] = {
    { "xclbin", run_xclbin, seed_xclbin },
    { NULL, NULL, NULL },
};
