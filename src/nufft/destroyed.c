/* destroyed.c - which plans there are: one that was destroyed is noticed before it is read, in builds without NDEBUG.
 *
 * A table of lists under one lock.  A plan whose memory another plan has got since is not noticed. */
#include "nufft_priv.h"

#ifndef NDEBUG
#include <stdint.h>

enum { LISTS = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hcy_nufft *lists[LISTS];

/* Where the plan's list points to it, or that list's end. */
static hcy_nufft **find_live(const hcy_nufft *p)
{
    hcy_nufft **at = &lists[((uintptr_t)p >> 6) % LISTS];
    while (*at && *at != p)
        at = &(*at)->next_live;
    return at;
}

void hcy__nufft_born(hcy_nufft *p)
{
    pthread_mutex_lock(&lock);
    *find_live(p) = p;
    pthread_mutex_unlock(&lock);
}

bool hcy__nufft_dies(hcy_nufft *p)
{
    pthread_mutex_lock(&lock);
    hcy_nufft **at = find_live(p);
    bool lived = *at != NULL;
    if (lived)
        *at = p->next_live;
    pthread_mutex_unlock(&lock);
    return lived;
}

int hcy__nufft_alive(const hcy_nufft *p)
{
    int status = p ? hcy_fork_check() : hcy_fail(HCY_EINVAL, "no plan of a non-uniform FFT");
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    bool lives = *find_live(p) != NULL;
    pthread_mutex_unlock(&lock);
    return lives ? 0 : hcy_fail(HCY_EINVAL, "this plan of a non-uniform FFT was destroyed before");
}

#else

void hcy__nufft_born(hcy_nufft *p)
{
    (void)p;
}

bool hcy__nufft_dies(hcy_nufft *p)
{
    return p != NULL;
}

int hcy__nufft_alive(const hcy_nufft *p)
{
    return p ? hcy_fork_check() : hcy_fail(HCY_EINVAL, "no plan of a non-uniform FFT");
}

#endif
