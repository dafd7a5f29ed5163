/* mkxclbin.c - writes the xclbin of the virtual board:
 *     mkxclbin [-p PLATFORM] [-u UNITS] [-l LINK.cfg] KERNELS.so OUT.xclbin
 *
 * KERNELS.so, the FPGA kernels as the host's compiler made them, goes into the bitstream's section as it is; its table
 * hcy_hls_kernels says which kernels there are.  Their arguments come from the catalogue (kernels_hls/args.h), or from
 * the library's own table hcy_hls_arguments: lines "KERNEL NAME TYPE", a NULL at the end.  Each kernel gets UNITS compute
 * units (2).  LINK.cfg, as v++ takes it (kernels_hls/link.cfg), says which memory each argument is connected to.  The
 * same input gives the same file, its uuid included.
 *
 * mkxclbin -v prints the text for the section USER_METADATA, which a real xclbin is given by xclbinutil.
 */
#define _GNU_SOURCE
#include "../../backends/xrt/xclbin_format.h"
#include "../../kernels_hls/args.h"
#include "platforms.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNIT_BASE  0x1400000u
#define UNIT_RANGE 0x10000u

struct section {
    uint32_t kind;
    const char *name;
    char *data;
    size_t size;
};

#define MOST_ARGS    64
#define MOST_KERNELS 16

struct argument {
    char name[40], type[20]; /* "float*", "ulong" */
    unsigned offset;
};

struct kernel {
    const char *name;
    struct argument args[MOST_ARGS];
    unsigned n_args;
};

struct design {
    const struct platform *platform;
    struct kernel kernels[MOST_KERNELS]; /* up to one without a name */
    int catalogue;                       /* kernels of it are there */
    int units;        /* of each kernel */
    char *link; /* the text of its file; NULL: none */
};

static void die(const char *what, const char *which)
{
    fprintf(stderr, "mkxclbin: %s%s%s\n", what, which ? ": " : "", which ? which : "");
    exit(1);
}

static FILE *begin(struct section *s, uint32_t kind, const char *name)
{
    s->kind = kind;
    s->name = name;
    FILE *f = open_memstream(&s->data, &s->size);
    if (!f)
        die("out of memory", NULL);
    return f;
}

static void put(FILE *f, const void *data, size_t size)
{
    if (fwrite(data, 1, size, f) != size)
        die("cannot write", NULL);
}

/* --- Kernels --- */

static int is_address(const struct argument *arg)
{
    return strchr(arg->type, '*') != NULL;
}

static unsigned bytes_of(const struct argument *arg)
{
    return is_address(arg) || !strcmp(arg->type, "ulong") || !strcmp(arg->type, "double") ? 8 : 4;
}

/* Registers follow each other as Vitis HLS places them: a word in reserve behind each. */
static void add_argument(struct kernel *k, const char *name, const char *type)
{
    const struct argument *before = k->n_args ? &k->args[k->n_args - 1] : NULL;
    if (k->n_args == MOST_ARGS)
        die("too many arguments", k->name);
    struct argument *a = &k->args[k->n_args++];
    snprintf(a->name, sizeof a->name, "%s", name);
    snprintf(a->type, sizeof a->type, "%s", type);
    a->offset = before ? before->offset + bytes_of(before) + 4 : HCY_HLS_REGISTER(0);
}

static void add_kernel(struct design *d, const char *name, const char *const *own)
{
    size_t at = 0;
    while (at < MOST_KERNELS - 1 && d->kernels[at].name)
        at++;
    struct kernel *k = &d->kernels[at];
    if (at == MOST_KERNELS - 1)
        die("too many kernels", name);
    k->name = name;
    const hcy_hls_layout *layout = hcy__hls_layout(name);
    d->catalogue |= layout != NULL;
    for (size_t i = 0; layout && i < layout->n_args; i++) {
        const int kind = layout->args[i].kind;
        add_argument(k, layout->args[i].name, kind == HCY_HLS_ADDRESS || kind == HCY_HLS_STRUCT ? "void*" : "ulong");
    }
    for (; !layout && own && *own; own++) {
        char kernel[40], argument[40], type[20];
        if (sscanf(*own, "%39s %39s %19s", kernel, argument, type) == 3 && !strcmp(kernel, name))
            add_argument(k, argument, type);
    }
    if (!k->n_args)
        die("neither a family nor the library's own table has this kernel", name);
}

