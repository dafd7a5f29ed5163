/* xclbin.c - FPGA programs: reading, proving, holding against the catalogue, what their kernels take, searching. */
#include "xclbin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES    ((uint64_t)1 << 31)
#define MOST_SECTIONS 256u

/* --- Reading --- */

static int read_xclbin_file(char **data, size_t *size, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe is not waited for, and has no length */
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    /* The size decides the allocation, so it is held against a limit first. */
    long n = -1;
    if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0)
        rewind(f);
    *data = n > 0 && (uint64_t)n < MOST_BYTES ? malloc((size_t)n + 8) : NULL;
    size_t got = *data ? fread(*data, 1, (size_t)n, f) : 0;
    if (f)
        fclose(f);
    *size = got;
    if (*data && got == (size_t)n)
        return 0;
    free(*data);
    *data = NULL;
    return hcy_fail(f ? HCY_EIO : HCY_ENOENT, "xclbin %s cannot be read", path);
}

static int refuse_xclbin(const char *path, const char *why)
{
    return hcy_fail(HCY_EFORMAT, "%s is not a usable xclbin: %s", path, why);
}

static const struct xclbin_section *find_section(const struct xclbin_head *h, uint32_t kind)
{
    for (uint32_t i = 0; i < h->n_sections; i++)
        if (h->sections[i].kind == kind)
            return &h->sections[i];
    return NULL;
}

/* Finds a table whose entries all lie in its section, else NULL. */
static const void *find_table(const struct xclbin_head *h, uint32_t kind, size_t first, size_t entry)
{
    const struct xclbin_section *s = find_section(h, kind);
    int32_t n = 0;
    if (!s || s->size < first || s->offset % 8)
        return NULL;
    memcpy(&n, (const char *)h + s->offset, sizeof n);
    return n >= 0 && (s->size - first) / entry >= (size_t)n ? (const char *)h + s->offset : NULL;
}

static const struct xclbin_memories *find_memories(const struct xclbin_head *h, uint32_t kind)
{
    return find_table(h, kind, offsetof(struct xclbin_memories, list), sizeof(struct xclbin_memory));
}

static const struct xclbin_connections *find_connections(const struct xclbin_head *h, uint32_t kind)
{
    return find_table(h, kind, offsetof(struct xclbin_connections, list), sizeof(struct xclbin_connection));
}

static int check_head(const struct xclbin_head *h, size_t size, const char *path)
{
    if (size < sizeof *h || memcmp(h->magic, XCLBIN_MAGIC, sizeof h->magic))
        return refuse_xclbin(path, "it does not begin as one");
    if (h->length != size)
        return refuse_xclbin(path, "it is cut short, or longer than it says");
    if (!h->n_sections || h->n_sections > MOST_SECTIONS ||
        size - sizeof *h < (h->n_sections - 1) * sizeof h->sections[0])
        return refuse_xclbin(path, "its table of sections is damaged");
    /* Lengths come from the file: they are compared by subtraction, which cannot overflow here. */
    for (uint32_t i = 0; i < h->n_sections; i++)
        if (h->sections[i].offset > size || h->sections[i].size > size - h->sections[i].offset)
            return refuse_xclbin(path, "a section lies outside of it");
    return memchr(h->platform, 0, sizeof h->platform) ? 0 : refuse_xclbin(path, "its platform has no end");
}

/* Each from a unit to one of the memories; a table that is not there has none. */
static bool are_connections_whole(const struct xclbin *x, uint32_t kind, uint32_t memories)
{
    const struct xclbin_connections *c = find_connections(x->head, kind);
    const struct xclbin_memories *to = find_memories(x->head, memories);
    to = to ? to : x->memories;
    for (int32_t i = 0; c && i < c->n; i++)
        if (c->list[i].unit < 0 || c->list[i].unit >= x->units->n || c->list[i].memory < 0 ||
            c->list[i].memory >= to->n || c->list[i].argument < 0)
            return false;
    return true;
}

