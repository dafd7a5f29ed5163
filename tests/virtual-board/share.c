/* share.c - what the processes under one `halcyon-virtual-board` have in common: of each card the program, who holds
 * which contexts, how much of each memory is taken, who uses a compute unit, whether it is gone.
 *
 * One file, mapped by all of them; a lock that survives the death of its holder.  Buffers and kernels are each
 * process's own: addresses of two processes may be the same.  What a process held that died is forgotten when
 * somebody asks.
 */
#define _GNU_SOURCE
#include "board.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_PROCESSES 32

struct holder {
    pid_t pid; /* 0: nobody */
    int contexts;
    unsigned char units[BOARD_UNITS]; /* 0, 1: shared, 2: for itself */
    uint64_t taken[BOARD_BANKS];
};

struct common {
    pthread_mutex_t lock;
    struct {
        bool gone;
        unsigned char uuid[16];
        struct holder holders[MOST_PROCESSES];
        pthread_mutex_t units[BOARD_UNITS]; /* held while a kernel runs */
    } cards[BOARD_MAX];
};

static struct common *common;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take(pthread_mutex_t *lock)
{
    if (pthread_mutex_lock(lock) == EOWNERDEAD)
        pthread_mutex_consistent(lock);
}

static void init(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&common->lock, &attr);
    for (int i = 0; i < BOARD_MAX; i++)
        for (int u = 0; u < BOARD_UNITS; u++)
            pthread_mutex_init(&common->cards[i].units[u], &attr);
    pthread_mutexattr_destroy(&attr);
}

/* The first process makes it, under a name of its own, and gives it the name that all know. */
static void map(void)
{
    const char *dir = getenv("HALCYON_BOARD_DIR");
    char path[300], mine[320];
    snprintf(path, sizeof path, "%s/common", dir ? dir : "");
    snprintf(mine, sizeof mine, "%s.%ld", path, (long)getpid());
    int fd = dir ? open(path, O_RDWR | O_CLOEXEC) : -1;
    bool made = fd < 0;
    if (made)
        fd = dir ? open(mine, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    bool sized = fd >= 0 && (!made || !ftruncate(fd, sizeof *common));
    void *p = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, sized ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS,
                   sized ? fd : -1, 0);
    if (fd >= 0)
        real_close(fd);
    if (p == MAP_FAILED)
        abort(); /* 100 KB: nothing works here */
    common = p;
    if (!made)
        return;
    init();
    bool late = sized && link(mine, path) && errno == EEXIST; /* another was faster */
    if (sized)
        unlink(mine);
    if (late) {
        munmap(p, sizeof *common);
        map();
    }
}

static void begin(void)
{
    pthread_once(&once, map);
    take(&common->lock);
}

static void end(void)
{
    pthread_mutex_unlock(&common->lock);
}

/* This process's, or a free one that becomes its; the dead are forgotten. */
static struct holder *mine(int card)
{
    struct holder *free_one = NULL, *own = NULL;
    for (struct holder *h = common->cards[card].holders; h < common->cards[card].holders + MOST_PROCESSES; h++) {
        if (h->pid && h->pid != getpid() && kill(h->pid, 0) && errno == ESRCH)
            *h = (struct holder){ .pid = 0 };
        if (h->pid == getpid())
            own = h;
        else if (!h->pid && !free_one)
            free_one = h;
    }
    if (!own && free_one) {
        own = free_one;
        own->pid = getpid();
    }
    return own;
}

bool share_load(int card, const unsigned char uuid[16])
{
    begin();
    bool held = !mine(card), same = !memcmp(common->cards[card].uuid, uuid, 16);
    for (int i = 0; i < MOST_PROCESSES; i++)
        held |= common->cards[card].holders[i].contexts > 0;
    if (!held || same)
        memcpy(common->cards[card].uuid, uuid, 16);
    end();
    return !held || same;
}

bool share_loaded(int card, const unsigned char uuid[16])
{
    begin();
    bool same = !memcmp(common->cards[card].uuid, uuid, 16);
    end();
    return same;
}

bool share_context(int card, int unit, int change, bool exclusive)
{
    begin();
    struct holder *own = mine(card);
    bool refused = !own;
    for (int i = 0; unit >= 0 && change > 0 && i < MOST_PROCESSES; i++) {
        const struct holder *h = &common->cards[card].holders[i];
        refused |= h != own && h->pid && (h->units[unit] == 2 || (exclusive && h->units[unit]));
    }
    if (!refused) {
        own->contexts += change;
        if (unit >= 0)
            own->units[unit] = change < 0 ? 0 : exclusive ? 2 : 1;
    }
    end();
    return !refused;
}

bool share_take(int card, int bank, uint64_t size, uint64_t all)
{
    uint64_t taken = 0;
    begin();
    struct holder *own = mine(card);
    for (int i = 0; i < MOST_PROCESSES; i++)
        taken += common->cards[card].holders[i].taken[bank];
    bool fits = own && size <= all && taken <= all - size;
    if (fits)
        own->taken[bank] += size;
    end();
    return fits;
}

void share_give(int card, int bank, uint64_t size)
{
    begin();
    struct holder *own = mine(card);
    if (own)
        own->taken[bank] -= size;
    end();
}

void share_unit_take(int card, int unit)
{
    pthread_once(&once, map);
    take(&common->cards[card].units[unit]);
}

void share_unit_give(int card, int unit)
{
    pthread_mutex_unlock(&common->cards[card].units[unit]);
}

bool share_gone(int card)
{
    begin();
    bool gone = common->cards[card].gone;
    end();
    return gone;
}

void share_lose(int card)
{
    begin();
    common->cards[card].gone = true;
    end();
}