/* --- Sections --- */

static void versions(FILE *f)
{
    fprintf(f, "halcyon-interface %u\n", HCY_HLS_INTERFACE);
    for (const hcy_hls_family *family = hcy__hls_families; family->stem; family++)
        fprintf(f, "family %s %u\n", family->stem, family->version);
}

static void kernel_xml(FILE *f, const struct design *d, const struct kernel *k, int first_unit)
{
    fprintf(f, "<kernel name=\"%s\" language=\"c\" hwControlProtocol=\"ap_ctrl_hs\" interrupt=\"true\">\n",
            k->name);
    fputs("<port name=\"M_AXI_GMEM\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"512\""
          " portType=\"addressable\" base=\"0x0\"/>\n"
          "<port name=\"S_AXI_CONTROL\" mode=\"slave\" range=\"0x10000\" dataWidth=\"32\""
          " portType=\"addressable\" base=\"0x0\"/>\n",
          f);
    for (unsigned i = 0; i < k->n_args; i++) {
        const struct argument *a = &k->args[i];
        fprintf(f,
                "<arg name=\"%s\" addressQualifier=\"%d\" id=\"%u\" port=\"%s\" size=\"0x%x\" offset=\"0x%x\""
                " hostOffset=\"0x0\" hostSize=\"0x%x\" type=\"%s\"/>\n",
                a->name, is_address(a), i, is_address(a) ? "M_AXI_GMEM" : "S_AXI_CONTROL", bytes_of(a), a->offset,
                bytes_of(a), a->type);
    }
    for (int u = 0; u < d->units; u++)
        fprintf(f,
                "<instance name=\"%s_%d\"><addrRemap base=\"0x%x\" range=\"0x%x\" "
                "port=\"S_AXI_CONTROL\"/></instance>\n",
                k->name, u + 1, UNIT_BASE + UNIT_RANGE * (unsigned)(first_unit + u), UNIT_RANGE);
    fputs("</kernel>\n", f);
}

static void metadata(FILE *f, const struct design *d)
{
    int unit = 0;
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<project name=\"halcyon\">"
            "<platform vendor=\"halcyon\" boardid=\"virtual\" name=\"%s\" featureRomTime=\"0\">"
            "<version major=\"1\" minor=\"0\"/><device name=\"fpga0\" fpgaDevice=\"none\">"
            "<core name=\"OCL_REGION_0\" target=\"hw\" type=\"clc_region\" clockFreq=\"0MHz\" "
            "numComputeUnits=\"60\">\n"
            "<kernelClocks><clock port=\"KERNEL_CLK\" frequency=\"300MHz\"/></kernelClocks>\n",
            d->platform->vbnv);
    for (const struct kernel *k = d->kernels; k->name; k++, unit += d->units)
        kernel_xml(f, d, k, unit);
    fputs("</core></device></platform></project>\n", f);
}

static void memories(FILE *f, const struct design *d)
{
    const struct platform *p = d->platform;
    const int32_t n = p->n_banks + p->host;
    put(f, &n, sizeof n);
    put(f, "\0\0\0", 4);
    for (int i = 0; i < p->n_banks; i++) {
        struct xclbin_memory m = { .type = p->type, .used = 1, .kib = p->bank_kib, .base = BANK_BASE(p, i) };
        snprintf(m.tag, sizeof m.tag, "%s[%d]", p->tag, i);
        put(f, &m, sizeof m);
    }
    struct xclbin_memory host = { .type = XCLBIN_HOST, .used = 1, .kib = p->bank_kib, .tag = "HOST[0]" };
    host.base = BANK_BASE(p, p->n_banks);
    if (p->host)
        put(f, &host, sizeof host);
}