static int check_tables(struct xclbin *x, const char *path)
{
    const struct xclbin_head *h = x->head;
    x->memories = find_memories(h, XCLBIN_GROUPS);
    /* Not every program has groups; in one without them units are connected to the memories themselves. */
    if (!x->memories)
        x->memories = find_memories(h, XCLBIN_MEMORIES);
    x->units = find_table(h, XCLBIN_UNITS, offsetof(struct xclbin_units, list), sizeof(struct xclbin_unit));
    const struct xclbin_section *xml = find_section(h, XCLBIN_METADATA);
    if (!x->memories || !x->units || !find_connections(h, XCLBIN_CONNECTIVITY) || !xml)
        return refuse_xclbin(path, "a table of memories, units or connections, or the metadata, is missing or damaged");
    /* Names are printed and compared later without looking at their room. */
    for (int32_t i = 0; i < x->units->n; i++)
        if (!memchr(x->units->list[i].name, 0, sizeof x->units->list[i].name))
            return refuse_xclbin(path, "a compute unit's name has no end");
    if (!are_connections_whole(x, XCLBIN_CONNECTIVITY, XCLBIN_MEMORIES) ||
        !are_connections_whole(x, XCLBIN_GROUP_CONNECTIVITY, XCLBIN_GROUPS))
        return refuse_xclbin(path, "a connection leads nowhere");
    x->xml = (const char *)h + xml->offset;
    x->xml_size = xml->size;
    return 0;
}

/* Takes over the bytes, whose words name `path`. */
static int prove_xclbin(struct xclbin *x, char *data, size_t size, const char *path)
{
    x->head = (struct xclbin_head *)(void *)data;
    int status = check_head(x->head, size, path);
    if (!status)
        status = check_tables(x, path);
    if (status)
        xclbin_free(x);
    return status;
}

int xclbin_read(struct xclbin *x, const char *path)
{
    char *data;
    size_t size;
    memset(x, 0, sizeof *x);
    int status = read_xclbin_file(&data, &size, path);
    return status ? status : prove_xclbin(x, data, size, path);
}

int xclbin_copy(struct xclbin *x, const void *bytes, size_t size)
{
    char *data = malloc(size + 8); /* as those of a file: the head is looked at before its size is */
    memset(x, 0, sizeof *x);
    if (!data)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program of %zu bytes", size);
    memcpy(data, bytes, size);
    return prove_xclbin(x, data, size, "the program");
}

void xclbin_free(struct xclbin *x)
{
    free(x->head);
    x->head = NULL;
}

/* --- The metadata --- */

/* A piece of text; its end is not a zero. */
struct text {
    const char *at, *end;
};

/* Moves behind `word`; false if it is not there. */
static bool skip_to(struct text *t, const char *word)
{
    size_t n = strlen(word);
    for (; (size_t)(t->end - t->at) >= n; t->at++)
        if (!memcmp(t->at, word, n)) {
            t->at += n;
            return true;
        }
    return false;
}

/* The value of an attribute of the element that `t` is in, into `value`. */
static bool read_xml_attribute(struct text t, const char *name, char *value, size_t size)
{
    char key[40];
    struct text end = t;
    if (skip_to(&end, ">"))
        t.end = end.at;
    snprintf(key, sizeof key, " %s=\"", name);
    if (!skip_to(&t, key))
        return false;
    size_t n = 0;
    while (t.at + n < t.end && t.at[n] != '"' && n + 1 < size)
        n++;
    memcpy(value, t.at, n);
    value[n] = 0;
    return t.at + n < t.end && t.at[n] == '"';
}

/* The element of a kernel, up to its end. */
static bool find_kernel_element(const struct xclbin *x, const char *name, struct text *kernel)
{
    char value[80];
    *kernel = (struct text){ x->xml, x->xml + x->xml_size };
    /* A whole parser of XML would read no more than this needs; the tools write one form. */
    while (skip_to(kernel, "<kernel"))
        if (read_xml_attribute(*kernel, "name", value, sizeof value) && !strcmp(value, name)) {
            struct text end = *kernel;
            if (!skip_to(&end, "</kernel>"))
                return false;
            kernel->end = end.at;
            return true;
        }
    return false;
}

/* Argument i: its name, its registers, whether it is an address. */
static bool argument_is(struct text arg, const hcy_hls_arg *want, size_t i)
{
    char name[80], id[20], offset[20], qualifier[20];
    bool address = want->kind == HCY_HLS_ADDRESS || want->kind == HCY_HLS_STRUCT;
    return read_xml_attribute(arg, "name", name, sizeof name) && read_xml_attribute(arg, "id", id, sizeof id) &&
           read_xml_attribute(arg, "offset", offset, sizeof offset) &&
           read_xml_attribute(arg, "addressQualifier", qualifier, sizeof qualifier) && !strcmp(name, want->name) &&
           strtoul(id, NULL, 0) == i && strtoul(offset, NULL, 0) == HCY_HLS_REGISTER(i) &&
           (strtoul(qualifier, NULL, 0) == 1) == address;
}

