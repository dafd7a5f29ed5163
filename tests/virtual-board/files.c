/* files.c - the settings, and the tree of files in which the cards appear as they do in /sys and /dev.
 *
 * The tree is made when a path in it is first asked for, below HALCYON_BOARD_DIR, which `halcyon-virtual-board` makes
 * and removes.  A forked child makes its own.
 */
#define _GNU_SOURCE
#include "board.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRIVERS "/sys/bus/pci/drivers/"
#define DEVICES "/sys/bus/pci/devices/"
#define NODES   "/dev/dri/renderD"

struct settings board_settings = { .boards = 2, .platform = &platforms[0] };

static pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;
static char tree[200]; /* "" while there is none */

/* --- Settings --- */

static void set(const char *key, const char *value)
{
    const struct {
        const char *key;
        long *value;
    } numbers[] = {
        { "boards", &board_settings.boards },         { "latency-us", &board_settings.latency_us },
        { "fail-alloc", &board_settings.fail_alloc }, { "fault-run", &board_settings.fault_run },
        { "hang-run", &board_settings.hang_run },     { "lose-run", &board_settings.lose_run },
        { "count", &board_settings.count },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(key, numbers[i].key))
            *numbers[i].value = strtol(value, NULL, 10);
    if (!strcmp(key, "platform") && platform_of(value))
        board_settings.platform = platform_of(value);
}

static void read_settings(void)
{
    char text[400], *word, *rest = text;
    const char *all = getenv("HALCYON_BOARD");
    snprintf(text, sizeof text, "%s", all ? all : "");
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        if (value) {
            *value = 0;
            set(word, value + 1);
        }
    }
    if (board_settings.boards < 0 || board_settings.boards > BOARD_MAX)
        board_settings.boards = BOARD_MAX;
}

/* --- The tree --- */

static void make_parents(char *path)
{
    for (char *s = path + 1; *s; s++)
        if (*s == '/') {
            *s = 0;
            mkdir(path, 0700);
            *s = '/';
        }
}

/* A file of a card's, with these bytes; a name that ends in "/" is a directory. */
static void put_bytes(const struct card *card, const char *name, const void *data, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s" DEVICES "%s/%s", tree, card->bdf, name);
    make_parents(path);
    FILE *f = name[strlen(name) - 1] == '/' ? NULL : real_fopen(path, "w");
    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
    }
}