static int count_units(const struct design *d)
{
    int n = 0;
    for (const struct kernel *k = d->kernels; k->name; k++)
        n += d->units;
    return n;
}

static void units(FILE *f, const struct design *d)
{
    int32_t n = count_units(d), unit = 0;
    put(f, &n, sizeof n);
    put(f, "\0\0\0", 4);
    for (const struct kernel *k = d->kernels; k->name; k++)
        for (int i = 0; i < d->units; i++, unit++) {
            struct xclbin_unit u = { .type = XCLBIN_KERNEL,
                                     .properties = 1u | (uint32_t)unit << 1,
                                     .base = UNIT_BASE + UNIT_RANGE * (unsigned)unit };
            snprintf(u.name, sizeof u.name, "%.24s:%.24s_%d", k->name, k->name, i + 1);
            put(f, &u, sizeof u);
        }
}

/* The memory that a line "sp=KERNEL_UNIT.ARGUMENT:TAG[MEMORY]" of the link file names; else the platform's rule.  Where
 * there is memory of the host's, second units have their reports in it. */
static int32_t memory_of(const struct design *d, const char *kernel, int unit, const char *arg)
{
    char line[120];
    const char *at;
    int32_t number;
    snprintf(line, sizeof line, "\nsp=%.40s_%d.%.30s:%s[", kernel, unit + 1, arg, d->platform->tag);
    if (d->platform->host && unit == 1 && !strcmp(arg, "reports"))
        return d->platform->n_banks;
    if (d->link && (at = strstr(d->link, line)) && sscanf(at + strlen(line), "%d", &number) == 1)
        return number;
    return unit % d->platform->n_banks;
}

static void connections(FILE *f, const struct design *d)
{
    int32_t n = 0, unit = 0;
    for (const struct kernel *k = d->kernels; k->name; k++)
        for (size_t i = 0; i < k->n_args; i++)
            n += is_address(&k->args[i]) * d->units;
    put(f, &n, sizeof n);
    for (const struct kernel *k = d->kernels; k->name; k++)
        for (int u = 0; u < d->units; u++, unit++)
            for (size_t i = 0; i < k->n_args; i++) {
                const struct argument *arg = &k->args[i];
                struct xclbin_connection c = { (int32_t)i, unit, memory_of(d, k->name, u, arg->name) };
                if (is_address(arg))
                    put(f, &c, sizeof c);
            }
}

static void bitstream(FILE *f, const char *path)
{
    char piece[65536];
    size_t n;
    FILE *in = fopen(path, "rb");
    if (!in)
        die("cannot open", path);
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        put(f, piece, n);
    fclose(in);
}

/* --- The file --- */

static void hash_in(uint64_t h[2], const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        h[0] = (h[0] ^ (unsigned char)data[i]) * 1099511628211u;
        h[1] = (h[1] ^ (unsigned char)data[i]) * 6364136223846793005u + 1442695040888963407u;
    }
}