static int check_layout(const struct xclbin *x, const hcy_hls_layout *layout, const char *path)
{
    struct text kernel;
    size_t n = 0;
    if (!find_kernel_element(x, layout->kernel, &kernel))
        return 0; /* not in this one */
    /* Registers are written by number, so a kernel with other arguments would take a size for an address. */
    while (skip_to(&kernel, "<arg")) {
        if (n >= layout->n_args || !argument_is(kernel, &layout->args[n], n))
            return hcy_fail(HCY_EABI, "%s: kernel %s: argument %zu is not that of this library (%s)", path,
                            layout->kernel, n, n < layout->n_args ? layout->args[n].name : "there are fewer");
        n++;
    }
    return n == layout->n_args ? 0
                               : hcy_fail(HCY_EABI, "%s: kernel %s has %zu arguments, this library's has %zu",
                                          path, layout->kernel, n, layout->n_args);
}

/* "\nKEY NUMBER\n" in the builder's text. */
static bool metadata_says(struct text t, const char *key, uint32_t number)
{
    char line[80];
    snprintf(line, sizeof line, "%s %u\n", key, number);
    return skip_to(&t, line);
}

bool xclbin_is_catalogue(const struct xclbin *x)
{
    struct text kernel;
    for (const hcy_hls_family *f = hcy__hls_families; f->stem; f++)
        for (size_t i = 0; i < f->n_kernels; i++)
            if (find_kernel_element(x, f->kernels[i].kernel, &kernel))
                return true;
    return false;
}

int xclbin_check(const struct xclbin *x, const char *path)
{
    if (!xclbin_is_catalogue(x))
        return 0; /* nothing here launches its kernels by the catalogue's arguments */
    const struct xclbin_section *s = find_section(x->head, XCLBIN_USER_METADATA);
    /* The builder has noted what it was built from; the layouts are compared beside that. */
    const char *at = s ? (const char *)x->head + s->offset : "";
    struct text t = { at, at + (s ? s->size : 0) };
    if (!metadata_says(t, "halcyon-interface", HCY_HLS_INTERFACE))
        return hcy_fail(HCY_EABI, "%s was not built for interface %u of the FPGA kernels", path,
                        HCY_HLS_INTERFACE);
    for (const hcy_hls_family *f = hcy__hls_families; f->stem; f++) {
        char key[60];
        snprintf(key, sizeof key, "family %s", f->stem);
        bool same = metadata_says(t, key, f->version);
        for (size_t i = 0; i < f->n_kernels; i++) {
            struct text kernel;
            if (!same && find_kernel_element(x, f->kernels[i].kernel, &kernel))
                return hcy_fail(HCY_EABI, "%s was not built for version %u of %s", path, f->version, f->stem);
            int status = check_layout(x, &f->kernels[i], path);
            if (status)
                return status;
        }
    }
    return 0;
}

size_t xclbin_instances(const struct xclbin *x, const char *kernel, char names[][80], size_t room)
{
    size_t n = strlen(kernel), found = 0;
    for (int32_t i = 0; i < x->units->n && found < room; i++) {
        const struct xclbin_unit *u = &x->units->list[i];
        if (u->type == XCLBIN_KERNEL && !strncmp(u->name, kernel, n) && u->name[n] == ':')
            snprintf(names[found++], 80, "%s:{%.60s}", kernel, u->name + n + 1);
    }
    return found;
}

bool xclbin_connects(const struct xclbin *x, const char *kernel, size_t n_args)
{
    static const uint32_t kinds[] = { XCLBIN_CONNECTIVITY, XCLBIN_GROUP_CONNECTIVITY };
    const size_t n = strlen(kernel);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const struct xclbin_connections *c = find_connections(x->head, kinds[k]);
        for (int32_t i = 0; c && i < c->n; i++) {
            const char *name = x->units->list[c->list[i].unit].name;
            if ((size_t)c->list[i].argument >= n_args && !strncmp(name, kernel, n) && name[n] == ':')
                return false;
        }
    }
    return true;
}

bool xclbin_has(const struct xclbin *x, const char *kernel)
{
    char names[1][80];
    struct text found;
    return xclbin_instances(x, kernel, names, 1) && find_kernel_element(x, kernel, &found);
}