static void put(const struct card *card, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(const struct card *card, const char *name, const char *format, ...)
{
    char text[16384];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    put_bytes(card, name, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void put_elsewhere(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put_elsewhere(const char *format, ...)
{
    char path[600];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", tree);
    va_list ap;
    va_start(ap, format);
    vsnprintf(path + n, sizeof path - n, format, ap);
    va_end(ap);
    make_parents(path);
    int fd = path[strlen(path) - 1] == '/' ? -1 : creat(path, 0600);
    if (fd >= 0)
        real_close(fd);
}

/* What the shim reads of a card before it opens it. */
static void put_card(const struct card *card)
{
    static const struct {
        const char *name, *text;
    } nodes[] = {
        { "vendor", "0x10ee\n" },
        { "device", "0x5001\n" },
        { "subsystem_vendor", "0x10ee\n" },
        { "subsystem_device", "0x000e\n" },
        { "ready", "1\n" },
        { "userbar", "0\n" },
        { "resource", "0x0 0xffffff 0x0\n" },
        { "nodma", "0\n" },
        { "dev_offline", "0\n" },
        { "mig_calibration", "1\n" },
        { "kds_numcdmas", "0\n" },
        { "link_width", "8\n" },
        { "link_width_max", "8\n" },
        { "link_speed", "3\n" },
        { "link_speed_max", "3\n" },
        { "kds_custat_raw", "" },
        { "kds_scustat_raw", "" },
        { "xclbinuuid", "" },
        { "rom.u.0/FPGA", "none\n" },
        { "rom.u.0/ddr_bank_size", "1\n" },
        { "rom.u.0/ddr_bank_count_max", "2\n" },
        { "rom.u.0/timestamp", "0\n" },
        { "icap.u.0/clock_freqs", "300\n300\n0\n0\n" },
        { "dma.u.0/channel_stat_raw", "0 0\n0 0\n" },
    };
    char node[40];
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        put(card, nodes[i].name, "%s", nodes[i].text);
    put(card, "rom.u.0/VBNV", "%s", board_settings.platform->vbnv);
    snprintf(node, sizeof node, "drm/renderD%d/", BOARD_NODE + card->index);
    put(card, node, "%s", "");
    put_elsewhere(DRIVERS "xocl/%s/", card->bdf);
    put_elsewhere(NODES "%d", BOARD_NODE + card->index);
}

static void forget_tree(void)
{
    tree[0] = 0;
}

__attribute__((constructor)) static void begin(void)
{
    read_settings();
    for (int i = 0; i < board_settings.boards; i++) {
        board_cards[i].index = i;
        snprintf(board_cards[i].bdf, sizeof board_cards[i].bdf, "0000:%02x:00.1", 0xd0 + i);
    }
    pthread_atfork(NULL, NULL, forget_tree);
}

/* Of cards that this process has copied to. */
__attribute__((destructor)) static void print_counts(void)
{
    for (int i = 0; board_settings.count && i < board_settings.boards; i++) {
        const struct card *c = &board_cards[i];
        if (!c->bytes_to)
            continue;
        fprintf(stderr, "virtual board %d: %llu bytes to it, %llu from it; most in memory", i,
                (unsigned long long)c->bytes_to, (unsigned long long)c->bytes_from);
        for (int k = 0; k < BOARD_BANKS; k++)
            if (c->most[k])
                fprintf(stderr, " %d: %llu", k, (unsigned long long)c->most[k]);
        fputc('\n', stderr);
    }
}

void files_begin(void)
{
    const char *dir = getenv("HALCYON_BOARD_DIR");
    pthread_mutex_lock(&tree_lock);
    if (!tree[0] && dir) {
        snprintf(tree, sizeof tree, "%s/%ld", dir, (long)getpid());
        mkdir(tree, 0700);
        for (int i = 0; i < board_settings.boards; i++)
            put_card(&board_cards[i]);
    }
    pthread_mutex_unlock(&tree_lock);
}

/* --- Paths --- */

static const char *after(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(path, prefix, n) ? NULL : path + n;
}

int files_node(const char *path)
{
    const char *number = path ? after(path, NODES) : NULL;
    long n = number ? strtol(number, NULL, 10) - BOARD_NODE : -1;
    return n >= 0 && n < board_settings.boards ? (int)n : -1;
}

static bool is_ours(const char *path)
{
    const char *name = after(path, DRIVERS);
    if (name)
        return after(name, "xocl") || after(name, "xclmgmt") || after(name, "xrt-");
    name = after(path, DEVICES);
    for (int i = 0; name && i < board_settings.boards; i++)
        if (after(name, board_cards[i].bdf))
            return true;
    return files_node(path) >= 0;
}

const char *files_path(const char *path, char *buffer, size_t size)
{
    if (!path || path[0] != '/' || !is_ours(path))
        return path;
    files_begin();
    if (!tree[0])
        return path;
    snprintf(buffer, size, "%s%s", tree, path);
    return buffer;
}

/* --- What changes --- */

void files_loaded(const struct card *card, const void *memories, size_t memories_size, const void *units,
                  size_t units_size)
{
    char text[8192] = "", *end = text;
    const unsigned char *u = card->uuid;
    for (int i = 0; i < card->n_units; i++)
        end += snprintf(end, sizeof text - (size_t)(end - text), "0,%d,%s,0x%x,0x4,0\n", i,
                        card->units[i].name, 0x1400000u + 0x10000u * (unsigned)i);
    put(card, "kds_custat_raw", "%s", text);
    put(card, "xclbinuuid", "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x\n", u[0],
        u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
    put_bytes(card, "icap.u.0/mem_topology", memories, memories_size);
    put_bytes(card, "icap.u.0/group_topology", memories, memories_size);
    put_bytes(card, "icap.u.0/ip_layout", units, units_size);
}

void files_lost(const struct card *card)
{
    put(card, "ready", "0\n");
    put(card, "dev_offline", "1\n");
}