static void write_file(const char *path, const struct design *d, const struct section *sections, size_t n)
{
    size_t head_size = sizeof(struct xclbin_head) + (n - 1) * sizeof(struct xclbin_section), at = head_size;
    struct xclbin_head *h = calloc(1, head_size);
    uint64_t hash[2] = { 14695981039346656037u, 88172645463325252u };
    FILE *f = fopen(path, "wb");
    if (!f || !h)
        die("cannot write", path);
    memcpy(h->magic, XCLBIN_MAGIC, sizeof h->magic);
    memset(h->reserved, 0xff, sizeof h->reserved);
    memset(h->key_block, 0xff, sizeof h->key_block);
    h->signature_length = -1;
    h->version_major = 2;
    h->version_minor = 13;
    snprintf(h->platform, sizeof h->platform, "%s", d->platform->vbnv);
    h->n_sections = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct xclbin_section *s = &h->sections[i];
        at = (at + 7) / 8 * 8;
        s->kind = sections[i].kind;
        snprintf(s->name, sizeof s->name, "%s", sections[i].name);
        s->offset = at;
        s->size = sections[i].size;
        at += sections[i].size;
        hash_in(hash, sections[i].data, sections[i].size);
    }
    h->length = at;
    memcpy(h->uuid, hash, sizeof h->uuid);
    h->unique_id = hash[0];
    put(f, h, head_size);
    for (size_t i = 0; i < n; i++) {
        for (long p = ftell(f); p < (long)h->sections[i].offset; p++)
            fputc(0, f);
        put(f, sections[i].data, sections[i].size);
    }
    if (fclose(f))
        die("cannot write", path);
    free(h);
}

static void write_xclbin(const struct design *d, const char *library, const char *path)
{
    struct section s[6];
    size_t n = 0;
    const struct {
        uint32_t kind;
        const char *name;
        void (*make)(FILE *f, const struct design *d);
    } parts[] = {
        { XCLBIN_METADATA, "xml", metadata },
        { XCLBIN_MEMORIES, "memories", memories },
        { XCLBIN_UNITS, "units", units },
        { XCLBIN_CONNECTIVITY, "connections", connections },
    };
    for (; n < sizeof parts / sizeof parts[0]; n++) {
        FILE *f = begin(&s[n], parts[n].kind, parts[n].name);
        parts[n].make(f, d);
        fclose(f);
    }
    FILE *f;
    if (d->catalogue) {
        f = begin(&s[n++], XCLBIN_USER_METADATA, "halcyon");
        versions(f);
        fclose(f);
    }
    f = begin(&s[n++], XCLBIN_BITSTREAM, "bitstream");
    bitstream(f, library);
    fclose(f);
    write_file(path, d, s, n);
    for (size_t i = 0; i < n; i++)
        free(s[i].data);
}

static char *read_text(const char *path)
{
    char *text = calloc(1, 65536);
    FILE *f = fopen(path, "r");
    if (!text || !f || !fread(text, 1, 65535, f))
        die("cannot read", path);
    fclose(f);
    return text;
}

static void usage(void)
{
    die("usage: mkxclbin [-p PLATFORM] [-u UNITS] [-l LINK.cfg] KERNELS.so OUT.xclbin, or mkxclbin -v", NULL);
}

int main(int argc, char **argv)
{
    static struct design d = { .platform = &platforms[0], .units = 2 };
    for (int o; (o = getopt(argc, argv, "l:p:u:v")) != -1;)
        switch (o) {
        case 'l':
            free(d.link);
            d.link = read_text(optarg);
            break;
        case 'p':
            d.platform = platform_of(optarg);
            if (!d.platform)
                die("no such platform", optarg);
            break;
        case 'u':
            d.units = atoi(optarg);
            if (d.units < 1 || d.units > 16)
                die("1 to 16 units are possible, not", optarg);
            break;
        case 'v':
            versions(stdout);
            return 0;
        default:
            usage();
        }
    if (argc - optind != 2)
        usage();
    void *library = dlopen(argv[optind], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        die("the kernels cannot be loaded", dlerror());
    const hcy_hls_kernel *kernels = dlsym(library, "hcy_hls_kernels");
    if (!kernels)
        die("this library has no table hcy_hls_kernels", argv[optind]);
    for (; kernels->name; kernels++)
        add_kernel(&d, kernels->name, dlsym(library, "hcy_hls_arguments"));
    write_xclbin(&d, argv[optind], argv[optind + 1]);
    free(d.link);
    return 0;
}
