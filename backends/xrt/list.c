/* list.c - which FPGA cards there are: what the driver says in /sys, so that nothing is opened. */
#include "xrt_priv.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "/sys/bus/pci/drivers/xocl"
#define DEVICE "/sys/bus/pci/devices/"

/* The first line of a file. */
static bool read_sys_line(const char *path, char *line, size_t size)
{
    FILE *f = fopen(path, "r");
    bool read = f && fgets(line, (int)size, f);
    if (f)
        fclose(f);
    if (read)
        line[strcspn(line, "\n")] = 0;
    return read;
}

/* The platform's name, which is in a folder "rom.u" of some number. */
static bool read_platform(struct xrt_found *f)
{
    char path[400];
    bool read = false;
    snprintf(path, sizeof path, DEVICE "%s", f->bdf);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && !read && (e = readdir(dir));)
        /* The number behind "rom" is not known beforehand, so the folder is looked for. */
        if (!strncmp(e->d_name, "rom", 3)) {
            snprintf(path, sizeof path, DEVICE "%s/%s/VBNV", f->bdf, e->d_name);
            read = read_sys_line(path, f->platform, sizeof f->platform);
        }
    if (dir)
        closedir(dir);
    return read;
}

static bool is_card_ready(const char *bdf)
{
    char path[100], line[20];
    snprintf(path, sizeof path, DEVICE "%s/ready", bdf);
    return read_sys_line(path, line, sizeof line) && strtoul(line, NULL, 0) == 1;
}

static int by_bdf(const void *a, const void *b)
{
    return strcmp(((const struct xrt_found *)a)->bdf, ((const struct xrt_found *)b)->bdf);
}

size_t xrt_find(struct xrt_found found[XRT_MOST_CARDS])
{
    size_t n = 0;
    DIR *dir = opendir(DRIVER);
    for (struct dirent *e; dir && n < XRT_MOST_CARDS && (e = readdir(dir));) {
        struct xrt_found *f = &found[n];
        /* The folder has other entries too; only PCI addresses are cards. */
        unsigned numbers[4];
        if (strlen(e->d_name) >= sizeof f->bdf ||
            sscanf(e->d_name, "%x:%x:%x.%u", &numbers[0], &numbers[1], &numbers[2], &numbers[3]) != 4)
            continue;
        memcpy(f->bdf, e->d_name, strlen(e->d_name) + 1);
        f->ready = is_card_ready(f->bdf);
        n += read_platform(f);
    }
    if (dir)
        closedir(dir);
    /* Folders have no order, and numbers shall mean the same cards at each start. */
    qsort(found, n, sizeof found[0], by_bdf);
    return n;
}

void xrt_describe(hcy_device_info *info, const struct xrt_found *f, size_t number)
{
    bool is_virtual = !strncmp(f->platform, "halcyon_virtual_", 16);
    *info = (hcy_device_info){ .backend = "xrt", .kind = HCY_KIND_FPGA, .units = 1 };
    info->caps = HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST | HCY_CAP_PROGRAMS | (is_virtual ? HCY_CAP_VIRTUAL : 0);
    snprintf(info->name, sizeof info->name, "xrt:%zu", number);
    snprintf(info->stable, sizeof info->stable, "xrt:%s", f->bdf);
    snprintf(info->description, sizeof info->description, "%.60s%s", f->platform,
             is_virtual ? " (virtual: functional only, its speed means nothing)" : "");
}

int xrt_list(hcy_device_info **infos, size_t *n)
{
    struct xrt_found found[XRT_MOST_CARDS];
    size_t all = xrt_find(found);
    *infos = calloc(all + 1, sizeof **infos);
    if (!*infos)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    *n = 0;
    for (size_t i = 0; i < all; i++)
        if (found[i].ready)
            xrt_describe(&(*infos)[(*n)++], &found[i], i);
    return 0;
}