/* Whether the element is an argument that a launch has, and which one; streams to other kernels are connected for good,
 * but have a number as well. */
static int read_argument(struct xclbin_argument *a, struct text arg, size_t i, const char *kernel)
{
    char id[20], qualifier[20], size[20], type[40] = "";
    if (!read_xml_attribute(arg, "name", a->name, sizeof a->name) || !read_xml_attribute(arg, "id", id, sizeof id) ||
        !read_xml_attribute(arg, "addressQualifier", qualifier, sizeof qualifier) ||
        !read_xml_attribute(arg, "size", size, sizeof size) || strtoul(id, NULL, 0) != i)
        return hcy_fail(HCY_EFORMAT, "the program's metadata do not say what argument %zu of kernel %s is", i, kernel);
    read_xml_attribute(arg, "type", type, sizeof type);
    const unsigned long kind = strtoul(qualifier, NULL, 0);
    a->is_buffer = kind == 1 || kind == 2; /* OpenCL's: global, constant */
    a->is_real = !strcmp(type, "float") || !strcmp(type, "double");
    a->size = (uint32_t)strtoul(size, NULL, 0);
    if (kind > 2)
        return hcy_fail(HCY_EUNSUPPORTED, "kernel %s: argument %zu (%s) is a stream, not a buffer or a number", kernel, i,
                        a->name);
    if (!a->is_buffer && (!a->size || a->size > 8))
        return hcy_fail(HCY_EUNSUPPORTED, "kernel %s: argument %zu (%s) has %u bytes; numbers have up to 8, and larger"
                                          " structures come in a buffer", kernel, i, a->name, a->size);
    return 0;
}

int xclbin_arguments(struct xclbin_argument *arguments, size_t *n, size_t room, const struct xclbin *x,
                     const char *kernel)
{
    struct text element;
    int status = 0;
    *n = 0;
    if (!xclbin_has(x, kernel) || !find_kernel_element(x, kernel, &element))
        return hcy_fail(HCY_ENOENT, "the program has no kernel \"%s\"", kernel);
    while (!status && skip_to(&element, "<arg")) {
        if (*n == room)
            return hcy_fail(HCY_ERANGE, "kernel %s has more than %zu arguments", kernel, room);
        status = read_argument(&arguments[*n], element, *n, kernel);
        ++*n;
    }
    return status;
}

/* Without groups of memories, which are behind them in their table. */
uint64_t xclbin_memory(const struct xclbin *x)
{
    uint64_t bytes = 0;
    const struct xclbin_memories *all = find_memories(x->head, XCLBIN_MEMORIES);
    all = all ? all : x->memories;
    for (int32_t i = 0; i < all->n; i++)
        if (all->list[i].used && all->list[i].type != XCLBIN_HOST)
            bytes += all->list[i].kib * 1024;
    return bytes;
}

/* --- Searching --- */

static bool fits_platform(const char *path, const char *platform)
{
    struct xclbin x;
    bool good = !xclbin_read(&x, path) && !strcmp(x.head->platform, platform) && xclbin_is_catalogue(&x) &&
                !xclbin_check(&x, path);
    xclbin_free(&x);
    return good;
}

/* Finds the first file of a folder, by name, that suits the platform. */
static bool search_folder(const char *folder, const char *platform, char *path, size_t size)
{
    char one[700];
    bool found = false;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        /* All candidates are read, so the first by name is found whatever order the folder has. */
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".xclbin") ||
            snprintf(one, sizeof one, "%s/%s", folder, e->d_name) >= (int)sizeof one)
            continue;
        if ((!found || strcmp(one, path) < 0) && strlen(one) < size && fits_platform(one, platform)) {
            memcpy(path, one, strlen(one) + 1);
            found = true;
        }
    }
    if (dir)
        closedir(dir);
    return found;
}

int xclbin_search(const char *platform, char *path, size_t size)
{
    const char *list = getenv("HALCYON_XCLBIN_PATH");
    char folder[500];
    for (const char *p = list ? list : HCY_PLUGINDIR; *p; p += *p == ':') {
        size_t n = strcspn(p, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)n, p);
        if (n && search_folder(folder, platform, path, size))
            return 0;
        p += n;
    }
    return hcy_fail(HCY_ENOENT,
                    "no program for FPGA cards \"%s\" is in %s; say which with @xclbin=FILE, or where with "
                    "HALCYON_XCLBIN_PATH",
                    platform, list ? list : HCY_PLUGINDIR);
}
